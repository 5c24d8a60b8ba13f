"""Intervals of the measures: their definition, and coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from block_cases import check_same_bits, labeled_ensemble, peak_with_small_blocks
from interval_cases import ensemble, softmax
from labelwise.evaluation import bootstrap_uncertainty


def test_standard_errors_follow_the_definition():
    """The same draws, decomposed anew: the spread of the replicates, EU per pair of different
    members.
    """
    from scipy import stats

    probs = np.random.default_rng(1).dirichlet([2, 1, 1], size=(6, 20))
    q = lw.Ensemble(probs)
    result = bootstrap_uncertainty(q, "log", rng=3, n_bootstrap=80)
    found = []
    for members in np.random.default_rng(3).integers(6, size=(80, 6)):
        u = lw.decompose(lw.Ensemble(probs[members]))
        pairs = 1 - np.sum((np.bincount(members, minlength=6) / 6) ** 2)
        if pairs > 0:
            found.append((u.aleatoric.mean(0), u.epistemic.mean(0) * (5 / 6) / pairs))
    aleatoric, epistemic = np.moveaxis(found, 1, 0)
    u = lw.decompose(q)
    for name, value, replicates in (
        ("total", u.total.mean(0), aleatoric + epistemic),
        ("epistemic", u.epistemic.mean(0), epistemic),
    ):
        relative = stats.t.ppf(0.975, 5) * np.sqrt(replicates.var(0) * 6 / 5) / value
        estimate = getattr(result, name)
        np.testing.assert_allclose(estimate.value, value)
        np.testing.assert_allclose(np.log(value / estimate.low), relative, rtol=1e-7)
        if name != "total":  # which may reach its maximum
            np.testing.assert_allclose(np.log(estimate.high / value), relative, rtol=1e-7)


def test_agrees_with_the_jackknife_where_members_differ_independently():
    """Many instances with noise of their own: the mean EU is known well, and 20 members are enough
    for both to say how well.
    """
    rng = np.random.default_rng(12)
    q = lw.Ensemble(softmax(rng.normal(size=(500, 3)) + 0.7 * rng.normal(size=(20, 500, 3))))
    result = bootstrap_uncertainty(q, rng=0, n_bootstrap=300).epistemic
    each = [lw.decompose(lw.Ensemble(np.delete(q.probs, m, 0))).epistemic[:, 0] for m in range(20)]
    pseudo = 20 * lw.decompose(q).epistemic[:, 0].mean() - 19 * np.mean(each, axis=1)
    relative_error = pseudo.std(ddof=1) / 20**0.5 / pseudo.mean()
    assert relative_error < 0.05
    assert np.log(result.high / result.value)[0] / 2.093 == pytest.approx(relative_error, rel=0.2)


@pytest.mark.parametrize("members", [3, 12])
def test_interval_of_mean_eu_covers(members):
    rng = np.random.default_rng(2)
    center = rng.normal(0, 1.5, size=(20, 3))
    many = np.concatenate([ensemble(rng, members, center) for _ in range(400)], axis=1)
    truth = lw.decompose(lw.Ensemble(many), "squared").epistemic[:, 0].mean()
    held = 0
    for _ in range(80):
        result = bootstrap_uncertainty(
            lw.Ensemble(ensemble(rng, members, center)),
            "squared",
            rng=rng,
            n_bootstrap=100,
        )
        held += result.epistemic.low[0] <= truth <= result.epistemic.high[0]
    assert 0.86 <= held / 80 <= 1


def test_one_member_is_told_plainly():
    one = lw.Ensemble(np.full((1, 3, 2), 0.5))
    with pytest.raises(ValueError, match="one member says nothing about epistemic uncertainty"):
        bootstrap_uncertainty(one, rng=0)
    two = lw.Ensemble(np.full((2, 3, 2), 0.5))
    with pytest.raises(ValueError, match="at least 3 members"):
        bootstrap_uncertainty(two, rng=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_bootstrap": 0}, "`n_bootstrap` must be an integer of at least 2"),
    ],
)
def test_friendly_errors(options, words):
    q = lw.Ensemble(np.full((3, 2, 2), 0.5))
    with pytest.raises((ValueError, TypeError), match=words):
        bootstrap_uncertainty(q, **{"rng": 0, **options})


def test_members_without_weight_are_refused():
    q = lw.Ensemble(np.full((3, 2, 2), 0.5), weights=[1, 0, 0])
    with pytest.raises(ValueError, match="`q` has members of weight 0: drop them before"):
        bootstrap_uncertainty(q, rng=0)


def test_digits_are_kept_when_members_nearly_agree():
    away = np.arange(4)[:, None, None] * np.array([1.0, -1.0, 0.0])
    widths = []
    for size in (1e-5, 1e-9):
        q = lw.Ensemble([0.3, 0.5, 0.2] + size * away)
        found = bootstrap_uncertainty(q, rng=0, n_bootstrap=50).epistemic
        widths.append(found.high[:2] / found.value[:2])
    np.testing.assert_allclose(widths[0], widths[1], rtol=1e-3)
    agree = lw.Ensemble(np.tile([0.3, 0.5, 0.2], (4, 1, 1)))
    assert not bootstrap_uncertainty(agree, rng=0, n_bootstrap=50).epistemic.high.any()


def test_resampling_members_makes_no_copy_of_them(monkeypatch) -> None:
    q, _ = labeled_ensemble(10_000)

    def resample() -> None:
        bootstrap_uncertainty(q, n_bootstrap=4, rng=0)

    assert peak_with_small_blocks(resample, monkeypatch) < 0.2 * q.probs.nbytes


def test_intervals_are_bit_identical_for_blocks_of_any_size(monkeypatch) -> None:
    q, _ = labeled_ensemble(600, 6, "float64")
    check_same_bits(lambda: bootstrap_uncertainty(q, n_bootstrap=10, rng=0), monkeypatch)
