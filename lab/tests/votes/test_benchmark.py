"""The benchmark of claims has every label and baseline."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise_lab.votes import benchmark_votes
from labelwise_lab.votes.benchmark import REFERENCE, entropy_bounds
from vote_simulation import simulated


def test_the_benchmark_has_every_label_and_baseline():
    rng = np.random.default_rng(10)
    q, votes, _ = simulated(rng, 400, 5, scale=2.0)
    found = benchmark_votes(q, votes, n_splits=3, n_bootstrap=30, rng=0)
    assert found["scores"][REFERENCE]["difference"] == [0, 0, 0]
    assert set(found["scores"]) >= {
        "AU: mean, then share",
        "AU: isotonic",
        "TU: isotonic",
        "EU: isotonic",
        "constant per label",
    }
    assert all(len(x["labels"]) == 3 for x in found["scores"].values())
    assert found["scores"]["AU as claimed"]["score"] > found["scores"]["AU: isotonic"]["score"]
    assert found["test"]["claimed"]["rejected"] > found["test"]["repaired"]["rejected"]
    assert found == benchmark_votes(q, votes, n_splits=3, n_bootstrap=30, rng=0)
    classes = lw.Ensemble(np.eye(3)[q.probs.argmax(-1)])
    hard = benchmark_votes(classes, votes, n_splits=3, rng=0)
    assert list(hard["reliability"]) == ["total"]
    (_, error), (claimed, repaired) = (
        hard["total_scores"]["claimed"],
        hard["total_scores"]["repaired"],
    )
    assert repaired < error
    assert claimed == pytest.approx(repaired, rel=0.1)


def test_bounds_of_the_entropy_hold_for_single_values_and_mixtures():
    p = np.concatenate([np.geomspace(1e-300, 0.5, 2000), np.linspace(1e-4, 0.5, 5000)])
    h = -(p * np.log2(p) + np.log1p(-p) * (1 - p) / np.log(2))
    low, high = entropy_bounds(p * (1 - p))
    assert np.all(low <= h * (1 + 1e-12))
    assert np.all(h <= high * (1 + 1e-12))
    rng = np.random.default_rng(5)
    for _ in range(200):
        of = rng.choice(len(p), size=rng.integers(2, 20))
        low, high = entropy_bounds(np.mean(p[of] * (1 - p[of])))
        assert low <= h[of].mean() <= high


def test_claims_under_log_loss_are_judged_by_bounds():
    rng = np.random.default_rng(6)
    q, votes, _ = simulated(rng, 1000, 3)
    for scale, verdict in ((1.0, "possible"), (6.0, "too low"), (0.01, "too high")):
        other = lw.Ensemble.from_logits(scale * np.log(q.probs))
        found = benchmark_votes(other, votes, n_splits=1, n_bootstrap=10, rng=0)["entropy"]
        assert found["verdict"] == [verdict] * 3
