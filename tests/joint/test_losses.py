"""Joint losses: zero-one loss as regret, and the largest entropy of a cost matrix."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from joint_cases import random_ensemble
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


def test_zero_one_needs_no_table_of_classes() -> None:
    probs = np.full((2, 3, 100_000), 1e-5)  # a table of all pairs would take 80 GB
    u = lw.joint.decompose(lw.Ensemble(probs), "zero_one")
    np.testing.assert_allclose(u.total, 1 - 1e-5, rtol=1e-10)
    assert u.epistemic.max() == 0


def test_a_table_of_zero_one_costs_is_zero_one_loss() -> None:
    alpha = np.array([[3.0, 1.0, 0.5], [1.0, 1.0, 1.0]])
    by_table = lw.joint.decompose(lw.Dirichlet(alpha), lw.joint.CostMatrix(1 - np.eye(3)))
    by_name = lw.joint.decompose(lw.Dirichlet(alpha), "zero_one")
    np.testing.assert_array_equal(by_table.epistemic, by_name.epistemic)
    with pytest.raises(ValueError, match="has 2 rows"):
        lw.joint.decompose(lw.Dirichlet(alpha), lw.joint.CostMatrix(1 - np.eye(2)))


def test_costs_come_without_names() -> None:
    costs = optional("pandas").DataFrame(1 - np.eye(2), index=["a", "b"], columns=["a", "b"])
    with pytest.raises(ValueError, match=r"`costs` must be a matrix without names\. To match them"):
        lw.joint.CostMatrix(costs)
