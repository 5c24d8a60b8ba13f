"""Which axis of an array is what: predictions as (M, N, K)."""

from __future__ import annotations

import warnings

import numpy as np

from .._errors import InputError, InputNote
from .._validation.arrays import check_axis
from .grid import flatten_instances
from .on_disk import change_when_read, stack_members, transpose_when_read
from .predictions import Fields


def arrange_axes(
    found: Fields,
    kind: str,
    member_axis: int | None,
    class_axis: int | None,
    *,
    members_first: bool,
) -> Fields:
    """The predictions ``kind`` as (M, N, K), or (N, K) for a Dirichlet; ``members_first``: that is
    known, and not to be questioned.
    """
    values = found[kind]
    shape = tuple(values.shape)
    if len(shape) < 2:
        return found  # which is refused with the axes that it should have
    classes = len(shape) - 1
    if class_axis is not None:
        classes = check_axis(class_axis, "class_axis", kind, len(shape))
    if len(shape) == 2:
        if member_axis is not None:
            raise ValueError(f"`{kind}` of shape {shape} has no member axis: it is of one member")
        values = transpose_when_read(values, (1 - classes, classes))
        if kind not in ("alpha", "evidence"):
            values = stack_members([values])
        return found | {kind: values}
    if member_axis is not None:
        member = check_axis(member_axis, "member_axis", kind, len(shape))
    else:
        member = int(classes == 0)  # the first axis that is not that of the classes
        if class_axis is None and len(shape) == 3 and not members_first:
            _check_order(kind, shape, found)
    if member == classes:
        raise ValueError(
            f"the member axis and the class axis must be different; both are {member} for shape "
            f"{shape}"
        )
    instances = [axis for axis in range(len(shape)) if axis not in (member, classes)]
    axes = (member, *instances, classes)
    if axes != tuple(range(len(shape))):
        found = found | {kind: transpose_when_read(values, axes)}
    if len(shape) == 3:
        return found
    return flatten_instances(found, kind, sum(axis < classes for axis in instances))


def _check_order(kind: str, shape: tuple[int, ...], found: Fields) -> None:
    """Refuse (N, M, K) where the number of labels or ids tells so; warn of more members than
    cases.
    """
    for key in ("y_true", "ids"):
        if key in found:
            n = found[key].shape[0]
            if n == shape[0] != shape[1]:
                raise InputError(
                    f"`{kind}` has shape {shape}: axis 0 has {n}, like `{key}`", fix="saved_members"
                )
            return
    if shape[0] > max(shape[1], 10) and shape[1] > 1:
        read = f"{shape[0]} members × {shape[1]} cases × {shape[2]} classes"
        note = InputNote(f"`{kind}` of shape {shape} is read as {read}", fix="file_members")
        warnings.warn(note, stacklevel=4)


def as_two_classes(found: Fields, kind: str) -> None:
    """Make (M, N, 1), the probability or logit of one class, two classes: whether it is that class;
    warns of it.
    """
    if np.all(np.asarray(found[kind][:, :64]) == 1):  # there is only one class
        return
    names = found.get("class_names", ("0", "1"))
    if len(names) == 1:
        names = (f"not {names[0]}", names[0])
    found["class_names"] = names
    warnings.warn(
        f"`{kind}` has one number for each case, which is taken for the second of two "
        f"classes ({', '.join(map(repr, names))})",
        stacklevel=3,
    )

    def with_first(block: np.ndarray) -> np.ndarray:
        first = np.zeros_like(block)
        if kind == "probs":
            first = 1 - block
        return np.concatenate([first, block], axis=-1)

    found[kind] = change_when_read(found[kind], with_first, found[kind].dtype, classes=2)
