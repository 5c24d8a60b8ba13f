"""Uncertainty of an ensemble that never is in memory as a whole: one member at a time, or shards
of members in different processes. The rule is in ``_engine/joining.py``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import Array, ClassNames, like, namespace, to_numpy
from ._engine import joining
from ._engine.host import back
from ._engine.joining import State
from ._errors import InputError
from ._validation.labels import check_names
from .decomposition import Components, Uncertainty
from .distributions import Ensemble, MultiLabelEnsemble
from .distributions.named_predictions import has_names
from .losses import CustomLoss, Loss, LossName, as_loss

__all__ = ["Accumulator"]

# Members that are kept as they are, if they weigh the same: together they take no more memory than
# the state that replaces them.
FIRST = 7


class Accumulator:
    """Label-wise uncertainty from members that come one after another; the state does not grow with
    their number.

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
        self._state: State | None = None
        self._own = False
        """Whether the arrays of the state belong to this Accumulator alone, so that they can be
        changed in place.
        """
        self._like: Array = None
        """An array of the library that members come from."""
        self._first: np.ndarray | None = None
        """Up to `FIRST` members of equal weight before there is a state, (FIRST, ..., K), of which
        `n_members` are filled.
        """
        self._weight = 1.0

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
        p = kind(alone, member_axis=0).probs[0, ...]
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
        if not self._keep(p, w):
            self._fold()
            self._add(p, w)
        self._like = p[..., :0]
        self.n_members += 1
        return self

    def _keep(self, p: Array, w: Array) -> bool:
        """Keep a member as it is, if there are only such members and the kernel can compute with
        them.
        """
        if self._state is not None or self.n_members == FIRST or w.ndim or not float(w) > 0:
            return False
        values = joining.in_main_memory(self._bound(p.shape[-1]), p)
        if values is None:
            return False
        (member,) = values
        if self._first is None:
            self._first = np.empty((FIRST, *p.shape), member.dtype)
        elif member.dtype != self._first.dtype or float(w) != self._weight:
            return False
        self._first[self.n_members] = member
        self._weight = float(w)
        return True

    def _fold(self) -> None:
        """Replace the first members by the state after them."""
        if self._first is not None:
            first, self._first = self._first[: self.n_members], None
            for p in first:
                self._add(p, np.asarray(self._weight, p.dtype))

    def _add(self, p: Array, w: Array) -> None:
        """Join the state with a member."""
        instances = (*p.shape[:-1], 1)
        if w.ndim == 0:
            instances = (1,) * p.ndim
        w = w.reshape(instances)
        self._take_in((w, 0 * w), [p])

    def _take_in(self, weight: Any, given: Any) -> None:
        loss = self._bound(int(given[0].shape[-1]))
        self._state, self._own = joining.take_in(self._state, weight, given, loss, own=self._own)

    def merge(self, other: Accumulator) -> Accumulator:
        """Add what another Accumulator of the same loss has seen."""
        if not isinstance(other, Accumulator) or not _same_kind(self, other):
            raise InputError(
                f"only an Accumulator of the same kind can be merged; this one has {self.loss!r}, "
                f"the other {_describe(other)}"
            )
        other._fold()
        if other._state is None:
            return self
        k = int(other._state.spread.shape[-1])
        named = self._names is not None and other._names is not None
        if named and self._class_names(k) != other._class_names(k):
            raise InputError(
                "only an Accumulator with the same classes in the same order can be merged"
            )
        self._fold()
        if self._state is None:
            self._state, self._own, self._like = other._state, False, other._like
        else:
            self._check_shape(other._state.spread)
            self._take_in(other._state[:2], other._state[2:])
        self.n_members += other.n_members
        return self

    def result(self) -> Uncertainty:
        """Label-wise uncertainty of all members so far."""
        if self._first is not None:
            loss = self._bound(self._first.shape[-1])
            found = joining.of_members(self._first[: self.n_members], loss)
        elif self._state is not None:
            state = self._state
            if not bool(namespace(state.weight).all(state.weight > 0)):
                raise InputError("the weights so far are all zero (for some instance)")
            loss = self._bound(state.spread.shape[-1])
            found = joining.concluded(state, loss)
        else:
            raise InputError("there is no result yet: `update` has not been called")
        parts, sums = found
        if self._like is not None:
            parts = tuple([back(x, self._like) for x in parts])
            sums = tuple([back(x, self._like) for x in sums])
        total, aleatoric, epistemic = parts
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

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the state to an .npz file, so that another process can go on (`load`) or join it
        (`merge`).
        """
        from .io.atomic import replacing

        self._fold()
        if self._state is None:
            raise InputError("there is nothing to save yet: `update` has not been called")
        arrays: dict[str, Any] = dict(zip(State._fields, map(to_numpy, self._state), strict=True))
        arrays["n_members"] = np.asarray(self.n_members)
        arrays["description"] = np.asarray(_describe(self))
        path = Path(path)
        with replacing(path) as file:
            np.savez(file, **arrays)
        return path

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], loss: LossName | Loss = "log", **options: Any
    ) -> Accumulator:
        """An Accumulator as it was saved; ``loss`` and options must be those it was made with."""
        from .io.files import reading

        self = cls(loss, **options)
        keys = [*State._fields, "n_members", "description"]
        with reading(path), np.load(path) as stored:
            found = {key: stored[key] for key in keys if key in stored}
        missing = [key for key in keys if key not in found]
        if missing:
            raise InputError(
                f"{str(path)!r} is not a saved Accumulator: it has no {', '.join(missing)}"
            )
        if str(found["description"]) != _describe(self):
            raise InputError(
                f"{str(path)!r} was saved with {found['description']}; it cannot go on with "
                f"{_describe(self)}"
            )
        self._state, self._own = State(*map(np.array, map(found.get, State._fields))), True
        self.n_members = int(found["n_members"])
        return self

    def _class_names(self, k: int) -> tuple[str, ...]:
        return check_names(self._names, k) or tuple(map(str, range(k)))

    def _bound(self, k: int) -> Loss:
        return self.loss.bind(self._class_names(k))

    def _check_shape(self, p: Array) -> None:
        before = p
        if self._state is not None:
            before = self._state.spread
        elif self._first is not None:
            before = self._first[0]
        if tuple(p.shape) != tuple(before.shape):
            raise InputError(
                "`probs` must have the same shape as the previous members, "
                f"{tuple(before.shape)}; got "
                f"{tuple(p.shape)}"
            )


def _same_kind(a: Accumulator, b: Accumulator) -> bool:
    """Whether two Accumulators have the same loss; functions of one name need not be the same."""
    if isinstance(a.loss, CustomLoss) and isinstance(b.loss, CustomLoss):
        return bool(a.loss.function == b.loss.function) and a.multilabel == b.multilabel
    return _describe(a) == _describe(b)


def _describe(acc: Any) -> str:
    if not isinstance(acc, Accumulator):
        return type(acc).__name__
    if acc.multilabel:
        return f"{acc.loss!r}, multilabel"
    return repr(acc.loss)
