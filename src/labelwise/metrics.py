"""Mean label-wise uncertainty over batches and processes, as a metric that is updated, merged and
computed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ._arrays import ClassNames, check_names, to_numpy
from ._frames import values_by_class
from .decomposition import PARTS, Uncertainty, decompose
from .distributions import Distribution, Ensemble, MultiLabelEnsemble
from .losses import Loss, LossName, as_loss

__all__ = ["LabelwiseMetric"]


class LabelwiseMetric:
    """Mean total, aleatoric and epistemic uncertainty of each label over all instances seen, batch
    after batch.

    The state is 3K + 1 sums over instances (`state`). To combine processes, add their states
    (``all_reduce``) or `merge`; the result does not depend on how the instances were distributed.

    Parameters
    ----------
    loss : str or Loss
    class_names : sequence of str, optional
        Class names.
    multilabel : bool
        The labels may occur together (`MultiLabelEnsemble`).

    Examples
    --------
    >>> metric = LabelwiseMetric("squared", class_names=["nevus", "melanoma"])
    >>> for batch in np.array([[[[0.9, 0.1]], [[0.7, 0.3]]], [[[0.5, 0.5]], [[0.5, 0.5]]]]):  # two batches of (M, N, K)
    ...     _ = metric.update(batch)
    >>> metric.compute().epistemic, metric.n_instances
    (array([0.005, 0.005]), 2)
    """  # noqa: E501

    def __init__(
        self,
        loss: LossName | Loss = "log",
        class_names: ClassNames | None = None,
        *,
        multilabel: bool = False,
    ) -> None:
        self.loss = as_loss(loss)
        self.class_names = (
            None if class_names is None else check_names(class_names, len(class_names))
        )
        self.multilabel = bool(multilabel)
        self.reset()

    def reset(self) -> LabelwiseMetric:
        """Set all sums to zero."""
        self._sums = np.zeros(0)
        self._like: Uncertainty | None = None
        return self

    @property
    def n_instances(self) -> int:
        """How many instances have been seen."""
        return int(self._sums[-1]) if self._sums.size else 0

    @property
    def state(self) -> np.ndarray:
        """The sums of total, aleatoric and epistemic uncertainty of each label and the number of
        instances, (3K + 1,), float64.

        Before the first `update` it is empty, or zero where ``class_names`` are given.
        """
        if not self._sums.size and self.class_names is not None:
            return np.zeros(3 * len(self.class_names) + 1)
        return self._sums.copy()

    def load_state(self, state: Any) -> LabelwiseMetric:
        """Replace the state, for instance by the sum over several processes."""
        sums = to_numpy(state).astype(float)
        if (
            sums.ndim != 1
            or len(sums) % 3 != 1
            or not np.all(np.isfinite(sums))
            or np.any(sums < 0)
        ):
            raise ValueError(
                f"`state` must be 3K + 1 finite sums that are not negative; got shape {sums.shape}"
            )
        self._expect(len(sums))
        if self._like is None:  # only the labels and the loss are taken from it
            k = len(sums) // 3
            kind = MultiLabelEnsemble if self.multilabel else Ensemble
            self._like = decompose(
                kind(np.full((2, k), 1 / k), member_axis=0, class_names=self.class_names), self.loss
            )
        self._sums = sums.copy()
        return self

    def update(self, probs: Any) -> LabelwiseMetric:
        """Add a batch: probabilities (M, ..., K) of any array library, or a distribution."""
        kind = MultiLabelEnsemble if self.multilabel else Ensemble
        q = probs if isinstance(probs, Distribution) else kind(probs, class_names=self.class_names)
        u = decompose(q, self.loss)
        k = len(u.class_names)
        self._expect(3 * k + 1)
        known = self.class_names or (
            u.class_names if self._like is None else self._like.class_names
        )
        order = list(range(k))
        if q.class_names is not None and q.class_names != known:
            order = values_by_class(dict(zip(q.class_names, order, strict=True)), known, "probs")
        parts = [
            to_numpy(getattr(u, part)).astype(float).reshape(-1, k)[:, order] for part in PARTS
        ]
        sums = np.concatenate([*(x.sum(axis=0) for x in parts), [len(parts[0])]])
        self._add(sums, replace(u, class_names=known))
        return self

    def merge(self, other: LabelwiseMetric) -> LabelwiseMetric:
        """Add what another metric of the same loss and labels has seen."""
        if (
            not isinstance(other, LabelwiseMetric)
            or repr(other.loss) != repr(self.loss)
            or other.multilabel != self.multilabel
        ):
            raise ValueError(
                f"only a LabelwiseMetric of the same kind can be merged; this one has {self.loss!r}"
            )
        if other._like is not None:
            self._expect(len(other._sums))
            known = self.class_names or (None if self._like is None else self._like.class_names)
            if known is not None and other._like.class_names != known:
                raise ValueError(
                    "only a LabelwiseMetric with the same labels in the same order can be merged; "
                    f"this one has {known}, the other {other._like.class_names}"
                )
            self._add(other._sums, other._like)
        return self

    def compute(self) -> Uncertainty:
        """The means over all instances seen, as an `Uncertainty` of arrays (K,):
        ``metric.compute().to_dict()`` for a logger.
        """
        if self._like is None or not self.n_instances:
            raise ValueError("there is nothing to compute yet: `update` has not been called")
        total, aleatoric, epistemic = self._sums[:-1].reshape(3, -1) / self._sums[-1]
        return replace(
            self._like,
            total=total,
            aleatoric=aleatoric,
            epistemic=epistemic,
            error=None,
            sums=None,
            joint=None,
        )

    def _add(self, sums: np.ndarray, u: Uncertainty) -> None:
        members = [x.n_members for x in (u, self._like) if x is not None]
        self._like = replace(
            u,
            sums=None,
            joint=None,
            error=None,
            ids=None,
            n_members=None if None in members else max(members),  # type: ignore[type-var]
        )
        self._sums = sums + (self._sums if self._sums.size else 0.0)

    def _expect(self, size: int) -> None:
        """The number of labels must stay the same."""
        known = self._sums.size or (
            0 if self.class_names is None else 3 * len(self.class_names) + 1
        )
        if known and size != known:
            raise ValueError(f"the metric has {known // 3} labels; got {size // 3}")
