"""Predictions of N instances and what is known about them, in memory or still in their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import Array, to_numpy
from .._engine.blocks import row_blocks
from .._errors import InputError
from .._tables import counted
from .._validation.labels import as_labels, check_names
from ..distributions import Dirichlet, DirichletMixture, Distribution, Ensemble, MultiLabelEnsemble
from ..distributions.base import not_a_distribution
from .files import file_name
from .grid import Grid
from .on_disk import DType, OnDisk, release_pages

KINDS = ("probs", "logits", "log_probs", "alpha", "evidence")
"""What predictions may be given as; the last two are parameters of Dirichlet distributions."""
KEYS = (*KINDS, "y_true", "class_names", "ids", "groups", "weights", "images", "member_names")
"""What a prediction file may hold, besides factors of the members such as ``factor.prompt``."""
FACTOR = "factor."
Fields = dict[str, Any]
"""What was found in a file: predictions under one of `KINDS`, and other fields of `Predictions`."""
_PER_INSTANCE = ("y_true", "ids", "groups", "images")
_LABELS_AT_ONCE = 1 << 20
BLOCK = 1 << 23
"""Numbers (members × instances × classes) that are worked on at a time."""


def kind_of(fields: Fields) -> str:
    """What the predictions of a file are given as."""
    return next(kind for kind in KINDS if kind in fields)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of N instances; arrays may be memory maps or columns on disk, of which only what
    is asked for is read.

    Exactly one of ``probs``, ``logits``, ``log_probs`` (M, N, K), ``alpha``, ``evidence`` (N, K) or
    (M, N, K) and ``q`` is given. Shapes, types and labels are checked here; that probabilities are
    probabilities is checked where they are used, by :meth:`distribution`. Slices, masks and
    positions give some of the instances.

    Examples
    --------
    >>> p = Predictions(probs=np.full((5, 3, 2), 0.5), class_names=("healthy", "ill"))
    >>> len(p), p.n_classes, p.n_members, p[1:].distribution().batch_shape
    (3, 2, 5, (2,))
    """

    probs: Array = None
    """Class probabilities of M members, (M, N, K)."""
    logits: Array = None
    """Network outputs before softmax, (M, N, K); before the sigmoid where labels may occur
    together.
    """
    log_probs: Array = None
    """Natural logarithms of class probabilities, (M, N, K)."""
    alpha: Array = None
    """Parameters of a Dirichlet distribution for each instance, (N, K), or of a mixture of M, (M,
    N, K).
    """
    evidence: Array = None
    """Evidence e ≥ 0 of evidential networks: ``alpha`` is e + 1."""
    y_true: Array = None
    """Labels, (N,): class names, or positions 0 … K − 1; integers are names where all
    ``class_names`` are integers. For labels that may occur together 0 or 1 for each, (N, K).
    """
    class_names: tuple[str, ...] | None = None
    ids: Array | None = None
    """What the user calls the instances, (N,)."""
    groups: Array | None = None
    """Which instances belong together, for example a patient's, (N,)."""
    weights: Array | None = None
    """Weights of the members, (M,) or (M, N)."""
    images: Array | None = None
    """(N, H, W) or (N, H, W, C)."""
    q: Distribution | None = None
    """A distribution of N instances, instead of numbers."""
    multilabel: bool | None = None
    """Whether the labels may occur together; by default what ``y_true`` (N, K) or ``q`` says."""
    grid: Grid | None = None
    """The axes of instances in the file, if there were several."""
    factors: Mapping[str, Sequence[str]] | None = None
    """What distinguishes the members, such as the prompt and the model of each."""
    member_names: tuple[str, ...] | None = None
    """What the members are called: by the file, its columns, or the names of their files."""
    notes: tuple[str, ...] = ()
    """What was assumed when they were read, such as that rows were matched by number."""
    path: Path | None = field(default=None, repr=False)
    """The file they are in, for error messages."""
    kind: str = field(init=False, repr=False)
    """Which of the fields the predictions are."""

    def __post_init__(self) -> None:
        if self.q is not None and not isinstance(self.q, Distribution):
            raise not_a_distribution(self.q)
        given = [kind for kind in (*KINDS, "q") if getattr(self, kind) is not None]
        if len(given) != 1:
            needed = "`probs`, `logits` or `log_probs` (M, N, K), or `alpha` or `evidence` (N, K)"
            raise ValueError(
                f"predictions are given as one of {needed}; got {' and '.join(given) or 'none'}"
            )
        object.__setattr__(self, "kind", given[0])
        if self.q is None:
            self._check_values()
        else:
            self._check_distribution(self.q)
        for key in _PER_INSTANCE:
            rows = getattr(self, key)
            if rows is not None and tuple(rows.shape[:1]) != (len(self),):
                raise ValueError(
                    f"`{key}` must have one entry for each of the N = {len(self)} instances of "
                    f"`{self.kind}`; got shape {rows.shape}"
                )
        if self.images is not None and len(self.images.shape) not in (3, 4):
            raise ValueError(
                f"`images` must have shape (N, H, W) or (N, H, W, C); got {self.images.shape}"
            )
        if self.class_names is not None:
            names = check_names(self.class_names, self.n_classes)
            object.__setattr__(self, "class_names", names)
        if self.y_true is not None:
            self._check_labels(self.y_true)

    def _check_values(self) -> None:
        if self.multilabel is None:
            together = self.y_true is not None and self.y_true.ndim == 2
            object.__setattr__(self, "multilabel", together)
        dirichlet = self.kind in ("alpha", "evidence")
        if self.dtype.kind != "f":
            raise TypeError(f"`{self.kind}` must be floating point; got {self.dtype}")
        if len(self.shape) != 3 and not (dirichlet and len(self.shape) == 2):
            axes = "3 axes (members, instances, classes)"
            if dirichlet:
                axes = "2 axes (instances, classes) or 3 (members, instances, classes)"
            raise ValueError(f"`{self.kind}` must have {axes}; got shape {self.shape}")
        if self.weights is not None:
            fits = tuple(self.weights.shape) in (self.shape[:1], self.shape[:2])
            if len(self.shape) == 2 or not fits:
                raise ValueError(
                    f"`weights` must have shape (M,) or (M, N) of `{self.kind}` (M, N, K); got "
                    f"{self.weights.shape} for {self.shape}"
                )
        if self.multilabel and dirichlet:
            raise ValueError(
                "labels that may occur together need `probs`: a Dirichlet is about classes that "
                "exclude each other"
            )

    def _check_distribution(self, q: Distribution) -> None:
        if self.multilabel is None:
            object.__setattr__(self, "multilabel", not q.exclusive)
        if len(q.batch_shape) != 1:
            raise ValueError(
                f"predictions are of instances on one axis; got shape {q.batch_shape}. Reshape "
                "them to (M, N, K) first"
            )
        if self.multilabel and q.exclusive:
            raise ValueError(
                "`multilabel` is for stored predictions; make the distribution an "
                "lw.MultiLabelEnsemble instead"
            )
        object.__setattr__(self, "class_names", q.class_names)
        for key in ("member_names", "factors"):
            object.__setattr__(self, key, getattr(q, key, None))

    def _check_labels(self, y: Array) -> None:
        if self.multilabel:
            indicators = y.dtype.kind in "biu" and not (y.size and (y.min() < 0 or y.max() > 1))
            if y.shape[1:] != (self.n_classes,) or not indicators:
                raise ValueError(
                    f"`y_true` (N, K) must say 0 or 1 for each of the K = {self.n_classes} labels; "
                    f"got {y.dtype} of shape {y.shape}"
                )
            return
        for rows in row_blocks(len(y), 1, _LABELS_AT_ONCE):  # little of a mapped file
            as_labels(y[rows], "y_true", self.names, (rows.stop - rows.start,))
        release_pages(y)

    @property
    def _stored_numbers(self) -> Any:
        return getattr(self, self.kind)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """(M, N, K), or (N, K) without members."""
        if self.q is None:
            return tuple(self._stored_numbers.shape)
        if self.q.n_members is None:
            return len(self.q), self.q.n_classes
        return self.q.n_members, len(self.q), self.q.n_classes

    @property
    def dtype(self) -> DType:
        """The type of the stored numbers."""
        return np.dtype(float if self.q is not None else self._stored_numbers.dtype)

    def __len__(self) -> int:
        return self.shape[-2]

    @property
    def n_classes(self) -> int:
        return self.shape[-1]

    @property
    def n_members(self) -> int | None:
        """How many members an ensemble has; ``None``: it is a continuous distribution."""
        if self.kind in ("alpha", "evidence") or (self.q is not None and not self.q.finite):
            return None
        return self.shape[0]

    @property
    def weighted(self) -> bool:
        return self.weights is not None or (self.q is not None and self.q.weights is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The class names; without any, the positions as text."""
        return self.class_names or tuple(map(str, range(self.n_classes)))

    @cached_property
    def true_class(self) -> np.ndarray:
        """The positions 0 … K − 1 of the true classes, (N,); for labels that may occur together
        whether each is true, (N, K).
        """
        if self.y_true is None:
            raise ValueError("`true_class` needs the true labels, `y_true`")
        y = to_numpy(self.y_true)
        if self.multilabel:
            return y.astype(bool)
        return as_labels(y, "y_true", self.names, y.shape[:1])

    def check_same_model(self, other: Predictions, name: str) -> None:
        """Refuse predictions called ``name`` of other classes, or of another number of members:
        they cannot be of the same model.
        """
        named = self.class_names is not None and other.class_names is not None
        if other.n_classes != self.n_classes or (named and other.names != self.names):
            raise ValueError(
                f"{name} has other classes than the predictions, or in another order; both must "
                "come from the same model"
            )
        if other.n_members != self.n_members:  # a continuous distribution has none
            raise InputError(
                f"{name} has {counted(other.n_members or 0, 'member')} and the predictions have "
                f"{counted(self.n_members or 0, 'member')}. Epistemic uncertainty grows with the "
                "number of members, so that the two cannot be compared. Give both the same members"
            )

    def __getitem__(self, index: Any) -> Predictions:
        return self._select_instances(_rows_of_index(index, len(self)), _PER_INSTANCE)

    def read(self, start: int, stop: int) -> Predictions:
        """The instances from ``start`` to before ``stop``, in memory: predictions, weights and
        labels.
        """
        part = self._select_instances(slice(start, stop), ("y_true",))
        for key, x in vars(part).items():
            if isinstance(x, np.memmap):  # else it is in memory already
                vars(part)[key] = np.array(x)
                release_pages(getattr(self, key))
        return part

    def _select_instances(self, rows: Any, keys: Sequence[str]) -> Predictions:
        """Some instances, with ``keys`` of what is known about each; not validated again."""
        part = copy(self)
        known = vars(part)
        known |= dict.fromkeys((*_PER_INSTANCE, "grid"))
        known.pop("shape", None)  # as it was computed for all instances
        known.pop("true_class", None)
        if self.q is not None:
            known["q"] = self.q[rows]
        else:
            known[self.kind] = _take_instances(self._stored_numbers, rows, len(self.shape) - 2)
        if self.weights is not None and self.weights.ndim == 2:
            known["weights"] = self.weights[:, rows]
        for key in keys:
            x = getattr(self, key)
            if x is not None:
                known[key] = _take_instances(x, rows, 0)
        return part

    def blocks(self) -> Iterator[tuple[slice, Predictions]]:
        """All instances, in blocks of at most `BLOCK` numbers, each with its place."""
        for rows in row_blocks(len(self), prod(self.shape) // max(len(self), 1), BLOCK):
            yield rows, self.read(rows.start, rows.stop)

    @contextmanager
    def naming_rows(self, rows: slice) -> Iterator[None]:
        """Say in each ValueError of the block which file and ``rows`` it is about."""
        try:
            yield
        except ValueError as error:
            wrong = error if isinstance(error, InputError) else InputError(str(error))
            where = f"rows {rows.start} to {rows.stop}"
            if self.path is not None:
                where = f"{file_name(self.path)}, {where}"
            raise wrong.found_in(where) from error

    def distribution(self) -> Distribution:
        """The second-order distribution of each instance; its values are checked."""
        if self.q is not None:
            return self.q
        values = self._stored_numbers[:]
        names = self.class_names
        if self.kind == "evidence":
            lowest = float(values.min(initial=0.0))
            if lowest < 0:
                raise ValueError(f"`evidence` must not be negative; the lowest is {lowest:.4g}")
            values = values + 1
        if self.kind in ("alpha", "evidence"):
            if values.ndim == 2:
                return Dirichlet(values, class_names=names)
            return DirichletMixture(values, self.weights, class_names=names)
        options: dict[str, Any] = {"weights": self.weights, "factors": self.factors}
        options |= {"member_axis": 0, "class_names": names, "member_names": self.member_names}
        of_members: type[Ensemble] | type[MultiLabelEnsemble] = Ensemble
        if self.multilabel:
            of_members = MultiLabelEnsemble
        if self.kind == "logits":
            return of_members.from_logits(values, **options)
        if self.kind == "log_probs":
            values = np.exp(values)
        return of_members(values, **options)


def _rows_of_index(index: Any, n: int) -> Any:
    """A slice in steps of 1, or positions."""
    if isinstance(index, slice) and index.step in (None, 1):
        return slice(*index.indices(n)[:2])
    if not isinstance(index, slice):
        index = to_numpy(index)
        if not index.size:
            index = index.astype(np.int64)
    rows = np.arange(n)[index]
    if rows.ndim != 1:
        raise IndexError(f"predictions are indexed with a slice, a mask or positions; got {index}")
    return rows


def _take_instances(x: Any, rows: Any, axis: int) -> np.ndarray:
    """Some instances of an array: a slice of them, or positions in any order."""
    before: tuple[Any, ...] = (slice(None),) * axis
    if isinstance(rows, slice) or not isinstance(x, OnDisk | np.memmap):
        return x[(*before, rows)]
    # Each block of the file that has some of the positions is read once.
    n = x.shape[axis]
    found = np.empty((*x.shape[:axis], len(rows), *x.shape[axis + 1 :]), x.dtype)
    for block in row_blocks(n, prod(x.shape) // max(n, 1), BLOCK):
        places = np.flatnonzero((rows >= block.start) & (rows < block.stop))
        if places.size:
            # not np.take, which would copy the whole block of a map
            found[(*before, places)] = x[(*before, block)][(*before, rows[places] - block.start)]
            release_pages(x)
    return found
