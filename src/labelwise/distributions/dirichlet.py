"""Dirichlet distributions (evidential networks) and their mixtures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .._arrays import (
    Array,
    ClassNames,
    Names,
    like,
    namespace,
    to_numpy,
    values_known,
    without_gradient,
)
from .._engine.compute import Computed
from .._engine.dirichlet import split_dirichlet_in_kernel
from .._errors import InputError
from .._validation.arguments import Rng, as_rng, check_count, set_fields
from .._validation.arrays import as_floating, check_classes, check_finite, normalized_weights
from .._validation.labels import check_names
from .._validation.probabilities import sum_to_one_everywhere
from ..events import Events, Family
from ..losses import Loss
from .base import (
    ArrayOf,
    ArrayT,
    InArrays,
    sums_inside_and_outside,
)
from .marginals import Beta, BetaMixture
from .named_predictions import moved_last, read_names

MOST_MEMBERS = 32  # a first axis that is longer is seldom an ensemble


class _OfDirichlets(InArrays[ArrayT]):
    """What one Dirichlet and a mixture of them have in common: both are given by ``alpha``."""

    alpha: Array
    _arrays: ClassVar[Names] = ("alpha",)

    def with_valid_values(self) -> Self:
        check_dirichlet_alpha(self.alpha)
        return self

    def fast(
        self, loss: Loss, events: Events | None, n_jobs: int | None, *, labelwise: bool = True
    ) -> Computed | None:
        if not labelwise:
            return None
        return split_dirichlet_in_kernel(self, loss, events, n_jobs)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Dirichlet(_OfDirichlets[ArrayT]):
    r"""Θ ~ Dir(α), so that every event has a Beta law: Θ_A ~ Beta(Σ_{A} α, Σ_{not A} α).

    Relative accuracy in double precision for α from 1e-3 to 1e6, tails included: log loss 5e-16 for
    TU and AU and 2e-14 for EU; squared loss 1e-15; spherical loss 1e-14 for TU and AU and 2e-13 for
    EU; zero-one loss and costs 1e-14 TU for AU and 1e-11 for EU, also where it is 1e-40 TU. Tensors
    to be differentiated, other losses, and all losses without the compiled code: log and squared
    loss the same, the others by quadrature with errors below 1e-11 TU (5e-6 TU in single
    precision). For α from 1e-8 to 1e30 all errors are below 1e-8 TU, in single precision (α from
    1e-6) below 1e-5 TU.

    Parameters
    ----------
    alpha : array (..., K)
        Positive concentrations, for instance evidence + 1.
    class_names : sequence of str, optional
        Class names.

    Examples
    --------
    >>> Dirichlet(np.array([2.0, 1.0, 1.0])).mean()
    array([0.5 , 0.25, 0.25])
    """

    alpha: Array
    class_names: Names | None
    ids: Any = None

    def __init__(
        self, alpha: ArrayOf[ArrayT] | Sequence[Any], *, class_names: ClassNames | None = None
    ) -> None:
        given = read_names(alpha, "alpha", class_names, members=False)
        values = check_dirichlet_alpha(moved_last(given))
        _refuse_probabilities_as_alpha(values)
        if (
            values.ndim == 3
            and values.shape[0] <= MOST_MEMBERS
            and values.shape[1] >= 4 * values.shape[0]
        ):
            warnings.warn(
                f"`alpha` of shape {tuple(values.shape)} is interpreted as {values.shape[0]} × "
                f"{values.shape[1]} instances. If the first axis is "
                f"{values.shape[0]} networks, use lw.DirichletMixture(alpha)",
                stacklevel=2,
            )
        set_fields(
            self,
            alpha=values,
            class_names=check_names(given.class_names, values.shape[-1]),
            ids=given.ids,
        )

    def marginal(self, events: Family | None = None) -> Beta:
        """The Beta law of each event's probability."""
        return Beta(*sums_inside_and_outside(self.alpha, events, self.class_names))

    def sample(self, n: int, *, rng: Rng = None) -> ArrayT:
        """``n`` draws of Θ, shape (n, ..., K)."""
        return draw_dirichlet(self.alpha, n, as_rng(rng))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class DirichletMixture(_OfDirichlets[ArrayT]):
    r"""Θ ~ Σ_m w_m Dir(α_m): an ensemble of evidential networks.

    Both parts of the epistemic uncertainty are exact: the members' own and the disagreement of
    their means,
    :math:`\mathrm{EU} = \sum_m w_m \mathrm{EU}_m + \sum_m w_m D(\bar\theta_m \Vert \bar\theta)`.

    Parameters
    ----------
    alpha : array (M, ..., K)
    weights : array (M,) or (M, ...), optional
    class_names : sequence of str, optional

    Examples
    --------
    >>> DirichletMixture(np.array([[3.0, 1.0], [1.0, 1.0]])).mean()
    array([0.625, 0.375])
    """

    alpha: Array
    weights: Any
    class_names: Names | None
    ids: Any = None

    def __init__(
        self,
        alpha: ArrayOf[ArrayT] | Sequence[Any] | Mapping[str, Any],
        weights: Any = None,
        *,
        class_names: ClassNames | None = None,
    ) -> None:
        given = read_names(alpha, "alpha", class_names)
        values = check_dirichlet_alpha(moved_last(given))
        if values.ndim > 1 and values.shape[0] > 1:
            _refuse_probabilities_as_alpha(values)
        if values.ndim < 2:
            raise InputError(
                "`alpha` of a mixture must have at least 2 axes (members, ..., classes); got "
                f"shape {tuple(values.shape)}"
            )
        if values.shape[0] == 0:
            raise InputError(
                "`alpha` of a mixture must have at least one member; got shape "
                f"{tuple(values.shape)}"
            )
        set_fields(
            self,
            alpha=values,
            weights=normalized_weights(given.weights(weights), values, "alpha"),
            class_names=check_names(given.class_names, values.shape[-1]),
            ids=given.ids,
        )

    @property
    def n_members(self) -> int:
        return int(self.alpha.shape[0])

    @property
    def components(self) -> Dirichlet[ArrayT]:
        """The Dirichlet laws of the members, as instances of shape (M, ...)."""
        laws = object.__new__(Dirichlet)  # known to be valid
        set_fields(laws, alpha=self.alpha, class_names=self.class_names)
        return laws

    def marginal(self, events: Family | None = None) -> BetaMixture:
        """The law of each event's probability."""
        return BetaMixture(self.components.marginal(events), self.weights)

    def sample(self, n: int, *, rng: Rng = None) -> ArrayT:
        """``n`` draws of Θ, shape (n, ..., K)."""
        from .ensemble import draw_members

        rng = as_rng(rng)
        return draw_dirichlet(draw_members(self.alpha, self.weights, n, rng), 1, rng)[0]


