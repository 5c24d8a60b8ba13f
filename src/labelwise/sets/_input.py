"""Validate predictions, true classes and groups for prediction sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import InputError
from .._resampling import group_codes
from .._validation.probabilities import check_sums
from ..evaluation._forecasts import ROUNDED, mean_probabilities


def class_probabilities(q: Any, name: str) -> tuple[np.ndarray, tuple[str, ...] | None, bool]:
    """Mean probabilities (..., K), the class names if any, and whether labels may occur
    together. Memory: the means.
    """
    p, names, exclusive = mean_probabilities(q, name)
    if exclusive is None and p.size:
        check_sums(p, name, ROUNDED)
    return p, names, exclusive is False


def one_class_each(q: Any, name: str) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Mean probabilities of classes that exclude each other, (..., K), and the class names if
    any.
    """
    p, names, together = class_probabilities(q, name)
    if together:
        raise ValueError(
            f"the labels of `{name}` may occur together, so there is no one class to cover. Use "
            "lw.sets.fit_labels: yes, no or unsure"
        )
    return p, names


def groups_to_evaluate(groups: Any, n: int, fitted_by_group: bool) -> tuple[np.ndarray, str, str]:
    """The group of each of ``n`` cases, whether shares are those of a random ``"case"`` or
    ``"group"``, and what to say about them.
    """
    if groups is None and fitted_by_group:
        raise InputError(
            "these were fitted with `groups`, so they are evaluated by group", fix="groups"
        )
    estimand, who = "case", "a random case"
    if fitted_by_group:
        estimand, who = "group", "a random case of a random group"
    note = ""
    if groups is not None:
        note = f" Shares are those of {who}; intervals allow for dependence within groups."
    return group_codes(groups, n)[0], estimand, note
