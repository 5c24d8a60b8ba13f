"""Joint losses: zero-one loss as regret, and the largest entropy of a cost matrix."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from joint_cases import COSTS, entropy_of, random_ensemble
from optional_libraries import optional


def test_zero_one_epistemic_is_what_the_common_choice_loses() -> None:
    probs, _ = random_ensemble(2)
    mean = probs.mean(0)
    lost = np.take_along_axis(probs, mean.argmax(-1)[None, :, None], axis=-1)[..., 0]
    np.testing.assert_allclose(
        lw.joint.decompose(lw.Ensemble(probs), "zero_one").epistemic,
        (probs.max(-1) - lost).mean(0),
        atol=1e-15,
    )


def test_maximum_of_a_cost_matrix() -> None:
    grid = np.array([[i, j, 200 - i - j] for i in range(201) for j in range(201 - i)]) / 200
    for loss in (lw.joint.CostMatrix(COSTS), lw.joint.CostMatrix(COSTS, abstain=0.6)):
        searched = entropy_of(loss, grid).max()
        assert searched <= loss.maximum(3) + 1e-12 < searched * 1.02
    assert lw.joint.decompose(lw.Ensemble(np.full((2, 1, 10), 0.1))).maximum == pytest.approx(
        np.log2(10)
    )


def test_costs_come_without_names() -> None:
    costs = optional("pandas").DataFrame(1 - np.eye(2), index=["a", "b"], columns=["a", "b"])
    with pytest.raises(ValueError, match=r"`costs` must be a matrix without names\. To match them"):
        lw.joint.CostMatrix(costs)
