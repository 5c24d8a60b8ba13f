"""Label-wise total, aleatoric and epistemic uncertainty: Eqs. (9)–(16) of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar

import numpy as np

from ._arrays import Array, as_real, like, namespace, to_numpy
from ._words import suggest
from .distributions import Distribution, Ensemble, MultiLabelEnsemble
from .distributions._blocks import split
from .distributions._instances import is_large, is_lazy, map_instances, of_no_instances
from .distributions.ensemble import Members
from .events import Events, Family, Structure, as_events
from .losses import LogLoss, Loss, SquaredLoss, as_loss


@dataclass(frozen=True, eq=False)
class Components:
    """Total, aleatoric and epistemic uncertainty, one value per instance."""

    total: Array
    aleatoric: Array
    epistemic: Array
    bound: float | Callable[[], float | None] | None = field(default=None, repr=False)
    """`maximum`, or the function that finds it when it is asked for."""
    error: Components | None = None
    """95 % bounds on the numerical error, where the values come from (quasi-)Monte Carlo; ``None``: rounding only."""

    @cached_property
    def maximum(self) -> float | None:
        """The largest value that the total can take, if it is known."""
        return self.bound() if callable(self.bound) else self.bound

    def normalized(self) -> Components:
        """The same as shares of the maximum."""
        if self.maximum is None:
            raise ValueError("`normalized` needs the largest value that the sum can take, which is not known for these events")
        if self.maximum == 0:
            raise ValueError("`normalized` divides by the largest value that the sum can take, which is 0: so are all its costs or weights")
        return replace(self._scaled(1 / self.maximum), bound=1.0)

    def _scaled(self, factor: float) -> Components:
        error = None if self.error is None else self.error._scaled(factor)
        return Components(self.total * factor, self.aleatoric * factor, self.epistemic * factor, error=error)


@dataclass(frozen=True, eq=False)
class JointUncertainty(Components):
    """Total, aleatoric and epistemic uncertainty about the class as a whole, shape (...,)."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Label-wise uncertainty: arrays of shape (..., K), or (..., E) for E events.

    ``u["melanoma"]`` picks a label, `sum` adds the labels up, `normalized` gives shares of the largest possible value.
    """

    total: Array
    aleatoric: Array
    epistemic: Array
    names: tuple[str, ...]
    loss: Loss
    events: Events | None = None
    n_classes: int = 0
    structure: Structure = "partition"
    """How the labels or events hang together; it decides whether a plain sum means something and how large it can be."""
    error: Components | None = None
    """95 % bounds on the numerical error, where the values come from (quasi-)Monte Carlo; ``None``: rounding only."""
    sums: Components | None = None
    """The plain sums, where they came with the labels' values."""
    joint: JointUncertainty | None = None
    """The uncertainty about all classes at once, where the same pass over the predictions gave it: for NumPy and Dask arrays in an
    `Ensemble`, log or squared loss, no ``events`` and no ``correction``. ``None`` elsewhere: use `labelwise.joint.decompose`."""
    unit: Array = 1.0
    """What the values have been divided by: 1, or after `normalized` the largest value of each label."""

    @property
    def maximum(self) -> np.ndarray:
        """The largest value that the total of each label can take, (K,) or (E,)."""
        return np.asarray(self.loss.maximum / self.unit + np.zeros(len(self.names)))

    def __getitem__(self, name: str) -> Components:
        """The uncertainty about one label or event."""
        if name not in self.names:
            raise KeyError(f"no label {name!r}{suggest(name, self.names)}")
        i = self.names.index(name)
        return self._each(lambda x: x[..., i], float(self.maximum[i]))

    def _each(self, f: Callable[[Array], Array], bound: Any = None) -> Components:
        """The three parts and their errors after ``f``."""
        parts = [Components(f(x.total), f(x.aleatoric), f(x.epistemic)) for x in (self, self.error) if x is not None]
        return replace(parts[0], bound=bound, error=parts[1] if len(parts) > 1 else None)

    def sum(self, weights: Sequence[float] | Mapping[str, float] | None = None) -> Components:
        r"""Global uncertainty :math:`\sum_k w_k\, \mathrm{TU}_k` and so on, Eqs. (12)–(14); weights for unequal stakes."""
        if weights is None and self.structure == "overlapping":
            raise ValueError(
                f"these events ({', '.join(self.names[:4])}{', …' if len(self.names) > 4 else ''}) overlap, so a plain sum counts classes "
                "more than once. Pass `weights`, one per event"
            )
        w = None if weights is None else self._weights(weights)

        if w is None and self.sums is not None:
            own = self.sums
            return Components(own.total, own.aleatoric, own.epistemic, lambda: self._maximum_of_sum(None), own.error)

        def add(x: Array) -> Array:
            return namespace(x).sum(x if w is None else x * like(w, x), axis=-1)

        return self._each(add, lambda: self._maximum_of_sum(w))

    def _weights(self, weights: Any) -> np.ndarray:
        if isinstance(weights, Mapping):
            for name in weights:
                if name not in self.names:
                    raise ValueError(f"`weights` names {name!r}, which is not a label{suggest(name, self.names)}")
            missing = [name for name in self.names if name not in weights]
            if missing:
                raise ValueError(f"`weights` must give one value for each label; missing: {', '.join(map(repr, missing[:5]))}")
            weights = [weights[name] for name in self.names]
        w = to_numpy(as_real(weights, "weights", integers=True)).astype(float)
        if w.shape != (len(self.names),):
            raise ValueError(f"`weights` must have one value per label, shape ({len(self.names)},); got shape {w.shape}")
        if not np.all(np.isfinite(w)) or np.any(w < 0):
            raise ValueError(f"`weights` must be finite and not negative; got {w[~(w >= 0) | np.isinf(w)][0]:g}")
        return w

    def _maximum_of_sum(self, weights: np.ndarray | None) -> float | None:
        n = len(self.names)
        if np.ndim(self.unit) or self.unit != 1:
            weights = (np.ones(n) if weights is None else weights) / self.unit
        if self.structure in ("partition", "disjoint"):
            return self.loss.maximum_of_sum(n, weights, exhaustive=self.structure == "partition")
        if self.structure == "nested":
            return self.loss.maximum_of_cuts(n, weights)
        if self.structure == "free" or (self.structure == "pairs" and np.ndim(self.loss.maximum) == 0):
            # a mixture of an order of the classes and its reverse gives all pairs the same mean, whichever is asked for
            return float(np.sum(self.loss.maximum * (np.ones(n) if weights is None else weights)))
        return None

    def normalized(self) -> Uncertainty:
        """Shares of the largest possible label-wise value, max G."""
        if np.any(self.maximum == 0):
            name = self.names[int(np.argmin(self.maximum))]
            raise ValueError(f"`normalized` divides by the largest value of each label, which is 0 for {name!r}: one of its costs is 0")
        parts = self._each(lambda x: x / like(self.maximum, x))
        return replace(
            self,
            total=parts.total,
            aleatoric=parts.aleatoric,
            epistemic=parts.epistemic,
            error=parts.error,
            sums=None,
            joint=None,
            unit=self.loss.maximum + np.zeros(len(self.names)),
        )


