"""What was found in files, arranged as predictions (M, N, K): axes, labels, and the sentence that
helps where it does not fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import SUM_TOLERANCE, to_numpy
from .._column_words import ROLES
from .._errors import InputError, InputNote
from .._labels import integer_names, plain_labels
from .files import read_text
from .grid import flatten_instances
from .members import are_positions, labels_in_order, same_order
from .npz import NpzArrays, read_npy
from .on_disk import viewed
from .predictions import KINDS
from .tables import Table, check_equal_columns, id_columns, is_row_number, quoted, text_array, typed

__all__ = [
    "arrange_axes",
    "arrange_labels",
    "as_class_names",
    "check_logits",
    "match_labels",
    "name_classes",
    "normalized",
    "two_classes",
    "unrounded",
]

_SAMPLE = 64
_TOLERANCE = 0.02
_MANY = (
    1000  # instances that show whether logits are probabilities, and how probabilities were rounded
)
_MOST_CLASSES = 1 << 16  # a longer axis is that of the instances, and not read to see its sums
_MOST_ROWS = 0.95  # a share of the rows that shows what all are
_MOST_ROUNDING = (
    0.2  # rows further from 1 are no rounded probabilities, whatever the number of classes
)


def arrange_axes(
    found: dict[str, Any], member_axis: int | None, class_axis: int | None, *, table: bool
) -> dict[str, Any]:
    """The predictions as (M, N, K), or (N, K) for a Dirichlet; ``table``: two axes are those of a
    table, cases and classes.
    """
    kind = next(kind for kind in KINDS if kind in found)
    values = found[kind]
    shape = tuple(int(n) for n in values.shape)
    if len(shape) < 2:
        raise ValueError(
            f"`{kind}` must have the axes (members, instances, classes); got shape {shape}"
        )
    member = None if member_axis is None else _axis(member_axis, "member_axis", shape)
    classes = _axis(-1 if class_axis is None else class_axis, "class_axis", shape)
    if member == classes:
        raise ValueError(
            f"the member axis and the class axis must be different; both are {member} for shape "
            f"{shape}"
        )
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
    return (
        found
        if len(shape) == 3
        else flatten_instances(found, kind, sum(axis < classes for axis in instances))
    )


def _check_order(
    kind: str, values: Any, shape: tuple[int, ...], found: dict[str, Any], table: bool
) -> None:
    """Refuse an array that is told to have another order of axes, by the labels or by what sums to
    1; warn of a doubtful one.
    """
    if len(shape) == 3:
        _check_against_labels(kind, values, shape, found)
        if (
            not table
            and shape[0] > max(shape[1], 10)
            and shape[1] > 1
            and not ("y_true" in found or "ids" in found)
        ):
            read = f"{shape[0]} members × {shape[1]} cases × {shape[2]} classes"
            warnings.warn(
                InputNote(f"`{kind}` of shape {shape} is read as {read}", fix="file_members"),
                stacklevel=4,
            )
    elif kind == "probs" and not _one_over(values, len(shape) - 1):
        classes = next((axis for axis in range(1, len(shape) - 1) if _one_over(values, axis)), None)
        if classes is not None:
            raise InputError(
                f"`probs` of shape {shape} sum to 1 over axis {classes}, not over the last",
                fix="file_classes",
                axis=classes,
            )


def _axis(axis: int, name: str, shape: tuple[int, ...]) -> int:
    if not -len(shape) <= axis < len(shape):
        raise ValueError(
            f"the {name.replace('_', ' ')} must be one of the {len(shape)} axes of shape {shape}; "
            f"got {axis}"
        )
    return axis % len(shape)


def _moved(values: Any, axes: tuple[int, ...]) -> Any:
    """``values`` with other axes: a view of an array, or of a column on disk."""
    if axes == tuple(range(len(values.shape))):
        return values
    shape = tuple(1 if axis < 0 else int(values.shape[axis]) for axis in axes)
    if isinstance(values, np.ndarray):
        return np.expand_dims(
            values.transpose([axis for axis in axes if axis >= 0]),
            [i for i, axis in enumerate(axes) if axis < 0],
        )
    return viewed(values, shape, values.dtype, axes)


def _is_second_class(kind: str, values: Any, shape: tuple[int, ...], found: dict[str, Any]) -> bool:
    """Whether values of two axes are (M, N) probabilities of the second of two classes; refused if
    that is not clear.
    """
    some = np.asarray(values[:_SAMPLE])
    if (
        kind != "probs"
        or _sums(some, -1) is None
        or np.allclose(some.sum(axis=-1), 1, atol=_TOLERANCE)
    ):
        return False
    n = next(
        (int(found[key].shape[0]) for key in ("y_true", "ids", "groups") if key in found), None
    )
    two = len(found.get("class_names", ())) == 2
    if (
        ((some >= 0) & (some <= 1)).all()
        and (n == shape[1] if n is not None else two)
        and shape[0] != shape[1]
    ):
        return True
    raise InputError(
        (
            f"`probs` must have 3 axes (members, instances, classes); got shape {shape}, and its "
            "rows do not sum to 1"
        ),
        fix="second_class",
    )


def two_classes(values: Any, kind: str, found: dict[str, Any]) -> dict[str, Any]:
    """(M, N, 1), the probability or logit of one class, as two classes: whether it is that class;
    warns of it.
    """
    names = found.get("class_names", ())
    given = (
        tuple(names)
        if len(names) == 2
        else (f"not {names[0]}", str(names[0]))
        if len(names) == 1
        else None
    )
    called = "" if given is None else f" ({given[0]!r}, {given[1]!r})"
    warnings.warn(
        (
            f"`{kind}` has one number for each case, which is taken for the second of two "
            f"classes{called}"
        ),
        stacklevel=4,
    )

    def change(block: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [1 - block if kind == "probs" else np.zeros_like(block), block], axis=-1
        )

    view = viewed(values, (*values.shape[:2], 2), values.dtype, (0, 1, 2), change)
    return (
        found
        | {kind: view[:, :] if type(values) is np.ndarray else view}
        | ({} if given is None else {"class_names": given})
    )


def _sums(values: np.ndarray, axis: int) -> np.ndarray | None:
    return (
        values.sum(axis=axis)
        if values.dtype.kind == "f" and values.size and np.isfinite(values).all()
        else None
    )


def _check_against_labels(
    kind: str, values: Any, shape: tuple[int, ...], found: dict[str, Any]
) -> None:
    """Refuse an array whose axes are told to be in another order by the number of labels (or
    ids).
    """
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
    if values.shape[axis] > _MOST_CLASSES:
        return False
    some = np.asarray(
        values[tuple(slice(None) if i == axis else slice(0, 8) for i in range(len(values.shape)))]
    )
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
        low, high = (
            min(low, float(sums.min(initial=np.inf))),
            max(high, float(sums.max(initial=-np.inf))),
        )
    if low <= 0:
        raise ValueError(
            "`probs` cannot be normalized: they are 0 for all classes of some instance"
        )
    tolerance = SUM_TOLERANCE.get(values.dtype.name, 0)
    if high >= low and max(high - 1, 1 - low) > tolerance:  # else nothing was off
        warnings.warn(
            f"`probs` summed to between {low:.6g} and {high:.6g}; each row was divided by its sum",
            stacklevel=3,
        )
    dtype = np.dtype(np.float64 if values.dtype == np.float64 else np.float32)

    def change(block: np.ndarray) -> np.ndarray:
        wide = block.astype(dtype)
        return np.asarray(wide / wide.sum(axis=-1, keepdims=True))

    view = viewed(values, tuple(values.shape), dtype, (0, 1, 2), change)
    return view[:, :] if type(values) is np.ndarray else view


def arrange_labels(y: Any, found: dict[str, Any], multilabel: bool | None) -> np.ndarray:
    """Labels as they are meant: whole numbers for floats, (N,) for (N, 1) and for one-hot (N,
    K).
    """
    y = np.asarray(to_numpy(y))
    kind = next(kind for kind in KINDS if kind in found)
    values = found[kind]
    k = int(values.shape[-1])
    if y.ndim == 2 and y.shape[1] == 1 and k != 1:
        y = y[:, 0]
    if y.dtype.kind == "f" and y.size and np.all(y == np.floor(y)):
        y = y.astype(np.int64)
    if y.ndim == 2 and y.shape[1] == k and not multilabel and y.dtype.kind in "biu" and len(y):
        indicators = bool(np.all((y == 0) | (y == 1)))
        one_hot = indicators and bool(np.all(y.sum(axis=1) == 1))
        some = np.asarray(values[:, :_SAMPLE] if len(values.shape) == 3 else values[:_SAMPLE])
        sums = _sums(some, -1) if kind == "probs" else None
        exclusive = sums is not None and np.allclose(sums, 1, atol=_TOLERANCE)
        several = np.flatnonzero(y.sum(axis=1) > 1)
        if multilabel is None and k > 1 and exclusive and indicators and several.size:
            raise InputError(
                (
                    "rows of `probs` sum to 1, so that one class is true, and `y_true` has "
                    f"{y[several[0]].sum()} in row {several[0] + 1}"
                ),
                fix="file_multilabel",
            )
        if one_hot and multilabel is None and (kind != "probs" or exclusive):
            warnings.warn(
                "`y_true` (N, K) is one-hot and is read as one class for each instance",
                stacklevel=3,
            )
            y = y.argmax(axis=1)
    if (
        y.ndim == 1
        and y.dtype.kind in "iu"
        and y.size
        and "class_names" not in found
        and int(y.min()) == 1
        and int(y.max()) == k
    ):
        row = int(np.argmax(y == k))
        raise InputError(
            f"`y_true` must lie between 0 and {k - 1} (K = {k} classes); got {k} in row {row}",
            fix="first_label",
            last=k,
        )
    return np.asarray(y)


def as_class_names(names: Any) -> tuple[str, ...]:
    """Class names in their order: a sequence, or a dictionary such as ``id2label`` of Hugging Face,
    or its inverse.

    >>> as_class_names({"1": "dog", "0": "cat"})
    ('cat', 'dog')
    """
    if not isinstance(names, Mapping):
        return tuple(str(name) for name in names)
    pairs = list(names.items())
    if not all(_is_position(key) for key, _ in pairs):
        pairs = [(value, key) for key, value in pairs]
    positions = {int(key): str(name) for key, name in pairs if _is_position(key)}
    if len(positions) != len(names) or set(positions) != set(range(len(names))):
        raise InputError(
            "`class_names` as a dictionary must give a name to each position 0 … "
            f"{len(names) - 1}; got {str(names)[:100]}"
        )
    return tuple(positions[k] for k in range(len(positions)))


def _is_position(key: Any) -> bool:
    return isinstance(key, int | np.integer) or (isinstance(key, str) and key.isdigit())


def name_classes(
    found: dict[str, Any], given: Sequence[str] | None, file: str, notes: list[str]
) -> tuple[dict[str, Any], list[int] | None]:
    """The class names that the user gave: matched by name where the file has names, else by
    position.

    Labels of the file are already in the new order; where each class is in the file comes second,
    for the predictions.
    """
    there = list(found.get("class_names", ()))
    positions = [str(k) for k in range(len(there))]
    wanted = there if given is None else list(given)
    if there == wanted:
        return found, None
    if len(there) == 1 and len(wanted) == 2:  # the probability of the second of two classes
        if there[0] == wanted[0]:
            raise InputError(
                (
                    f"column {there[0]!r} would be the second of the classes {wanted[0]!r} and "
                    f"{wanted[1]!r}"
                ),
                where=file,
            )
        return found | {"class_names": tuple(wanted)}, None
    if not there or (sorted(there) == sorted(positions) and len(wanted) == len(there)):
        if wanted != positions:
            notes.append(f"classes {_numbered(wanted)}")
        words = positions
    elif sorted(there) == sorted(wanted):
        notes.append("classes matched by name, in the order that was given")
        words = wanted
    else:
        other = next((name for name in wanted if name not in there), wanted[0])
        listed = ", ".join(there[:8]) + (", …" if len(there) > 8 else "")
        raise InputError(
            (
                f"the class name {other!r} is none of the file's: {listed}. Give the same names, "
                "in any order; to rename classes, rename them in the file"
            ),
            where=file,
        )
    order = [there.index(word) for word in words]
    found = found | {"class_names": tuple(wanted)}
    if "y_true" in found and words is wanted:
        found["y_true"] = labels_in_order(np.asarray(found["y_true"]), there, order)
    return found, None if order == list(range(len(order))) else order


def check_positions(y: np.ndarray, there: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse labels that are positions, if classes named in the file ``there`` are ``wanted`` in
    another order: either may be meant.
    """
    if (
        list(there) != list(wanted)
        and not are_positions(there)
        and y.dtype.kind in "iuf"
        and y.ndim == 1
        and integer_names(wanted) is None
    ):
        raise InputError(
            f"labels are positions, and whether 0 is {there[0]!r}, as in the file, or "
            f"{wanted[0]!r}, as in the class names that were given, cannot "
            "be known. Give labels as class names, or leave out the class names"
        )


