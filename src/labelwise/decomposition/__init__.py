"""Label-wise total, aleatoric and epistemic uncertainty: Eqs. (9)–(16) of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Generic, Literal, Self, cast, overload

import numpy as np

from .._arrays import Array, as_real, like, namespace, to_numpy
from .._engine.compute import Computed, compute
from .._frames import ids_at, values_by_class
from .._suggestions import suggest
from ..distributions import Distribution
from ..distributions.base import ArrayT, batch_index, not_a_distribution
from ..distributions.marginals import Atoms
from ..events import Events, Family, Structure, as_events
from ..losses import Loss, LossName, as_loss
from ..sources import Sources, find_sources
from .results import PARTS, LabelwiseResult, Result

__all__ = ["PARTS", "Components", "JointUncertainty", "Uncertainty", "decompose"]


@dataclass(frozen=True, eq=False, repr=False)
class Components(Result, Generic[ArrayT]):
    """Total, aleatoric and epistemic uncertainty, one value per instance."""

    total: ArrayT
    aleatoric: ArrayT
    epistemic: ArrayT
    bound: float | Callable[[], float | None] | None = field(default=None, repr=False)
    """`maximum`, or a function that computes it on first use."""
    error: Components[ArrayT] | None = None
    """95 % bounds on the numerical error of (quasi-)Monte Carlo values; ``None`` if only rounding
    matters.
    """
    n_members: int | None = None
    """Number of members of an ensemble, else ``None``. One member has no known epistemic
    uncertainty: it is shown as –.
    """
    ids: Any = field(default=None, repr=False)
    """What the instances are called: the index of the frames that the predictions came in, or
    ``None``.
    """

    def __getitem__(self, index: Any) -> Self:
        """The uncertainty of some instances; ``index`` is one for the axes (...) of instances."""
        return self._at(batch_index(index, len(self.batch_shape)))

    def _at(self, index: tuple[Any, ...]) -> Self:
        return self._changed(lambda x: x[index], ids=ids_at(self.ids, index))

    def _changed(self, f: Callable[[Any], Any], **fields: Any) -> Self:
        """Apply ``f`` to the three parts and their errors, and change other fields."""
        return replace(self, **_each(self, f), **fields)

    @cached_property
    def maximum(self) -> float | None:
        """The largest possible total, if known."""
        return self.bound() if callable(self.bound) else self.bound

    def normalized(self) -> Components[ArrayT]:
        """Divide by the maximum."""
        if self.maximum is None:
            raise ValueError(
                "`normalized` needs the maximum of the sum, which is not known for these events"
            )
        if self.maximum == 0:
            raise ValueError(
                "`normalized` divides by the maximum of the sum, which is 0 because all costs or "
                "weights are 0"
            )
        factor = 1 / self.maximum
        return Components(
            **_each(self, lambda x: x * factor), bound=1.0, n_members=self.n_members, ids=self.ids
        )


def _each(result: Components[Any] | Uncertainty[Any], f: Callable[[Any], Any]) -> dict[str, Any]:
    """``f`` of the three parts and of their errors."""
    fields: dict[str, Any] = {part: f(getattr(result, part)) for part in PARTS}
    if result.error is not None:
        fields["error"] = result.error._changed(f)
    return fields


@dataclass(frozen=True, eq=False, repr=False)
class JointUncertainty(Components[ArrayT]):
    """Total, aleatoric and epistemic uncertainty about the class as a whole, shape (...,)."""


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty(LabelwiseResult, Generic[ArrayT]):
    """Label-wise uncertainty: arrays of shape (..., K), or (..., E) for E events.

    ``u["melanoma"]`` picks a label, ``u[mask]`` and ``u[3:9]`` instances; `sum` sums over the
    labels, `normalized` divides by the largest possible value. `to_frame`, `to_xarray`, `to_dict`
    and `top` give tables.
    """

    total: ArrayT
    aleatoric: ArrayT
    epistemic: ArrayT
    class_names: tuple[str, ...]
    loss: Loss
    events: Events | None = None
    structure: Structure = "partition"
    """How the labels or events relate, which determines whether a plain sum is meaningful and its
    maximum.
    """
    error: Components[ArrayT] | None = None
    """95 % bounds on the numerical error of (quasi-)Monte Carlo values; ``None`` if only rounding
    matters.
    """
    sums: Components[ArrayT] | None = None
    """The plain sums, if computed along with the labels' values."""
    joint: JointUncertainty[ArrayT] | None = None
    """Joint uncertainty about all classes, if the kernel computed it in the same pass: for an
    `Ensemble` in main memory, log or squared loss, no ``events`` and no ``correction``. Otherwise
    ``None``: use `labelwise.joint.decompose`.
    """
    unit: Array = 1.0
    """Divisor of the values: 1, or after `normalized` the largest value of each label."""
    n_members: int | None = None
    """Number of members of an ensemble, else ``None``. One member has no known epistemic
    uncertainty: it is shown as –.
    """
    ensemble: Any = None
    """The ensemble, if its members have named factors; see `sources`."""
    ids: Any = None
    """What the instances are called: the index of the frames that the predictions came in, or
    ``None``.
    """

    @property
    def maximum(self) -> np.ndarray:
        """The largest possible total of each label, (K,) or (E,)."""
        return np.asarray(self.loss.maximum / self.unit + np.zeros(len(self.class_names)))

    @overload
    def __getitem__(self, key: str) -> Components[ArrayT]: ...
    @overload
    def __getitem__(self, key: Any) -> Uncertainty[ArrayT]: ...
    def __getitem__(self, key: Any) -> Any:
        """The uncertainty about one label or event, by name; or of some instances, by an index for
        their axes (...).
        """
        if not isinstance(key, str):
            return self._at(batch_index(key, len(self.batch_shape)))
        if key not in self.class_names:
            raise KeyError(f"no label {key!r}{suggest(key, self.class_names)}")
        i = self.class_names.index(key)
        return self._components(lambda x: x[..., i], float(self.maximum[i]))

    def _at(self, index: tuple[Any, ...]) -> Uncertainty[ArrayT]:
        labels = (*index, slice(None))
        return replace(
            self,
            **_each(self, lambda x: x[labels]),
            sums=None if self.sums is None else self.sums._at(index),
            joint=None if self.joint is None else self.joint._at(index),
            ensemble=None if self.ensemble is None else self.ensemble[index],
            ids=ids_at(self.ids, index),
        )

    def _components(self, f: Callable[[Any], Any], bound: Any) -> Components[ArrayT]:
        """``f`` of the three parts, one value per instance."""
        return Components(**_each(self, f), bound=bound, n_members=self.n_members, ids=self.ids)

    def sum(
        self, weights: Sequence[float] | Mapping[str, float] | None = None
    ) -> Components[ArrayT]:
        r"""Global uncertainty :math:`\sum_k w_k\, \mathrm{TU}_k` and so on, Eqs. (12)–(14); weights
        for unequal costs.
        """
        if weights is None and self.structure == "overlapping":
            raise ValueError(
                "these events "
                f"({', '.join(self.class_names[:4])}{', …' if len(self.class_names) > 4 else ''}) "
                "overlap, so a plain sum counts classes "
                "more than once. Pass `weights`, one per event"
            )
        w = None if weights is None else self._weights(weights)

        largest = partial(
            maximum_of_sum, self.loss, self.structure, len(self.class_names), self.unit, w
        )
        if w is None and self.sums is not None:
            return replace(self.sums, bound=largest, n_members=self.n_members, ids=self.ids)

        def add(x: Array) -> Array:
            return namespace(x).sum(x if w is None else x * like(w, x), axis=-1)

        return self._components(add, largest)

    def _weights(self, weights: Any) -> np.ndarray:
        weights = values_by_class(weights, self.class_names, "weights")
        w = to_numpy(as_real(weights, "weights", integers=True)).astype(float)
        if w.shape != (len(self.class_names),):
            raise ValueError(
                f"`weights` must have one value per label, shape ({len(self.class_names)},); got "
                f"shape {w.shape}"
            )
        if not np.all(np.isfinite(w)) or np.any(w < 0):
            raise ValueError(
                f"`weights` must be finite and not negative; got {w[~(w >= 0) | np.isinf(w)][0]:g}"
            )
        return w

    def sources(
        self, *, n_permutations: int = 999, rng: int | np.random.Generator | None = None
    ) -> Sources:
        r"""Where the members' disagreement comes from: main effects of the ensemble's ``factors``,
        their interaction, and replicates.

        .. math::
            \mathrm{main}_A = G(\bar\theta) - \mathbb{E}_A\, G(\bar\theta_A)

        with the mean :math:`\bar\theta_A` over all members of a level. The interaction is the rest;
        all add up to the epistemic uncertainty. For log and squared loss and one factor or a
        complete crossing of two. Where cells' weights are not products of their levels' weights,
        each cell weighs the same, with a warning. Variance components and permutation tests, both
        of the means of cells' members, tell effects from noise.

        Parameters
        ----------
        n_permutations : int
            Random permutations for the p-values, where there are more; else all of them are used.
        rng : int, Generator or None
            Random seed or generator of the permutations.

        Examples
        --------
        >>> probs = np.array([[[0.9, 0.1]], [[0.7, 0.3]], [[0.8, 0.2]], [[0.6, 0.4]]])
        >>> q = lw.Ensemble(probs, factors={"prompt": ["a", "a", "b", "b"], "model": ["x", "y", "x", "y"]})
        >>> s = lw.decompose(q, "squared").sources(rng=0)
        >>> s.names, s.means.sum(axis=1).round(4) + 0
        (('prompt', 'model', 'interaction'), array([0.005, 0.02 , 0.   ]))
        """  # noqa: E501
        if self.ensemble is None:
            raise ValueError(
                "`sources` needs named factors, such as lw.Ensemble(probs, factors={'prompt': "
                "[...], 'model': [...]}), without `correction`"
            )
        found = find_sources(
            numpy_law(self.ensemble, self.events),
            self.ensemble.factors,
            self.loss,
            self.class_names,
            n_permutations=n_permutations,
            rng=rng,
        )
        return replace(found, values=found.values / self.unit)

    def normalized(self) -> Uncertainty[ArrayT]:
        """Divide by the largest possible label-wise value, max G."""
        if np.any(self.maximum == 0):
            name = self.class_names[int(np.argmin(self.maximum))]
            raise ValueError(
                f"`normalized` divides by the largest value of each label, which is 0 for {name!r} "
                "because one of its costs is 0"
            )
        return replace(
            self,
            **_each(self, lambda x: x / like(self.maximum, x)),
            sums=None,
            joint=None,
            unit=self.loss.maximum + np.zeros(len(self.class_names)),
        )


