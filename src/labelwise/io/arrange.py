"""Which axis of an array is what: predictions as (M, N, K), and the sentence that helps where it
does not fit.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._errors import InputError, InputNote
from .grid import flatten_instances
from .on_disk import viewed
from .predictions import KINDS

__all__ = ["arrange_axes", "sum_to_one", "two_classes"]

_SAMPLE = 64  # instances that show what numbers are
_TOLERANCE = 0.02
_MOST_CLASSES = 1 << 16  # a longer axis is that of the instances, and not read to see its sums


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
    member = None if member_axis is None else _check_axis(member_axis, "member axis", shape)
    classes = _check_axis(-1 if class_axis is None else class_axis, "class axis", shape)
    if member == classes:
        raise ValueError(
            f"the member axis and the class axis must be different; both are {member} for shape "
            f"{shape}"
        )
    if len(shape) == 2:
        if member is not None:  # members and classes of one instance
            axes: tuple[int, ...] = (member, -1, classes)
        elif kind in ("alpha", "evidence"):
            axes = (1 - classes, classes)
        elif not table and class_axis is None and _is_second_class(kind, values, shape, found):
            axes = (0, 1, -1)
        else:
            axes = (-1, 1 - classes, classes)
        return found | {kind: _moved(values, axes)}
    if member_axis is None and class_axis is None:
        _check_order(kind, values, shape, found, table)
    if member is None:
        member = 1 if classes == 0 else 0
    instances = [axis for axis in range(len(shape)) if axis not in (member, classes)]
    found = found | {kind: _moved(values, (member, *instances, classes))}
    if len(shape) == 3:
        return found
    return flatten_instances(found, kind, sum(axis < classes for axis in instances))


def _check_axis(axis: int, name: str, shape: tuple[int, ...]) -> int:
    if not -len(shape) <= axis < len(shape):
        raise ValueError(
            f"the {name} must be one of the {len(shape)} axes of shape {shape}; got {axis}"
        )
    return axis % len(shape)


def _moved(values: Any, axes: tuple[int, ...]) -> Any:
    """``values`` with other axes: a view of an array, or of a column on disk."""
    if axes == tuple(range(len(values.shape))):
        return values
    if isinstance(values, np.ndarray):  # a mapped array stays mapped
        moved = values.transpose([axis for axis in axes if axis >= 0])
        return np.expand_dims(moved, [i for i, axis in enumerate(axes) if axis < 0])
    shape = tuple(1 if axis < 0 else int(values.shape[axis]) for axis in axes)
    return viewed(values, shape, values.dtype, axes)


def _check_order(
    kind: str, values: Any, shape: tuple[int, ...], found: dict[str, Any], table: bool
) -> None:
    """Refuse an array that is told to have another order of axes, by the labels or by what sums to
    1; warn of a doubtful one.
    """
    key = next((key for key in ("y_true", "ids", "groups", "images") if key in found), None)
    if len(shape) > 3:
        sums = [kind == "probs" and _sum_to_one_over(values, axis) for axis in range(len(shape))]
        if not sums[-1] and any(sums[1:]):
            axis = sums.index(True, 1)
            raise InputError(
                f"`probs` of shape {shape} sum to 1 over axis {axis}, not over the last",
                fix="file_classes",
                axis=axis,
            )
    elif key is not None:
        _check_against_labels(kind, values, shape, key, int(found[key].shape[0]))
    many = shape[0] > max(shape[1], 10) and shape[1] > 1
    if len(shape) == 3 and many and not table and key not in ("y_true", "ids"):
        read = f"{shape[0]} members × {shape[1]} cases × {shape[2]} classes"
        note = InputNote(f"`{kind}` of shape {shape} is read as {read}", fix="file_members")
        warnings.warn(note, stacklevel=4)


def _check_against_labels(kind: str, values: Any, shape: tuple[int, ...], key: str, n: int) -> None:
    """Refuse an array whose axes are told to be in another order by the number of labels (or
    ids).
    """
    if n == shape[1] or n not in shape:
        return
    cases = shape.index(n)
    others = [axis for axis in range(3) if axis != cases]
    classes = others[-1]
    if kind == "probs" and _sum_to_one_over(values, others[0]):
        classes = others[0]
    member = sum(others) - classes
    letters = {cases: "N", classes: "K", member: "M"}
    raise InputError(
        f"`{kind}` has shape {shape}: axis {cases} has {n}, like `{key}`",
        fix="saved_classes" if member == 0 else "saved_members" if classes == 2 else "saved_axes",
        saved=f"({', '.join(letters[axis] for axis in range(3))})",
        member=member,
        classes=classes,
    )


def _sum_to_one_over(values: Any, axis: int) -> bool:
    """Whether some of the probabilities sum to 1 over an axis."""
    if values.shape[axis] > _MOST_CLASSES:
        return False
    part = [slice(0, 8)] * len(values.shape)
    part[axis] = slice(None)
    return sum_to_one(np.asarray(values[tuple(part)]), axis)


def sum_to_one(values: np.ndarray, axis: int = -1) -> bool:
    """Whether finite numbers sum to 1 over an axis, up to coarse rounding."""
    if not _are_finite(values):
        return False
    return bool(np.allclose(values.sum(axis=axis), 1, atol=_TOLERANCE))


def _are_finite(values: np.ndarray) -> bool:
    return values.dtype.kind == "f" and values.size > 0 and bool(np.isfinite(values).all())


def _is_second_class(kind: str, values: Any, shape: tuple[int, ...], found: dict[str, Any]) -> bool:
    """Whether values of two axes are (M, N) probabilities of the second of two classes; refused if
    that is not clear.
    """
    sample = np.asarray(values[:_SAMPLE])
    if kind != "probs" or not _are_finite(sample) or sum_to_one(sample):
        return False
    per_case = [found[key] for key in ("y_true", "ids", "groups") if key in found]
    if per_case:
        told = int(per_case[0].shape[0]) == shape[1]
    else:
        told = len(found.get("class_names", ())) == 2
    if told and shape[0] != shape[1] and sample.min() >= 0 and sample.max() <= 1:
        return True
    raise InputError(
        f"`probs` must have 3 axes (members, instances, classes); got shape {shape}, and its "
        "rows do not sum to 1",
        fix="second_class",
    )


def two_classes(values: Any, kind: str, found: dict[str, Any]) -> dict[str, Any]:
    """(M, N, 1), the probability or logit of one class, as two classes: whether it is that class;
    warns of it.
    """
    names = tuple(found.get("class_names", ()))
    if len(names) == 1:
        names = (f"not {names[0]}", names[0])
    called = f" ({names[0]!r}, {names[1]!r})" if len(names) == 2 else ""
    warnings.warn(
        f"`{kind}` has one number for each case, which is taken for the second of two "
        f"classes{called}",
        stacklevel=4,
    )

    def change(block: np.ndarray) -> np.ndarray:
        first = 1 - block if kind == "probs" else np.zeros_like(block)
        return np.concatenate([first, block], axis=-1)

    view = viewed(values, (*values.shape[:2], 2), values.dtype, (0, 1, 2), change)
    found = found | {kind: view[:, :] if type(values) is np.ndarray else view}
    if called:
        found["class_names"] = names
    return found
