"""What the kernel takes of an ensemble, and what it leaves to the equations."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise._engine import kernel
from labelwise._engine.ensembles import (
    kernel_event_lists,
    kernel_unit,
    split_atoms_in_kernel,
    split_ensemble_in_kernel,
)

PROBS = np.random.default_rng(0).dirichlet(np.ones(4), (3, 5))


class Subclass(lw.SquaredLoss):
    """May mean something else."""


@pytest.mark.skipif(kernel.native is None, reason="the native kernel is not in use")
def test_the_kernel_gives_the_numbers_of_the_equations() -> None:
    q = lw.Ensemble(PROBS)
    computed = split_ensemble_in_kernel(q, lw.LogLoss(np.e), None, None)
    assert computed is not None
    expected = q.marginal().split(lw.LogLoss(np.e))
    for found, part in zip(computed.parts, expected[:3], strict=True):
        np.testing.assert_allclose(found, part, rtol=1e-12)
    assert computed.sums is not None
    np.testing.assert_allclose(computed.sums[2], expected.epistemic.sum(-1), rtol=1e-12)
    only_joint = split_ensemble_in_kernel(q, lw.LogLoss(), None, None, labelwise=False)
    assert only_joint is not None
    assert only_joint.parts == ()
    assert only_joint.joint is not None


@pytest.mark.parametrize(
    "loss", [lw.BetaLoss(1, 5), lw.CustomLoss(lambda f, y: (f - y) ** 2), Subclass()], ids=repr
)
def test_other_losses_are_left_to_the_equations(loss: lw.Loss) -> None:
    assert split_ensemble_in_kernel(lw.Ensemble(PROBS), loss, None, None) is None
    assert split_atoms_in_kernel(loss, PROBS) is None


def test_events_of_labels_that_may_occur_together_are_left_to_their_refusal() -> None:
    q = lw.MultiLabelEnsemble(PROBS)
    assert split_ensemble_in_kernel(q, lw.LogLoss(), lw.events.ordinal(4), None) is None


def test_events_are_lists_of_classes() -> None:
    lists = kernel_event_lists(lw.events.ordinal(3), 3, None)
    assert lists.offsets.tolist() == [0, 2, 3, 4, 6]
    assert lists.positions.tolist() == [1, 2, 0, 2, 0, 1]
    assert not lists.given


def test_units() -> None:
    assert kernel_unit(lw.LogLoss()) == 1
    np.testing.assert_allclose(kernel_unit(lw.LogLoss(np.e)), np.log(2))
    assert kernel_unit(lw.SquaredLoss()) == 1
