"""Ensembles of labels that may occur together, from network outputs before the sigmoid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import labelwise as lw
from optional_libraries import optional

LOGITS = np.array(
    [[[-1000.0, -30.0, -0.5], [0.0, 2.0, 800.0]], [[-1e-9, 1.0, 3.0], [-np.inf, np.inf, 5.0]]]
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_from_logits_is_the_sigmoid(dtype):
    z = LOGITS.astype(dtype)
    q = lw.MultiLabelEnsemble.from_logits(z, class_names=["a", "b", "c"])
    assert q.class_names == ("a", "b", "c")
    np.testing.assert_allclose(
        q.probs, expit(z.astype(np.float64)), rtol=1e-6, atol=0 if dtype == np.float64 else 1e-38
    )
    assert q.probs.dtype == (np.float64 if dtype == np.float64 else np.float32)


def test_from_logits_keeps_library_axes_and_gradients():
    torch = optional("torch")
    z = torch.tensor([[[-2.0, 0.0, 3.0]]], requires_grad=True)
    q = lw.MultiLabelEnsemble.from_logits(z)
    q.probs.sum().backward()
    p = torch.sigmoid(z.detach())
    torch.testing.assert_close(z.grad, p * (1 - p))
    last = lw.MultiLabelEnsemble.from_logits(np.moveaxis(LOGITS[..., 1:], 0, 1), member_axis=1)
    np.testing.assert_allclose(last.probs, expit(LOGITS[..., 1:]))
    with pytest.raises(ValueError, match="`logits`"):
        lw.MultiLabelEnsemble.from_logits(np.array([[[np.nan, 0.0]]]))


def test_logits_that_all_lie_between_0_and_1_are_said() -> None:
    probs = np.random.default_rng(0).random((2, 20, 3))
    with pytest.warns(UserWarning, match="logits rarely do") as caught:
        lw.MultiLabelEnsemble.from_logits(probs)
    assert caught[0].filename == __file__
    assert str(caught[0].message) == (
        "All 120 values of `logits` lie between 0 and 1, which logits rarely do. If a sigmoid or "
        "softmax has been taken already, they are "
        "probabilities: use the class itself, without from_logits"
    )
    lw.MultiLabelEnsemble.from_logits(np.zeros((2, 20, 3)))
    lw.MultiLabelEnsemble.from_logits(10 * probs)
