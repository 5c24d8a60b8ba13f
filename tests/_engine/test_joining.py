"""The kernel's state of an ensemble: members taken in one after another give what all at once
give.
"""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise._engine import joining, kernel

LOSSES = [lw.LogLoss(), lw.SquaredLoss(), lw.SphericalLoss(), lw.CostLoss(1, 4)]


@pytest.mark.skipif(kernel.native is None, reason="the compiled code is not in use")
@pytest.mark.parametrize("loss", LOSSES[:2], ids=repr)
def test_one_member_after_another(loss: lw.Loss) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), (5, 6))
    state, own = None, False
    one, zero = np.ones((1, 1)), np.zeros((1, 1))
    for member in p:
        state, own = joining.take_in(state, (one, zero), [member], loss, own=own)
    u = lw.decompose(lw.Ensemble(p), loss)
    parts, sums = joining.uncertainty_of_state(state, loss)
    for found, added, name in zip(parts, sums, ("total", "aleatoric", "epistemic"), strict=True):
        np.testing.assert_allclose(found, getattr(u, name), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(added, getattr(u.sum(), name), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("loss", LOSSES[2:], ids=repr)
def test_other_losses_in_the_general_way(loss: lw.Loss) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), (5, 6))
    accumulator = lw.Accumulator(loss)
    for i, member in enumerate(p):
        accumulator.update(member, weight=1.0 + i)
    found, u = accumulator.result(), lw.decompose(lw.Ensemble(p, weights=np.arange(1.0, 6)), loss)
    for name in ("total", "aleatoric", "epistemic"):
        np.testing.assert_allclose(getattr(found, name), getattr(u, name), rtol=1e-12, atol=1e-15)


def test_other_losses_and_arrays_go_the_general_way() -> None:
    assert joining.in_main_memory(lw.BetaLoss(0.5, 1), np.ones((2, 3))) is None
    assert joining.in_main_memory(lw.LogLoss(), np.ones((2, 3), np.float16)) is None
    assert (joining.in_main_memory(lw.LogLoss(), np.ones((2, 3))) is None) == (
        kernel.native is None
    )
