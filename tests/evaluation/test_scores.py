"""Proper scores against scikit-learn, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from block_cases import check_same_bits, labeled_ensemble, peak_with_small_blocks
from labelwise.evaluation import brier_score, log_loss
from optional_libraries import optional


def case(k: int = 4, n: int = 60, seed: int = 0):
    rng = np.random.default_rng(seed)
    return lw.Ensemble(rng.dirichlet(np.ones(k), (3, n))), rng.integers(0, k, n)


@given(st.integers(2, 6), st.integers(0, 1000))
def test_they_are_those_of_scikit_learn(k, seed):
    metrics = optional("sklearn.metrics")
    q, y = case(k, seed=seed)
    p, labels = q.mean(), list(range(k))
    assert np.log(2) * float(log_loss(q, y)) == pytest.approx(metrics.log_loss(y, p, labels=labels))
    assert float(log_loss(p, y)) == pytest.approx(metrics.log_loss(y, p, labels=labels) / np.log(2))
    one_hot = np.eye(k)[y]
    assert float(brier_score(q, y)) == pytest.approx(k * metrics.mean_squared_error(one_hot, p))
    assert float(brier_score(q, one_hot.astype(int))) == pytest.approx(float(brier_score(q, y)))


def test_two_classes_are_twice_the_half_that_scikit_learn_gives():
    metrics = optional("sklearn.metrics")
    q, y = case(2)
    assert float(brier_score(q, y)) == pytest.approx(
        2 * metrics.brier_score_loss(y, q.mean()[:, 1])
    )


def test_labels_that_may_occur_together_are_added_up():
    metrics = optional("sklearn.metrics")
    rng = np.random.default_rng(0)
    q, y = lw.MultiLabelEnsemble(rng.random((3, 50, 4))), rng.integers(0, 2, (50, 4))
    each = [metrics.log_loss(y[:, k], q.mean()[:, k]) for k in range(4)]
    assert np.log(2) * float(log_loss(q, y)) == pytest.approx(sum(each))
    assert float(brier_score(q, y)) == pytest.approx(
        sum(metrics.brier_score_loss(y[:, k], q.mean()[:, k]) for k in range(4))
    )


def test_what_was_impossible_costs_infinitely_much_and_certainty_nothing():
    p = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    assert float(log_loss(p, [0, 1, 0])) == pytest.approx(1 / 3)
    assert np.signbit(float(log_loss(p[:2], [0, 1]))) == np.False_
    assert float(log_loss(p, [1, 1, 0])) == np.inf
    assert np.isnan(log_loss(p, [1, 1, 0]).low)


@pytest.mark.parametrize(
    ("n_groups", "size", "spread"), [(80, 1, 0.0), (6, 5, 0.0), (6, 5, 0.1), (20, 5, 0.1)]
)
@pytest.mark.parametrize("score", [brier_score, log_loss])
def test_intervals_hold_the_truth(score, n_groups, size, spread):
    """Outcomes drawn from the forecasts, or from forecasts that differ from these by group."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(n_groups), size)

    def sample(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = rng.beta(2, 2, len(groups))
        shift = rng.choice([-spread, spread], groups.max() + 1)[groups]
        y = rng.random(len(p)) < np.clip(p + shift, 0, 1)
        return np.stack([1 - p, p], axis=-1), y.astype(int)

    truth = float(score(*sample(np.arange(200_000))))
    hits = []
    for _ in range(300):
        found = score(*sample(groups), groups=groups)
        hits.append(found.low <= truth <= found.high)
    assert 0.91 <= np.mean(hits) <= 0.985  # the standard error is 1.3 %


def test_cases_that_are_all_alike_are_no_certainty():
    right = np.eye(3)[[0, 1, 2, 0]]
    found = brier_score(right, [0, 1, 2, 0])
    # with n cases at most a share 1 − .025^(1/n) may be different, each by 2
    assert (float(found), found.low, found.high) == (0, 0, pytest.approx(2 - 2 * 0.025 ** (1 / 4)))
    wrong = brier_score(right, [1, 2, 0, 1])
    assert (float(wrong), wrong.low, wrong.high) == (2, pytest.approx(2 * 0.025 ** (1 / 4)), 2)
    labels = brier_score(lw.MultiLabelEnsemble(right[None]), right)
    assert labels.high == pytest.approx(3 - 3 * 0.025 ** (1 / 4))
    two_groups = brier_score(right, [0, 1, 2, 0], groups=[0, 0, 1, 1])
    assert two_groups.high == pytest.approx(2 - 2 * 0.025 ** (1 / 2))
    costs = log_loss(right, [0, 1, 2, 0])
    assert (float(costs), costs.low, costs.high) == (0, 0, np.inf)


def test_groups_count_as_a_whole():
    q, y = case(n=40)
    alone = brier_score(q, y)
    twice = brier_score(
        np.concatenate([q.mean()] * 4),
        np.tile(y, 4),
        groups=np.tile(np.arange(40), 4),
    )
    assert float(twice) == pytest.approx(float(alone))
    assert (twice.low, twice.high) == pytest.approx((alone.low, alone.high))


@pytest.mark.parametrize("score", [brier_score, log_loss])
def test_scores_hold_the_mean_and_no_copy_of_the_members(score, monkeypatch) -> None:
    q, y = labeled_ensemble()
    assert peak_with_small_blocks(lambda: score(q, y), monkeypatch) < 0.8 * q.probs.nbytes


@pytest.mark.parametrize("score", [brier_score, log_loss])
def test_scores_are_bit_identical_for_blocks_of_any_size(score, monkeypatch) -> None:
    q, y = labeled_ensemble(600, 6, "float64")
    check_same_bits(lambda: score(q, y), monkeypatch)
