"""Thresholds keep their guarantee where cases come in groups."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.decisions import choose_threshold
from labelwise.decisions.grouped_thresholds import fewest_groups, log_fortunes


@pytest.mark.parametrize("target", [0.05, 0.3])
def test_a_fortune_seldom_grows_if_the_error_is_at_the_target(target):
    """Every sequence of twelve groups that are all right or all wrong, with its probability: a
    column of its own.
    """
    wrong = np.indices((2,) * 12).reshape(12, -1)
    chance = (target**wrong * (1 - target) ** (1 - wrong)).prod(axis=0)
    fortune = log_fortunes(wrong - target, target)
    for delta in (0.5, 0.3, 0.2, 0.1):
        assert chance @ (fortune >= np.log(1 / delta)) <= delta
    assert fortune.max() > np.log(1.5)


def clustered(rng, n_groups, size, error):
    """Cases of groups that are mostly all right or all wrong; the error does not depend on the
    score.
    """
    groups = np.repeat(np.arange(n_groups), size)
    bad = rng.random(n_groups) < error / 0.9
    return rng.random(len(groups)), bad[groups] & (rng.random(len(groups)) < 0.9), groups


def test_groups_keep_the_guarantee_where_cases_depend_on_each_other():
    rng = np.random.default_rng(3)
    violations = {False: 0, True: 0}
    for _ in range(60):
        score, wrong, groups = clustered(rng, 80, 20, 0.1001)
        for grouped in violations:
            t = choose_threshold(
                score, ~wrong, target=0.1, confidence=0.9, groups=groups if grouped else None
            )
            violations[grouped] += t.found
    assert violations[True] <= 10  # 6 are expected at most
    assert violations[False] > 15  # as if 1600 cases were independent


def test_groups_find_a_threshold_and_count_the_same():
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(400), rng.integers(1, 12, 400))
    score = rng.random(len(groups))
    correct = rng.random(len(groups)) >= 0.6 * score**2
    t = choose_threshold(score, correct, target=0.1, confidence=0.95, groups=groups)
    assert 0.4 < t.value < 0.5**0.5  # the best possible is √0.5
    assert (t.n_groups, t.n, t.n_accepted) == (400, len(groups), np.sum(score <= t.value))
    assert t.errors == np.sum(~correct[score <= t.value])
    assert "error of a random case of a random group (of 400) below 0.1" in str(t)
    copied = choose_threshold(
        np.repeat(score, 3),
        np.repeat(correct, 3),
        target=0.1,
        confidence=0.95,
        groups=np.repeat(groups, 3),
    )
    assert copied.value == t.value  # copies of a case say no more


def test_fewer_than_ten_groups_test_only_to_accept_everything():
    score, groups = np.arange(80.0), np.arange(80) // 10
    everything = choose_threshold(score, np.ones(80), target=0.5, confidence=0.9, groups=groups)
    assert everything.value == np.inf
    assert everything.coverage == 1
    nothing = choose_threshold(score, score < 30, target=0.5, confidence=0.9, groups=groups)
    assert not nothing.found
    assert nothing.reason.startswith(
        "the 8 groups tested with do not prove it if all cases are accepted, and no other group"
    )
    few = choose_threshold(score, np.ones(80), target=0.1, confidence=0.9, groups=groups)
    assert few.reason.startswith("8 groups cannot prove it even without errors")


def test_too_few_groups_say_how_many_are_needed():
    for n, found in ((67, False), (68, True)):
        t = choose_threshold(
            np.arange(2.0 * n),
            np.ones(2 * n),
            target=0.05,
            confidence=0.95,
            groups=np.arange(2 * n) % n,
        )
        assert t.found == found, t
    few = choose_threshold(
        np.arange(30.0), np.ones(30), target=0.05, confidence=0.95, groups=np.arange(30) // 3
    )
    assert few.reason == "10 groups cannot prove it even without errors; at least 68 are needed"
    assert fewest_groups(0.05, 0.05) == 62
    with pytest.raises(ValueError, match="`groups` must name the group"):
        choose_threshold(np.arange(30.0), np.ones(30), target=0.05, confidence=0.95, groups=[1, 2])
