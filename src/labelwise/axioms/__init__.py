r"""The axioms of uncertainty measures as executable checks: which of them hold, and where the others fail.

For a second-order distribution Q (Section 2.3 of the paper):

- **A0** TU, AU and EU are not negative.
- **A1** EU(Q) = 0 if and only if Q is a Dirac measure.
- **A2** EU and TU are largest for the uniform distribution on the simplex.
- **A3** A mean-preserving spread does not lower EU and TU (weak), or raises them (strict).
- **A4** A centre shift does not lower AU and TU (weak), or raises them (strict).
- **A5** A location shift leaves EU as it is.
- **A6** AU = 0 for every mixture of Dirac measures on the corners of the simplex.
- **A7** TU, AU and EU are at most the sums of those of Q marginalised to two sets of classes that make up all: restricted to the
  labels of each set (an identity for label-wise measures), or coarsened, the other set merged into one label. Both are checked.

"Holds" means that no counter-example was found among thousands of distributions and their evolution towards one; "fails" comes
with the counter-example. The distributions for A3–A5 are made by `mean_preserving_spread`, `center_shift` and `location_shift`
(Definition 2.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..losses import Loss
from .measures import Q, as_measure
from .search import examine
from .shifts import center_shift, location_shift, mean_preserving_spread, room
from .table import AxiomResult, AxiomTable, Counterexample

__all__ = [
    "AxiomResult",
    "AxiomTable",
    "Counterexample",
    "center_shift",
    "check",
    "location_shift",
    "mean_preserving_spread",
    "room",
]


def check(loss: str | Loss | Callable[[Q], Any], *, seed: int = 0) -> AxiomTable:
    """Check the axioms A0–A7 for a loss, or for any other measure of uncertainty.

    Parameters
    ----------
    loss : str, Loss or callable
        A loss or its name: the label-wise measures summed over the labels. ``"joint"``: the classical entropy measures. A function:
        called with an `Ensemble` of shape (M, B, K) (or the Dirichlet with all parameters 1), returns their TU, AU and EU as
        `Components` of shape (B,), as ``lambda q: lw.joint.decompose(q, "squared")`` does.
    seed : int
        The same seed gives the same table.

    Returns
    -------
    AxiomTable
        ``table["A3", "EU"]`` has ``.holds``, ``.strict``, ``.trials`` and ``.counterexample``; ``print(table)`` shows all.

    Notes
    -----
    A violation counts if it exceeds 1e-9 of the largest uncertainty met (A6: 1e-7), so it cannot be rounding; what agrees to 1e-12 is
    equal, so that a loss that is flat to rounding somewhere counts as flat there. Where costs differ by class, the number of classes
    is fixed, and a merged class (A7) has the highest cost of its members.

    Examples
    --------
    >>> table = check("squared")
    >>> print(table)
    squared loss    TU      AU      EU
    A0              holds   holds   holds
    A1              -       -       holds
    A2              holds   -       fails
    A3              weak    -       strict
    A4              strict  strict  -
    A5              -       -       holds
    A6              -       holds   -
    A7              holds   holds   holds
    >>> print(table["A2", "EU"].counterexample)
    Q = 0.5 δ(0, 1) + 0.5 δ(1, 0); Q' = uniform on the simplex of 2 classes; EU(Q) = 0.5 > EU(Q') = 0.166667
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise TypeError(f"`seed` must be a whole number, not negative; got {seed!r}")
    measure = as_measure(loss)
    return AxiomTable(measure.name, tuple(examine(measure, seed)))