def check_dirichlet_alpha(alpha: Any) -> Array:
    """``alpha`` as a floating array of positive, finite concentrations."""
    alpha = as_floating(alpha, "alpha")
    if alpha.ndim < 1:
        raise InputError("`alpha` must have at least 1 axis (..., classes); got a single number")
    check_classes(alpha, "alpha")
    if values_known(alpha) and 0 not in alpha.shape:
        check_finite(alpha, "alpha")
        xp, values = namespace(alpha), without_gradient(alpha)
        lowest, highest = float(xp.min(values)), float(xp.max(values))
        if highest > float(xp.finfo(alpha.dtype).max) / (4 * alpha.shape[-1]):
            raise InputError(
                "`alpha` is too large to be summed over the classes; the highest is "
                f"{highest:.4g} for shape {tuple(alpha.shape)}"
            )
        if lowest <= 0:
            raise InputError(
                f"`alpha` must be positive; the lowest is {lowest:.4g} for shape "
                f"{tuple(alpha.shape)}. From evidence e ≥ 0, alpha is e + 1"
            )
    return alpha


def _refuse_probabilities_as_alpha(alpha: Array) -> None:
    """Concentrations of several instances that all sum to 1, each in its own way, are
    probabilities.
    """
    if not values_known(alpha) or 0 in alpha.shape or not sum_to_one_everywhere(alpha):
        return
    xp, values = namespace(alpha), without_gradient(alpha)
    rows = xp.reshape(values, (-1, values.shape[-1]))
    if xp.all(rows == rows[:1, :]):  # one prior for all, such as 1/K
        return
    raise InputError(
        (
            f"`alpha` of shape {tuple(alpha.shape)} sums to 1 over the classes everywhere: it "
            "holds probabilities"
        ),
        fix="not_alpha",
    )


def draw_dirichlet(alpha: Array, n: int, rng: np.random.Generator) -> Array:
    """``n`` draws; below 0.1 in logarithms: a Gamma variable of small shape underflows, its
    logarithm does not.
    """
    shape = to_numpy(alpha).astype(float)
    size = (check_count(n), *shape.shape)
    if shape.size and shape.min() >= 0.1:
        gamma = rng.standard_gamma(shape, size)
        return like(gamma / gamma.sum(axis=-1, keepdims=True), alpha)
    log_gamma = np.log(rng.standard_gamma(shape + 1, size)) + np.log1p(-rng.random(size)) / shape
    odds = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True, initial=-np.inf))
    return like(odds / odds.sum(axis=-1, keepdims=True), alpha)
