"""Intervals over members: their definition, and coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from block_cases import check_same_bits, labeled_ensemble, peak_with_small_blocks
from interval_cases import ensemble
from labelwise.evaluation import uncertainty_intervals


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 1.0, 3.0, 1.0, 2.0]])
def test_standard_errors_follow_the_definition(weights):
    """Each member is left out; EU per pair of different members."""
    from scipy import stats

    probs = np.random.default_rng(1).dirichlet([2, 1, 1], size=(6, 20))
    q = lw.Ensemble(probs, weights=weights)
    w = np.ones(6) if weights is None else np.array(weights)
    pairs = 1 - np.sum((w / w.sum()) ** 2)
    result = uncertainty_intervals(q)
    found = []
    for i in range(6):
        others = np.delete(w, i)
        u = lw.decompose(lw.Ensemble(np.delete(probs, i, axis=0), weights=others))
        ratio = pairs / (1 - np.sum((others / others.sum()) ** 2))
        found.append((u.aleatoric.mean(0), u.epistemic.mean(0) * ratio))
    aleatoric, epistemic = np.moveaxis(found, 1, 0)
    u = lw.decompose(q)
    for name, value, without in (
        ("total", u.total.mean(0), aleatoric + epistemic),
        ("aleatoric", u.aleatoric.mean(0), aleatoric),
        ("epistemic", u.epistemic.mean(0), epistemic),
    ):
        relative = stats.t.ppf(0.975, 5) * np.sqrt(without.var(0) * 5) / value
        estimate = getattr(result, name)
        np.testing.assert_allclose(estimate.value, value)
        np.testing.assert_allclose(np.log(value / estimate.low), relative, rtol=1e-7)
        if name != "total":  # which may reach its maximum
            np.testing.assert_allclose(np.log(estimate.high / value), relative, rtol=1e-7)


@pytest.mark.parametrize("members", [3, 12])
def test_interval_of_mean_eu_covers(members):
    rng = np.random.default_rng(2)
    center = rng.normal(0, 1.5, size=(20, 3))
    many = np.concatenate([ensemble(rng, members, center) for _ in range(400)], axis=1)
    truth = lw.decompose(lw.Ensemble(many), "squared").epistemic[:, 0].mean()
    held = 0
    for _ in range(80):
        result = uncertainty_intervals(
            lw.Ensemble(ensemble(rng, members, center)),
            "squared",
        )
        held += result.epistemic.low[0] <= truth <= result.epistemic.high[0]
    assert 0.86 <= held / 80 <= 1


def test_one_member_is_told_plainly():
    one = lw.Ensemble(np.full((1, 3, 2), 0.5))
    with pytest.raises(ValueError, match="one member says nothing about epistemic uncertainty"):
        uncertainty_intervals(one)
    two = lw.Ensemble(np.full((2, 3, 2), 0.5))
    with pytest.raises(ValueError, match="at least 3 members"):
        uncertainty_intervals(two)


def test_members_without_weight_do_not_count():
    q = lw.Ensemble(np.full((3, 2, 2), 0.5), weights=[1, 0, 0])
    with pytest.raises(ValueError, match="at least 3 members with a weight"):
        uncertainty_intervals(q)


def test_digits_are_kept_when_members_nearly_agree():
    away = np.arange(4)[:, None, None] * np.array([1.0, -1.0, 0.0])
    widths = []
    for size in (1e-5, 1e-9):
        q = lw.Ensemble([0.3, 0.5, 0.2] + size * away)
        found = uncertainty_intervals(q).epistemic
        widths.append(found.high[:2] / found.value[:2])
    np.testing.assert_allclose(widths[0], widths[1], rtol=1e-3)
    agree = lw.Ensemble(np.tile([0.3, 0.5, 0.2], (4, 1, 1)))
    assert not uncertainty_intervals(agree).epistemic.high.any()


def test_leaving_out_members_makes_no_copy_of_them(monkeypatch) -> None:
    q, _ = labeled_ensemble(10_000)

    def leave_out() -> None:
        uncertainty_intervals(q)

    assert peak_with_small_blocks(leave_out, monkeypatch) < 0.2 * q.probs.nbytes


def test_intervals_are_bit_identical_for_blocks_of_any_size(monkeypatch) -> None:
    q, _ = labeled_ensemble(600, 6, "float64")
    check_same_bits(lambda: uncertainty_intervals(q), monkeypatch)
