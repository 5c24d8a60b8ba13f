"""Arrays of numbers: of any library, with members first and classes last, and their weights."""

from __future__ import annotations

import warnings
from operator import index
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj, is_dask_array, is_numpy_array, is_torch_array

from .._arrays import (
    SUM_TOLERANCE,
    Array,
    dtype_name,
    library,
    like,
    namespace,
    sum_first,
    to_numpy,
    values_known,
    widen,
)
from .._errors import InputError, kind_of


def as_real(x: Any, name: str, *, integers: bool = False) -> Array:
    """``x`` as an array of real numbers in its own library and type; of integers only if they are
    allowed.

    Lists have no type of their own, so numbers in lists are floating point.
    """
    if type(x) is np.ndarray and x.dtype in (np.float32, np.float64):
        return x  # the most frequent case, fast
    given = x
    x = _as_array(x, name)
    kind = dtype_name(x)
    if kind in SUM_TOLERANCE:
        if (is_numpy_array(x) or is_dask_array(x)) and not x.dtype.isnative:
            return x.astype(x.dtype.newbyteorder("="))
        return x
    if kind.startswith(("int", "uint")):
        if integers:
            return x
        if not is_array_api_obj(given):
            return x.astype(np.float64)
    if kind == "object" and x.ndim == 0:
        raise TypeError(f"`{name}` must be an array of numbers; got {kind_of(given)}")
    convert = f"{name}.double()" if is_torch_array(x) else f"{name}.astype(float)"
    raise TypeError(
        f"`{name}` must be real and floating point (float64 or float32; float16 and bfloat16 are "
        f"widened); got {kind} for shape {tuple(x.shape)}. Convert with {convert}"
    )


def _as_array(x: Any, name: str) -> Array:
    """``x`` as an array of its own library, or of NumPy if it has none."""
    if isinstance(x, np.ma.MaskedArray):
        missing = np.sum(np.ma.getmaskarray(x))
        if missing:
            raise InputError(
                f"`{name}` must be complete; got a masked array with {missing} of {x.size} values "
                "masked. "
                "Drop the masked instances, or fill them in, first"
            )
        return np.asarray(x.data)
    if is_numpy_array(x):
        return np.asarray(x)  # np.matrix and np.memmap as plain arrays on the same memory
    if is_array_api_obj(x):
        return x
    if isinstance(x, list | tuple) and any(
        is_array_api_obj(part) and not is_numpy_array(part) for part in x
    ):
        try:
            # in the members' own library, on its device, with its gradients
            return namespace(*x).stack(list(x))
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(
                f"`{name}` must be arrays of one library and of equal shape when given as a list; "
                f"{error}"
            ) from error
    try:
        return np.asarray(x)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"`{name}` must be a rectangular array of numbers; got sequences of unequal lengths or "
            "of mixed kinds"
        ) from error


def as_floating(x: Any, name: str) -> Array:
    """``x`` as a real floating-point array of its own library; float16 and bfloat16 are widened to
    float32.
    """
    return widen(as_real(x, name))


def in_library_of(x: Array, other: Array, name: str, other_name: str) -> Array:
    """``x`` in the library and type of ``other``: from NumPy into every library, but not between
    two others.
    """
    if is_numpy_array(x) and not is_numpy_array(other):
        return like(x, other)
    if library(x) != library(other):
        raise TypeError(
            f"`{name}` and `{other_name}` must come from the same array library; got {library(x)} "
            f"and {library(other)}. "
            f"Convert `{name}` first"
        )
    return namespace(other).astype(x, other.dtype)


def check_finite(x: Array, name: str, **fix: Any) -> None:
    """Raise an error for NaN and infinity, with their number and the first position; ``fix``: that
    of the `InputError`.
    """
    xp = namespace(x)
    good = xp.isfinite(x)
    if xp.all(good):
        return
    bad = ~to_numpy(good)
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    value = "NaN" if np.isnan(to_numpy(x)[first]) else "infinity"
    raise InputError(
        (
            f"`{name}` must be finite; got {value} at index {first} ({bad.sum()} of "
            f"{bad.size} values are not finite)"
        ),
        **fix,
    )


def check_classes(x: Array, name: str, *, exclusive: bool = True) -> None:
    """At least two classes on the last axis, or one label where labels may occur together."""
    k, least = x.shape[-1], "2 classes" if exclusive else "1 label"
    if k < 1 + exclusive:
        sentence = (
            f"`{name}` must have at least {least} (K) on its class axis; got K = {k} for shape "
            f"{tuple(x.shape)}"
        )
        if name == "probs" and exclusive:
            sentence += ". For a binary classifier give both columns, p and 1 − p"
        raise InputError(sentence)


