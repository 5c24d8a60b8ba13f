"""Intervals of the measures: their definition, and coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from interval_cases import ensemble, softmax
from labelwise.evaluation import bootstrap_uncertainty


@pytest.mark.parametrize("over", ["members", "instances", "both"])
def test_standard_errors_follow_the_definition(over):
    """The same draws, decomposed anew: the spread of the replicates, EU per pair of different
    members.
    """
    from scipy import stats

    rng = np.random.default_rng(1)
    probs = rng.dirichlet([2, 1, 1], size=(6, 20))
    q = lw.Ensemble(probs)
    patient = np.arange(20) % 8
    result = bootstrap_uncertainty(
        q, "log", over=over, rng=3, n_bootstrap=80, groups=None if over == "members" else patient
    )
    draw = np.random.default_rng(3)
    members = (
        draw.integers(6, size=(80, 6)) if over != "instances" else np.tile(np.arange(6), (80, 1))
    )
    patients = (
        draw.integers(8, size=(80, 8)) if over != "members" else np.tile(np.arange(8), (80, 1))
    )

    def replicates(members, patients):
        found = []
        for m, g in zip(members, patients, strict=True):
            rows = np.concatenate([np.flatnonzero(patient == i) for i in g])
            u = lw.decompose(lw.Ensemble(probs[m][:, rows]))
            pairs = 1 - np.sum((np.bincount(m, minlength=6) / 6) ** 2)
            if pairs > 0:
                found.append((u.aleatoric.mean(0), u.epistemic.mean(0) * (5 / 6) / pairs))
        aleatoric, epistemic = np.moveaxis(found, 1, 0)
        return {
            "total": aleatoric + epistemic,
            "epistemic": epistemic,
            "sum_epistemic": epistemic.sum(-1),
        }

    both = replicates(members, patients)
    fixed = replicates(np.tile(np.arange(6), (80, 1)), patients)
    u = lw.decompose(q)
    for name, value in (
        ("total", u.total.mean(0)),
        ("epistemic", u.epistemic.mean(0)),
        ("sum_epistemic", u.epistemic.sum(-1).mean()),
    ):
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
    """Many instances with noise of their own: the mean EU is known well, and 20 members are enough
    for both to say how well.
    """
    rng = np.random.default_rng(12)
    q = lw.Ensemble(softmax(rng.normal(size=(500, 3)) + 0.7 * rng.normal(size=(20, 500, 3))))
    result = bootstrap_uncertainty(q, over="members", rng=0, n_bootstrap=300).sum_epistemic
    each = [lw.decompose(lw.Ensemble(np.delete(q.probs, m, 0))).sum().epistemic for m in range(20)]
    pseudo = 20 * lw.decompose(q).sum().epistemic.mean() - 19 * np.mean(each, axis=1)
    relative_error = pseudo.std(ddof=1) / 20**0.5 / pseudo.mean()
    assert relative_error < 0.05
    assert np.log(result.high / result.value) / 2.093 == pytest.approx(relative_error, rel=0.2)


@pytest.mark.parametrize("members", [3, 12])
def test_interval_of_mean_eu_covers(members):
    rng = np.random.default_rng(2)
    center = rng.normal(0, 1.5, size=(20, 3))
    many = np.concatenate([ensemble(rng, members, center) for _ in range(400)], axis=1)
    truth = lw.decompose(lw.Ensemble(many), "squared").sum().epistemic.mean()
    held = 0
    for _ in range(80):
        result = bootstrap_uncertainty(
            lw.Ensemble(ensemble(rng, members, center)),
            "squared",
            over="members",
            rng=rng,
            n_bootstrap=100,
        )
        held += result.sum_epistemic.low <= truth <= result.sum_epistemic.high
    assert 0.86 <= held / 80 <= 1


def test_each_instance_has_an_interval(lib):
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([2, 1, 1], size=(6, 4, 5))
    result = bootstrap_uncertainty(
        lw.Ensemble(lib.array(probs)),
        "squared",
        over="members",
        statistic="each",
        rng=1,
        n_bootstrap=40,
    )
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
    overlapping = bootstrap_uncertainty(
        lw.Dirichlet(alpha),
        over="instances",
        events={"x": [0, 1], "y": [1, 2]},
        rng=0,
        n_bootstrap=50,
    )
    assert overlapping.sum_total is None


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