def numpy_law(q: Any, events: Events | None) -> Atoms:
    """The law of the events under an ensemble, in NumPy and double precision."""
    law = q.marginal(events)
    t, weights, complement = (
        None if x is None else to_numpy(x).astype(float)
        for x in (law.t, law.weights, law.complement)
    )
    return Atoms(t, weights, complement)


def maximum_of_sum(
    loss: Loss, structure: Structure, n: int, unit: Any, weights: np.ndarray | None
) -> float | None:
    """The largest possible sum over ``n`` labels or events, if known. A function of its own, so
    that sums can be pickled.
    """
    if np.ndim(unit) or unit != 1:
        weights = (np.ones(n) if weights is None else weights) / unit
    if structure in ("partition", "disjoint"):
        return loss.maximum_of_sum(n, weights, exhaustive=structure == "partition")
    if structure == "nested":
        return loss.maximum_of_cuts(n, weights)
    if structure == "free" or (structure == "pairs" and np.ndim(loss.maximum) == 0):
        # a mixture of an order of the classes and its reverse gives all pairs the same mean
        return float(np.sum(loss.maximum * (np.ones(n) if weights is None else weights)))
    return None


def decompose(
    q: Distribution[ArrayT],
    loss: LossName | Loss = "log",
    *,
    events: Family | None = None,
    correction: Literal["jackknife"] | None = None,
    n_jobs: int | None = None,
) -> Uncertainty[ArrayT]:
    r"""Label-wise total, aleatoric and epistemic uncertainty.

    .. math::
        \mathrm{TU}_k = G(\mathbb{E}\,\Theta_k), \quad \mathrm{AU}_k = \mathbb{E}\,G(\Theta_k),
        \quad \mathrm{EU}_k = \mathrm{TU}_k - \mathrm{AU}_k = \mathbb{E}\, D(\Theta_k \Vert
        \mathbb{E}\,\Theta_k)

    Eqs. (9)–(11), (15), (16) of the paper, with the entropy G and the Bregman divergence D of the
    loss. EU is computed as the expected divergence, never as a difference, so it is nonnegative,
    and exactly 0 when the members agree.

    Parameters
    ----------
    q : Distribution
        `Ensemble`, `Dirichlet`, `DirichletMixture`, `LogisticNormal`, `MultiLabelEnsemble`, or your
        own.
    loss : str or Loss
        ``"log"`` (bits), ``"squared"`` (= ``"brier"``), ``"spherical"``, ``"zero_one"``, or a loss
        object.
    events : mapping or Events, optional
        Groups of classes, ordinal cuts, a tree or pairs instead of single labels
        (`labelwise.events`).
    correction : {"jackknife"}, optional
        Remove the leading bias of a finite ensemble: M members underestimate EU (for squared loss
        by the factor (M−1)/M). TU is raised by the same amount and may exceed its maximum. Needs M
        ≥ 2 equally weighted members and a smooth loss.
    n_jobs : int, optional
        Maximum number of threads for large NumPy ensembles; defaults to LABELWISE_THREADS, or one
        per core. Results are bit-identical for any value.

    Returns
    -------
    Uncertainty
        Arrays of shape (..., K) or (..., E), in the array library, dtype and device of ``q``. Dask
        arrays stay lazy: one task per block of instances validates and computes it, bit-identical
        to NumPy.

    Examples
    --------
    >>> q = lw.Ensemble(np.array([[[0.7, 0.2, 0.1]], [[0.1, 0.8, 0.1]]]), class_names=["lung", "lymphoma", "melanoma"])
    >>> u = decompose(q)
    >>> u.epistemic.round(3)  # the members disagree about two of the classes
    array([[0.296, 0.278, 0.   ]])
    >>> u["melanoma"].total.round(3)
    array([0.469])
    """  # noqa: E501
    if not isinstance(cast(Any, q), Distribution):
        raise not_a_distribution(q)
    loss = as_loss(loss)
    family = None if events is None else as_events(events)
    if correction is not None:
        _check_correction(q, loss, correction)
    if loss.per_event:
        loss = loss.bind(family.names if family else q.class_names or _numbers(q.n_classes))

    def equations(q: Distribution[Any]) -> Computed:
        law = q.marginal(family)
        # AU comes first because sampled laws know their mean afterwards.
        aleatoric = law.aleatoric(loss)  # AU = E G(Θ)        Eqs. (10), (18), (21)
        total = loss.entropy(*law.mean)  # TU = G(E Θ)        Eqs. (9), (17), (20)
        epistemic = law.epistemic(loss)  # EU = E D(Θ ‖ E Θ)  Eqs. (11), (19), (22)
        return Computed((total, aleatoric, epistemic), law.error(loss))

    # The same numbers, computed the fastest way.
    computed = compute(equations, q, loss, events=family, n_jobs=n_jobs)
    if correction is not None:

        def jackknife(q: Distribution[Any]) -> Computed:
            law: Any = q.marginal(family)
            return Computed((law.jackknife(loss),))

        (bias,) = compute(jackknife, q, n_jobs=n_jobs).parts
        total, aleatoric, epistemic = computed.parts
        computed = Computed((total + bias, aleatoric, epistemic + bias), computed.error)
    total, aleatoric, epistemic = computed.parts
    n_members = q.n_members if q.finite else None
    structure: Structure = "partition" if q.exclusive else "free"
    if family is not None:
        structure = family.structure(q.n_classes, q.class_names)
    joint = None
    if computed.joint is not None and q.exclusive:
        joint = JointUncertainty(
            **dict(zip(PARTS, computed.joint, strict=True)),
            bound=partial(loss.joint_maximum, total.shape[-1]),
            n_members=n_members,
            ids=q.ids,
        )
    has_factors = correction is None and getattr(q, "factors", None) is not None
    return Uncertainty(
        total,
        aleatoric,
        epistemic,
        class_names=family.names if family else q.class_names or _numbers(total.shape[-1]),
        loss=loss,
        events=family,
        structure=structure,
        error=None if computed.error is None else Components(*computed.error),
        sums=None if computed.sums is None else Components(*computed.sums),
        joint=joint,
        n_members=n_members,
        ids=q.ids,
        ensemble=q if has_factors else None,
    )


@lru_cache(maxsize=64)
def _numbers(k: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(k))


def _check_correction(q: Distribution[Any], loss: Loss, correction: str) -> None:
    if correction != "jackknife":
        raise ValueError(f"`correction` must be 'jackknife' or None; got {correction!r}")
    if not q.finite:
        raise ValueError(
            "`correction`: the jackknife corrects for a finite number of members; "
            f"{type(q).__name__} has no members. "
            "Leave `correction` out"
        )
    if not loss.smooth:
        raise ValueError(
            "`correction`: the jackknife needs a smooth loss; the entropy of "
            f"{type(loss).__name__} has a kink, where the bias does not "
            "decrease like 1/M. Leave `correction` out, or use a loss such as 'squared'"
        )
    if q.n_members is not None and q.n_members < 2:
        raise ValueError(
            f"`correction`: the jackknife needs at least 2 members; got M = {q.n_members}, whose "
            "epistemic uncertainty is unknown"
        )
    if getattr(q, "weights", None) is not None:
        raise ValueError(
            "`correction`: the jackknife is defined for equally weighted members; got `weights`. "
            "Leave one of the two out"
        )