def _numbered(names: Sequence[str]) -> str:
    """0, 1, 2 = cat, dog, fox."""
    shown = list(names[:8])
    more = ", …" if len(names) > len(shown) else ""
    return f"{', '.join(map(str, range(len(shown))))}{more} = {', '.join(shown)}{more}"


def say_positions(y: np.ndarray, names: Sequence[str] | None, notes: list[str]) -> None:
    """A note on labels that are positions of classes that have names."""
    if names is not None and y.ndim == 1 and y.dtype.kind in "iu" and integer_names(names) is None:
        notes.append(f"labels {_numbered(names)}")


# ----------------------------------------------------------------------------------------------------------------------  # noqa: E501
# labels


@dataclass(frozen=True, eq=False)
class Labels:
    """True labels of a file or an array, and what their cases are called."""

    values: np.ndarray
    ids: np.ndarray | None = None
    id_name: str = "ids"
    table: Table | None = None
    columns: Sequence[str] = ()
    """Those of the table that hold the labels."""


def match_labels(
    labels: Labels, found: dict[str, Any], file: str, first: Table | str, notes: list[str]
) -> np.ndarray:
    """Labels in the order of the cases: by id where both have ids; refused if only the labels have
    any.

    Labels without ids are in the order of ``first``, the table or file of the first member, if all
    members have that order.
    """
    kind = next(kind for kind in KINDS if kind in found)
    if labels.ids is None:
        return _match_by_number(labels, found, file, first, notes)
    there = np.asarray(labels.ids).astype(str)
    if "ids" in found:
        wanted = np.asarray(found["ids"][:]).astype(str)
        only_counts = is_row_number(there) and not np.isin(wanted, there).any()
        if only_counts and len(there) == len(wanted):
            return _match_by_number(labels, found, file, first, notes)
        notes.append(f"labels matched by {quoted(labels.id_name)}")
        return np.asarray(labels.values[same_order("the predictions", wanted, file, there)])
    rows = np.arange(len(there)).astype(str)
    if not np.array_equal(np.sort(there), np.sort(rows)):
        shape = tuple(found[kind].shape)
        raise InputError(
            f"{file} has ids ({quoted(labels.id_name)}: {str(there[0])!r}, …), and the predictions "
            f"of shape {shape} have none, so that they cannot "
            "be matched. Add the ids to the predictions; if the rows are in the same order, leave "
            "them out of the labels"
        )
    if is_row_number(there):
        _check_same_rows(labels, first)
    notes.append(f"labels matched by {quoted(labels.id_name)}, as the numbers of the rows")
    return np.asarray(labels.values[same_order("the predictions", rows, file, there)])


