"""The benchmark of claims has every label and baseline."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise_lab.votes import benchmark_votes
from labelwise_lab.votes.benchmark import REFERENCE
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
