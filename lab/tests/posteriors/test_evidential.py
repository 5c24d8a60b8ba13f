"""Evidential networks: the loss against Monte Carlo and torch's own divergence, the training on
data that can be judged.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from torch import nn
from torch.distributions import Dirichlet, kl_divergence

import labelwise as lw
from labelwise_lab.posteriors import (
    Evidence,
    annealing,
    evidential_loss,
    fit_evidential,
    predict_evidential,
)

ALPHA = np.array([[1.0, 1.0, 1.0], [5.0, 1.2, 3.0], [1.01, 40.0, 2.0]])
LABELS = np.array([0, 2, 1])


def blobs(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return np.array([[0, 2], [-2, -1], [2, -1]])[y] + 0.5 * rng.normal(size=(n, 2)), y


def evidential_net(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 3), Evidence())


def test_the_loss_is_the_expected_squared_error_plus_the_divergence():
    rng = np.random.default_rng(0)
    n = 200_000
    for alpha, y in zip(ALPHA, LABELS, strict=True):
        target = np.eye(3)[y]
        squared = ((target - rng.dirichlet(alpha, n)) ** 2).sum(-1)
        wrong = target + (1 - target) * alpha  # the evidence for the true class removed
        theta = torch.as_tensor(rng.dirichlet(wrong, n)).clamp(min=1e-300)
        theta = theta / theta.sum(-1, keepdim=True)
        ratio = (
            Dirichlet(torch.as_tensor(wrong)).log_prob(theta)
            - Dirichlet(torch.ones(3).double()).log_prob(theta)
        ).numpy()
        for weight in (0.0, 0.7):
            loss = float(
                evidential_loss(torch.as_tensor(alpha[None]), torch.tensor([y]), kl_weight=weight)
            )
            draws = squared + weight * ratio
            assert abs(loss - draws.mean()) < 5 * draws.std() / np.sqrt(n) + 1e-12


@given(
    npst.arrays(np.float64, (4, 3), elements=st.floats(1, 1e4)),
    npst.arrays(np.int64, 4, elements=st.integers(0, 2)),
)
@settings(max_examples=50, deadline=None)
def test_the_divergence_agrees_with_torch_and_the_loss_is_never_negative(alpha, y):
    a = torch.as_tensor(alpha)
    target = torch.eye(3, dtype=torch.float64)[y]
    kl = evidential_loss(a, torch.as_tensor(y), kl_weight=1.0) - evidential_loss(
        a, torch.as_tensor(y), kl_weight=0.0
    )
    oracle = kl_divergence(
        Dirichlet(target + (1 - target) * a), Dirichlet(torch.ones_like(a))
    ).mean()
    torch.testing.assert_close(kl, oracle, rtol=1e-9, atol=1e-9)
    assert float(evidential_loss(a, torch.as_tensor(y), kl_weight=0.0)) >= 0


def test_the_gradient_is_right_also_without_any_evidence():
    alpha = torch.as_tensor(ALPHA).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda a: evidential_loss(a, torch.as_tensor(LABELS), kl_weight=0.5), (alpha,)
    )


def test_one_hot_rows_are_the_same_as_labels_and_votes_interpolate_the_target():
    a = torch.as_tensor(ALPHA)
    hot = torch.eye(3)[LABELS]
    assert (
        evidential_loss(a, hot)
        == evidential_loss(a, torch.as_tensor(LABELS))
        == evidential_loss(a, LABELS)
    )
    votes = torch.tensor([[0.5, 0.5, 0.0]]).double()
    theta = np.random.default_rng(1).dirichlet(ALPHA[1], 200_000)
    draws = ((votes.numpy() - theta) ** 2).sum(-1)
    assert abs(
        float(evidential_loss(a[1:2], votes, kl_weight=0.0)) - draws.mean()
    ) < 5 * draws.std() / np.sqrt(len(draws))


def test_half_precision_is_computed_in_single():
    loss = evidential_loss(torch.as_tensor(ALPHA).to(torch.bfloat16), torch.as_tensor(LABELS))
    assert loss.dtype == torch.float32
    assert float(loss) == pytest.approx(
        float(evidential_loss(torch.as_tensor(ALPHA), torch.as_tensor(LABELS))), rel=2e-2
    )


@pytest.mark.parametrize(
    ("activation", "at_two"),
    [("relu", 3.0), ("softplus", 1 + np.log1p(np.exp(2.0))), ("exp", 1 + np.exp(2.0))],
)
def test_evidence_is_never_below_one(activation, at_two):
    alpha = Evidence(activation)(torch.tensor([-50.0, 2.0, 1e4]))
    assert float(alpha.min()) >= 1
    assert bool(torch.isfinite(alpha).all())
    assert float(alpha[1]) == pytest.approx(at_two, rel=1e-6)


def test_annealing_grows_to_one():
    assert [annealing(t, epochs=4) for t in range(6)] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    assert annealing(0, epochs=0) == 1.0


def test_training_learns_and_the_divergence_takes_back_wrong_evidence():
    x, y = blobs()
    fits = {
        kl: fit_evidential(evidential_net(), x, y, epochs=40, lr=0.02, annealing_epochs=kl)
        for kl in (10, 10**9)
    }
    q = {
        kl: predict_evidential(model, x, class_names=["top", "left", "right"])
        for kl, model in fits.items()
    }
    assert all((d.mean().argmax(-1) == y).mean() > 0.95 for d in q.values())
    wrong = {kl: (d.alpha - 1)[np.eye(3)[y] == 0].mean() for kl, d in q.items()}
    assert wrong[10] < 0.5 * wrong[10**9]
    u = lw.decompose(
        predict_evidential(fits[10], np.array([[0.0, 2.0], [0.0, 0.0]])), "squared"
    ).sum()
    assert u.epistemic[1] > 2 * u.epistemic[0]  # between the blobs against the middle of one


def test_same_seed_same_weights_and_torch_goes_on_as_before():
    x, y = blobs(30)
    state = torch.random.get_rng_state()
    first, second, other = evidential_net(), evidential_net(), evidential_net()
    torch.random.set_rng_state(state)
    for model, seed in ((first, 1), (second, 1), (other, 2)):
        assert fit_evidential(model, x, y, epochs=3, batch_size=8, rng=seed) is model
        assert not model.training
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(first[0].weight, second[0].weight)
    assert not torch.equal(first[0].weight, other[0].weight)


def test_prediction_keeps_the_mode_and_the_library():
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.9), Evidence()).train()
    q = predict_evidential(model, torch.zeros(4, 2), batch_size=3)
    assert isinstance(q.alpha, torch.Tensor)
    assert torch.equal(q.alpha[0], q.alpha[3])  # dropout was off
    assert all(m.training for m in model.modules())
    assert isinstance(predict_evidential(model, np.zeros((4, 2))).alpha, np.ndarray)


def test_wrong_input_gets_a_sentence():
    a, y = torch.as_tensor(ALPHA), torch.as_tensor(LABELS)
    x, labels = blobs(30)
    plain = nn.Linear(2, 3)
    with pytest.raises(
        ValueError, match=r"`alpha` must be positive; the lowest value is -1\. If these are scores"
    ):
        evidential_loss(a - 2, y)
    with pytest.raises(ValueError, match="got NaN: the training has diverged"):
        evidential_loss(a * float("nan"), y)
    with pytest.raises(ValueError, match="`alpha` must be a tensor"):
        evidential_loss(a[0], y)
    with pytest.raises(ValueError, match=r"`alpha` must be a tensor.*got ndarray"):
        evidential_loss(ALPHA, y)
    with pytest.raises(ValueError, match="`y` must hold class indices from 0 to 2; got 0 to 3"):
        evidential_loss(a, torch.tensor([0, 1, 3]))
    with pytest.raises(ValueError, match="`y` must hold 3 class indices or be one-hot"):
        evidential_loss(a, torch.tensor([0.0, 1.0, 2.0]))
    with pytest.raises(
        ValueError, match=r"'softplus', 'relu', 'exp'; got 'rleu'\. Did you mean 'relu'"
    ):
        Evidence("rleu")
    with pytest.raises(ValueError, match=r"end the network with predictors\.Evidence"):
        fit_evidential(plain, x, labels)
    with pytest.raises(ValueError, match=r"end the network with predictors\.Evidence"):
        predict_evidential(plain, x)
    with pytest.raises(ValueError, match="`y` must have one entry for each of the 30 instances"):
        fit_evidential(evidential_net(), x, labels[:-1])
    with pytest.raises(ValueError, match=r"[Ss]tandardize"):
        fit_evidential(evidential_net(), x * 1e38, labels, lr=10.0)
