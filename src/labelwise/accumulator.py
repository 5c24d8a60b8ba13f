"""Uncertainty of an ensemble that never is in memory as a whole: one member at a time, or shards
of members in different processes. The rule is in ``_engine/joining.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import Array, ClassNames, like, namespace
from ._engine import joining
from ._engine.blocks import with_values
from ._engine.ensembles import kernel_name, split_ensemble
from ._engine.host import back_to_library, on_host
from ._engine.joining import State
from ._errors import InputError
from ._frames import has_names
from ._validation.labels import check_names
from .decomposition import Components, Uncertainty
from .distributions import Ensemble, MultiLabelEnsemble
from .losses import Loss, LossName, as_loss

__all__ = ["Accumulator"]

# Members that are kept as they came: no more memory than the state that replaces them, and the
# kernel decomposes them all at once.
MAX_KEPT = 7


class Accumulator:
    """Label-wise uncertainty from members that come one after another; the state does not grow with
    their number: it holds no more than about eight of them.

    Parameters
    ----------
    loss : str or Loss
    class_names : sequence of str, optional
        Class names.
    multilabel : bool
        The labels may occur together (`MultiLabelEnsemble`); otherwise each member's probabilities
        sum to 1.

    Examples
    --------
    >>> acc = Accumulator("squared")
    >>> for member in np.array([[[0.9, 0.1]], [[0.7, 0.3]]]):
    ...     _ = acc.update(member)
    >>> acc.result().epistemic.round(3)
    array([[0.01, 0.01]])
    """

    def __init__(
        self,
        loss: LossName | Loss = "log",
        *,
        class_names: ClassNames | None = None,
        multilabel: bool = False,
    ) -> None:
        self.loss = as_loss(loss)
        self.multilabel = bool(multilabel)
        self.n_members = 0
        self._names = class_names
        self._shape: tuple[int, ...] | None = None
        """That of all members."""
        self._kept: Any = None
        """The ensemble of the first members, if all weigh the same; room for `MAX_KEPT`, of which
        `n_members` are filled.
        """
        self._kept_weight = 0.0
        self._state: State | None = None
        self._own = False
        """Whether the arrays of the state belong to this Accumulator alone, so that they can be
        changed in place.
        """
        self._like: Array = None
        """An array of the library that members come from."""

    def update(self, probs: Any, *, weight: Any = 1.0) -> Accumulator:
        """Add one member: an array (..., K), and its ``weight``, a number or one per instance
        (...,).
        """
        if has_names(probs):
            raise InputError("`probs` must be an array without names", fix="to_numpy")
        kind = MultiLabelEnsemble if self.multilabel else Ensemble
        if not getattr(probs, "shape", np.shape(probs)):
            raise InputError(
                "`probs` must be one member's predictions, (..., K); got a single number"
            )
        alone = probs[None] if hasattr(probs, "shape") else [probs]
        q = kind(alone, member_axis=0)
        p = q.probs[0, ...]
        xp, w = namespace(p), weight
        if isinstance(w, int | float | np.ndarray | np.number):
            w = like(w, p)
        if tuple(w.shape) not in ((), tuple(p.shape[:-1])):
            raise InputError(
                f"`weight` must be a number or have shape {tuple(p.shape[:-1])}; got "
                f"{tuple(w.shape)}"
            )
        if not bool(xp.all(xp.isfinite(w) & (w >= 0))):
            raise InputError("`weight` must be finite and not negative")
        self._check_shape(p)
        if not self._keep_member(q, p, w):
            self._replace_kept()
            self._join_member(p, w)
        self._like = p[..., :0]
        self.n_members += 1
        return self

    def _keep_member(self, q: Any, p: Array, w: Array) -> bool:
        """Keep a member ``q`` as it is, if all so far are kept and the kernel can decompose
        them.
        """
        values = on_host(p)
        if values is None or on_host(w) is None or kernel_name(self.loss) is None:
            return False
        if w.ndim or not w > 0:
            return False
        if self.n_members == 0:
            room = np.empty((MAX_KEPT, *p.shape), values.dtype)
            self._kept, self._kept_weight = with_values(q, stored=room), float(w)
        room_left = self._kept is not None and self.n_members < MAX_KEPT
        if not room_left or self._kept.stored.dtype != values.dtype or self._kept_weight != w:
            return False
        self._kept.stored[self.n_members] = values
        return True

    def _replace_kept(self) -> None:
        """Replace the first members by the state after them."""
        if self._kept is not None:
            members = self._kept.stored[: self.n_members]
            self._kept = None
            for p in members:
                self._join_member(p, like(self._kept_weight, p))

    def _join_member(self, p: Array, w: Array) -> None:
        instances = (*p.shape[:-1], 1)
        if w.ndim == 0:  # one weight for all instances
            instances = (1,) * p.ndim
        w = w.reshape(instances)
        self._join_state((w, 0 * w), [p])

    def _join_state(self, weight: Any, given: Any) -> None:
        """Join the state with a member, or with the arrays of another state."""
        loss = self._bound_loss(int(given[0].shape[-1]))
        self._state, self._own = joining.take_in(self._state, weight, given, loss, own=self._own)

    def merge(self, other: Accumulator) -> Accumulator:
        """Add what another Accumulator of the same loss has seen."""
        if not isinstance(other, Accumulator) or other._kind() != self._kind():
            raise InputError(
                "only an Accumulator of the same kind can be merged: with the same loss, "
                f"{self.loss!r}, and multilabel={self.multilabel}"
            )
        other._replace_kept()
        if other._state is None:
            return self
        self._replace_kept()
        k = int(other._state.spread.shape[-1])
        named = self._names is not None and other._names is not None
        if named and self._class_names(k) != other._class_names(k):
            raise InputError(
                "only an Accumulator with the same classes in the same order can be merged"
            )
        if self._state is None:
            self._state, self._like, self._shape = other._state, other._like, other._shape
            self._own = other._own = False  # from now on both have these arrays
        else:
            self._check_shape(other._state.spread)
            self._join_state(other._state[:2], other._state[2:])
        self.n_members += other.n_members
        return self

    def result(self) -> Uncertainty:
        """Label-wise uncertainty of all members so far."""
        if self._shape is None:
            raise InputError("there is no result yet: `update` has not been called")
        loss = self._bound_loss(self._shape[-1])
        parts, plain_sums = self._uncertainty(loss)
        # in the library that the members came from
        arrays = [back_to_library(x, self._like) for x in (*parts, *plain_sums)]
        total, aleatoric, epistemic, *sums = arrays
        return Uncertainty(
            total,
            aleatoric,
            epistemic,
            self._class_names(total.shape[-1]),
            loss,
            structure="free" if self.multilabel else "partition",
            sums=Components(*sums) if sums else None,
            n_members=self.n_members,
        )

    def _uncertainty(self, loss: Loss) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Total, aleatoric and epistemic uncertainty, and their sums if they came along."""
        if self._kept is not None:
            members = with_values(self._kept, stored=self._kept.stored[: self.n_members])
            computed: Any = split_ensemble(members, loss, None, None)
            return computed.parts, computed.sums
        state: Any = self._state
        if not bool(namespace(state.weight).all(state.weight > 0)):
            raise InputError("the weights so far are all zero (for some instance)")
        return joining.uncertainty_of_state(state, loss)

    def _kind(self) -> tuple[Any, ...]:
        """What two of a kind have in common; functions of one name need not be the same."""
        return repr(self.loss), getattr(self.loss, "function", None), self.multilabel

    def _class_names(self, k: int) -> tuple[str, ...]:
        return check_names(self._names, k) or tuple(map(str, range(k)))

    def _bound_loss(self, k: int) -> Loss:
        return self.loss.bind(self._class_names(k))

    def _check_shape(self, p: Array) -> None:
        shape = tuple(map(int, p.shape))
        if self._shape is None:
            self._bound_loss(shape[-1])  # refuses class names that do not fit
            self._shape = shape
        elif shape != self._shape:
            raise InputError(
                f"`probs` must have the same shape as the previous members, {self._shape}; got "
                f"{shape}"
            )
