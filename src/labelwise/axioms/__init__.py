r"""The axioms of uncertainty measures as executable checks, with counterexamples where they fail.

For a second-order distribution Q (Section 2.3 of the paper):

- **A0** TU, AU and EU are nonnegative.
- **A1** EU(Q) = 0 if and only if Q is a Dirac measure.
- **A2** EU and TU are largest for the uniform distribution on the simplex.
- **A3** A mean-preserving spread does not lower EU and TU (weak), or raises them (strict).
- **A4** A center shift does not lower AU and TU (weak), or raises them (strict).
- **A5** A location shift does not change EU.
- **A6** AU = 0 for every mixture of Dirac measures on the corners of the simplex.
- **A7** TU, AU and EU are at most the sums of those of Q marginalized to two complementary sets of
  classes: restricted to the labels of each set (an identity for label-wise measures), or coarsened
  by merging the other set into one label. Both are checked.

"Holds" means that a random search over thousands of distributions found no counterexample; "fails"
comes with a counterexample. The distributions for A3–A5 are constructed by
`mean_preserving_spread`, `center_shift` and `location_shift` (Definition 2.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .._validation.arguments import as_seed
from ..losses import Loss, LossName
from .measures import Q, as_measure
from .search import examine
from .shifts import center_shift, largest_step, location_shift, mean_preserving_spread
from .table import AxiomTable

__all__ = [
    "center_shift",
    "check",
    "largest_step",
    "location_shift",
    "mean_preserving_spread",
]


def check(
    loss: LossName | Literal["joint"] | Loss | Callable[[Q], Any],
    *,
    rng: int | np.random.Generator | None = 0,
) -> AxiomTable:
    """Check the axioms A0–A7 for a loss, or for any other measure of uncertainty.

    Parameters
    ----------
    loss : str, Loss or callable
        A loss or its name: label-wise measures summed over the labels. ``"joint"``: the classical
        entropy measures. A function that takes an `Ensemble` of shape (M, B, K) (or the Dirichlet
        with all parameters 1) and returns TU, AU and EU as `Components` of shape (B,), such as
        ``lambda q: lw.joint.decompose(q, "squared")``.
    rng : int, Generator or None
        Random seed or generator of the search. The same seed gives the same table.

    Returns
    -------
    AxiomTable
        ``table["A3", "EU"]`` has ``.holds``, ``.strict``, ``.trials`` and ``.counterexample``;
        ``print(table)`` shows all.

    Notes
    -----
    A violation counts if it exceeds 1e-9 of the largest uncertainty encountered (A6: 1e-7), so it
    cannot be rounding. Values that agree to 1e-12 are equal, so a loss that is flat up to rounding
    counts as flat. If costs differ by class, the number of classes is fixed, and a merged class
    (A7) has the highest cost of its classes.

    Examples
    --------
    >>> table = check("squared")
    >>> print(table)
    squared loss
      axiom      TU      AU      EU
      A0      holds   holds   holds
      A1          -       -   holds
      A2      holds       -   fails
      A3       weak       -  strict
      A4     strict  strict       -
      A5          -       -   holds
      A6          -   holds       -
      A7      holds   holds   holds
    >>> print(table["A2", "EU"].counterexample.sentence)
    EU(Q) = 0.5 > EU(Q') = 0.166667
    """
    measure = as_measure(loss)
    return AxiomTable(measure.name, tuple(examine(measure, as_seed(rng))))
