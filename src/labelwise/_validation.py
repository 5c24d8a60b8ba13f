"""Validation of user input."""

from __future__ import annotations

import warnings
from math import nan, prod
from operator import index
from typing import Any

import numpy as np
from array_api_compat import is_dask_array, is_numpy_array

from ._arrays import (
    SUM_TOLERANCE,
    Array,
    as_real,
    check_finite,
    dtype_name,
    index_like,
    into,
    namespace,
    sum_first,
    to_numpy,
    values_known,
    widen,
    without_gradient,
)
from ._engine import kernel
from ._engine.host import on_host
from ._errors import InputError, InputNote
from .events import Events


def check_classes(x: Array, name: str, *, exclusive: bool = True) -> None:
    """At least two classes on the last axis, or one label where labels may occur together."""
    if x.shape[-1] == 0 and not exclusive:
        raise ValueError(
            f"`{name}` must have at least one label on its class axis; got shape {tuple(x.shape)}"
        )
    if x.shape[-1] < 2 and exclusive:
        both = ". For a binary classifier give both columns, p and 1 − p" if name == "probs" else ""
        raise ValueError(
            f"`{name}` must have at least 2 classes (K) on its class axis; got K = {x.shape[-1]} "
            f"for shape {tuple(x.shape)}{both}"
        )


def members_first(x: Any, name: str, member_axis: int | None, class_axis: int) -> Array:
    """``x`` as a floating array with members first and classes last (a view where the library
    can).
    """
    x = as_real(x, name)
    shape = tuple(x.shape)
    if x.ndim < 2:
        raise ValueError(
            f"`{name}` must have at least 2 axes (members, ..., classes); got shape {shape}"
        )
    if x.ndim == 2 and member_axis is None:
        raise ValueError(
            f"`{name}` of shape {shape} is ambiguous: {shape[0]} members' predictions for one "
            f"instance, or one model's for {shape[0]} "
            "instances? Pass member_axis=0 for the first; the second is an ensemble of one "
            f"member, {name}[None]"
        )
    member = 0 if member_axis is None else check_axis(member_axis, "member_axis", name, x.ndim)
    klass = check_axis(class_axis, "class_axis", name, x.ndim)
    if member == klass:
        raise ValueError(
            f"the member axis and the class axis must be different axes of `{name}`; both are "
            f"{member} for shape {shape}"
        )
    if (member, klass) != (0, x.ndim - 1):
        x = namespace(x).moveaxis(x, (member, klass), (0, -1))
    if x.shape[0] == 0:
        raise ValueError(
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


def check_axis(axis: Any, option: str, name: str, ndim: int) -> int:
    """``axis`` as a nonnegative integer."""
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise TypeError(f"`{option}` must be an integer; got {axis!r}")
    axis = index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"the {option.replace('_', ' ')} must be one of the {ndim} axes of `{name}`, from "
            f"{-ndim} to {ndim - 1}; got {axis}"
        )
    return int(axis % ndim)


def check_probabilities(x: Array, name: str, *, sum_to_one: bool) -> None:
    """Check that ``x`` (M, ..., K) holds probabilities, with the tolerance of its own type."""
    if values_known(x) and 0 not in x.shape:
        tolerance = SUM_TOLERANCE[dtype_name(x)]
        values = x
        if type(x) is not np.ndarray:
            values = on_host(without_gradient(x))
        if values is not None and kernel.holds_probabilities(values, tolerance, sum_to_one):
            return
        probs = widen(x)
        check_range(probs, name, tolerance, "Ensemble" if sum_to_one else "MultiLabelEnsemble")
        if sum_to_one:
            check_sums(probs, name, tolerance)


def check_range(probs: Array, name: str, tolerance: float, kind: str) -> None:
    """Every value in [0, 1] up to rounding, none of them NaN; ``kind`` is the ensemble that logits
    would make.
    """
    xp = namespace(probs)
    check_finite(probs, name, fix="overflow", kind=kind)
    probs = without_gradient(probs)
    low, high = float(xp.min(probs)), float(xp.max(probs))
    if low >= 0 and high <= 1 + tolerance:
        return
    sentence = (
        f"`{name}` must lie between 0 and 1; values range from {low:.4g} to {high:.8g} for shape "
        f"{tuple(probs.shape)}"
    )
    if low >= 0 and bool(xp.all(xp.abs(xp.sum(probs, axis=-1) - 100) < 1)):
        raise InputError(f"{sentence}. They sum to 100. Percentages? Divide by 100")
    if bool(xp.all(probs == xp.round(probs))):
        raise InputError(sentence, fix="logits_or_labels", kind=kind)
    if low < -1e-3 or high > 1.5:
        raise InputError(sentence, fix="logits", kind=kind)
    raise InputError(sentence, fix="clip", name=name)


