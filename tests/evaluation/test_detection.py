"""Detection scores against scikit-learn, DeLong's definition and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t as student

from labelwise.evaluation import compare_detection, detection_scores

NUMBERS = ("auroc", "aupr", "fpr95")


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
        fpr_at_95(y, score),
    )


@pytest.mark.parametrize("levels", [2, 5, 40, 10**9])
@pytest.mark.parametrize(("n_in", "n_out"), [(1, 1), (20, 20), (300, 41), (17, 500)])
def test_equals_sklearn_with_and_without_ties(optional, levels, n_in, n_out):
    optional("sklearn")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        a, b = (
            np.floor(levels * rng.beta(2, 3, n_in)) - 7,
            np.floor(levels * rng.beta(3, 2, n_out)) - 7,
        )
        scores = detection_scores(a, b)
        np.testing.assert_allclose(
            [float(getattr(scores, k)) for k in NUMBERS], by_sklearn(a, b), rtol=0, atol=1e-12
        )


def test_perfect_separation_is_not_certainty():
    perfect = detection_scores(np.arange(20), np.arange(30) + 100).auroc
    assert float(perfect) == perfect.high == 1
    assert perfect.low == pytest.approx(0.025 ** (1 / 20))
    inverted = detection_scores(np.arange(30) + 100, np.arange(20)).auroc
    assert (float(inverted), inverted.low, inverted.high) == (
        0,
        0,
        pytest.approx(1 - 0.025 ** (1 / 20)),
    )
    one = detection_scores([1.0, 2.0], [1.5])
    assert np.isnan(one.auroc.low)


def test_bootstrap_replicates_follow_the_definition(optional):
    optional("sklearn")
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 20, 90), rng.integers(5, 25, 80)
    scores = detection_scores(a, b, n_bootstrap=30, rng=9)
    draw = np.random.default_rng(9)
    drawn_in = draw.integers(90, size=(30, 90))
    drawn_out = draw.integers(80, size=(30, 80))
    again = np.array([by_sklearn(a[i], b[j]) for i, j in zip(drawn_in, drawn_out, strict=True)])
    low, high = np.quantile(again, (0.025, 0.975), axis=0)
    for k, name in enumerate(NUMBERS[1:], start=1):
        np.testing.assert_allclose(
            (getattr(scores, name).low, getattr(scores, name).high), (low[k], high[k]), atol=1e-12
        )
    assert scores.auroc.method == "DeLong"


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
    np.testing.assert_allclose(
        (scores.aupr.low, scores.aupr.high), expit(logit(x) + np.array([-half, half])), atol=1e-12
    )
    assert "Student" in scores.aupr.method
    # a replicate may miss one side: it is passed over, not counted as 0
    rare = detection_scores(
        a, b[:1], groups_in=patient, groups_out=["other"], n_bootstrap=40, rng=4
    )
    assert np.isfinite(rare.aupr.low)


def test_paired_difference_takes_the_covariance_into_account():
    rng = np.random.default_rng(5)
    a_in, a_out = rng.normal(size=150), rng.normal(1, 1, 120)
    noise_in, noise_out = rng.normal(size=150), rng.normal(size=120)
    b_in, b_out = a_in + noise_in, a_out + noise_out
    difference = compare_detection(a_in, a_out, b_in, b_out)
    first, second = detection_scores(a_in, a_out), detection_scores(b_in, b_out)
    assert float(difference) == pytest.approx(float(first.auroc) - float(second.auroc))
    # DeLong's covariance by its definition
    kernels = [(y[:, None] > x).astype(float) for x, y in ((a_in, a_out), (b_in, b_out))]
    s_out, s_in = (np.cov([k.mean(axis) for k in kernels]) for axis in (1, 0))
    variance = np.array([1, -1]) @ (s_out / 120 + s_in / 150) @ np.array([1, -1])
    sides = [np.array([1, -1]) @ s @ np.array([1, -1]) / n for s, n in ((s_out, 120), (s_in, 150))]
    t = student(variance**2 / (sides[0] ** 2 / 119 + sides[1] ** 2 / 149))
    assert difference.high - difference.low == pytest.approx(
        2 * t.ppf(0.975) * np.sqrt(variance), rel=1e-6
    )
    same = compare_detection(a_in, a_out, 3 * a_in, 3 * a_out)
    assert (float(same), same.low, same.high) == (0, 0, 0)
    opposite = compare_detection([1, 2], [3, 4], [3, 4], [1, 2])
    assert float(opposite) == 1
    assert np.isnan([opposite.low, opposite.high]).all()


def test_paired_test_keeps_its_level():
    rng = np.random.default_rng(6)
    rejected = 0
    for _ in range(600):
        base_in, base_out = rng.normal(size=80), rng.normal(1, 1, 80)
        a, b = ((base_in + rng.normal(size=80), base_out + rng.normal(size=80)) for _ in range(2))
        difference = compare_detection(*a, *b)
        rejected += not difference.low <= 0 <= difference.high
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
    assert float(detection_scores(lib.array(a), lib.array(b)).aupr) == pytest.approx(
        float(detection_scores(a, b).aupr), abs=1e-14
    )


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
