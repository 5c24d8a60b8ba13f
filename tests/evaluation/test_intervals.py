"""Intervals of the measures: reweighting against decomposing anew, coverage by simulation, the number of members."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.evaluation import bootstrap_uncertainty, members_needed
from labelwise.evaluation._reweighting import reweighted

LOSSES = ["log", "squared", "spherical", "zero_one", lw.CostLoss(1, 5)]


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def ensemble(rng, members, center, spread=0.7):
    """Members with noise of their own, some wilder than others."""
    wild = np.exp(rng.normal(0, 0.3, (members, 1, 1)))
    return softmax(center + wild * spread * rng.normal(size=(members, *center.shape)))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("events", [None, {"a or b": [0, 1], "c": [2]}])
def test_reweighting_equals_decomposing_anew(loss, weighted, events):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1], size=(6, 7))
    q = lw.Ensemble(probs, weights=rng.random(6) if weighted else None)
    u = lw.decompose(q, loss, events=events)
    counts = rng.multinomial(6, np.full(6, 1 / 6), size=10)
    weights = counts / counts.sum(1, keepdims=True)
    for w, x in zip(weights, reweighted(q, u, weights), strict=True):
        again = lw.decompose(lw.Ensemble(probs, weights=w), loss, events=events)
        np.testing.assert_allclose(x[0, :, :-1], again.aleatoric, atol=1e-14)
        np.testing.assert_allclose(x[1, :, :-1], again.epistemic, atol=1e-14)
        np.testing.assert_allclose(x[1, :, -1], again.epistemic.sum(-1), atol=1e-14)


def test_reweighting_keeps_the_digits_when_members_nearly_agree():
    base = np.array([0.3, 0.5, 0.2])
    shift = np.array([1.0, -1.0, 0.0]) * 1e-9
    probs = np.stack([base + m * shift for m in range(4)])[:, None]
    q = lw.Ensemble(probs)
    u = lw.decompose(q, "log")
    (x,) = reweighted(q, u, np.array([[0.5, 0.5, 0.0, 0.0]]))
    again = lw.decompose(lw.Ensemble(probs[:2]), "log")
    np.testing.assert_allclose(x[1, 0, :2], again.epistemic[0, :2], rtol=1e-5)
    agree = lw.Ensemble(np.broadcast_to(base, (4, 1, 3)).copy())
    (x,) = reweighted(agree, lw.decompose(agree), np.array([[0.5, 0.5, 0.0, 0.0]]))
    assert np.all(x[1] == 0)


@pytest.mark.parametrize("over", ["members", "instances", "both"])
def test_standard_errors_follow_the_definition(over):
    """The same draws, decomposed anew: the spread of the replicates, EU per pair of different members."""
    from scipy import stats

    rng = np.random.default_rng(1)
    probs = rng.dirichlet([2, 1, 1], size=(6, 20))
    q = lw.Ensemble(probs)
    patient = np.arange(20) % 8
    result = bootstrap_uncertainty(q, "log", over=over, rng=3, n_bootstrap=80, groups=None if over == "members" else patient)
    draw = np.random.default_rng(3)
    members = draw.integers(6, size=(80, 6)) if over != "instances" else np.tile(np.arange(6), (80, 1))
    patients = draw.integers(8, size=(80, 8)) if over != "members" else np.tile(np.arange(8), (80, 1))

    def replicates(members, patients):
        found = []
        for m, g in zip(members, patients, strict=True):
            rows = np.concatenate([np.flatnonzero(patient == i) for i in g])
            u = lw.decompose(lw.Ensemble(probs[m][:, rows]))
            pairs = 1 - np.sum((np.bincount(m, minlength=6) / 6) ** 2)
            if pairs > 0:
                found.append((u.aleatoric.mean(0), u.epistemic.mean(0) * (5 / 6) / pairs))
        aleatoric, epistemic = np.moveaxis(found, 1, 0)
        return {"total": aleatoric + epistemic, "epistemic": epistemic, "sum_epistemic": epistemic.sum(-1)}

    both = replicates(members, patients)
    fixed = replicates(np.tile(np.arange(6), (80, 1)), patients)
    u = lw.decompose(q)
    for name, value in (("total", u.total.mean(0)), ("epistemic", u.epistemic.mean(0)), ("sum_epistemic", u.epistemic.sum(-1).mean())):
        by_patients = fixed[name].var(0) * 8 / 7
        by_members = np.maximum(both[name].var(0) - fixed[name].var(0), 0) * 6 / 5
        variance = by_members + by_patients
        freedom = variance**2 / (by_members**2 / 5 + by_patients**2 / 7)
        relative = stats.t.ppf(0.975, freedom) * np.sqrt(variance) / value
        estimate = getattr(result, name)
        np.testing.assert_allclose(estimate.value, value)
        np.testing.assert_allclose(np.log(value / estimate.low), relative, rtol=1e-7)
        if name != "total":  # which may reach its maximum
            np.testing.assert_allclose(np.log(estimate.high / value), relative, rtol=1e-7)


def test_agrees_with_the_jackknife_where_members_differ_independently():
    """Many instances with noise of their own: the mean EU is known well, and 20 members are enough for both to say how well."""
    rng = np.random.default_rng(12)
    q = lw.Ensemble(softmax(rng.normal(size=(500, 3)) + 0.7 * rng.normal(size=(20, 500, 3))))
    result = bootstrap_uncertainty(q, over="members", rng=0, n_bootstrap=300).sum_epistemic
    report = members_needed(q)
    assert report.standard_error / report.limit < 0.05
    assert np.log(result.high / result.value) / 2.093 == pytest.approx(report.standard_error / report.limit, rel=0.2)


@pytest.mark.parametrize("members", [3, 12])
def test_interval_of_mean_eu_covers(members):
    rng = np.random.default_rng(2)
    center = rng.normal(0, 1.5, size=(20, 3))
    truth = np.mean([lw.decompose(lw.Ensemble(ensemble(rng, members, center)), "squared").sum().epistemic.mean() for _ in range(400)])
    held = 0
    for _ in range(120):
        result = bootstrap_uncertainty(lw.Ensemble(ensemble(rng, members, center)), "squared", over="members", rng=rng, n_bootstrap=100)
        held += result.sum_epistemic.low <= truth <= result.sum_epistemic.high
    assert 0.86 <= held / 120 <= 1


def test_each_instance_has_an_interval(lib):
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([2, 1, 1], size=(6, 4, 5))
    result = bootstrap_uncertainty(lw.Ensemble(lib.array(probs)), "squared", over="members", statistic="each", rng=1, n_bootstrap=40)
    u = lw.decompose(lw.Ensemble(probs), "squared")
    np.testing.assert_allclose(result.epistemic.value, u.epistemic, rtol=1e-9)
    assert result.epistemic.low.shape == (4, 5, 3)
    assert result.sum_epistemic.low.shape == (4, 5)
    assert np.all(result.epistemic.low <= result.epistemic.value)
    assert np.all(result.total.high <= 0.25)
    assert np.all(result.sum_total.high <= u.sum().maximum + 1e-12)


def test_other_distributions_over_instances():
    alpha = np.random.default_rng(4).gamma(2, size=(30, 3)) + 0.2
    result = bootstrap_uncertainty(lw.Dirichlet(alpha), over="instances", rng=0, n_bootstrap=50)
    np.testing.assert_allclose(result.total.value, lw.decompose(lw.Dirichlet(alpha)).total.mean(0))
    assert np.all(result.total.low < result.total.value)
    overlapping = bootstrap_uncertainty(lw.Dirichlet(alpha), over="instances", events={"x": [0, 1], "y": [1, 2]}, rng=0, n_bootstrap=50)
    assert overlapping.sum_total is None


def test_one_member_is_told_plainly():
    one = lw.Ensemble(np.full((1, 3, 2), 0.5))
    for ask in (lambda: bootstrap_uncertainty(one, rng=0), lambda: members_needed(one)):
        with pytest.raises(ValueError, match="one member says nothing about epistemic uncertainty"):
            ask()
    two = lw.Ensemble(np.full((2, 3, 2), 0.5))
    for ask in (lambda: bootstrap_uncertainty(two, rng=0), lambda: members_needed(two)):
        with pytest.raises(ValueError, match="at least 3 members"):
            ask()


def test_standard_error_against_simulated_ensembles():
    """The prediction from one ensemble, on average, against the spread between ensembles of another size."""
    rng = np.random.default_rng(5)
    center = rng.normal(0, 1.5, size=(40, 3))

    def mean_eu(m):
        return float(lw.decompose(lw.Ensemble(ensemble(rng, m, center)), "log").sum().epistemic.mean())

    reports = [members_needed(lw.Ensemble(ensemble(rng, 10, center)), "log") for _ in range(60)]
    for m in (10, 25):
        simulated = [mean_eu(m) for _ in range(300)]
        predicted = np.sqrt(np.mean([float(r.standard_error_at(m)) ** 2 for r in reports]))
        assert predicted == pytest.approx(np.std(simulated), rel=0.2)
    limit = np.mean([mean_eu(200) for _ in range(20)])
    assert np.mean([r.limit for r in reports]) == pytest.approx(limit, rel=0.03)
    assert np.mean([float(r.bias_at(25)) for r in reports]) == pytest.approx(limit - np.mean(simulated), rel=0.35)
    report = reports[0]
    assert float(report.standard_error_at(report.needed)) <= 0.05 * report.limit < float(report.standard_error_at(report.needed - 1))
    assert f"train {report.needed} members" in str(report)


def test_members_needed_special_cases():
    agree = members_needed(lw.Ensemble(np.full((4, 3, 2), 0.5)))
    assert agree.needed is None
    assert "agree" in str(agree)
    rng = np.random.default_rng(6)
    plenty = members_needed(lw.Ensemble(rng.dirichlet([5, 5], size=(60, 50))), target=0.2)
    assert "that is enough" in str(plenty)
    # squared loss, one instance: pseudo-values of the variance have a closed form
    p = rng.random(7)
    report = members_needed(lw.Ensemble(np.stack([p, 1 - p], -1)[:, None]), "squared")
    pseudo = 2 * 7 / 6 * (p - p.mean()) ** 2
    assert report.limit == pytest.approx(2 * p.var(ddof=1))
    assert report.standard_error == pytest.approx(pseudo.std(ddof=1) / np.sqrt(7))
    assert report.standard_error == pytest.approx(report.standard_error_each)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"over": "models"}, "`over`"),
        ({"statistic": "median"}, "`statistic` must"),
        ({"statistic": "each"}, "over='members'"),
        ({"over": "members", "groups": [0, 1]}, "`groups` matter only"),
        ({"n_bootstrap": 0}, "`n_bootstrap` must be an integer of at least 2"),
    ],
)
def test_friendly_errors(options, words):
    q = lw.Ensemble(np.full((3, 2, 2), 0.5))
    with pytest.raises((ValueError, TypeError), match=words):
        bootstrap_uncertainty(q, **{"rng": 0, **options})


def test_members_must_be_drawn_alike():
    q = lw.Ensemble(np.full((3, 2, 2), 0.5), weights=np.array([[1, 2], [1, 1], [1, 1]]))
    with pytest.raises(ValueError, match="differ between instances"):
        bootstrap_uncertainty(q, over="members", rng=0)
    with pytest.raises(ValueError, match="equally weighted"):
        members_needed(lw.Ensemble(np.full((3, 2, 2), 0.5), weights=[1, 2, 1]))
    with pytest.raises(ValueError, match="must be an ensemble"):
        members_needed(lw.Dirichlet(np.ones((2, 3))))
    with pytest.raises(ValueError, match="overlap"):
        members_needed(lw.Ensemble(np.full((3, 2, 2), 0.5)), events={"a": [0], "b": [0, 1]})
    with pytest.raises(ValueError, match="at least one instance"):
        bootstrap_uncertainty(lw.Ensemble(np.zeros((3, 0, 2))), rng=0)
    with pytest.raises(ValueError, match="weight 0"):
        bootstrap_uncertainty(lw.Ensemble(np.full((3, 2, 2), 0.5), weights=[1, 0, 0]), over="members", rng=0, n_bootstrap=20)