def _match_by_number(
    labels: Labels, found: dict[str, Any], file: str, first: Table | str, notes: list[str]
) -> np.ndarray:
    """Labels as they are; refused if members have their cases in different orders, any of which the
    labels may have.
    """
    if "reordered" in found:
        one, other = found["reordered"]
        raise InputError(
            f"{file} has no ids to match labels by, and {one} and {other} have their cases in "
            "different orders. Add the ids to the labels"
        )
    _check_same_rows(labels, first)
    order = (
        f", in the order of {first.file if isinstance(first, Table) else first}"
        if "ids" in found
        else ""
    )
    notes.append(f"labels matched by number{order}")
    return labels.values


def _check_same_rows(labels: Labels, first: Table | str) -> None:
    if labels.table is not None and isinstance(first, Table):
        check_equal_columns(first, labels.table, labels.columns)


def labels_of_array(labels: Any, found: dict[str, Any]) -> Labels:
    """Labels in memory; the index of a pandas object holds the ids, unless it only counts, and its
    columns are classes.
    """
    index = getattr(labels, "index", None)
    if index is None or callable(index):  # that of a list
        return Labels(np.asarray(to_numpy(labels)))
    values = plain_labels(labels, "labels")
    classes = _class_names(found)
    if values.ndim == 2 and values.shape[1] == len(classes):
        columns = [str(name) for name in labels.columns]
        if sorted(columns) != sorted(classes):
            other = next((name for name in columns if name not in classes), columns[0])
            raise InputError(
                f"`labels` has the column {other!r}, which is no class; the classes are "
                f"{', '.join(classes[:8])}"
            )
        values = values[:, [columns.index(name) for name in classes]]
    ids = np.asarray(index)
    return Labels(values, None if is_row_number(ids) else ids, "index")


