r"""Multinomial logistic regression with a Gaussian prior, as the last-layer Laplace approximation sees it: curvature, mode and evidence.

Features φ are (N, D), weights θ are (K, D); everything is in double precision. The logarithm of the marginal likelihood
(evidence) of a prior precision τ is, up to a constant and with the eigenvalues λ of the Hessian at the mode θ,
:math:`\ln p(y \mid \theta) - \tfrac\tau2 \Vert\theta\Vert^2 + \tfrac P2 \ln \tau - \tfrac12 \sum_i \ln(\lambda_i + \tau)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn

NO_MAXIMUM = "`prior_precision` cannot be had from the marginal likelihood: {}. Give a number, for instance 1.0"


def full_spectrum(phi: torch.Tensor, weights: torch.Tensor, *, vectors: bool) -> tuple[torch.Tensor, ...]:
    """Eigenvalues (and eigenvectors) of the Hessian Σ φφᵀ ⊗ (diag p − ppᵀ), rows ordered by class, then feature."""
    p = torch.softmax(phi @ weights.T, -1)
    k, d = weights.shape
    hessian = phi.new_zeros((k, d, k, d))
    for i in range(k):
        for j in range(i, k):
            spread = p[:, i] * (float(i == j) - p[:, j])
            hessian[i, :, j] = hessian[j, :, i] = (phi * spread[:, None]).T @ phi
    return _spectrum(hessian.reshape(k * d, k * d), vectors)


def kronecker_spectrum(phi: torch.Tensor, weights: torch.Tensor, *, vectors: bool) -> tuple[torch.Tensor, ...]:
    """Eigenvalues (and eigenvectors) of Σ φφᵀ and of (1/N) Σ (diag p − ppᵀ), whose Kronecker product stands for the Hessian."""
    p = torch.softmax(phi @ weights.T, -1)
    return *_spectrum(phi.T @ phi, vectors), *_spectrum((torch.diag(p.sum(0)) - p.T @ p) / len(p), vectors)


def _spectrum(matrix: torch.Tensor, vectors: bool) -> tuple[torch.Tensor, ...]:
    # Rounding leaves the flat directions (a constant added to all logits) at about −1e-16 of the largest eigenvalue.
    if not vectors:
        return (torch.linalg.eigvalsh(matrix).clamp(min=0),)
    values, basis = torch.linalg.eigh(matrix)
    return values.clamp(min=0), basis


def eigenvalues(spectrum: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """All P eigenvalues of the Hessian."""
    single = [part for part in spectrum if part.ndim == 1]
    return single[0] if len(single) == 1 else torch.outer(*single).flatten()


def effective(values: torch.Tensor, tau: float) -> float:
    """Σ λ/(λ + τ): how many of the weights the data have determined."""
    return float((values / (values + tau)).sum())


def best_precision(values: torch.Tensor, squared_norm: float) -> float:
    r"""The prior precision with the largest evidence for given weights.

    The derivative of its logarithm in ln τ is :math:`\tfrac12 (\sum_i \lambda_i/(\lambda_i + \tau) - \tau \Vert\theta\Vert^2)`, which
    only falls: there is one root, and it is the maximum.
    """
    from scipy.optimize import brentq

    if squared_norm == 0 or not bool((values > 0).any()):
        raise ValueError(NO_MAXIMUM.format("the last layer's weights are all 0, or every training prediction is exactly 0 or 1"))
    # τ‖θ‖² lies between the effective numbers of parameters, so τ does between those of none and all of them over ‖θ‖².
    high = math.log(len(values) / squared_norm)
    low = high
    while effective(values, math.exp(low)) < math.exp(low) * squared_norm:
        low -= 10
    return math.exp(brentq(lambda t: effective(values, math.exp(t)) - math.exp(t) * squared_norm, low, high, xtol=1e-12))


def most_probable(phi: torch.Tensor, y: torch.Tensor, start: torch.Tensor, tau: float) -> torch.Tensor:
    """The weights that minimise the cross-entropy plus τ/2 of their squared length: a convex problem with one solution."""
    weights = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([weights], max_iter=2000, tolerance_grad=1e-7, tolerance_change=0, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(phi @ weights.T, y, reduction="sum") + tau / 2 * (weights**2).sum()
        loss.backward()
        return loss

    with torch.enable_grad():
        optimizer.step(closure)
    return weights.detach()


def best_mode(
    phi: torch.Tensor, y: torch.Tensor, start: torch.Tensor, spectrum: Callable[..., tuple[torch.Tensor, ...]]
) -> tuple[float, torch.Tensor]:
    """Prior precision and mode that belong together: MacKay's fixed point, where the evidence for the mode's weights is largest."""
    from scipy.optimize import brentq

    modes: dict[float, torch.Tensor] = {}

    def mode(t: float) -> torch.Tensor:
        if t not in modes:
            nearest = min(modes, key=lambda s: abs(s - t), default=None)
            modes[t] = most_probable(phi, y, start if nearest is None else modes[nearest], math.exp(t))
        return modes[t]

    def gap(t: float) -> float:
        """Of the sign of the evidence's derivative in t = ln τ; that the Hessian moves with the mode is left aside, as usual."""
        values = eigenvalues(spectrum(phi, mode(t), vectors=False))
        asked = effective(values, math.exp(t)) / max(float((mode(t) ** 2).sum()), 1e-300)
        return math.log(max(asked, 1e-300)) - t

    low = high = 0.0
    at_low = at_high = gap(0.0)
    while at_low < 0 and low > -20:
        low, high, at_low, at_high = low - 2, low, gap(low - 2), at_low
    while at_high > 0 and high < 20:
        low, high, at_low, at_high = high, high + 2, at_high, gap(high + 2)
    if at_low < 0 or at_high > 0:
        raise ValueError(NO_MAXIMUM.format("it has no maximum, the features may say nothing about `y`"))
    best = brentq(gap, low, high, xtol=1e-4)
    return math.exp(best), mode(best)
