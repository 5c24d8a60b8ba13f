"""Last-layer Laplace against Hessians found by differentiation, a dense inverse, and a posterior
integrated on a grid.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression
from torch import nn

import labelwise as lw
from labelwise_lab.posteriors import fit_laplace

K, D = 3, 4


def network(bias: bool = True) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, D), nn.Tanh(), nn.Linear(D, K, bias=bias)).double()


def data(n: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(0)
    return torch.as_tensor(rng.normal(size=(n, 2)) * 2), torch.as_tensor(rng.integers(0, K, n))


def logits_of(model: nn.Sequential, x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
    """The logits as a function of the last layer's weights (K·D) and biases (K)."""
    z = model[:-1](x).detach() @ theta[: K * D].reshape(K, D).T
    return z + theta[K * D :] if len(theta) > K * D else z


def last_weights(model: nn.Sequential) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model[-1].parameters()])


def loss_hessian(model: nn.Sequential, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.autograd.functional.hessian(
        lambda theta: nn.functional.cross_entropy(logits_of(model, x, theta), y, reduction="sum"),
        last_weights(model),
    )


@pytest.mark.parametrize("bias", [True, False])
def test_the_covariance_is_that_of_the_differentiated_posterior(bias):
    """Labels drawn at random: the Hessian of the cross-entropy in the last layer does not depend on
    them.
    """
    model, (x, y), tau = network(bias), data(), 0.7
    test = torch.randn(5, 2, dtype=torch.float64)
    posterior = torch.linalg.inv(
        loss_hessian(model, x, y) + tau * torch.eye(K * (D + bias), dtype=torch.float64)
    )
    jacobian = torch.autograd.functional.jacobian(
        lambda theta: logits_of(model, test, theta), last_weights(model)
    )
    q = fit_laplace(model, x, prior_precision=tau, batch_size=7).predict(test, batch_size=2)
    torch.testing.assert_close(q.cov, jacobian @ posterior @ jacobian.mT, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(q.loc, model(test).detach())


def test_the_differentiated_hessian_is_that_of_finite_differences():
    model, (x, y), h = network(), data(), 1e-4
    theta = last_weights(model)
    steps = h * torch.eye(len(theta), dtype=torch.float64)

    def loss(t: torch.Tensor) -> float:
        return float(nn.functional.cross_entropy(logits_of(model, x, t), y, reduction="sum"))

    numeric = torch.tensor(
        [
            [
                (
                    loss(theta + a + b)
                    - loss(theta + a - b)
                    - loss(theta - a + b)
                    + loss(theta - a - b)
                )
                / (4 * h * h)
                for b in steps
            ]
            for a in steps
        ],
        dtype=torch.float64,
    )
    torch.testing.assert_close(numeric, loss_hessian(model, x, y), rtol=1e-4, atol=1e-4)


def test_the_variance_is_the_exact_posteriors_in_a_small_logistic_regression():
    """One feature, two classes: the posterior of the difference of the two weights is integrated on
    a grid.
    """
    rng, tau, n = np.random.default_rng(3), 0.5, 400
    x = rng.normal(size=n)
    y = rng.random(n) < 1 / (1 + np.exp(-1.2 * x))
    grid = np.linspace(-1, 4, 20_001)
    log_posterior = (
        -np.logaddexp(0, np.where(y, -1, 1)[:, None] * x[:, None] * grid).sum(0) - tau / 4 * grid**2
    )
    mass = np.exp(log_posterior - log_posterior.max())
    mass /= mass.sum()
    mean = mass @ grid
    variance = mass @ (grid - mean) ** 2
    mode = grid[log_posterior.argmax()]
    model = nn.Linear(1, 2, bias=False).double()
    with torch.no_grad():
        model.weight[:] = torch.tensor([[-mode / 2], [mode / 2]])
    q = fit_laplace(model, x[:, None], prior_precision=tau).predict(np.array([[1.0], [2.0]]))
    odds = q.cov[:, 0, 0] + q.cov[:, 1, 1] - 2 * q.cov[:, 0, 1]
    np.testing.assert_allclose(odds, variance * np.array([1, 4]), rtol=0.03)
    exact = np.array([mass @ (1 / (1 + np.exp(-grid * t))) for t in (1.0, 2.0)])
    np.testing.assert_allclose(q.mean()[:, 1], exact, atol=0.005)


@pytest.mark.parametrize("structure", ["full", "kronecker"])
def test_the_prior_precision_maximises_the_evidence(structure):
    model, (x, y) = network(), data(200)
    hessian = loss_hessian(model, x, y) if structure == "full" else _kronecker(model, x)
    eigenvalues = torch.linalg.eigvalsh(hessian).clamp(min=0).numpy()
    squared = float((last_weights(model) ** 2).sum())

    def evidence(log_tau: float) -> float:
        """ln ∫ N(θ; 0, 1/τ) exp(−½ (θ−θ*)ᵀ H (θ−θ*)) up to a constant."""
        tau = np.exp(log_tau)
        return (
            -tau / 2 * squared
            + len(eigenvalues) / 2 * log_tau
            - 0.5 * np.log(eigenvalues + tau).sum()
        )

    best = minimize_scalar(
        lambda t: -evidence(t), bounds=(-15, 15), method="bounded", options={"xatol": 1e-10}
    )
    fitted = fit_laplace(model, x, structure=structure)
    assert np.log(fitted.prior_precision) == pytest.approx(best.x, abs=1e-6)
    assert fitted.effective_parameters == pytest.approx(fitted.prior_precision * squared, rel=1e-9)


def signal(n: int = 120) -> tuple[torch.Tensor, torch.Tensor]:
    """Labels that the features say something about."""
    x, _ = data(n)
    noise = torch.as_tensor(np.random.default_rng(1).gumbel(size=(n, K)))
    return x, (2 * x @ torch.tensor([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]).double() + noise).argmax(
        -1
    )


def augmented(model: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
    phi = model[:-1](x).detach()
    return torch.cat([phi, torch.ones(len(phi), 1)], 1)


@pytest.mark.parametrize("structure", ["full", "kronecker"])
def test_validation_chooses_the_prior_precision_with_the_lowest_log_loss(structure):
    """Against sampled predictions for a grid of precisions."""
    model, (x, y) = network(), signal(100)
    fit = LogisticRegression(C=10, fit_intercept=False).fit(
        augmented(model, x[:50]).numpy(), y[:50].numpy()
    )
    with torch.no_grad():
        model[-1].weight[:], model[-1].bias[:] = (
            4 * torch.as_tensor(fit.coef_[:, :-1]),
            4 * torch.as_tensor(fit.coef_[:, -1]),
        )
    val_x, val_y = (part[50:] for part in (x, y))
    fitted = fit_laplace(model, x[:50], validation=(val_x, val_y), structure=structure)

    def sampled_loss(tau: float) -> float:
        q = fit_laplace(model, x[:50], prior_precision=tau, structure=structure).predict(val_x)
        return -float(torch.log(q.sample(2000, rng=0).mean(0)[torch.arange(50), val_y]).mean())

    grid = [math.exp(t) for t in np.arange(-6, 9)]
    losses = [sampled_loss(tau) for tau in grid]
    assert sampled_loss(fitted.prior_precision) < min(losses) + 0.01
    assert (
        min(losses) < losses[-1] - 0.05
    )  # with a strong prior the weights are known, and the network is too sure


def _kronecker(model: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
    """(1/N) Σ (diag p − ppᵀ) ⊗ Σ φφᵀ as one dense matrix, by class, then feature and bias."""
    phi = augmented(model, x)
    p = torch.softmax(model(x).detach(), -1)
    spread = sum(torch.diag(row) - torch.outer(row, row) for row in p) / len(p)
    return torch.kron(spread, phi.T @ phi)


def test_the_kronecker_covariance_is_that_of_the_dense_product():
    model, (x, _), tau = network(), data(), 0.3
    test = torch.randn(5, 2, dtype=torch.float64)
    jacobian = torch.stack(
        [torch.kron(torch.eye(K).double(), row) for row in augmented(model, test)]
    )
    expected = (
        jacobian
        @ torch.linalg.inv(_kronecker(model, x) + tau * torch.eye(K * (D + 1), dtype=torch.float64))
        @ jacobian.mT
    )
    q = fit_laplace(model, x, structure="kronecker", prior_precision=tau, batch_size=16).predict(
        test
    )
    torch.testing.assert_close(q.cov, expected, rtol=1e-9, atol=1e-12)


def test_the_kronecker_form_is_exact_when_all_predictions_are_alike():
    model, (x, _) = network(), data()
    with torch.no_grad():
        model[-1].weight.zero_()
    both = [
        fit_laplace(model, x, structure=s, prior_precision=1.0).predict(x).cov
        for s in ("full", "kronecker")
    ]
    torch.testing.assert_close(*both, rtol=1e-9, atol=1e-12)


def test_auto_takes_the_full_hessian_for_small_heads_only(monkeypatch):
    monkeypatch.setattr("labelwise_lab.posteriors.laplace.FULL_UP_TO", 15)
    assert fit_laplace(nn.Linear(4, 3), torch.randn(5, 4), prior_precision=1.0).structure == "full"
    assert (
        fit_laplace(nn.Linear(5, 3), torch.randn(5, 5), prior_precision=1.0).structure
        == "kronecker"
    )


def test_more_data_leave_less_epistemic_uncertainty():
    model, test = network(), torch.randn(5, 2, dtype=torch.float64)
    laplace = [fit_laplace(model, data(n)[0], prior_precision=1.0) for n in (20, 2000)]
    few, many = (
        lw.decompose(fitted.predict(test, points=16), "squared").sum() for fitted in laplace
    )
    assert bool((many.epistemic < few.epistemic).all())


def test_the_model_is_left_as_it_was():
    model, (x, _) = (
        nn.Sequential(nn.Linear(2, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 3)),
        data(),
    )
    before = {key: value.clone() for key, value in model.state_dict().items()}
    laplace = fit_laplace(model, x.float())
    first, second = (laplace.predict(x.float()[:3]).cov for _ in range(2))
    assert torch.equal(first, second)  # dropout was off
    with pytest.raises(RuntimeError):
        fit_laplace(model, torch.zeros(3, 9))
    assert all(m.training for m in model.modules())
    assert not model[-1]._forward_hooks
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


def test_numpy_gives_numpy_and_the_type_of_the_weights():
    model = network().float()
    x = data()[0].numpy()
    q = fit_laplace(model, x).predict(x[:2], class_names=["a", "b", "c"], rng=4, points=64)
    assert isinstance(q.cov, np.ndarray)
    assert q.loc.dtype == q.cov.dtype == np.float32
    assert (q.class_names, q.seed, q.points) == (("a", "b", "c"), 4, 64)


def test_another_layer_can_be_named():
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head, self.body = (
                nn.Linear(2, 3),
                nn.Linear(2, 2),
            )  # the head is not the last to be declared

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.body(x).tanh())

    model = Net()
    with pytest.raises(ValueError, match="must be the output of its last layer"):
        fit_laplace(model, torch.randn(4, 2))
    assert fit_laplace(model, torch.randn(4, 2), layer=model.head).layer is model.head


def test_wrong_input_gets_a_sentence():
    model, (x, _) = network(), data()
    sure = nn.Linear(2, 2).double()
    with torch.no_grad():
        sure.weight[:] = torch.tensor([[0.0, 0.0], [1e6, 1e6]])
    for arguments, error, sentence in [
        ({"model": 3}, TypeError, "`model` must be a torch.nn.Module"),
        ({"model": nn.Sequential(nn.Flatten())}, ValueError, "`model` has no torch.nn.Linear"),
        (
            {"model": nn.Sequential(model, nn.Softmax(-1))},
            ValueError,
            r"something else \(a softmax on top\?\)",
        ),
        ({"layer": nn.Linear(4, 3)}, ValueError, "`layer` must be a torch.nn.Linear of `model`"),
        (
            {"structure": "diag"},
            ValueError,
            "`structure` must be one of 'auto', 'full', 'kronecker'; got 'diag'",
        ),
        (
            {"prior_precision": 0.0},
            ValueError,
            "`prior_precision` must be a positive number or None",
        ),
        (
            {"model": sure, "x": torch.ones(3, 2)},
            ValueError,
            "every training prediction is exactly 0 or 1",
        ),
        ({"x": x[:0]}, ValueError, "`x` must hold at least one instance"),
        (
            {"validation": (x, torch.zeros(7, dtype=torch.int64))},
            ValueError,
            "one class index from 0 to 2 for each",
        ),
        (
            {"validation": (x, torch.zeros(40))},
            ValueError,
            "one class index from 0 to 2 for each; got torch.float32",
        ),
        (
            {"validation": (x, torch.full((40,), 3))},
            ValueError,
            "`validation` must be instances and one class index from 0 to 2",
        ),
        ({"validation": (x, x), "prior_precision": 1.0}, ValueError, "not both"),
        (
            {"model": nn.Linear(2, 3).double(), "x": torch.zeros(4, 5, 2)},
            ValueError,
            "one row of features per instance",
        ),
    ]:
        options = {"model": model, "x": x} | arguments
        with pytest.raises(error, match=sentence):
            fit_laplace(options.pop("model"), options.pop("x"), **options)
