"""Probabilities and logits: in [0, 1], with sums of 1, and not taken for one another."""

from __future__ import annotations

import warnings
from math import prod

import numpy as np

from .._arrays import (
    SUM_TOLERANCE,
    Array,
    dtype_name,
    namespace,
    to_numpy,
    values_known,
    widen,
    without_gradient,
)
from .._engine import kernel
from .._engine.host import on_host
from .._errors import InputError, InputNote
from .arrays import check_finite

FEW_ROWS = 4  # fewer rows of any numbers may sum to 1 by chance
# The share of rows that sum to 1 which shows that all are probabilities, some of them wrong.
MOST_ROWS = 0.95


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
    fix: str | None = "clip"
    if low >= 0 and xp.all(xp.abs(xp.sum(probs, axis=-1) - 100) < 1):
        sentence += ". They sum to 100. Percentages? Divide by 100"
        fix = None
    elif xp.all(probs == xp.round(probs)):
        fix = "logits_or_labels"
    elif low < -1e-3 or high > 1.5:
        fix = "logits"
    raise InputError(sentence, fix=fix, kind=kind, name=name)


def _adds_up_to_one(probs: Array, axis: int, tolerance: float) -> bool:
    xp = namespace(probs)
    return bool(xp.all(xp.abs(xp.sum(probs, axis=axis) - 1) <= tolerance))


def check_sums(probs: Array, name: str, tolerance: float) -> None:
    """Each probability vector sums to 1 within the tolerance."""
    probs = without_gradient(probs)
    if _adds_up_to_one(probs, -1, tolerance):
        return
    shape = tuple(probs.shape)
    sums = to_numpy(namespace(probs).sum(probs, axis=-1))
    low, high = float(sums.min()), float(sums.max())
    came = f"sums range from {low:.7g} to {high:.7g} for shape {shape}"
    wrong = np.argwhere(np.abs(sums - 1) > tolerance)
    n_rows = prod(shape[:-1])
    fix = "logits_or_multilabel"
    others = [i for i in range(len(shape) - 1) if _adds_up_to_one(probs, i, tolerance)]
    if others:
        fix = "class_axis" if others[0] else "class_axis_first"
    elif len(wrong) < n_rows / 2:  # these are probabilities, and some of them are wrong
        place = tuple(map(int, wrong[0]))
        verb = "does" if len(wrong) == 1 else "do"
        came = f"{len(wrong):,} of {n_rows:,} rows {verb} not, the first at index {place}; {came}"
        fix = "normalize" if high < 1.1 else "rows_together"
    elif low > 0.9 and high < 1.1:
        fix = "normalize"
    raise InputError(
        f"`{name}` must sum to 1 over the class axis (K = {shape[-1]} classes) within "
        f"{tolerance:g}; {came}",
        fix=fix,
        name=name,
        axis=others[0] if others else None,
    )


def check_logits(logits: Array, *, exclusive: bool) -> None:
    """Refuse probabilities given as logits: a second softmax would level them and hide most of the
    epistemic uncertainty.
    """
    if not values_known(logits) or 0 in logits.shape:
        return
    xp, shape = namespace(logits), tuple(logits.shape)
    logits = without_gradient(logits)
    if not 0 <= float(xp.min(logits)) < float(xp.max(logits)) <= 1.001:
        return
    # rounded ones too: logits hardly ever lie between 0 and 1 and sum to nearly 1
    n_rows, n_right = prod(shape[:-1]), rows_that_sum_to_one(logits, 0.05)
    # a wrong row or two make no logits of the others
    if exclusive and n_rows >= FEW_ROWS and n_right >= MOST_ROWS * n_rows:
        where = ""
        if n_right < n_rows:
            where = f" in {n_right:,} of {n_rows:,} rows"
        raise InputError(
            (
                f"`logits` of shape {shape} lie between 0 and 1 and sum to 1 over the "
                f"classes{where}: they are probabilities"
            ),
            fix="not_logits",
        )
    if prod(shape) >= 16 and xp.any((logits > 0) & (logits < 1)):
        note = InputNote(
            f"All {prod(shape):,} values of `logits` lie between 0 and 1, which logits rarely do",
            fix="maybe_not_logits",
        )
        warnings.warn(note, stacklevel=3)


def rows_that_sum_to_one(x: Array, tolerance: float = 1e-2) -> int:
    """How many rows (..., K) of ``x`` sum to 1 up to rounding, also that of a file."""
    xp = namespace(x)
    sums = xp.sum(without_gradient(widen(x)), axis=-1)
    return int(xp.count_nonzero(xp.abs(sums - 1) <= tolerance))


def sum_to_one_everywhere(x: Array) -> bool:
    """Whether ``x`` has more than a few rows (..., K), and each of them sums to 1."""
    n_rows = prod(x.shape[:-1])
    return n_rows >= FEW_ROWS and rows_that_sum_to_one(x) == n_rows
