"""Label-wise total, aleatoric and epistemic uncertainty: Eqs. (9)–(16) of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._arrays import Array, like, namespace
from ._words import suggest
from .distributions import Distribution, Ensemble, MultiLabelEnsemble
from .events import Events, Label, as_events
from .losses import Loss, as_loss


@dataclass(frozen=True, eq=False)
class Components:
    """Total, aleatoric and epistemic uncertainty, one value per instance."""

    total: Array
    aleatoric: Array
    epistemic: Array
    maximum: float | None = None
    """The largest value that the total can take, if it is known."""

    def normalized(self) -> Components:
        """The same as shares of the maximum."""
        if self.maximum is None:
            raise ValueError("`normalized` needs the maximum of the sum, which is not known for weighted or overlapping events")
        if self.maximum == 0:
            raise ValueError("`normalized` divides by the maximum, which is 0: every cost is 0")
        return Components(self.total / self.maximum, self.aleatoric / self.maximum, self.epistemic / self.maximum, 1.0)


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
    exclusive: bool = True
    """Whether exactly one of the labels happens (singletons and partitions; not for multi-label predictions)."""
    summable: bool = True
    error: Components | None = None
    """95 % bounds on the numerical error, where the values come from (quasi-)Monte Carlo; ``None``: rounding only."""

    def __getitem__(self, name: str) -> Components:
        """The uncertainty about one label or event."""
        if name not in self.names:
            raise KeyError(f"no label {name!r}{suggest(name, self.names)}")
        i = self.names.index(name)
        largest = float(np.broadcast_to(np.asarray(self.loss.maximum, float), (len(self.names),))[i])
        return Components(self.total[..., i], self.aleatoric[..., i], self.epistemic[..., i], largest)

    def sum(self, weights: Sequence[float] | Mapping[str, float] | None = None) -> Components:
        r"""Global uncertainty :math:`\sum_k w_k\, \mathrm{TU}_k` and so on, Eqs. (12)–(14); weights for unequal stakes."""
        if weights is None and not self.summable:
            raise ValueError(
                f"these events ({', '.join(self.names[:4])}, …) overlap, so a plain sum counts classes more than once. "
                "Pass `weights`, one per event"
            )
        w = None if weights is None else self._weights(weights)

        def add(x: Array) -> Array:
            return namespace(x).sum(x if w is None else x * like(w, x), axis=-1)

        return Components(add(self.total), add(self.aleatoric), add(self.epistemic), self._maximum(w))

    def _weights(self, weights: Any) -> np.ndarray:
        if isinstance(weights, Mapping):
            if set(weights) != set(self.names):
                odd = sorted(set(map(str, weights)) ^ set(self.names))
                raise ValueError(f"`weights` must give one value for each label; missing or unknown: {', '.join(map(repr, odd[:5]))}")
            weights = [weights[name] for name in self.names]
        w = np.asarray(weights, dtype=float)
        if w.shape != (len(self.names),):
            raise ValueError(f"`weights` must have one value per label, shape ({len(self.names)},); got shape {w.shape}")
        if not np.all(np.isfinite(w)) or np.any(w < 0):
            raise ValueError("`weights` must be finite and not negative")
        return w

    def _maximum(self, weights: Any) -> float | None:
        n = len(self.names)
        if self.exclusive:
            return self.loss.maximum_of_sum(n, weights)
        if self.events is None or self.events.kind == "ordinal":  # nothing ties the labels (cuts) to each other
            return float(np.sum(np.broadcast_to(self.loss.maximum, (n,)) * (1 if weights is None else weights)))
        return None

    def normalized(self) -> Uncertainty:
        """Shares of the largest possible label-wise value, max G."""
        largest = like(np.broadcast_to(np.asarray(self.loss.maximum, float), (len(self.names),)).copy(), self.total)
        if np.any(np.asarray(self.loss.maximum) == 0):
            raise ValueError("`normalized` divides by the maximum of the loss, which is 0 for a label with a cost of 0")
        parts = {key: getattr(self, key) / largest for key in ("total", "aleatoric", "epistemic")}
        return replace(self, **parts, error=None)


def decompose(
    q: Distribution,
    loss: str | Loss = "log",
    *,
    events: Events | Mapping[str, Sequence[Label]] | None = None,
    correction: str | None = None,
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

    Returns
    -------
    Uncertainty
        Arrays of shape (..., K) or (..., E), of the same library, dtype and device as ``q``.

    Examples
    --------
    >>> q = Ensemble(np.array([[[0.7, 0.2, 0.1]], [[0.1, 0.8, 0.1]]]), names=["lung", "lymphoma", "melanoma"])
    >>> u = decompose(q)
    >>> u.epistemic.round(3)  # the members disagree about two of the classes
    array([[0.296, 0.278, 0.   ]])
    >>> u["melanoma"].total.round(3)
    array([0.469])
    """
    if not hasattr(q, "marginal"):
        raise TypeError(f"`q` must be a distribution such as lw.Ensemble(probs) or lw.Dirichlet(alpha); got {type(q).__name__}")
    loss = as_loss(loss)
    family = as_events(events)
    law = q.marginal(family)
    names = family.names if family else q.names or tuple(str(k) for k in range(q.n_classes))
    loss = loss.bind(names)
    total = loss.entropy(*law.mean)
    aleatoric, epistemic = law.split(loss)
    if correction is not None:
        bias = _jackknife(q, loss, family, correction)
        total, epistemic = total + bias, epistemic + bias
    multilabel = isinstance(q, MultiLabelEnsemble)
    error = Components(*law.error(loss)) if hasattr(law, "error") else None
    return Uncertainty(
        total,
        aleatoric,
        epistemic,
        names,
        loss,
        family,
        q.n_classes,
        exclusive=not multilabel and (family is None or family.is_partition(q.n_classes, q.names)),
        summable=family is None or family.summable(q.n_classes, q.names),
        error=error,
    )


def _jackknife(q: Distribution, loss: Loss, events: Events | None, correction: str) -> Array:
    if correction != "jackknife":
        raise ValueError(f"`correction` must be 'jackknife' or None; got {correction!r}")
    if not isinstance(q, Ensemble | MultiLabelEnsemble):
        raise ValueError(f"the jackknife corrects for a finite number of members; {type(q).__name__} is exact. Leave `correction` out")
    if not loss.smooth:
        raise ValueError(
            f"the jackknife needs a smooth loss; the entropy of {type(loss).__name__} has a corner, where its bias does not fall like 1/M"
        )
    if q.n_members < 2:
        raise ValueError(f"the jackknife needs at least 2 members; got M = {q.n_members}, which says nothing about epistemic uncertainty")
    if q.weights is not None:
        raise ValueError("the jackknife is defined for equally weighted members; got `weights`. Leave one of the two out")
    return q.marginal(events).jackknife(loss)
