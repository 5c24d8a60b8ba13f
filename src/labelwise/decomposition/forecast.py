r"""The forecast that is deployed: its regret :math:`D(\bar\theta \Vert f)` beside the mean's risk.

The mean has the smallest expected loss, TU. Any other forecast f costs the regret more:
:math:`\mathbb{E}\, D(\Theta \Vert f) = \mathbb{E}\, D(\Theta \Vert \bar\theta) + D(\bar\theta
\Vert f)`, Pythagoras' theorem for Bregman divergences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import is_dask_array

from .._arrays import Array, namespace
from .._engine.compute import Computed, compute, evaluate_law
from .._errors import InputError
from .._frames import same_rows
from .._validation.arrays import as_floating, in_library_of
from .._validation.probabilities import check_probabilities
from ..distributions import Distribution, Ensemble, MultiLabelEnsemble
from ..distributions.marginals import Atoms
from ..distributions.named_predictions import moved_last, read_names
from ..events import Events
from ..losses import Loss

Excess = Callable[..., Array]
"""A loss's ``regret``, or its finite ``divergence``."""


def regret_of_forecast(
    q: Distribution, loss: Loss, events: Events | None, forecast: Any
) -> tuple[Array, Array | None]:
    """D(θ̄‖f) of each event, (..., E), and a bound on its numerical error where the mean has one."""
    if isinstance(forecast, str | int | np.integer):
        _check_forecast_member(q, forecast)
        return evaluate_law(lambda law: _regret_of_member(law, loss, forecast), q, events), None

    def mean(q: Distribution) -> Computed:
        law = q.marginal(events)
        if q.exact_mean:
            return Computed(law.mean)
        return Computed(law.mean, law.split(_ProbabilityAsLoss()).error)

    point: Any = _forecast_as_distribution(q, forecast).marginal(events)
    computed = compute(mean, q)
    t, c = computed.parts
    f = [in_library_of(x[0, ...], t, "forecast", "probs") for x in (point.t, point.c)]
    regret = _excess(loss.regret, t, c, *f)
    if computed.error is None:
        return regret, None
    xp, step = namespace(t), computed.error[1]
    ends = []
    for low in (xp.maximum(t - step, 0 * t), t + xp.minimum(step, c)):
        ends.append(_excess(loss.divergence, low, 1 - low, *f))
    # D(· ‖ f) is convex: over an interval it is largest at one of the ends
    return regret, xp.maximum(*ends) - _excess(loss.divergence, t, c, *f)


class _ProbabilityAsLoss(Loss):
    """Not a loss: its entropy is the probability itself, so that its aleatoric part is the mean,
    with a bound on its error.
    """

    def entropy(self, t: Array, c: Array = None) -> Array:
        return t

    def divergence(self, t: Array, *others: Array) -> Array:
        return 0 * t


def _excess(excess: Excess, t: Array, c: Array, f: Array, fc: Array) -> Array:
    """D(t‖f); of Dask arrays in tasks."""
    if is_dask_array(t):
        f, fc = f.rechunk(t.chunks), fc.rechunk(t.chunks)
        return t.map_blocks(lambda *block: _excess(excess, *block), c, f, fc, dtype=t.dtype)
    difference = namespace(t).where(t + f <= c + fc, t - f, fc - c)  # of the smaller numbers
    return excess(t, f, c, fc, difference)


def _regret_of_member(law: Atoms, loss: Loss, forecast: Any) -> Array:
    """D(θ̄‖Θ_i), or its mean over all members."""
    mt, mc = law.mean
    if forecast != "member":
        t, c, d = [x[forecast, ...] for x in (law.t, law.c, law.deviation)]
        return loss.regret(mt, t, mc, c, -d)
    zeros = 0 * law.t
    each = loss.regret(mt + zeros, law.t, mc + zeros, law.c, -law.deviation)
    if law.weights is not None:  # a member of weight 0 is ignored, even if its regret is infinite
        each = namespace(each).where(law.member_weights > 0, each, zeros)
    return law.average(each)


def _check_forecast_member(q: Distribution, forecast: Any) -> None:
    """A member by position, or ``"member"``, of a distribution that has members."""
    if not q.finite:
        raise InputError(
            f"`forecast`: a {type(q).__name__} has no members. Give the probabilities of the "
            "forecast, or draw members: lw.Ensemble(q.sample(n, rng=0), member_axis=0)"
        )
    positions = range(q.n_members or 0)
    if forecast != "member" and (forecast not in positions or isinstance(forecast, bool)):
        raise InputError(
            f"`forecast` must be probabilities (..., K), a member from 0 to {positions[-1]}, or "
            f"'member' (a random one); got {forecast!r}"
        )


def _forecast_as_distribution(q: Distribution, forecast: Any) -> Distribution:
    """Probabilities (..., K) as an ensemble of one, matched by name where both have names."""
    (forecast,) = same_rows(q, forecast=forecast)
    given = read_names(forecast, "forecast", q.class_names, members=False)
    if given.class_names is not None and q.class_names is None:
        raise InputError(
            "`forecast` names its classes, but the prediction has no class names to match them to",
            fix="class_names",
        )
    values = as_floating(moved_last(given), "forecast")
    shape = (*q.batch_shape, q.n_classes)
    if tuple(values.shape) != shape:
        raise InputError(
            "`forecast` must give the probabilities of the same instances and classes, shape "
            f"{shape}; got shape {tuple(values.shape)}"
        )
    values = values[None, ...]
    check_probabilities(values, "forecast", sum_to_one=q.exclusive)
    kind = Ensemble if q.exclusive else MultiLabelEnsemble
    return kind(values, member_axis=0, class_names=q.class_names)
