r"""The forecast that is deployed: its regret :math:`D(\bar\theta \Vert f)` beside the mean's risk.

The mean has the smallest expected loss, TU. Any other forecast f costs the regret more:
:math:`\mathbb{E}\, D(\Theta \Vert f) = \mathbb{E}\, D(\Theta \Vert \bar\theta) + D(\bar\theta
\Vert f)`, Pythagoras' theorem for Bregman divergences.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from array_api_compat import is_dask_array

from .._arrays import Array, namespace
from .._engine.compute import Computed, compute
from .._errors import InputError
from .._frames import same_rows
from .._validation.arrays import as_floating, into
from .._validation.probabilities import check_probabilities
from ..distributions import Distribution, Ensemble, MultiLabelEnsemble
from ..distributions.marginals import Atoms
from ..distributions.named_predictions import moved_last, read_names
from ..events import Events
from ..losses import Loss


def regret_of_forecast(
    q: Distribution[Any], loss: Loss, events: Events | None, forecast: Any
) -> tuple[Array, Array | None]:
    """:math:`D(\\bar\\theta \\Vert f)` of each event, (..., E), and a bound on its numerical error
    where the mean has one.
    """
    if isinstance(forecast, str) or _is_index(forecast):
        _check_member(q, forecast)

        def of_member(q: Distribution[Any]) -> Computed:
            law: Any = q.marginal(events)
            each = _regrets_of_members(law, loss, forecast)
            return Computed((each,))

        return compute(of_member, q).parts[0], None

    point = _as_point(q, forecast)

    def probabilities(point: Distribution[Any]) -> Computed:
        law: Any = point.marginal(events)
        return Computed((law.t[0, ...], law.c[0, ...]))

    def mean(q: Distribution[Any]) -> Computed:
        law = q.marginal(events)
        if q.exact_mean:
            return Computed(law.mean)
        return Computed(law.mean, law.split(_Probability()).error)

    t, c = (computed := compute(mean, q)).parts
    f = [into(x, t, "forecast", "probs") for x in compute(probabilities, point).parts]
    regret = _each(loss, t, c, *f)
    if computed.error is None:
        return regret, None
    step = computed.error[1]
    # D(· ‖ f) is convex, so over an interval it is largest at one of its ends
    low, high = namespace(t).minimum(t, step), namespace(t).minimum(c, step)
    up, down = _each(loss, t + high, c - high, *f), _each(loss, t - low, c + low, *f)
    return regret, _gap(namespace(t).maximum(up, down), regret)


class _Probability(Loss):
    """Not a loss: its entropy is the probability itself, so that its aleatoric part is the mean,
    with a bound on its error.
    """

    def entropy(self, t: Array, c: Array = None) -> Array:
        return t

    def divergence(
        self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None
    ) -> Array:
        return 0 * (t - m)


def _gap(high: Array, low: Array) -> Array:
    """high − low, 0 where both are infinite."""
    xp = namespace(high)
    finite = xp.isfinite(low)
    return xp.where(finite, high - xp.where(finite, low, 0 * high), xp.zeros_like(high))


def _each(loss: Loss, t: Array, c: Array, f: Array, fc: Array) -> Array:
    """D(t‖f); of Dask arrays in tasks."""
    if is_dask_array(t):
        import dask.array as da

        f, fc = f.rechunk(t.chunks), fc.rechunk(t.chunks)
        return da.map_blocks(partial(_each, loss), t, c, f, fc, dtype=t.dtype)
    difference = namespace(t).where(t + f <= c + fc, t - f, fc - c)  # of the smaller numbers
    return loss.regret(t, f, c, fc, difference)


def _regrets_of_members(law: Atoms, loss: Loss, forecast: Any) -> Array:
    """D(θ̄‖Θ_i), or its mean over all members."""
    mt, mc = law.mean
    if forecast != "member":
        t, c, d = (x[forecast, ...] for x in (law.t, law.c, law.deviation))
        return loss.regret(mt, t, mc, c, -d)
    zeros = 0 * law.t
    each = loss.regret(mt + zeros, law.t, mc + zeros, law.c, -law.deviation)
    if law.weights is not None:  # a member of weight 0 is ignored, even if its regret is infinite
        each = namespace(each).where(law.member_weights > 0, each, zeros)
    return law.average(each)


def _is_index(forecast: Any) -> bool:
    return isinstance(forecast, int | np.integer) and not isinstance(forecast, bool)


def _check_member(q: Distribution[Any], forecast: Any) -> None:
    """A member by position, or ``"member"``, of a distribution that has members."""
    if isinstance(forecast, str) and forecast != "member":
        raise InputError(
            "`forecast` must be probabilities (..., K), the position of a member, or 'member' (a "
            f"random one); got {forecast!r}"
        )
    if not q.finite or q.n_members is None:
        raise InputError(
            f"`forecast`: a {type(q).__name__} has no members that could be deployed. Pass the "
            "forecast's probabilities, or take a sample as members: "
            "lw.Ensemble(q.sample(n, rng=0), member_axis=0)"
        )
    if _is_index(forecast) and not 0 <= forecast < q.n_members:
        raise InputError(
            f"`forecast` must be a member from 0 to {q.n_members - 1}; got {forecast!r}"
        )


def _as_point(q: Distribution[Any], forecast: Any) -> Distribution[Any]:
    """Probabilities (..., K) as a distribution of one member, matched by name where both have
    names.
    """
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
            f"`forecast` must give the probabilities of the same instances and classes, shape "
            f"{shape}; got shape {tuple(values.shape)}"
        )
    check_probabilities(values[None, ...], "forecast", sum_to_one=q.exclusive)
    kind = Ensemble if q.exclusive else MultiLabelEnsemble
    return kind(values[None, ...], member_axis=0, class_names=q.class_names)