def decompose(
    q: Distribution,
    loss: str | Loss = "log",
    *,
    events: Family | None = None,
    correction: str | None = None,
    threads: int | None = None,
) -> Uncertainty:
    r"""Label-wise total, aleatoric and epistemic uncertainty.

    .. math::
        \mathrm{TU}_k = G(\mathbb{E}\,\Theta_k), \quad \mathrm{AU}_k = \mathbb{E}\,G(\Theta_k), \quad
        \mathrm{EU}_k = \mathrm{TU}_k - \mathrm{AU}_k = \mathbb{E}\, D(\Theta_k \Vert \mathbb{E}\,\Theta_k)

    Eqs. (9)–(11), (15), (16) of the paper, with the entropy G and the Bregman divergence D of the loss. EU is computed as the
    expected divergence, never as a difference: it is not negative, and 0 when the members agree.

    Parameters
    ----------
    q : distribution
        `Ensemble`, `Dirichlet`, `DirichletMixture`, `LogisticNormal` or `MultiLabelEnsemble`.
    loss : str or Loss
        ``"log"`` (bits), ``"squared"`` (= ``"brier"``), ``"spherical"``, ``"zero_one"``, or a loss object.
    events : mapping or Events, optional
        Ask about groups of classes, ordinal cuts, a tree or pairs instead of single labels (`labelwise.events`).
    correction : {"jackknife"}, optional
        Remove the leading bias of a finite ensemble: M members underestimate EU (for squared loss by the factor (M−1)/M).
        TU is raised by the same amount and may pass its maximum. Needs M ≥ 2 equally weighted members and a smooth loss.
    threads : int, optional
        At most so many threads for large NumPy ensembles; by default LABELWISE_THREADS, or one per core. It does not change a bit.

    Returns
    -------
    Uncertainty
        Arrays of shape (..., K) or (..., E), of the same library, dtype and device as ``q``. Those of Dask stay lazy: one task for
        each block of instances checks and computes it, to the same bits as NumPy.

    Examples
    --------
    >>> q = Ensemble(np.array([[[0.7, 0.2, 0.1]], [[0.1, 0.8, 0.1]]]), names=["lung", "lymphoma", "melanoma"])
    >>> u = decompose(q)
    >>> u.epistemic.round(3)  # the members disagree about two of the classes
    array([[0.296, 0.278, 0.   ]])
    >>> u["melanoma"].total.round(3)
    array([0.469])
    """
    if isinstance(q, type) or not hasattr(q, "marginal"):
        given = f"the class {q.__name__}" if isinstance(q, type) else type(q).__name__
        raise TypeError(f"`q` must be a distribution such as lw.Ensemble(probs) or lw.Dirichlet(alpha); got {given}")
    loss = as_loss(loss)
    members = q if isinstance(q, Members) and isinstance(q.stored, np.ndarray) else None
    if members is None and (is_lazy(q) or is_large(q)):  # Dask has threads of its own
        return by_instances(partial(decompose, loss=loss, events=events, correction=correction, threads=threads or 1), q)
    if correction is not None:
        _check_correction(q, loss, correction)
    family = as_events(events)
    names = family.names if family else q.names or _numbers(q.n_classes)
    loss = loss.bind(names)
    error = sums = joint = None
    if members is not None:
        (total, aleatoric, epistemic), sums, whole = split(members, loss, family, jackknife=correction is not None, threads=threads)
        if whole is not None and isinstance(q, Ensemble) and isinstance(loss, LogLoss | SquaredLoss):
            joint = JointUncertainty(whole[0], whole[1], whole[2], loss.joint_maximum(q.n_classes))
    else:
        law: Any = q.marginal(family)
        total = loss.entropy(*law.mean)
        aleatoric, epistemic = law.split(loss)
        if correction is not None:
            bias = law.jackknife(loss)
            total, epistemic = total + bias, epistemic + bias
        error = Components(*law.error(loss)) if hasattr(law, "error") else None
    structure: Structure = "free" if isinstance(q, MultiLabelEnsemble) else "partition"
    return Uncertainty(
        total,
        aleatoric,
        epistemic,
        names,
        loss,
        family,
        q.n_classes,
        structure=structure if family is None else family.structure(q.n_classes, q.names),
        error=error,
        sums=None if sums is None else Components(*sums),
        joint=joint,
    )


