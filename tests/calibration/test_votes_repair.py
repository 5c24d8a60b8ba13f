"""Claims repaired with votes: the truth is found and the identities are kept."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.calibration import fit_vote_calibration
from vote_simulation import simulated


def test_the_repair_finds_the_truth_and_keeps_the_identities():
    rng = np.random.default_rng(0)
    fit, votes, _ = simulated(rng, 4000, scale=2.0)
    new, _, truth = simulated(rng, 2000, scale=2.0)
    repair = fit_vote_calibration(fit, votes)
    u, claimed, right = repair(new), lw.decompose(new, "squared"), lw.decompose(truth, "squared")
    np.testing.assert_allclose(u.total, u.aleatoric + u.epistemic, atol=1e-15)
    assert min(u.epistemic.min(), u.aleatoric.min()) >= 0
    for part in ("total", "aleatoric"):
        before, after = (
            np.abs(getattr(x, part) - getattr(right, part)).mean() for x in (claimed, u)
        )
        assert after < 0.5 * before, part
    assert u.aleatoric.mean() == pytest.approx(right.aleatoric.mean(), rel=0.05)
    assert "aleatoric_claimed" in str(repair)
    assert not repair.pooled


def test_rare_labels_share_the_maps_of_all():
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([5, 5, 0.02], size=(3, 300))
    votes = rng.multinomial(3, probs[0])
    repair = fit_vote_calibration(lw.Ensemble(probs, class_names=["x", "y", "rare"]), votes)
    assert repair.pooled == ("rare",)
    assert "maps of all labels: rare" in str(repair)


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
    with pytest.raises(ValueError, match="3 classes it was fitted for"):
        fit_vote_calibration(q, votes)(sure)
