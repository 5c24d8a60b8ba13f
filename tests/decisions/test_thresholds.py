"""Thresholds with a guarantee: against the definition, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import labelwise as lw
from labelwise.decisions import choose_threshold
from labelwise.decisions.thresholds import _starts_of_threshold_tests

SIMULATIONS = 2000
# (probability of a mistake at a score u ~ U(0, 1), error among the accepted up to λ, target)
SETTINGS = {
    "rising": (lambda u: 0.2 * u**2, lambda x: 0.2 * x**2 / 3, 0.05),
    "just above everywhere": (lambda u: 0 * u + 0.0501, lambda x: 0.0501, 0.05),
    "above, then below, then above": (
        lambda u: np.where(u < 0.3, 0.0501, np.where(u < 0.5, 0.0, 0.3)),
        lambda x: (0.0501 * min(x, 0.3) + 0.3 * max(x - 0.5, 0)) / x,
        0.05,
    ),
    "step": (
        lambda u: np.where(u < 0.5, 0.01, 0.5),
        lambda x: (0.01 * min(x, 0.5) + 0.5 * max(x - 0.5, 0)) / x,
        0.1,
    ),
}


@pytest.mark.parametrize("ties", [None, 12])
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_target_is_violated_in_at_most_the_allowed_share_of_simulations(setting, ties):
    mistake, error, target = SETTINGS[setting]
    if ties is not None:  # a score with few values: mistakes follow the rounded score
        grid = np.arange(1, ties + 1) / ties
        chances = np.cumsum(mistake(grid)) / np.arange(1, ties + 1)
    rng = np.random.default_rng(7)
    violations = 0
    for _ in range(SIMULATIONS):
        u = rng.random(300)
        score = u if ties is None else np.ceil(u * ties) / ties
        t = choose_threshold(
            score, rng.random(300) >= mistake(score), target=target, confidence=0.9
        )
        if t.found:
            true = error(t.value) if ties is None else chances[round(t.value * ties) - 1]
            violations += true > target
    assert violations <= 0.1 * SIMULATIONS


def test_the_guarantee_holds_for_all_classes_at_once():
    rng = np.random.default_rng(8)
    slopes = np.array([0.1, 0.2, 0.6])
    violations = 0
    for _ in range(SIMULATIONS):
        k = rng.integers(3, size=600)
        u = rng.random(600)
        correct = rng.random(600) >= slopes[k] * u
        chosen = [
            choose_threshold(u[k == c], correct[k == c], target=0.1, confidence=1 - 0.2 / 3)
            for c in range(3)
        ]
        violations += any(t.found and slopes[c] * t.value / 2 > 0.1 for c, t in enumerate(chosen))
    assert violations <= 0.2 * SIMULATIONS


def test_it_is_not_needlessly_strict():
    rng = np.random.default_rng(9)
    u = rng.random(20_000)
    t = choose_threshold(u, rng.random(20_000) >= 0.2 * u**2, target=0.05, confidence=0.95)
    assert 0.8 < t.value < 0.75**0.5  # the best possible is √0.75 = 0.866


@settings(max_examples=300)
@given(
    data=st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=40),
    target=st.sampled_from([0.3, 0.5]),
)
def test_equals_the_definition(data, target):
    """From each start, walk through the distinct scores until an exact binomial test fails; keep
    the farthest that passed.
    """
    confidence = 0.7
    score, correct = np.array([s for s, _ in data]), np.array([c for _, c in data])
    starts, share = _starts_of_threshold_tests(len(data), target, 1 - confidence)
    best = -np.inf
    for start in starts:
        pessimistic = sorted(data)[:start]  # False before True: mistakes first among ties
        if binom.cdf(sum(not c for _, c in pessimistic), start, target) > share:
            continue
        for value in np.unique(score):
            inside = score <= value
            if inside.sum() <= start:
                continue
            if binom.cdf(np.sum(inside & ~correct), inside.sum(), target) > share:
                break
            best = max(best, value)
    t = choose_threshold(score, correct, target=target, confidence=confidence)
    assert t.value == best
    assert t.found == np.isfinite(best)
    assert t.n_accepted == np.sum(score <= best)
    assert t.errors == np.sum(~correct[score <= best])


def test_starts_depend_on_the_number_of_cases_only_and_can_pass():
    for n in (1, 10, 60, 61, 100, 1000, 10**6):
        starts, share = _starts_of_threshold_tests(n, 0.05, 0.05)
        assert all(k < n and 0.95**k <= share for k in starts)
        assert share * max(len(starts), 1) <= 0.05 + 1e-12
    assert _starts_of_threshold_tests(59, 0.05, 0.05)[0] == []
    assert _starts_of_threshold_tests(60, 0.05, 0.05)[0] == [59]


def test_when_no_threshold_reaches_the_target_the_result_says_why():
    few = choose_threshold(np.arange(30.0), np.ones(30), target=0.05, confidence=0.95)
    assert not few.found
    assert str(few) == (
        "no threshold keeps the error below 0.05 with confidence 0.95: 30 cases cannot prove it "
        "even without errors; at least 60 are needed"
    )
    assert not few.accept(np.array([-1e9, 0.0])).any()
    wrong = choose_threshold(np.arange(500.0), np.arange(500) % 2, target=0.05, confidence=0.95)
    assert not wrong.found
    assert (
        wrong.reason
        == "no test passes, the first with 40 errors among the 80 most certain of 500 cases"
    )


def test_accepting_and_printing():
    score, correct = np.linspace(0, 1, 400), np.r_[np.ones(300), np.zeros(100)]
    t = choose_threshold(score, correct, target=0.05, confidence=0.95)
    assert t.coverage == pytest.approx(t.accept(score).mean())
    assert t.errors == 400 * t.coverage - 300
    assert (
        binom.cdf(7, 307, 0.05) <= 0.05 / 3 < binom.cdf(8, 308, 0.05)
    )  # three starts share the error probability
    assert str(t) == (
        "accept scores up to 0.766917: 76.8 % of the cases, 7 of 307 wrong, error below 0.05 "
        "with confidence 0.95"
    )


def test_torch_scores(optional):
    torch = optional("torch")
    rng = np.random.default_rng(0)
    score, correct = rng.random(500), rng.random(500) > 0.02
    t = choose_threshold(torch.tensor(score), torch.tensor(correct), target=0.1, confidence=0.9)
    assert t == choose_threshold(score, correct, target=0.1, confidence=0.9)
    assert bool(t.accept(torch.tensor([0.0]))[0])


def test_groups_keep_the_guarantee_where_cases_depend_on_each_other():
    """Cases of groups that are mostly all right or all wrong; the error is the same at every
    score.
    """
    rng = np.random.default_rng(3)
    violations = {False: 0, True: 0}
    groups = np.repeat(np.arange(80), 20)
    for _ in range(100):
        bad = rng.random(80) < 0.1001 / 0.9
        wrong = bad[groups] & (rng.random(len(groups)) < 0.9)
        score = rng.random(len(groups))
        for grouped in violations:
            t = choose_threshold(
                score, ~wrong, target=0.1, confidence=0.9, groups=groups if grouped else None
            )
            violations[grouped] += t.found
    assert violations[True] <= 18  # 10 are expected at most
    assert violations[False] > 25  # as if 1600 cases were independent


def test_with_groups_a_random_case_of_each_is_tested():
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(600), rng.integers(1, 12, 600))
    score = rng.random(len(groups))
    correct = rng.random(len(groups)) >= 0.6 * score**2
    t = choose_threshold(score, correct, target=0.1, confidence=0.95, groups=groups)
    again = choose_threshold(score, correct, target=0.1, confidence=0.95, groups=groups)
    assert 0.4 < t.value < 0.5**0.5  # the best possible is √0.5
    assert again.value == t.value
    assert (t.n_groups, t.n, t.n_accepted) == (600, len(groups), np.sum(score <= t.value))
    assert t.errors == np.sum(~correct[score <= t.value])
    assert "error of a random case of a random group (of 600) below 0.1" in str(t)
    single = choose_threshold(
        score, correct, target=0.1, confidence=0.95, groups=np.arange(len(score))
    )
    assert single.value == choose_threshold(score, correct, target=0.1, confidence=0.95).value


def test_too_few_groups_say_how_many_are_needed():
    for n, found in ((59, False), (60, True)):
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
    assert few.reason == "10 groups cannot prove it even without errors; at least 60 are needed"
    with pytest.raises(ValueError, match="`groups` must name the group"):
        choose_threshold(np.arange(30.0), np.ones(30), target=0.05, confidence=0.95, groups=[1, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": [[1.0]]}, "`score` must have one value per instance"),
        ({"score": [1.0, np.nan, 2.0]}, "`score` must be finite; got NaN at index"),
        ({"score": ["a", "b", "c"]}, "`score` must be numbers"),
        ({"correct": [True]}, "`correct` must have one value for each of the 3 values of `score`"),
        ({"correct": [0.5, 1, 1]}, "`correct` must be True or False"),
        ({"target": 0}, "`target` must lie strictly between 0 and 1, such as 0.9; got 0"),
        ({"confidence": 95}, "`confidence` must lie strictly between 0 and 1, such as 0.9; got 95"),
    ],
)
def test_mistakes_are_told(change, message):
    arguments = {
        "score": [0.1, 0.2, 0.3],
        "correct": [True, True, False],
        "target": 0.1,
        "confidence": 0.9,
    } | change
    score, correct = arguments.pop("score"), arguments.pop("correct")
    with pytest.raises((ValueError, TypeError), match=message):
        lw.decisions.choose_threshold(np.asarray(score), np.asarray(correct), **arguments)
