"""The formulas as anyone writes them with NumPy, SciPy, PyTorch or JAX: total and aleatoric
uncertainty, and their difference.

Each gives label-wise TU, AU and EU (N, K) and their sums (N,), from predictions (M, N, K). They
subtract, so they lose digits where members agree; at p = 0 and 1 they are right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import beta as beta_function
from scipy.special import betainc, digamma, entr

BIT = 0.6931471805599453
Parts = tuple[Any, ...]


def _decomposed(total: Any, aleatoric: Any) -> Parts:
    """TU, AU, EU and their sums."""
    epistemic = total - aleatoric
    return total, aleatoric, epistemic, total.sum(-1), aleatoric.sum(-1), epistemic.sum(-1)


def _of_members(entropy: Callable[[Any], Any], p: Any) -> Parts:
    return _decomposed(entropy(p.mean(0)), entropy(p).mean(0))


# Ensembles in NumPy


def log(p: np.ndarray) -> Parts:
    """Eqs. (17)–(19) in bits."""
    return _of_members(lambda t: (entr(t) + entr(1 - t)) / p.dtype.type(BIT), p)


def log_numpy(p: np.ndarray) -> Parts:
    """The same with NumPy's own logarithm, which is vectorised for some types on some
    processors.
    """

    def entropy(t: np.ndarray) -> np.ndarray:
        tiny = np.finfo(t.dtype).tiny
        return -(t * np.log2(np.maximum(t, tiny)) + (1 - t) * np.log2(np.maximum(1 - t, tiny)))

    return _of_members(entropy, p)


def squared(p: np.ndarray) -> Parts:
    """Eqs. (20)–(22)."""
    return _of_members(lambda t: t * (1 - t), p)


def spherical(p: np.ndarray) -> Parts:
    return _of_members(lambda t: 1 - np.sqrt(t**2 + (1 - t) ** 2), p)


def zero_one(p: np.ndarray) -> Parts:
    return _of_members(lambda t: np.minimum(t, 1 - t), p)


def cost(p: np.ndarray, false_positive: np.ndarray, false_negative: np.ndarray) -> Parts:
    a, b = false_positive.astype(p.dtype), false_negative.astype(p.dtype)
    return _of_members(lambda t: np.minimum(b * t, a * (1 - t)), p)


def beta(p: np.ndarray, a: float, b: float) -> Parts:
    """The loss with -G″ = t^(a-1) (1-t)^(b-1), a and b above 0, by incomplete beta functions."""
    one, zero = beta_function(a, b + 1), beta_function(a + 1, b)
    return _of_members(
        lambda t: t * one * (1 - betainc(a, b + 1, t)) + (1 - t) * zero * betainc(a + 1, b, t), p
    )


def ordinal(p: np.ndarray) -> Parts:
    """Log loss of "at least class k", k = 1 … K - 1; rounding may lift a sum of probabilities above
    1.
    """
    return log(np.minimum(np.cumsum(p, axis=-1)[..., :-1], 1))


def streamed(members: np.ndarray) -> Parts:
    """Log loss, one member at a time."""
    mean, entropies = 0.0, 0.0
    for p in members:
        mean = mean + p
        entropies = entropies + (entr(p) + entr(1 - p))
    mean, bit = mean / len(members), members.dtype.type(BIT)
    return _decomposed((entr(mean) + entr(1 - mean)) / bit, entropies / len(members) / bit)


# PyTorch and JAX


def torch_log(p: Any) -> Parts:
    from torch.special import entr

    return _of_members(lambda t: (entr(t) + entr(1 - t)) / BIT, p)


def torch_compiled(f: Callable[[Any], Parts]) -> Callable[[Any], Parts]:
    """Compiled for one shape."""
    import torch

    torch._dynamo.reset()  # it gives up on a function after eight shapes
    return torch.compile(f, dynamic=False)


def torch_gradient(p: Any) -> Any:
    """The derivative of the sum of EU. At p = 0 and 1 it is infinite, so probabilities are kept
    inside as users do.
    """
    import torch

    p = p.detach().requires_grad_()
    inside = p.clamp(torch.finfo(p.dtype).tiny, 1 - torch.finfo(p.dtype).eps)
    torch_log(inside)[2].sum().backward()
    return p.grad


def jax_log(p: Any) -> Parts:
    from jax.scipy.special import entr

    return _of_members(lambda t: (entr(t) + entr(1 - t)) / BIT, p)


# Dirichlet distributions: alpha (N, K), or (M, N, K) for a mixture


def _binary(t: np.ndarray) -> np.ndarray:
    return (entr(t) + entr(1 - t)) / BIT


def _expected_entropy(alpha: np.ndarray) -> np.ndarray:
    """E h(Θ) of Beta(α, S - α), in bits."""
    s = alpha.sum(-1, keepdims=True)
    m = alpha / s
    return (digamma(s + 1) - m * digamma(alpha + 1) - (1 - m) * digamma(s - alpha + 1)) / BIT


def dirichlet_log(alpha: np.ndarray) -> Parts:
    return _decomposed(_binary(alpha / alpha.sum(-1, keepdims=True)), _expected_entropy(alpha))


def dirichlet_zero_one(alpha: np.ndarray) -> Parts:
    """E min(Θ, 1 - Θ) by the incomplete beta function."""
    other = alpha.sum(-1, keepdims=True) - alpha
    m = alpha / (alpha + other)
    return _decomposed(
        np.minimum(m, 1 - m),
        m * betainc(alpha + 1, other, 0.5) + (1 - m) * betainc(other + 1, alpha, 0.5),
    )


def dirichlet_spherical(alpha: np.ndarray, draws: int = 200) -> Parts:
    """No closed form: Monte Carlo."""
    rng = np.random.default_rng(0)
    total = 0.0
    for _ in range(draws):
        gamma = rng.standard_gamma(alpha)
        t = gamma / gamma.sum(-1, keepdims=True)
        total = total + (1 - np.sqrt(t**2 + (1 - t) ** 2))
    m = alpha / alpha.sum(-1, keepdims=True)
    return _decomposed(1 - np.sqrt(m**2 + (1 - m) ** 2), total / draws)


def mixture_log(alpha: np.ndarray) -> Parts:
    mean = (alpha / alpha.sum(-1, keepdims=True)).mean(0)
    return _decomposed(_binary(mean), _expected_entropy(alpha).mean(0))


# Gaussian logits


def logistic_normal(mean: np.ndarray, cov: np.ndarray, draws: int = 1000, seed: int = 0) -> Parts:
    """Log loss by Monte Carlo, 100 instances at a time."""
    rng = np.random.default_rng(seed)
    factor = np.linalg.cholesky(cov)
    parts = []
    for i in range(0, len(mean), 100):
        here = mean[i : i + 100]
        z = here[:, None] + rng.standard_normal((len(here), draws, mean.shape[1])) @ factor[
            i : i + 100
        ].transpose(0, 2, 1)
        p = np.exp(z - z.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        parts.append(_decomposed(_binary(p.mean(1)), _binary(p).mean(1)))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))
