"""Mean label-wise uncertainty over batches and processes, as a metric that is updated and
computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import ClassNames, to_numpy
from ._errors import InputError
from ._frames import order_of_names
from ._validation.labels import check_names
from .decomposition import PARTS, Uncertainty, decompose
from .distributions import Distribution, Ensemble, MultiLabelEnsemble
from .events import Structure
from .losses import Loss, LossName, as_loss

__all__ = ["LabelwiseMetric"]


class LabelwiseMetric:
    """Mean total, aleatoric and epistemic uncertainty of each label over all instances seen, batch
    after batch.

    The state is 3K + 1 sums over instances (`state`). To combine processes, add their states
    (``all_reduce``); the result does not depend on how the instances were distributed.

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
    >>> for ill in ([0.1, 0.3], [0.5, 0.5]):  # two batches of two members (M, N, K), one case each
    ...     _ = metric.update(np.array([[[1 - p, p]] for p in ill]))
    >>> metric.compute().epistemic, metric.n_instances
    (array([0.005, 0.005]), 2)
    """

    def __init__(
        self,
        loss: LossName | Loss = "log",
        class_names: ClassNames | None = None,
        *,
        multilabel: bool = False,
    ) -> None:
        self.loss = as_loss(loss)
        self.class_names = None
        if class_names is not None:
            self.class_names = check_names(class_names, len(class_names))
        self.multilabel = bool(multilabel)
        self.reset()

    def reset(self) -> LabelwiseMetric:
        """Set all sums to zero."""
        self._names = self.class_names
        """Those of the first batch, if none were given."""
        self._sums = np.zeros(3 * len(self._names or ()) + 1)
        self._structure: Structure = "free" if self.multilabel else "partition"
        self._one_member = True
        return self

    @property
    def n_instances(self) -> int:
        """How many instances have been seen."""
        return int(self._sums[-1])

    @property
    def state(self) -> np.ndarray:
        """The sums of total, aleatoric and epistemic uncertainty of each label and the number of
        instances, (3K + 1,), float64.

        Before the first `update` it is zero, with K = 0 unless ``class_names`` are given.
        """
        return self._sums.copy()

    def load_state(self, state: Any) -> LabelwiseMetric:
        """Replace the state, for instance by the sum over several processes."""
        sums = to_numpy(state).astype(float)
        fits = sums.ndim == 1 and sums.size > 3 and sums.size % 3 == 1
        if not fits or not np.all(np.isfinite(sums) & (sums >= 0)):
            raise InputError(
                f"`state` must be 3K + 1 finite sums that are not negative; got shape {sums.shape}"
            )
        self._check_labels(tuple(map(str, range(len(sums) // 3))))
        self._sums, self._one_member = sums.copy(), False
        return self

    def update(self, probs: Any) -> LabelwiseMetric:
        """Add a batch: probabilities (M, ..., K) of any array library, or a distribution."""
        q = probs
        if not isinstance(q, Distribution):
            kind = MultiLabelEnsemble if self.multilabel else Ensemble
            q = kind(probs, class_names=self.class_names)
        u = decompose(q, self.loss)
        names = self._check_labels(u.class_names)
        parts = np.stack([to_numpy(getattr(u, part)) for part in PARTS], dtype=float)
        parts = parts.reshape(len(PARTS), -1, len(names))
        if q.class_names is not None:
            parts = parts[..., order_of_names(q.class_names, names, "`probs`")]
        self._structure = u.structure
        self._sums = self._sums + np.append(parts.sum(axis=1), parts.shape[1])
        self._one_member = self._one_member and u.n_members == 1
        return self

    def compute(self) -> Uncertainty:
        """The means over all instances seen, as an `Uncertainty` of arrays (K,):
        ``metric.compute().to_dict()`` for a logger.
        """
        if self._names is None or not self.n_instances:
            raise InputError("there is nothing to compute yet: `update` has not been called")
        total, aleatoric, epistemic = self._sums[:-1].reshape(3, -1) / self._sums[-1]
        return Uncertainty(
            total,
            aleatoric,
            epistemic,
            class_names=self._names,
            loss=self.loss.bind(self._names),
            structure=self._structure,
            n_members=1 if self._one_member else None,
        )

    def _check_labels(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The labels, which are ``names`` if none are known yet; their number must be the same."""
        if self._names is None:
            self._names = names
        if len(names) != len(self._names):
            raise InputError(f"the metric has {len(self._names)} labels; got {len(names)}")
        return self._names