def check_sums(probs: Array, name: str, tolerance: float) -> None:
    """Each probability vector sums to 1 within the tolerance."""
    xp = namespace(probs)
    probs = without_gradient(probs)

    def sums(axis: int) -> tuple[float, float, bool]:
        total = xp.sum(probs, axis=axis)
        low, high = float(xp.min(total)), float(xp.max(total))
        return low, high, low >= 1 - tolerance and high <= 1 + tolerance

    low, high, good = sums(-1)
    if good:
        return
    shape = tuple(probs.shape)
    other = [axis for axis in range(probs.ndim - 1) if sums(axis)[2]]
    rule = (
        f"`{name}` must sum to 1 over the class axis (K = {shape[-1]} classes) within {tolerance:g}"
    )
    came = f"sums range from {low:.7g} to {high:.7g} for shape {shape}"
    sentence = f"{rule}; {came}"
    if not other:
        total = to_numpy(xp.sum(probs, axis=-1))
        wrong = np.argwhere(np.abs(total - 1) > tolerance)
        if len(wrong) < total.size / 2:  # these are probabilities, and some of them are wrong
            place = tuple(map(int, wrong[0]))
            rows = (
                f"{len(wrong):,} of {total.size:,} rows {'does' if len(wrong) == 1 else 'do'} not, "
                f"the first at index {place}"
            )
            raise InputError(
                f"{rule}; {rows}; {came}",
                fix="normalize" if high < 1.1 else "rows_together",
                name=name,
            )
    if other:
        raise InputError(
            sentence, fix="class_axis" if other[0] else "class_axis_first", axis=other[0]
        )
    if low > 0.9 and high < 1.1:
        raise InputError(sentence, fix="normalize", name=name)
    raise InputError(sentence, fix="logits_or_multilabel")


def check_logits(logits: Array, *, exclusive: bool) -> None:
    """Refuse probabilities given as logits: a second softmax would level them and hide most of the
    epistemic uncertainty.
    """
    low, high = _ends(logits)
    if not 0 <= low < high <= 1.001:
        return
    shape = tuple(logits.shape)
    n_rows, n_right = prod(shape[:-1]), rows_that_sum_to_one(logits)
    # a wrong row or two make no logits of the others
    if exclusive and n_rows >= FEW_ROWS and n_right >= MOST_ROWS * n_rows:
        where = "" if n_right == n_rows else f" in {n_right:,} of {n_rows:,} rows"
        raise InputError(
            (
                f"`logits` of shape {shape} lie between 0 and 1 and sum to 1 over the "
                f"classes{where}: they are probabilities"
            ),
            fix="not_logits",
        )
    if prod(shape) >= 16 and bool(namespace(logits).any((logits > 0) & (logits < 1))):
        note = InputNote(
            f"All {prod(shape):,} values of `logits` lie between 0 and 1, which logits rarely do",
            fix="maybe_not_logits",
        )
        warnings.warn(note, stacklevel=3)


def _ends(x: Array) -> tuple[float, float]:
    """The lowest and the highest value, NaN where they are not at hand."""
    if not values_known(x) or 0 in x.shape:
        return nan, nan
    x = without_gradient(x)
    return float(namespace(x).min(x)), float(namespace(x).max(x))


FEW_ROWS = 4
"""Fewer rows of any numbers may sum to 1 by chance."""
MOST_ROWS = 0.95
"""The share of rows that sum to 1 which shows that all are probabilities, some of them wrong."""


def rows_that_sum_to_one(x: Array, tolerance: float = 1e-2) -> int:
    """How many rows (..., K) of ``x`` sum to 1 up to rounding, also that of a file."""
    xp = namespace(x)
    sums = xp.sum(without_gradient(widen(x)), axis=-1)
    return int(xp.count_nonzero(xp.abs(sums - 1) <= tolerance))


def sum_to_one_everywhere(x: Array) -> bool:
    """Whether ``x`` has more than a few rows (..., K), and each of them sums to 1."""
    n_rows = int(prod(x.shape[:-1]))
    return n_rows >= FEW_ROWS and rows_that_sum_to_one(x) == n_rows


