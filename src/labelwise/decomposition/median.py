"""The mean distance of the members from their median."""

from __future__ import annotations

from typing import Any

from .._arrays import namespace
from .._engine.compute import evaluate_law
from .._errors import InputError
from ..distributions import Distribution, Intervals
from ..distributions.base import ArrayOf, ArrayT
from ..distributions.ensemble import as_distribution
from ..events import Family


def median_deviation(
    q: Distribution[ArrayT] | ArrayOf[ArrayT], *, events: Family | None = None
) -> ArrayT:
    r"""Label-wise mean absolute deviation from the median, (..., K) or (..., E):
    :math:`\mathbb{E}\, |\Theta_k - \mathrm{med}\, \Theta_k|`.

    A measure of epistemic uncertainty that no loss gives: it is 0 if and only if the members agree
    (A1), and a location shift does not change it (A5), but there is no total and no aleatoric part
    to which it adds.

    >>> lw.median_deviation(np.array([[[0.1, 0.9]], [[0.2, 0.8]], [[0.6, 0.4]]])).round(4)
    array([[0.1667, 0.1667]])
    """
    q = as_distribution(q)
    if isinstance(q, Intervals):
        raise InputError("`median_deviation` needs members; intervals have none")
    if not q.finite:
        raise InputError(
            f"`median_deviation` needs members; {type(q).__name__} has none. Draw some: "
            "lw.Ensemble(q.sample(n, rng=0), member_axis=0)"
        )

    def distance(law: Any) -> Any:
        return law.average(namespace(law.t).abs(law.t - law.quantile(0.5)))

    return evaluate_law(distance, q, events)
