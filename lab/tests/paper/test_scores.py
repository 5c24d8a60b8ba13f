"""The nine scores against their formulas, and those of the published code in single precision."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

import labelwise as lw
from labelwise_lab.paper.scores import (
    accuracy_and_areas,
    aurocs,
    differences,
    epistemic_in_float32,
    scores,
)

PROBS = np.random.default_rng(0).dirichlet(np.ones(4), (5, 60))


def test_scores_are_the_papers_formulas() -> None:
    found, mean = scores(lw.Ensemble(PROBS)), PROBS.mean(0)
    np.testing.assert_allclose(found["variance", "epistemic"], PROBS.var(axis=0).sum(-1))
    np.testing.assert_allclose(found["entropy", "total"], entropy(mean, base=2, axis=-1))
    binary = entropy(np.stack([PROBS, 1 - PROBS]), base=2, axis=0).mean(0).sum(-1)
    np.testing.assert_allclose(found["label-wise entropy", "aleatoric"], binary)


def test_single_precision_is_near_the_exact_numbers() -> None:
    exact = scores(lw.Ensemble(PROBS))
    for measure, found in epistemic_in_float32(PROBS).items():
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, exact[measure, "epistemic"], rtol=1e-4)


def test_areas_aurocs_and_their_differences() -> None:
    q = lw.Ensemble(PROBS)
    found, y = scores(q), q.mean().argmax(-1)
    accuracy, areas = accuracy_and_areas(q, found, y)
    assert accuracy == 1
    assert set(areas.values()) == {1.0}
    same = aurocs(found, found)
    assert all(value == pytest.approx(0.5) for value in same.values())
    assert len(same) == len(differences(same)) == 9
    assert set(aurocs(found, {key: x + 10 for key, x in found.items()}, ["total"]).values()) == {
        1.0
    }