def members_first(x: Any, name: str, member_axis: int | None, class_axis: int) -> Array:
    """``x`` as a floating array with members first and classes last (a view where the library
    can).
    """
    x = as_real(x, name)
    shape = tuple(x.shape)
    if x.ndim < 2:
        raise InputError(
            f"`{name}` must have at least 2 axes (members, ..., classes); got shape {shape}"
        )
    if x.ndim == 2 and member_axis is None:
        raise InputError(
            f"`{name}` of shape {shape} is ambiguous: {shape[0]} members' predictions for one "
            f"instance, or one model's for {shape[0]} "
            "instances? Pass member_axis=0 for the first; the second is an ensemble of one "
            f"member, {name}[None]"
        )
    member = 0
    if member_axis is not None:
        member = check_axis(member_axis, "member_axis", name, x.ndim)
    klass = check_axis(class_axis, "class_axis", name, x.ndim)
    if member == klass:
        raise InputError(
            f"the member axis and the class axis must be different axes of `{name}`; both are "
            f"{member} for shape {shape}"
        )
    if (member, klass) != (0, x.ndim - 1):
        x = namespace(x).moveaxis(x, (member, klass), (0, -1))
    if x.shape[0] == 0:
        raise InputError(
            f"`{name}` must have at least one member; got shape {shape} with members on axis "
            f"{member}"
        )
    if member_axis is None and x.shape[1] > 1 and x.shape[0] > 32 and x.shape[0] >= 8 * x.shape[1]:
        warnings.warn(
            f"`{name}` of shape {shape} is interpreted as {x.shape[0]} members' predictions for "
            f"{x.shape[1]} instances. If the members are on "
            "another axis, pass member_axis=1 (or whichever); if this is correct, pass "
            "member_axis=0",
            stacklevel=3,
        )
    return x


def normalized_weights(weights: Any, probs: Array, name: str = "probs") -> Array | None:
    """Weights over members, (M,) or (M, ...), scaled to sum to 1; NumPy weights always in double
    precision.
    """
    if weights is None:
        return None
    weights = as_real(weights, "weights", integers=True)
    members, *batch = probs.shape[:-1]
    shapes = [(members,)]
    if batch:
        shapes.append((members, *batch))
    if tuple(weights.shape) not in shapes:
        choices = " or ".join(map(str, shapes))
        raise InputError(
            f"`weights` must have one value per member, shape {choices}; got shape "
            f"{tuple(weights.shape)}"
        )
    computed = widen(probs[:1, ...])
    if is_dask_array(weights) and is_dask_array(probs):  # validated when they are computed
        kind = computed.dtype
        return weights.rechunk({0: -1}).map_blocks(
            lambda block: _scaled_weights(block.astype(np.float64)).astype(kind),
            dtype=kind,
            meta=np.empty((0,) * weights.ndim, kind),
        )
    if is_numpy_array(weights):
        weights = weights.astype(np.float64)
    else:
        weights = in_library_of(weights, computed, "weights", name)
    return in_library_of(_scaled_weights(weights), computed, "weights", name)


def _scaled_weights(weights: Array) -> Array:
    """``weights`` validated and divided by their sums over the members."""
    if values_known(weights) and 0 not in weights.shape:
        check_finite(weights, "weights")
        known = to_numpy(weights).astype(float)
        if known.min() < 0:
            raise InputError(f"`weights` must not be negative; the lowest is {known.min():.4g}")
        empty = np.argwhere(np.atleast_1d(known.max(axis=0)) == 0)
        if empty.size:
            where = ""
            if weights.ndim > 1:
                where = f" for the instance at {tuple(map(int, empty[0]))}"
            raise InputError(f"`weights` must not be 0 for all members; got only zeros{where}")
        if known.max() > float(namespace(weights).finfo(weights.dtype).max) / weights.shape[0]:
            raise InputError(
                f"`weights` are too large to be summed; the largest is {known.max():.4g}. Divide "
                "them by it first"
            )
    return weights / sum_first(weights)


def check_axis(axis: Any, option: str, name: str, ndim: int) -> int:
    """``axis`` as a nonnegative integer."""
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise TypeError(f"`{option}` must be an integer; got {axis!r}")
    axis = index(axis)
    if not -ndim <= axis < ndim:
        raise InputError(
            f"the {option.replace('_', ' ')} must be one of the {ndim} axes of `{name}`, from "
            f"{-ndim} to {ndim - 1}; got {axis}"
        )
    return axis % ndim
