"""Detection scores against scikit-learn, DeLong's definition and simulation."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import t as student

from labelwise.evaluation import compare_detection, detection_scores

NUMBERS = ("auroc", "aupr", "aupr_in", "fpr95", "fpr95_in")


def by_sklearn(score_in, score_out):
    from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

    score = np.concatenate([score_in, score_out])
    y = np.r_[np.zeros(len(score_in)), np.ones(len(score_out))]

    def fpr_at_95(y, score):
        fpr, tpr, _ = roc_curve(y, score, drop_intermediate=False)
        return fpr[np.argmax(tpr >= 0.95)]

    return (
        roc_auc_score(y, score),
        average_precision_score(y, score),
        average_precision_score(1 - y, -score),
        fpr_at_95(y, score),
        fpr_at_95(1 - y, -score),
    )


@pytest.mark.parametrize("levels", [2, 5, 40, 10**9])
@pytest.mark.parametrize(("n_in", "n_out"), [(1, 1), (20, 20), (300, 41), (17, 500)])
def test_equals_sklearn_with_and_without_ties(optional, levels, n_in, n_out):
    optional("sklearn")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        a, b = np.floor(levels * rng.beta(2, 3, n_in)) - 7, np.floor(levels * rng.beta(3, 2, n_out)) - 7
        scores = detection_scores(a, b)
        np.testing.assert_allclose([float(getattr(scores, k)) for k in NUMBERS], by_sklearn(a, b), rtol=0, atol=1e-12)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=8), st.lists(st.integers(0, 4), min_size=2, max_size=8))
@settings(max_examples=100, deadline=None)
def test_delong_variance_equals_its_definition(low, high):
    a, b = np.array(low), np.array(high)
    kernel = (b[:, None] > a) + 0.5 * (b[:, None] == a)
    auroc = kernel.mean()
    variance = kernel.mean(1).var(ddof=1) / len(b) + kernel.mean(0).var(ddof=1) / len(a)
    estimate = detection_scores(a, b).auroc
    assert float(estimate) == pytest.approx(auroc, abs=1e-14)
    if 0 < auroc < 1 and variance > 0:
        logits = [np.log(x / (1 - x)) for x in (estimate.low, auroc, estimate.high)]
        if not np.isfinite(logits).all() or np.abs(logits).max() > 15:
            return  # rounds to 0 or 1
        sides = [(kernel.mean(1).var(ddof=1) / len(b), len(b) - 1), (kernel.mean(0).var(ddof=1) / len(a), len(a) - 1)]
        quantile = student.ppf(0.975, variance**2 / sum(v**2 / f for v, f in sides))  # Satterthwaite
        np.testing.assert_allclose(np.diff(logits), quantile * np.sqrt(variance) / (auroc * (1 - auroc)), rtol=1e-6)


def test_delong_interval_covers():
    """2,000 sets of 200 and 200 with AUROC .8: between 93 and 97 % of the intervals hold it."""
    rng = np.random.default_rng(0)
    shift = NormalDist().inv_cdf(0.8) * 2**0.5
    held = 0
    for _ in range(2000):
        auroc = detection_scores(rng.normal(size=200), rng.normal(shift, 1, 200)).auroc
        held += auroc.low <= 0.8 <= auroc.high
    assert 0.93 <= held / 2000 <= 0.97


def test_perfect_separation_is_not_certainty():
    perfect = detection_scores(np.arange(20), np.arange(30) + 100).auroc
    assert float(perfect) == perfect.high == 1
    assert perfect.low == pytest.approx(0.025 ** (1 / 20))
    inverted = detection_scores(np.arange(30) + 100, np.arange(20)).auroc
    assert (float(inverted), inverted.low, inverted.high) == (0, 0, pytest.approx(1 - 0.025 ** (1 / 20)))
    one = detection_scores([1.0, 2.0], [1.5])
    assert np.isnan(one.auroc.low)


def test_clustered_variance_reduces_to_delong_and_covers():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=40), rng.normal(1, 1, 30)
    alone = detection_scores(a, b).auroc
    singles = detection_scores(a, b, groups_in=np.arange(40), groups_out=np.arange(100, 130)).auroc
    assert singles.low == pytest.approx(alone.low, abs=1e-12)
    assert singles.high == pytest.approx(alone.high, abs=1e-12)
    shift = NormalDist().inv_cdf(0.8) * 2**0.5
    held, naive = 0, 0
    for _ in range(400):
        groups = np.repeat(np.arange(160), 4)
        score = 0.9 * rng.normal(size=160)[groups] + 0.19**0.5 * rng.normal(size=640)
        familiar, unfamiliar = score[:320], score[320:] + shift
        grouped = detection_scores(familiar, unfamiliar, groups_in=groups[:320], groups_out=groups[320:]).auroc
        plain = detection_scores(familiar, unfamiliar).auroc
        held += grouped.low <= 0.8 <= grouped.high
        naive += plain.low <= 0.8 <= plain.high
    assert 0.92 <= held / 400 <= 0.98
    assert naive / 400 < 0.85
    # the same patients on both sides: what they share cancels, and the interval is the narrower
    patient = rng.normal(size=80)[groups[:320]]
    s, t = patient + 0.3 * rng.normal(size=320), patient + 0.3 * rng.normal(size=320) + shift
    shared = detection_scores(s, t, groups_in=groups[:320], groups_out=groups[:320]).auroc
    apart = detection_scores(s, t, groups_in=groups[:320], groups_out=groups[320:]).auroc
    assert shared.high - shared.low < apart.high - apart.low


def test_clustered_variance_is_obuchowskis():
    """Patients of different sizes, on one side or on both: Eqs. of Obuchowski (1997), written with loops over patients and pairs."""
    rng = np.random.default_rng(4)
    groups_in, groups_out = np.array([0, 0, 0, 1, 1, 2, 3, 3, 4, 4]), np.array([1, 2, 2, 3, 3, 3, 5, 5])
    patient = np.array([0.0, 1.5, -1.0, 0.8, -0.6, 0.2])
    a, b = patient[groups_in] + 0.3 * rng.normal(size=10), patient[groups_out] + 0.3 * rng.normal(size=8) + 0.4
    wins = (b[None, :] > a[:, None]).astype(float)
    v_in, v_out, auroc = wins.mean(axis=1), wins.mean(axis=0), wins.mean()
    of_in = {g: v_in[groups_in == g].sum() - np.sum(groups_in == g) * auroc for g in range(6)}
    of_out = {g: v_out[groups_out == g].sum() - np.sum(groups_out == g) * auroc for g in range(6)}
    s10 = 5 / 4 / 10 * sum(x**2 for x in of_in.values())  # 5 of the 6 patients are "in"
    s01 = 4 / 3 / 8 * sum(x**2 for x in of_out.values())  # 4 are "out"
    s11 = 6 / 5 * sum(of_in[g] * of_out[g] for g in range(6))
    variance = s10 / 10 + s01 / 8 + 2 * s11 / (10 * 8)
    assert abs(2 * s11 / 80) > 0.2 * variance
    found = detection_scores(a, b, groups_in=groups_in, groups_out=groups_out).auroc
    low, high = (np.log(x / (1 - x)) for x in (found.low, found.high))
    freedom = (s10 / 10 + s01 / 8) ** 2 / ((s10 / 10) ** 2 / 4 + (s01 / 8) ** 2 / 3)  # Satterthwaite
    half = student.ppf(0.975, min(freedom, 5)) * variance**0.5 / (auroc * (1 - auroc))
    assert (high - low) / 2 == pytest.approx(half, rel=1e-10)


def test_bootstrap_replicates_follow_the_definition(optional):
    optional("sklearn")
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 20, 50), rng.integers(5, 25, 40)
    scores = detection_scores(a, b, n_bootstrap=30, rng=9)
    draw = np.random.default_rng(9)
    drawn_in = draw.integers(50, size=(30, 50))
    drawn_out = draw.integers(40, size=(30, 40))
    again = np.array([by_sklearn(a[i], b[j]) for i, j in zip(drawn_in, drawn_out, strict=True)])
    low, high = np.quantile(again, (0.025, 0.975), axis=0)
    for k, name in enumerate(("auroc_bootstrap", *NUMBERS[1:])):
        np.testing.assert_allclose((getattr(scores, name).low, getattr(scores, name).high), (low[k], high[k]), atol=1e-12)
    assert scores.auroc.method == "DeLong"
    assert scores.auroc_bootstrap.low == pytest.approx(scores.auroc.low, abs=0.05)


def test_cluster_bootstrap_draws_groups_on_both_sides(optional):
    optional("sklearn")
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=30), rng.normal(1, 1, 30)
    patient = np.array([f"p{i // 3}" for i in range(30)])
    scores = detection_scores(a, b, groups_in=patient, groups_out=patient, n_bootstrap=40, rng=4)
    again = []
    for drawn in np.random.default_rng(4).integers(10, size=(40, 10)):
        rows = np.concatenate([np.arange(3 * g, 3 * g + 3) for g in drawn])
        again.append(by_sklearn(a[rows], b[rows]))
    # fewer than 20 patients: Student's t on the logit scale with the bootstrap's standard error
    se, x = np.std(again, axis=0, ddof=1)[1] * (10 / 9) ** 0.5, float(scores.aupr)
    half = student.ppf(0.975, 9) * se / (x * (1 - x))
    np.testing.assert_allclose((scores.aupr.low, scores.aupr.high), expit(logit(x) + np.array([-half, half])), atol=1e-12)
    assert "Student" in scores.aupr.method
    # a replicate may miss one side: it is passed over, not counted as 0
    rare = detection_scores(a, b[:1], groups_in=patient, groups_out=["other"], n_bootstrap=40, rng=4)
    assert np.isfinite(rare.aupr.low)


def test_paired_difference_takes_the_covariance_into_account():
    rng = np.random.default_rng(5)
    a_in, a_out = rng.normal(size=150), rng.normal(1, 1, 120)
    noise_in, noise_out = rng.normal(size=150), rng.normal(size=120)
    b_in, b_out = a_in + noise_in, a_out + noise_out
    difference = compare_detection(a_in, a_out, b_in, b_out, n_bootstrap=400, rng=1)
    first, second = detection_scores(a_in, a_out), detection_scores(b_in, b_out)
    for name in NUMBERS:
        assert float(getattr(difference, name)) == pytest.approx(float(getattr(first, name)) - float(getattr(second, name)))
    # DeLong's covariance by its definition
    kernels = [(y[:, None] > x).astype(float) for x, y in ((a_in, a_out), (b_in, b_out))]
    s_out, s_in = (np.cov([k.mean(axis) for k in kernels]) for axis in (1, 0))
    variance = np.array([1, -1]) @ (s_out / 120 + s_in / 150) @ np.array([1, -1])
    sides = [np.array([1, -1]) @ s @ np.array([1, -1]) / n for s, n in ((s_out, 120), (s_in, 150))]
    t = student(variance**2 / (sides[0] ** 2 / 119 + sides[1] ** 2 / 149))
    assert difference.auroc.high - difference.auroc.low == pytest.approx(2 * t.ppf(0.975) * np.sqrt(variance), rel=1e-6)
    assert difference.p_value == pytest.approx(2 * t.cdf(-abs(float(difference.auroc)) / np.sqrt(variance)), rel=1e-9)
    width = difference.auroc.high - difference.auroc.low
    assert difference.auroc_bootstrap.high - difference.auroc_bootstrap.low == pytest.approx(width, rel=0.15)
    same = compare_detection(a_in, a_out, 3 * a_in, 3 * a_out)
    assert (float(same.auroc), same.auroc.low, same.auroc.high, same.p_value) == (0, 0, 0, 1)
    opposite = compare_detection([1, 2], [3, 4], [3, 4], [1, 2])
    assert float(opposite.auroc) == 1
    assert np.isnan(opposite.p_value)


def test_paired_test_keeps_its_level():
    rng = np.random.default_rng(6)
    rejected = 0
    for _ in range(600):
        base_in, base_out = rng.normal(size=80), rng.normal(1, 1, 80)
        a, b = ((base_in + rng.normal(size=80), base_out + rng.normal(size=80)) for _ in range(2))
        rejected += compare_detection(*a, *b).p_value < 0.05
    assert 0.03 <= rejected / 600 <= 0.075


def test_scores_are_only_compared():
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=60), rng.normal(1, 1, 60)
    plain = detection_scores(a, b)
    for f in (np.exp, lambda x: 1e9 + 1e3 * x, lambda x: x**3):
        again = detection_scores(f(a), f(b))
        assert all(float(getattr(again, k)) == float(getattr(plain, k)) for k in NUMBERS)


def test_all_libraries(lib):
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=60), rng.normal(1, 1, 60)
    assert float(detection_scores(lib.array(a), lib.array(b)).aupr) == pytest.approx(float(detection_scores(a, b).aupr), abs=1e-14)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups_in": [0, 1]}, "neither"),
        ({"groups_in": [0, 1], "groups_out": [0]}, "`groups_out` must name"),
        ({"groups_in": [0, 1], "groups_out": ["a", "b"]}, "same kind"),
        ({"groups_in": [0, 0], "groups_out": [0, 0], "n_bootstrap": 9}, "at least 2 groups"),
        ({"confidence": 1.0}, "`confidence`"),
        ({"n_bootstrap": 1, "rng": 1}, "`n_bootstrap`"),
        ({"n_bootstrap": 9, "rng": "seed"}, "`rng`"),
    ],
)
def test_friendly_errors(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        detection_scores([1.0, 2.0], [2.0, 3.0], **options)
    with pytest.raises(ValueError, match="`b_in`"):
        compare_detection([1, 2], [1, 2], [1, 2, 3], [1, 2])
