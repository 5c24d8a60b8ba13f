"""The predictions of a report, a block of instances at a time, whatever they came in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._labels import as_labels
from .._sources import Source
from ..distributions import Dirichlet, Distribution, Ensemble, MultiLabelEnsemble
from ..io import Predictions

BLOCK = 1 << 23
"""Numbers (members × instances × classes) that are worked on at a time."""


@dataclass(frozen=True, eq=False)
class Cases:
    """N instances: their second-order predictions in blocks, and what is known about them."""

    n: int
    class_names: tuple[str, ...]
    named: bool
    """Whether the names came with the predictions."""
    n_members: int | None
    """``None``: a continuous distribution."""
    multilabel: bool
    y_true: np.ndarray | None
    """Classes (N,), or for labels that may occur together whether each does, (N, K)."""
    ids: np.ndarray | None
    weighted: bool
    rows: Callable[[slice], Distribution]
    """The predictions at a slice of the instances."""

    def blocks(self) -> Iterator[tuple[slice, Distribution]]:
        """All instances, in blocks that fit in memory."""
        step = max(1, BLOCK // (len(self.class_names) * (self.n_members or 4)))
        for start in range(0, self.n, step):
            part = slice(start, min(start + step, self.n))
            yield part, self.rows(part)


def as_cases(q: Distribution | Predictions | Source, y_true: Any = None, ids: Any = None, *, multilabel: bool = False) -> Cases:
    """The cases of a distribution or of stored predictions; ``y_true`` and ``ids`` are those stored if not given."""
    if isinstance(q, Predictions | Source):
        return _stored(q, y_true, ids, multilabel)
    if not isinstance(q, Distribution):
        raise TypeError(f"`q` must be a distribution such as lw.Ensemble(probs), or lw.io.Predictions; got {type(q).__name__}")
    shape = q.batch_shape
    if len(shape) != 1:
        raise ValueError(f"a report is about instances on one axis; got predictions for shape {shape}. Reshape them to (M, N, K) first")
    if multilabel and q.exclusive:
        raise ValueError("`multilabel` is for stored predictions; make the distribution an lw.MultiLabelEnsemble instead")
    members = q.n_members if q.finite else None
    weighted = getattr(q, "weights", None) is not None
    return _cases(shape[0], q.n_classes, q.class_names, members, not q.exclusive, y_true, ids, weighted, q.__getitem__)


def _stored(p: Predictions | Source, y_true: Any, ids: Any, multilabel: bool) -> Cases:
    """Predictions that may be larger than memory: values are read and checked block by block."""
    truth = p.y_true if y_true is None else y_true
    called = p.ids if ids is None else ids
    several = multilabel or (truth is not None and np.ndim(truth) == 2)
    if isinstance(p, Source):
        kind, n, members, weighted = p.kind, p.n_instances, p.shape[0], p.weighted
    else:
        kind, n, weighted = ("alpha" if p.probs is None else "probs"), len(p), p.weights is not None
        members = 0 if p.probs is None else len(p.probs)
    if several and kind == "alpha":
        raise ValueError("a Dirichlet is about classes that exclude each other; labels that may occur together need `probs`")

    def rows(i: slice) -> Distribution:
        part = p.rows(i.start, i.stop)
        block = np.array(part.probs if kind == "probs" else part.alpha)
        if kind == "alpha":
            return Dirichlet(block, class_names=p.class_names)
        return (MultiLabelEnsemble if several else Ensemble)(block, weights=part.weights, member_axis=0, class_names=p.class_names)

    return _cases(n, p.n_classes, p.class_names, members if kind == "probs" else None, several, truth, called, weighted, rows)


def _cases(
    n: int,
    k: int,
    class_names: tuple[str, ...] | None,
    members: int | None,
    several: bool,
    y_true: Any,
    ids: Any,
    weighted: bool,
    rows: Callable[[slice], Distribution],
) -> Cases:
    if n == 0:
        raise ValueError("there are no instances to report on")
    known = class_names or tuple(str(i) for i in range(k))
    truth = None
    if y_true is not None and several:
        truth = to_numpy(y_true)
        if truth.shape != (n, k) or truth.dtype.kind not in "biu" or not np.all((truth == 0) | (truth == 1)):
            raise ValueError(f"`y_true` must say for each of {n} instances and {k} labels whether it is there (0 or 1); got {truth.shape}")
        truth = truth.astype(bool)
    elif y_true is not None:
        truth = as_labels(to_numpy(y_true), "y_true", known, (n,)).astype(np.int32)
    called = None if ids is None else np.asarray(ids[:])
    if called is not None and called.shape != (n,):
        raise ValueError(f"`ids` must name each of the {n} instances; got shape {called.shape}")
    return Cases(n, known, class_names is not None, members, several, truth, called, weighted, rows)