def _class_names(found: dict[str, Any]) -> list[str]:
    """The names of the classes, or their positions as text."""
    kind = next(kind for kind in KINDS if kind in found)
    return [str(name) for name in found.get("class_names", range(int(found[kind].shape[-1])))]


def labels_of_table(table: Table, found: dict[str, Any]) -> Labels:
    """Labels in a table: a column of them, or 0 and 1 in a column for each class; and the column of
    ids that fits the predictions.
    """
    classes = _class_names(found)
    by_name = {name.strip(): name for name in table.names}
    label = next(
        (name for word in ROLES["y_true"] for name in table.names if name.strip().lower() == word),
        None,
    )
    if label is None and set(classes) <= set(by_name):
        columns = [by_name[name] for name in classes]
        values = np.asarray(table.numbers(columns)[:])
        if values.size and np.all((values == 0) | (values == 1)):
            values = values.astype(np.int64)
        return _with_ids(values, table, columns, found)
    if label is None:
        ids = id_columns(table)[:1]
        others = [name for name in table.names if name not in ids]
        if len(others) != 1 and len(table.names) != 1:
            raise ValueError(
                f"{table.file} must have a column `y_true`; it has "
                f"{', '.join(map(repr, table.names[:8]))}"
            )
        label = others[0] if others else table.names[0]
    values = table.column(label)
    return _with_ids(typed(values) if values.dtype.kind == "U" else values, table, [label], found)


