"""Which cases speak for which classes, and a sentence for every mistake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise.sets import fit_labels, fit_sets
from set_cases import NAMES, cases, ensemble


def test_events_hold_each_and_a_class_of_two_has_the_larger_threshold() -> None:
    p, y = cases()
    single = fit_sets(ensemble(p), y, coverage=0.8)
    pooled = fit_sets(ensemble(p), y, coverage=0.8, guarantee={"rare": ["lentigo", "angioma"]})
    assert [e.name for e in pooled.events] == ["rare", "nevus", "melanoma"]
    assert pooled.thresholds[2] == pooled.thresholds[3]
    np.testing.assert_array_equal(pooled.thresholds[:2], single.thresholds[:2])
    assert "not for each class of an event by itself" in pooled.guarantee
    assert "lentigo, angioma" in repr(pooled)
    both = fit_sets(
        ensemble(p),
        y,
        coverage=0.8,
        guarantee={"rare": ["lentigo", "angioma"], "lentigo": ["lentigo"]},
    )
    assert both.thresholds[2] == max(pooled.thresholds[2], single.thresholds[2])
    evaluation = both.evaluate(ensemble(p), y)
    assert evaluation["rare"].guaranteed
    assert not evaluation["angioma"].guaranteed  # its own coverage is beside it
    marginal = fit_sets(p, y, coverage=0.8, guarantee="marginal")
    assert len(set(marginal.thresholds)) == 1


P, Y = cases()
MANY = lw.MultiLabelEnsemble(P[None])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: fit_sets(P, np.where(Y == 1, 7, Y)), r"`y_cal` must lie between 0 and 3 .* got 7"),
        (lambda: fit_sets(ensemble(P), ["nevuss"] * 400), (
            "unknown class 'nevuss' in row 0. Did you mean 'nevus'"
        )),
        (lambda: fit_sets(P[Y != 1], Y[Y != 1]), (
            r"⌈1/\(1 − 0\.9\)⌉ − 1 = 9 calibration cases of each class or event; '1' has 0.*pool "
            r"rare classes"
        )),
        (lambda: fit_sets(P[:5], Y[:5], guarantee="marginal"), (
            r"needs at least .* = 9 calibration cases; got 5"
        )),
        (lambda: fit_sets(P, Y, coverage=1.0), (
            "`coverage` must lie strictly between 0 and 1, such as 0.9; got 1.0"
        )),
        (lambda: fit_sets(P, Y, coverage=90), "`coverage` must lie strictly"),
        (lambda: fit_sets(P, Y, coverage=True), "`coverage` must lie strictly"),
        (lambda: fit_sets(MANY, Y), "may occur together.*fit_labels"),
        (lambda: fit_sets(P, np.ones((400, 4), int)), "Labels that may occur together"),
        (lambda: fit_sets(P, Y, groups=np.arange(399)), (
            "`groups` must name the group of each of the 400 instances"
        )),
        (lambda: fit_sets(P, Y, groups=np.arange(400) // 80), (
            r"needs at least .* = 9 groups of each class or event; '0' has 5"
        )),
        (lambda: fit_sets(P, Y, guarantee="klass"), (
            "`guarantee` must be 'class', 'marginal'.*Did you mean 'class'"
        )),
        (lambda: fit_sets(P, Y, guarantee=3), "`guarantee` must be 'class'"),
        (lambda: fit_sets(P, Y, guarantee=lw.events.one_vs_one(4)), "conditional events"),
        (lambda: fit_sets(P, Y, guarantee={"rare": [9]}), "names the unknown class 9"),
        (lambda: fit_sets(P, Y).predict(P[:, :3] / P[:, :3].sum(axis=1, keepdims=True)), (
            "4 classes it was fitted for, in their order; got K = 3"
        )),
        (lambda: fit_sets(ensemble(P), Y).predict(lw.Ensemble(P[None], class_names=NAMES[::-1])), (
            "class 0 is 'angioma' instead of 'nevus'"
        )),
        (lambda: fit_sets(P * 2, Y), "between 0 and 1"),
        (lambda: fit_sets(P / 2, Y), "must sum to 1"),
        (lambda: fit_sets(P, Y, groups=np.arange(400)).evaluate(P, Y), "Pass the group of each case"),  # noqa: E501
        (lambda: fit_labels(P, Y, groups=np.arange(400)).evaluate(P, Y), "Pass the group of each case"),  # noqa: E501
        (lambda: fit_labels(MANY, np.ones((400, 4), int)), (
            r"`false_alarm_rate` 0\.1 needs at least 9 calibration cases without the label '0'; "
            r"got 0"
        )),
        (lambda: fit_labels(P, Y, miss_rate=0), "`miss_rate` must lie strictly"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(call: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()
