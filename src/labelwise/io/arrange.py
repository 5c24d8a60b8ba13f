"""What was found in files, arranged as predictions (M, N, K): axes, labels, and the sentence that helps where it does not fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._errors import InputError, InputNote
from .csv import open_table
from .files import read_text
from .grid import flatten_instances
from .npz import read_npy, read_npz
from .predictions import KINDS
from .tables import ROLES, typed

__all__ = ["arrange_axes", "arrange_labels", "normalized", "read_labels", "two_classes"]

_SAMPLE = 64
_TOLERANCE = 0.02


@dataclass(frozen=True, eq=False)
class View:
    """An array or column on disk whose axes or values are changed when a part of it is read."""

    values: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    axes: tuple[int, ...]
    """Where each axis is in ``values``; −1 for a new one of length 1."""
    change: Callable[[np.ndarray], np.ndarray] = lambda block: block

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, key: Any) -> np.ndarray:
        parts = key if isinstance(key, tuple) else (key,)
        parts += (slice(None),) * (self.ndim - len(parts))
        inner = [slice(None)] * len(self.values.shape)
        for axis, part in zip(self.axes, parts, strict=True):
            if axis >= 0:
                inner[axis] = part
        block = np.asarray(self.values[tuple(inner)]).transpose([axis for axis in self.axes if axis >= 0])
        return self.change(np.expand_dims(block, [i for i, axis in enumerate(self.axes) if axis < 0]))


def arrange_axes(found: dict[str, Any], member_axis: int | None, class_axis: int | None, *, table: bool) -> dict[str, Any]:
    """The predictions as (M, N, K), or (N, K) for a Dirichlet; ``table``: two axes are those of a table, cases and classes."""
    kind = next(kind for kind in KINDS if kind in found)
    values = found[kind]
    shape = tuple(int(n) for n in values.shape)
    if len(shape) < 2:
        raise ValueError(f"`{kind}` must have the axes (members, instances, classes); got shape {shape}")
    member = None if member_axis is None else _axis(member_axis, "member_axis", shape)
    classes = _axis(-1 if class_axis is None else class_axis, "class_axis", shape)
    if member == classes:
        raise ValueError(f"`member_axis` and `class_axis` must be different; both are {member} for shape {shape}")
    if len(shape) == 2 and member is not None:  # members and classes of one instance
        return found | {kind: _moved(values, (member, -1, classes))}
    if len(shape) == 2 and kind in ("alpha", "evidence"):
        return found | {kind: _moved(values, (1 - classes, classes))}
    if len(shape) == 2:
        if not table and class_axis is None and _is_second_class(kind, values, shape, found):
            return found | {kind: _moved(values, (0, 1, -1))}
        return found | {kind: _moved(values, (-1, 1 - classes, classes))}
    member = next(axis for axis in (0, 1) if axis != classes) if member is None else member
    if member_axis is None and class_axis is None:
        _check_order(kind, values, shape, found, table)
    instances = tuple(axis for axis in range(len(shape)) if axis not in (member, classes))
    found = found | {kind: _moved(values, (member, *instances, classes))}
    return found if len(shape) == 3 else flatten_instances(found, kind, sum(axis < classes for axis in instances))


def _check_order(kind: str, values: Any, shape: tuple[int, ...], found: dict[str, Any], table: bool) -> None:
    """Refuse an array that is told to have another order of axes, by the labels or by what sums to 1; warn of a doubtful one."""
    if len(shape) == 3:
        _check_against_labels(kind, values, shape, found)
        if not table and shape[0] > max(shape[1], 10) and shape[1] > 1 and not ("y_true" in found or "ids" in found):
            read = f"{shape[0]} members × {shape[1]} cases × {shape[2]} classes"
            warnings.warn(InputNote(f"`{kind}` of shape {shape} is read as {read}", fix="file_members"), stacklevel=4)
    elif kind == "probs" and not _one_over(values, len(shape) - 1):
        classes = next((axis for axis in range(1, len(shape) - 1) if _one_over(values, axis)), None)
        if classes is not None:
            raise InputError(f"`probs` of shape {shape} sum to 1 over axis {classes}, not over the last", fix="file_classes", axis=classes)


def _axis(axis: int, name: str, shape: tuple[int, ...]) -> int:
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"`{name}` must be one of the {len(shape)} axes of shape {shape}; got {axis}")
    return axis % len(shape)


def _moved(values: Any, axes: tuple[int, ...]) -> Any:
    """``values`` with other axes: a view of an array, or of a column on disk."""
    if axes == tuple(range(len(values.shape))):
        return values
    shape = tuple(1 if axis < 0 else int(values.shape[axis]) for axis in axes)
    if isinstance(values, np.ndarray):
        return np.expand_dims(values.transpose([axis for axis in axes if axis >= 0]), [i for i, axis in enumerate(axes) if axis < 0])
    return View(values, shape, values.dtype, axes)


def _is_second_class(kind: str, values: Any, shape: tuple[int, ...], found: dict[str, Any]) -> bool:
    """Whether values of two axes are (M, N) probabilities of the second of two classes; refused if that is not clear."""
    some = np.asarray(values[:_SAMPLE])
    if kind != "probs" or _sums(some, -1) is None or np.allclose(some.sum(axis=-1), 1, atol=_TOLERANCE):
        return False
    n = next((int(found[key].shape[0]) for key in ("y_true", "ids", "groups") if key in found), None)
    two = len(found.get("class_names", ())) == 2
    if ((some >= 0) & (some <= 1)).all() and (n == shape[1] if n is not None else two) and shape[0] != shape[1]:
        return True
    raise InputError(
        f"`probs` must have 3 axes (members, instances, classes); got shape {shape}, and its rows do not sum to 1", fix="second_class"
    )


def two_classes(values: Any, kind: str, found: dict[str, Any]) -> dict[str, Any]:
    """(M, N, 1), the probability or logit of one class, as two classes: whether it is that class; warns of it."""
    names = found.get("class_names", ())
    given = tuple(names) if len(names) == 2 else (f"not {names[0]}", str(names[0])) if len(names) == 1 else None
    called = "" if given is None else f" ({given[0]!r}, {given[1]!r})"
    warnings.warn(f"`{kind}` has one number for each case, which is taken for the second of two classes{called}", stacklevel=4)

    def change(block: np.ndarray) -> np.ndarray:
        return np.concatenate([1 - block if kind == "probs" else np.zeros_like(block), block], axis=-1)

    view = View(values, (*values.shape[:2], 2), values.dtype, (0, 1, 2), change)
    return found | {kind: view[:, :] if type(values) is np.ndarray else view} | ({} if given is None else {"class_names": given})


def _sums(values: np.ndarray, axis: int) -> np.ndarray | None:
    return values.sum(axis=axis) if values.dtype.kind == "f" and values.size and np.isfinite(values).all() else None


def _check_against_labels(kind: str, values: Any, shape: tuple[int, ...], found: dict[str, Any]) -> None:
    """Refuse an array whose axes are told to be in another order by the number of labels (or ids)."""
    key = next((key for key in ("y_true", "ids", "groups", "images") if key in found), None)
    n = None if key is None else int(found[key].shape[0])
    if n is None or n == shape[1] or n not in shape:
        return
    cases = shape.index(n)
    rest = [axis for axis in range(3) if axis != cases]
    classes = next((axis for axis in rest if kind == "probs" and _one_over(values, axis)), rest[-1])
    (member,) = set(rest) - {classes}
    letters = {cases: "N", classes: "K", member: "M"}
    saved = f"({', '.join(letters[axis] for axis in range(3))})"
    sentence = f"`{kind}` has shape {shape}: axis {cases} has {n}, like `{key}`"
    if member == 0:
        raise InputError(sentence, fix="saved_classes", saved=saved, classes=classes)
    if classes == 2:
        raise InputError(sentence, fix="saved_members", saved=saved, member=member)
    raise InputError(sentence, fix="saved_axes", saved=saved, member=member, classes=classes)


def _one_over(values: Any, axis: int) -> bool:
    """Whether some of the probabilities sum to 1 over an axis."""
    if isinstance(values, View) or not hasattr(values, "dtype"):
        return False
    try:
        some = np.asarray(values[tuple(slice(None) if i == axis else slice(0, 8) for i in range(len(values.shape)))])
    except (IndexError, TypeError):  # columns that can only be sliced by instance
        return False
    sums = _sums(some, axis)
    return sums is not None and bool(np.allclose(sums, 1, atol=_TOLERANCE))


def normalized(values: Any, kind: str) -> Any:
    """``values`` (M, N, K) divided by their sums over the classes; warns how far off those were."""
    if kind != "probs":
        raise ValueError(f"`normalize` is for probabilities; these are `{kind}`")
    low, high = np.inf, -np.inf
    step = max(1, (1 << 22) // max(int(np.prod((values.shape[0], values.shape[2]))), 1))
    for start in range(0, values.shape[1], step):
        block = np.asarray(values[:, start : start + step])
        if block.dtype.kind not in "fiu" or not np.isfinite(block).all() or (block < 0).any():
            raise ValueError("`probs` must be finite and not negative to be normalized")
        sums = block.sum(axis=-1, dtype=float)
        low, high = min(low, float(sums.min(initial=np.inf))), max(high, float(sums.max(initial=-np.inf)))
    if low <= 0:
        raise ValueError("`probs` cannot be normalized: they are 0 for all classes of some instance")
    if high >= low:
        warnings.warn(f"`probs` summed to between {low:.6g} and {high:.6g}; each row was divided by its sum", stacklevel=3)
    dtype = np.dtype(np.float64 if values.dtype == np.float64 else np.float32)

    def change(block: np.ndarray) -> np.ndarray:
        wide = block.astype(dtype)
        return np.asarray(wide / wide.sum(axis=-1, keepdims=True))

    view = View(values, tuple(values.shape), dtype, (0, 1, 2), change)
    return view[:, :] if type(values) is np.ndarray else view


def arrange_labels(y: Any, found: dict[str, Any], multilabel: bool | None) -> np.ndarray:
    """Labels as they are meant: whole numbers for floats, (N,) for (N, 1) and for one-hot (N, K)."""
    y = np.asarray(to_numpy(y))
    kind = next(kind for kind in KINDS if kind in found)
    values = found[kind]
    k = int(values.shape[-1])
    if y.ndim == 2 and y.shape[1] == 1 and k != 1:
        y = y[:, 0]
    if y.dtype.kind == "f" and y.size and np.all(y == np.floor(y)):
        y = y.astype(np.int64)
    if y.ndim == 2 and y.shape[1] == k and not multilabel and y.dtype.kind in "biu" and len(y):
        one_hot = bool(np.all((y == 0) | (y == 1)) and np.all(y.sum(axis=1) == 1))
        some = np.asarray(values[:, :_SAMPLE] if len(values.shape) == 3 else values[:_SAMPLE])
        sums = _sums(some, -1) if kind == "probs" else None
        if one_hot and multilabel is None and (kind != "probs" or (sums is not None and np.allclose(sums, 1, atol=_TOLERANCE))):
            warnings.warn("`y_true` (N, K) is one-hot and is read as one class for each instance", stacklevel=3)
            y = y.argmax(axis=1)
    if y.ndim == 1 and y.dtype.kind in "iu" and y.size and "class_names" not in found and int(y.min()) == 1 and int(y.max()) == k:
        row = int(np.argmax(y == k))
        raise InputError(f"`y_true` must lie between 0 and {k - 1} (K = {k} classes); got {k} in row {row}", fix="first_label", last=k)
    return np.asarray(y)


def read_labels(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """True labels from a file (.npy, .npz, .txt, .csv or .tsv), and the ids of their cases if it has them."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return read_npy(path), None
    if suffix == ".npz":
        arrays = read_npz(path, lambda names: [name for name in names if name in ("y_true", "labels", "label", "ids")] or names[:1])
        y = next((x for name, x in arrays.items() if name != "ids"), None)
        if y is None:
            raise ValueError(f"{path.name} holds no labels (`y_true`)")
        return y, arrays.get("ids")
    if suffix == ".txt":
        return typed([line.strip() for line in read_text(path, 1 << 28).splitlines() if line.strip()], path.name), None
    if suffix not in (".csv", ".tsv"):
        raise ValueError(f"labels are read from .npy, .npz, .csv, .tsv and .txt; got {path.name!r}")
    with open_table(path) as (header, rows):
        names = [name.strip().lower() for name in header]
        where = {role: names.index(word) for role in ("ids", "y_true") for word in reversed(ROLES[role]) if word in names}
        if "y_true" not in where and len(names) > 2:
            raise ValueError(f"{path.name} must have a column `y_true`; it has {', '.join(map(repr, header[:8]))}")
        label = where.get("y_true", len(names) - 1)
        cells = [(row[label], row[where["ids"]] if "ids" in where else "") for row in rows]
    y, ids = (typed([cell[i] for cell in cells], path.name) for i in (0, 1))
    return y, ids if "ids" in where and where["ids"] != label else None
