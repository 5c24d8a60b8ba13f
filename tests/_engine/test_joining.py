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
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_one_member_after_another(loss: lw.Loss) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), (5, 6))
    state = [np.empty((6, 3)) for _ in range(joining.n_arrays(loss))]
    for m, member in enumerate(p):
        shares = [np.broadcast_to(np.array([[x]]), (6, 1)) for x in (m / (m + 1), 1 / (m + 1))]
        joining.take_in(state, [member], *shares, loss, fresh=m == 0)
    u = lw.decompose(lw.Ensemble(p), loss)
    for parts, sums in (joining.concluded(state, loss), joining.of_members(p, loss)):
        for found, added, name in zip(
            parts, sums, ("total", "aleatoric", "epistemic"), strict=True
        ):
            np.testing.assert_allclose(found, getattr(u, name), rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(added, getattr(u.sum(), name), rtol=1e-12, atol=1e-15)


def test_other_losses_and_arrays_go_the_general_way() -> None:
    assert joining.in_main_memory(lw.BetaLoss(0.5, 1), np.ones((2, 3))) is None
    assert joining.in_main_memory(lw.LogLoss(), np.ones((2, 3), np.float16)) is None
    assert (joining.in_main_memory(lw.LogLoss(), np.ones((2, 3))) is None) == (
        kernel.native is None
    )
