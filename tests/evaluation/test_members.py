"""How many members are needed: standard errors against simulated ensembles."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from interval_cases import ensemble
from labelwise.evaluation import bootstrap_uncertainty, members_needed


def test_standard_error_against_simulated_ensembles():
    """The prediction from one ensemble, on average, against the spread between ensembles of another
    size.
    """
    rng = np.random.default_rng(5)
    center = rng.normal(0, 1.5, size=(40, 3))

    def mean_eu(m):
        return float(
            lw.decompose(lw.Ensemble(ensemble(rng, m, center)), "log").sum().epistemic.mean()
        )

    reports = [members_needed(lw.Ensemble(ensemble(rng, 10, center)), "log") for _ in range(60)]
    for m in (10, 25):
        simulated = [mean_eu(m) for _ in range(300)]
        predicted = np.sqrt(np.mean([float(r.standard_error_at(m)) ** 2 for r in reports]))
        assert predicted == pytest.approx(np.std(simulated), rel=0.2)
    limit = np.mean([mean_eu(200) for _ in range(20)])
    assert np.mean([r.limit for r in reports]) == pytest.approx(limit, rel=0.03)
    assert np.mean([float(r.bias_at(25)) for r in reports]) == pytest.approx(
        limit - np.mean(simulated), rel=0.35
    )
    report = reports[0]
    assert (
        float(report.standard_error_at(report.needed))
        <= 0.05 * report.limit
        < float(report.standard_error_at(report.needed - 1))
    )
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


def test_members_must_be_drawn_alike():
    q = lw.Ensemble(np.full((3, 2, 2), 0.5), weights=np.array([[1, 2], [1, 1], [1, 1]]))
    with pytest.raises(ValueError, match="differ between instances"):
        bootstrap_uncertainty(q, over="members", rng=0)
    with pytest.raises(ValueError, match="equally weighted"):
        members_needed(lw.Ensemble(np.full((3, 2, 2), 0.5), weights=[1, 2, 1]))
    with pytest.raises(
        ValueError,
        match=r"`target` must be a relative standard error between 0 and 1, such as 0\.05; got 5",
    ):
        members_needed(lw.Ensemble(np.full((3, 2, 2), 0.5)), target=5)
    with pytest.raises(ValueError, match="must be an ensemble"):
        members_needed(lw.Dirichlet(np.ones((2, 3))))
    with pytest.raises(ValueError, match="overlap"):
        members_needed(lw.Ensemble(np.full((3, 2, 2), 0.5)), events={"a": [0], "b": [0, 1]})
    with pytest.raises(ValueError, match="at least one instance"):
        bootstrap_uncertainty(lw.Ensemble(np.zeros((3, 0, 2))), rng=0)
    with pytest.raises(ValueError, match="weight 0"):
        bootstrap_uncertainty(
            lw.Ensemble(np.full((3, 2, 2), 0.5), weights=[1, 0, 0]),
            over="members",
            rng=0,
            n_bootstrap=20,
        )
