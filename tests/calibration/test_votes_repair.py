"""Repair of claims with votes, held-out scores, and the test of claims."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.calibration import benchmark_votes, check_votes, fit_vote_calibration, score_votes
from labelwise.calibration._maps import fit_isotonic, fit_logistic
from labelwise.calibration.votes_benchmark import REFERENCE


def simulated(rng, n=1500, n_votes=3, scale=1.0, k=3):
    """Predictions whose logits are ``scale`` times those the votes are drawn from, one member per case."""
    z = np.log(rng.dirichlet(np.ones(k), size=n)) + 0.6 * rng.normal(size=(4, n, k))
    truth = lw.Ensemble.from_logits(z)
    votes = rng.multinomial(n_votes, truth.probs[rng.integers(4, size=n), np.arange(n)])
    return lw.Ensemble.from_logits(scale * z), votes, truth


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_the_repair_finds_the_truth_and_keeps_the_identities(method):
    rng = np.random.default_rng(0)
    fit, votes, _ = simulated(rng, 4000, scale=2.0)
    new, _, truth = simulated(rng, 2000, scale=2.0)
    repair = fit_vote_calibration(fit, votes, method=method)
    u, claimed, right = repair(new), lw.decompose(new, "squared"), lw.decompose(truth, "squared")
    np.testing.assert_allclose(u.total, u.aleatoric + u.epistemic, atol=1e-15)
    assert min(u.epistemic.min(), u.aleatoric.min()) >= 0
    for part in ("total", "aleatoric"):
        before, after = (np.abs(getattr(x, part) - getattr(right, part)).mean() for x in (claimed, u))
        assert after < 0.5 * before, part
    assert u.aleatoric.mean() == pytest.approx(right.aleatoric.mean(), rel=0.05)
    assert "→" in str(repair)
    assert not repair.pooled


def test_rare_labels_share_the_maps_of_all():
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([5, 5, 0.02], size=(3, 300))
    votes = rng.multinomial(3, probs[0])
    repair = fit_vote_calibration(lw.Ensemble(probs, class_names=["x", "y", "rare"]), votes)
    assert repair.pooled == ("rare",)
    assert "*" in str(repair)


def test_one_member_gets_an_epistemic_part_from_the_votes():
    rng = np.random.default_rng(2)
    q, votes, _ = simulated(rng, 1000)
    one = lw.Ensemble(q.probs[:1])
    u = fit_vote_calibration(one, votes)(one)
    assert u.epistemic.mean() > 0.01  # the member is not what the votes were drawn from
    assert u.n_members is None


def test_repair_of_events_and_of_certain_predictions():
    rng = np.random.default_rng(3)
    q, votes, _ = simulated(rng, 300)
    u = fit_vote_calibration(q, votes, events={"first two": [0, 1]})(q)
    assert u.total.shape == (300, 1)
    sure = lw.Ensemble(np.tile(np.array([1.0, 0.0]), (2, 20, 1)))
    repaired = fit_vote_calibration(sure, np.tile([4, 0], (20, 1)))(sure)
    np.testing.assert_array_equal(repaired.total, 0)
    with pytest.raises(ValueError, match="labels the maps were fitted for"):
        fit_vote_calibration(q, votes)(sure)
    with pytest.raises(ValueError, match="`method`"):
        fit_vote_calibration(q, votes, method="beta")


def test_isotonic_is_that_of_scikit_learn(optional):
    isotonic = optional("sklearn.isotonic")
    rng = np.random.default_rng(4)
    x, w = rng.integers(0, 40, size=200) / 40, rng.uniform(0.1, 2, size=200)
    y = x + rng.normal(size=200)
    new = rng.uniform(-0.2, 1.2, size=500)
    expected = isotonic.IsotonicRegression(out_of_bounds="clip").fit(x, y, sample_weight=w).predict(new)
    np.testing.assert_allclose(fit_isotonic(x, y, w)(new), expected, atol=1e-12)


def test_the_logistic_map_has_the_gradient_zero_and_finds_the_truth():
    rng = np.random.default_rng(5)
    p = rng.beta(1, 1, size=20_000)
    z = 0.3 + 0.6 * np.log(p) - 1.4 * np.log1p(-p)
    y = (rng.random(len(p)) < 1 / (1 + np.exp(-z))).astype(float)
    found = fit_logistic(p[None], y, "beta")
    np.testing.assert_allclose([found.a, found.b, found.c], [0.3, 0.6, 1.4], atol=0.1)
    new = found(p)
    for feature in (np.ones_like(p), np.log(p), np.log1p(-p)):  # the prior pulls by at most the distance from the identity
        assert abs(np.sum((y - new) * feature)) < 1.01


def test_the_score_decomposes_and_prefers_the_truth():
    rng = np.random.default_rng(6)
    q, votes, truth = simulated(rng, 3000, scale=2.0)
    right, wrong = (score_votes(lw.decompose(x, "squared").aleatoric, q, votes) for x in (truth, q))
    for x in (right, wrong):
        np.testing.assert_allclose(x.score.value, x.calibration - x.resolution + x.uncertainty, atol=1e-15)
        assert np.all(x.calibration >= 0)
        assert np.all(x.resolution >= 0)
    assert np.all(right.score.value < wrong.score.value)
    assert np.all(right.calibration < 0.3 * wrong.calibration)
    constant = score_votes(np.tile(right.uncertainty, (3000, 1)), q, votes)
    np.testing.assert_allclose(constant.resolution, 0, atol=1e-15)
    with pytest.raises(ValueError, match="`claims` must have one value per case and label"):
        score_votes(np.zeros((5, 3)), q, votes)


def test_the_test_keeps_right_claims_and_rejects_wrong_ones():
    rng = np.random.default_rng(7)
    right = [check_votes(*simulated(rng, 200, 2)[:2], n_bootstrap=60, rng=rng).p_value for _ in range(60)]
    assert np.mean(np.array(right) < 0.05) < 0.15
    assert 0.3 < np.mean(right) < 0.7
    rng = np.random.default_rng(0)
    q, votes, _ = simulated(rng, 1500, 5, scale=2.0)
    wrong = check_votes(q, votes, n_bootstrap=100, rng=0)
    assert not wrong
    assert not wrong.equivalent
    assert wrong.p_value == pytest.approx(1 / 101)
    assert "contradict" in str(wrong)
    again = check_votes(q, votes, fitted_on=simulated(rng, 1500, 5, scale=2.0)[:2], confidence=0.99, n_bootstrap=100, rng=0)
    assert again
    assert again.equivalent
    assert again.within < 0.2
    assert "do not contradict" in str(again)


def test_the_null_includes_the_error_of_the_fit():
    """A repair fitted to few cases misses the votes of many others; that is no evidence against it."""
    rng = np.random.default_rng(8)
    rejected = []
    for _ in range(10):
        fit, test = simulated(rng, 60, 3)[:2], simulated(rng, 1000, 20)[:2]
        rejected.append(not check_votes(*test, fitted_on=fit, n_bootstrap=40, rng=rng))
    assert np.mean(rejected) < 0.5


def test_few_disagreements_are_pooled_or_refused():
    rng = np.random.default_rng(9)
    probs = np.tile(np.array([0.5, 0.497, 0.001, 0.002]), (2, 200, 1))
    check = check_votes(lw.Ensemble(probs, class_names=list("abcd")), rng.multinomial(2, probs[0]), n_bootstrap=50, rng=0)
    assert check.pooled == ("c", "d")
    assert list(check.claimed) == ["a", "b"]
    with pytest.raises(ValueError, match="at least 20 disagreements"):
        check_votes(lw.Ensemble(probs[:, :4]), np.tile([2, 0, 0, 0], (4, 1)), rng=0)
    with pytest.raises(ValueError, match="`tolerance`"):
        check_votes(lw.Ensemble(probs), np.full((200, 4), 2), tolerance=0)
    with pytest.raises(ValueError, match="`fitted_on` must be"):
        check_votes(lw.Ensemble(probs), np.full((200, 4), 2), fitted_on=(1,))


def test_the_benchmark_has_every_label_and_baseline():
    rng = np.random.default_rng(10)
    q, votes, _ = simulated(rng, 400, 5, scale=2.0)
    found = benchmark_votes(q, votes, n_splits=3, n_bootstrap=30, rng=0)
    assert found["scores"][REFERENCE]["difference"] == [0, 0, 0]
    assert set(found["scores"]) >= {"AU: mean, then share", "AU: isotonic", "TU: isotonic", "EU: isotonic", "constant per label"}
    assert all(len(x["labels"]) == 3 for x in found["scores"].values())
    assert found["scores"]["AU as claimed"]["score"] > found["scores"]["AU: isotonic"]["score"]
    assert found["test"]["claimed"]["rejected"] > found["test"]["repaired"]["rejected"]
    assert found == benchmark_votes(q, votes, n_splits=3, n_bootstrap=30, rng=0)
    classes = lw.Ensemble(np.eye(3)[q.probs.argmax(-1)])
    hard = benchmark_votes(classes, votes, n_splits=3, rng=0)
    assert list(hard["reliability"]) == ["total"]
    (_, error), (claimed, repaired) = hard["total_scores"]["claimed"], hard["total_scores"]["repaired"]
    assert repaired < error
    assert claimed == pytest.approx(repaired, rel=0.1)