@lru_cache(maxsize=64)
def _numbers(k: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(k))


Result = TypeVar("Result", bound=Uncertainty | Components)


def by_instances(f: Callable[[Any], Result], q: Distribution) -> Result:
    """``f(q)``, computed for one block of instances after another; of Dask arrays lazily, with one task for all parts of a block."""
    known = f(of_no_instances(q))
    arrays = iter(map_instances(partial(_parts, f), q, _arrays_of(known)))

    def take(error: bool) -> dict[str, Any]:
        parts = {name: next(arrays) for name in ("total", "aleatoric", "epistemic")}
        return {**parts, "error": Components(**take(False)) if error else None}

    with_error = known.error is not None
    parts = take(with_error)
    if _sums_of(known) is not None:
        parts["sums"] = Components(**take(with_error))
    if isinstance(known, Uncertainty) and known.joint is not None:
        parts["joint"] = replace(known.joint, **take(False))
    return replace(known, **parts)


def _parts(f: Callable[[Any], Uncertainty | Components], q: Distribution) -> tuple[Array, ...]:
    return _arrays_of(f(q))


def _sums_of(u: Uncertainty | Components) -> Components | None:
    """The plain sums over the labels, where these mean something."""
    return u.sum() if isinstance(u, Uncertainty) and u.structure != "overlapping" else None


def _arrays_of(u: Uncertainty | Components) -> tuple[Array, ...]:
    """The values of a result, of its sums and of its joint measures, each followed by its errors where there are any."""
    sums = _sums_of(u)
    parts = [u, u.error] if sums is None else [u, u.error, sums, sums.error]
    if isinstance(u, Uncertainty):
        parts.append(u.joint)
    return tuple(x for part in parts if part is not None for x in (part.total, part.aleatoric, part.epistemic))


def _check_correction(q: Distribution, loss: Loss, correction: str) -> None:
    if correction != "jackknife":
        raise ValueError(f"`correction` must be 'jackknife' or None; got {correction!r}")
    if not isinstance(q, Ensemble | MultiLabelEnsemble):
        raise ValueError(
            f"`correction`: the jackknife corrects for a finite number of members; {type(q).__name__} is not made of samples. "
            "Leave `correction` out"
        )
    if not loss.smooth:
        raise ValueError(
            f"`correction`: the jackknife needs a smooth loss; the entropy of {type(loss).__name__} has a corner, where the bias does not "
            "fall like 1/M. Leave `correction` out, or use a loss such as 'squared'"
        )
    if q.n_members < 2:
        raise ValueError(
            f"`correction`: the jackknife needs at least 2 members; got M = {q.n_members}, whose epistemic uncertainty is unknown"
        )
    if q.weights is not None:
        raise ValueError("`correction`: the jackknife is defined for equally weighted members; got `weights`. Leave one of the two out")