def _with_ids(
    values: np.ndarray, table: Table, columns: Sequence[str], found: dict[str, Any]
) -> Labels:
    """Labels with the best column of ids; of several that may be, one with the ids of the
    predictions.
    """
    names = id_columns(table, columns)
    if "ids" in found:
        wanted = np.unique(np.asarray(found["ids"][:]).astype(str))
        names.sort(
            key=lambda name: not np.array_equal(np.unique(table.column(name).astype(str)), wanted)
        )
    if not names:
        return Labels(values, table=table, columns=columns)
    return Labels(values, table.column(names[0]), names[0], table, columns)


def read_label_arrays(path: Path) -> Labels:
    """True labels from .npy, .npz or .txt, and the ids of their cases if an .npz has them."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return Labels(read_npy(path))
    if suffix == ".txt":
        lines = [line.strip() for line in read_text(path).splitlines() if line.strip()]
        return Labels(typed(text_array(lines, path.name)))
    arrays = NpzArrays(path)
    names = [name for name in arrays if name in ("y_true", "labels", "label")]
    if not names and "ids" not in arrays:
        names = list(arrays)  # the only array may have any name
    if not names:
        raise ValueError(f"{path.name} holds no labels (`y_true`)")
    return Labels(arrays[names[0]], arrays.get("ids"))


# -----------------------------------------------------------------------------------------------------------------------  # noqa: E501
# units


def check_logits(values: Any, multilabel: bool | None) -> None:
    """Refuse logits (M, N, K) that are probabilities already: a softmax of them would hide nearly
    all differences.
    """
    sample = np.asarray(values[:, :_MANY])
    if (
        sample.dtype.kind != "f"
        or not sample.size
        or not np.isfinite(sample).all()
        or sample.min() < -1e-6
        or sample.max() > 1 + 1e-6
    ):
        return
    if sample.shape[-1] > 1 and not multilabel:
        # Logits hardly ever lie all between 0 and 1 and sum to nearly 1, so that rounding, and a
        # few damaged rows, may be allowed for.
        decimals = _decimals(sample)
        tolerance = (
            _TOLERANCE
            if decimals is None
            else max(_TOLERANCE, _rounding(sample.shape[-1], decimals))
        )
        near_one = np.abs(sample.sum(axis=-1, dtype=float) - 1) <= tolerance
        if near_one.mean() >= _MOST_ROWS:
            raise InputError(
                (
                    "`logits` must be unnormalized scores; these lie between 0 and 1 and sum to 1, "
                    "like probabilities"
                ),
                fix="file_not_logits",
            )
    elif len(np.unique(sample)) > 2:
        warnings.warn(
            (
                "`logits` lie between 0 and 1, like probabilities; if they are, do not read them "
                "as logits"
            ),
            stacklevel=4,
        )


def unrounded(values: Any, notes: list[str]) -> Any:
    """Probabilities (M, N, K) that were rounded to a few decimals, divided by their sums; others as
    they are.

    Rounding K numbers to d decimals changes their sum by at most K · ½ · 10⁻ᵈ. Rows that are off by
    more are not rounded but wrong.
    """
    in_memory = type(values) is np.ndarray
    sample = np.asarray(values[:, :] if in_memory else values[:, :_MANY])
    if (
        sample.dtype.kind != "f"
        or not sample.size
        or not np.isfinite(sample).all()
        or sample.min() < 0
        or sample.max() > 1
    ):
        return values
    sums = sample.sum(axis=-1, dtype=float)
    if np.allclose(sums, 1, atol=SUM_TOLERANCE[sample.dtype.name], rtol=0):
        return values
    decimals = _decimals(sample)
    if decimals is None:
        return values
    most = _rounding(sample.shape[-1], decimals)
    if np.abs(sums - 1).max() > most:
        return values
    low, high = f"{float(sums.min()):.{decimals}f}", f"{float(sums.max()):.{decimals}f}"
    count = f"{decimals} decimal{'s' * (decimals > 1)}"
    notes.append(
        f"probabilities rounded to {count}: rows summed to between {low} and {high}, and were "
        "divided by their sums"
    )

    def change(block: np.ndarray) -> np.ndarray:
        wide = block.astype(np.float64)
        totals = wide.sum(axis=-1, keepdims=True)
        if block.size and np.abs(totals - 1).max() > most:
            worst = float(totals.flat[np.abs(totals - 1).argmax()])
            raise ValueError(
                f"`probs` must sum to 1 over the classes; a row sums to {worst:.4g}, more than "
                f"rounding to {count} explains"
            )
        return np.asarray(wide / totals)

    view = viewed(values, tuple(values.shape), np.dtype(np.float64), (0, 1, 2), change)
    return view[:, :] if in_memory else view


def _rounding(classes: int, decimals: int) -> float:
    """By how much rounding may change the sum of the probabilities."""
    return min(classes * 0.5 * 10.0**-decimals, _MOST_ROUNDING) + 1e-9


def _decimals(values: np.ndarray) -> int | None:
    """To how many decimals all values are rounded; ``None``: to more than can be told."""
    wide = values.astype(np.float64)
    resolution = float(np.finfo(values.dtype).eps)
    for decimals in range(1, 9):
        scaled = wide * 10**decimals
        if 10**decimals * resolution > 0.01:  # any number looks rounded
            return None
        if np.abs(scaled - np.round(scaled)).max() < max(1e-6, 2 * 10**decimals * resolution):
            return decimals
    return None