def normalized_weights(weights: Any, probs: Array, name: str = "probs") -> Array | None:
    """Weights over members, (M,) or (M, ...), scaled to sum to 1; NumPy weights always in double
    precision.
    """
    if weights is None:
        return None
    weights = as_real(weights, "weights", integers=True)
    computed = widen(probs[:1, ...])
    members, batch, shape = probs.shape[0], tuple(probs.shape[1:-1]), tuple(weights.shape)
    lazy = is_dask_array(probs) and (is_dask_array(weights) or is_numpy_array(weights))
    if not lazy:
        weights = (
            weights.astype(np.float64)
            if is_numpy_array(weights)
            else into(weights, computed, "weights", name)
        )
    if shape != (members,) and shape != (members, *batch):
        choices = f"({members},)" + (f" or {(members, *batch)}" if batch else "")
        raise ValueError(
            f"`weights` must have one value per member, shape {choices}; got shape {shape}"
        )
    if not lazy:
        return into(_scaled(weights), computed, "weights", name)
    if is_numpy_array(weights):  # in the chunks of the predictions
        chunks = (-1, *probs.chunks[1:-1])[: weights.ndim]
        return namespace(probs).from_array(_scaled_block(weights, computed.dtype), chunks=chunks)
    meta = np.empty((0,) * weights.ndim, computed.dtype)
    return weights.rechunk({0: -1}).map_blocks(
        _scaled_block, computed.dtype, dtype=computed.dtype, meta=meta
    )


def _scaled_block(weights: np.ndarray, kind: np.dtype[Any]) -> np.ndarray:
    return np.asarray(_scaled(weights.astype(np.float64)).astype(kind))


def _scaled(weights: Array) -> Array:
    """``weights`` validated and divided by their sums over the members."""
    xp = namespace(weights)
    if values_known(weights) and 0 not in weights.shape:
        check_finite(weights, "weights")
        known = to_numpy(weights).astype(float)
        if known.min() < 0:
            raise ValueError(f"`weights` must not be negative; the lowest is {known.min():.4g}")
        empty = np.argwhere(np.atleast_1d(known.max(axis=0)) == 0)
        if empty.size:
            where = (
                f"; got only zeros for the instance at {tuple(map(int, empty[0]))}"
                if weights.ndim > 1
                else "; got only zeros"
            )
            raise ValueError(f"`weights` must not be 0 for all members{where}")
        if known.max() > float(xp.finfo(weights.dtype).max) / weights.shape[0]:
            raise ValueError(
                f"`weights` are too large to be summed; the largest is {known.max():.4g}. Divide "
                "them by it first"
            )
    return weights / sum_first(weights)


def event_sums(x: Array, events: Events, names: tuple[str, ...] | None) -> tuple[Array, Array]:
    """Sums over the classes of each event and over those it is contrasted with: two arrays (...,
    E).
    """
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
            columns = [
                xp.sum(xp.take(x, index_like(s, x), axis=-1), axis=-1) if s else 0 * x[..., 0]
                for s in sets
            ]
            sides.append(xp.stack(columns, axis=-1))
    return sides[0], sides[1]


def set_fields(instance: Any, **values: Any) -> None:
    """Set the fields of a frozen dataclass with a custom ``__init__``."""
    vars(instance).update(values)


def check_count(n: Any) -> int:
    """Validate a number of draws."""
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"`n` must be a number of draws, an integer; got {n!r}")
    if index(n) < 0:
        raise ValueError(f"`n` must be a number of draws, not negative; got {n!r}")
    return index(n)


def check_positive(value: Any, name: str) -> int:
    """``value`` as a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"`{name}` must be a positive integer; got {value!r}")
    return int(value)


def as_rng(rng: Any) -> np.random.Generator:
    """A NumPy generator from a generator, a seed or ``None`` (fresh entropy), as SPEC 7 asks."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng))
    raise TypeError(
        f"`rng` must be None, an integer seed from 0 or a numpy.random.Generator; got {rng!r}"
    )


def as_seed(rng: Any) -> int:
    """An integer seed for libraries that have no NumPy generator: ``rng`` itself if it is one, else
    drawn from it.
    """
    generator = as_rng(rng)
    return int(rng) if isinstance(rng, int | np.integer) else int(generator.integers(2**32))
