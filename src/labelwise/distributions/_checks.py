"""What every distribution checks at the door."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj, is_numpy_array

from .._arrays import (
    SUM_TOLERANCE,
    Array,
    as_floating,
    check_finite,
    dtype_name,
    index_like,
    like,
    namespace,
    values_known,
    without_gradient,
)
from ..events import Events


def check_classes(x: Array, name: str) -> None:
    """At least two classes on the last axis."""
    if x.shape[-1] < 2:
        raise ValueError(
            f"`{name}` must have at least 2 classes on its class axis; got shape {tuple(x.shape)}. "
            "For a binary classifier give both columns, p and 1 − p"
        )


def members_first(probs: Any, name: str, member_axis: int | None, class_axis: int) -> Array:
    """``probs`` as a floating array with members first and classes last (a view where the library can)."""
    probs = as_floating(probs, name)
    xp = namespace(probs)
    shape = tuple(probs.shape)
    if probs.ndim < 2:
        raise ValueError(f"`{name}` must have at least 2 axes (members, ..., classes); got shape {shape}")
    if probs.ndim == 2 and member_axis is None:
        raise ValueError(
            f"`{name}` of shape {shape} is ambiguous: {shape[0]} members of one instance, or one model's {shape[0]} instances? "
            f"Pass member_axis=0 for the first; for the second there is one member: {name}[None]"
        )
    for axis, what in ((member_axis, "member_axis"), (class_axis, "class_axis")):
        if axis is not None and not -probs.ndim <= axis < probs.ndim:
            raise ValueError(f"`{what}` must be an axis of `{name}`, which has {probs.ndim}; got {axis}")
    member, klass = (0 if member_axis is None else member_axis) % probs.ndim, class_axis % probs.ndim
    if member == klass:
        raise ValueError(f"`member_axis` and `class_axis` must be different axes; both are {member}")
    if (member, klass) != (0, probs.ndim - 1):
        probs = xp.moveaxis(probs, (member, klass), (0, -1))
    if probs.shape[0] == 0:
        raise ValueError(f"`{name}` must have at least one member; got shape {shape} with members on axis {member}")
    check_classes(probs, name)
    if member_axis is None and probs.shape[1] > 1 and probs.shape[0] > 32 and probs.shape[0] >= 8 * probs.shape[1]:
        warnings.warn(
            f"`{name}` of shape {shape} is read as {probs.shape[0]} members of {probs.shape[1]} instances. If the members are on "
            "another axis, pass member_axis=1 (or whichever); to keep this reading, pass member_axis=0",
            stacklevel=4,
        )
    if values_known(probs):
        check_probabilities(probs, name)
    return probs


def check_probabilities(probs: Array, name: str) -> None:
    """Every value in [0, 1] up to rounding, none of them NaN."""
    xp = namespace(probs)
    if 0 in probs.shape:
        return
    check_finite(probs, name)
    probs = without_gradient(probs)
    low, high = float(xp.min(probs)), float(xp.max(probs))
    tolerance = SUM_TOLERANCE[dtype_name(probs)]
    if low < 0 or high > 1 + tolerance:
        logits = (
            "If these are logits, use Ensemble.from_logits" if low < -1e-3 or high > 1.5 else "Clip rounding errors first: probs.clip(0, 1)"
        )
        raise ValueError(
            f"`{name}` must lie between 0 and 1; values range from {low:.4g} to {high:.4g} for shape {tuple(probs.shape)}. {logits}"
        )


def check_sums(probs: Array, name: str, original: Any) -> None:
    """Each probability vector sums to 1, within a tolerance that follows the type the user stored."""
    xp = namespace(probs)
    if not values_known(probs) or 0 in probs.shape:
        return
    sums = xp.sum(without_gradient(probs), axis=-1)
    low, high = float(xp.min(sums)), float(xp.max(sums))
    kind = dtype_name(original) if hasattr(original, "dtype") else "float64"
    tolerance = SUM_TOLERANCE.get(kind, 1e-6)
    if low < 1 - tolerance or high > 1 + tolerance:
        raise ValueError(
            f"`{name}` must sum to 1 over the class axis (K = {probs.shape[-1]} classes) within {tolerance:g}; sums range from {low:.6g} to "
            f"{high:.6g} for shape {tuple(probs.shape)}. If these are logits, use Ensemble.from_logits; if labels may occur "
            "together, use MultiLabelEnsemble"
        )


def normalised_weights(weights: Any, probs: Array) -> Array | None:
    """Weights over members, (M,) or (M, ...), scaled to sum to 1."""
    if weights is None:
        return None
    xp = namespace(probs)
    if is_array_api_obj(weights) and not is_numpy_array(weights):
        weights = xp.astype(weights, probs.dtype)
    else:
        weights = np.asarray(weights)
        if weights.dtype.kind not in "iuf":
            raise TypeError(f"`weights` must be numbers; got {weights.dtype}")
        weights = like(weights, probs)
    batch = tuple(probs.shape[1:-1])
    shape = tuple(weights.shape)
    if shape != (probs.shape[0],) and shape != (probs.shape[0], *batch):
        choices = f"({probs.shape[0]},)" + (f" or {(probs.shape[0], *batch)}" if batch else "")
        raise ValueError(f"`weights` must have one value per member, shape {choices}; got shape {shape}")
    if values_known(weights):
        check_finite(weights, "weights")
        if 0 not in shape:
            if float(xp.min(without_gradient(weights))) < 0:
                raise ValueError(f"`weights` must not be negative; got {float(xp.min(without_gradient(weights))):.4g}")
            if not bool(xp.all(xp.sum(weights, axis=0) > 0)):
                raise ValueError("`weights` must not all be zero (for any instance)")
    return weights / xp.sum(weights, axis=0)


def event_sums(x: Array, events: Events, names: tuple[str, ...] | None) -> tuple[Array, Array]:
    """Sums over the classes of each event and over those it is told apart from: two arrays (..., E)."""
    xp = namespace(x)
    resolved = events.resolve(x.shape[-1], names)
    sides = []
    for side in (0, 1):
        sets = [pair[side] for pair in resolved]
        size = len(sets[0])
        if all(len(s) == size for s in sets) and size > 0:
            picked = xp.take(x, index_like(np.concatenate(sets), x), axis=-1)
            sides.append(xp.sum(xp.reshape(picked, (*x.shape[:-1], len(sets), size)), axis=-1))
        else:
            columns = [xp.sum(xp.take(x, index_like(s, x), axis=-1), axis=-1) if s else 0 * x[..., 0] for s in sets]
            sides.append(xp.stack(columns, axis=-1))
    return sides[0], sides[1]


def set_fields(instance: Any, **values: Any) -> None:
    """Give a frozen dataclass with an ``__init__`` of its own its fields."""
    for key, value in values.items():
        object.__setattr__(instance, key, value)


def as_rng(rng: Any) -> np.random.Generator:
    """A NumPy generator from a seed or a generator."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        return np.random.default_rng(int(rng))
    raise TypeError(f"`rng` must be a seed or a numpy.random.Generator, so that the result can be had again; got {rng!r}")
