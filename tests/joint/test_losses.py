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


def test_costs_come_without_names() -> None:
    costs = optional("pandas").DataFrame(1 - np.eye(2), index=["a", "b"], columns=["a", "b"])
    with pytest.raises(ValueError, match=r"`costs` must be a matrix without names\. To match them"):
        lw.joint.CostMatrix(costs)
