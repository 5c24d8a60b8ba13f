r"""Laplace approximation of the last layer: a trained network with a Gaussian over the weights of
its final linear layer.

The network up to the last layer is a fixed feature map φ(x), so the curvature of the cross-entropy
in the last weights is known in closed form, Σ_n φφᵀ ⊗ (diag p − ppᵀ): the generalized Gauss–Newton
matrix is the exact Hessian, and the labels are not needed for it (MacKay 1992; Daxberger et al.
2021).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from labelwise import LogisticNormal

from ..training.forward import as_input, batches, check_model, evaluating, like_input
from ..validation import check_choice, check_positive, to_numpy

FULL_UP_TO = 2000
"""Number of last-layer weights up to which ``structure="auto"`` keeps the full Hessian."""


@dataclass(frozen=True, eq=False)
class LastLayerLaplace:
    """A network with a Gaussian posterior over its last layer; made by `fit_laplace`."""

    model: nn.Module
    layer: nn.Linear
    structure: str
    """``"full"`` or ``"kronecker"``."""
    prior_precision: float
    curvature: tuple[torch.Tensor, ...]
    """Eigenvalues and eigenvectors of the Hessian: full (P,) and (P, P); Kronecker those of both
    factors.
    """

    @property
    def effective_parameters(self) -> float:
        """Σ λ/(λ + τ) over the eigenvalues λ of the Hessian: how many of the weights the data have
        determined.
        """
        return _effective(_eigenvalues(self.curvature), self.prior_precision)

    def predict(
        self,
        x: Any,
        *,
        batch_size: int = 256,
        class_names: Sequence[str] | None = None,
        rng: int | np.random.Generator | None = 0,
        points: int = 256,
    ) -> LogisticNormal:
        """The law of the logits: Gaussian, because they are linear in the last weights; with their
        full covariance.

        ``rng`` and ``points`` are those of `LogisticNormal`. A NumPy ``x`` gives NumPy, a tensor a
        tensor.
        """
        x = as_input(x)
        device = x.device if isinstance(x, torch.Tensor) else "cpu"
        means, covariances = [], []
        with _features(self.model, self.layer) as run:
            for batch in batches(x, check_positive(batch_size, "batch_size"), self.model):
                phi, logits = run(batch)
                means.append(logits.to(device))
                covariances.append(self._covariance(phi).to(device=device, dtype=logits.dtype))
        mean, cov = like_input(torch.cat(means), x), like_input(torch.cat(covariances), x)
        return LogisticNormal(mean, cov, class_names=class_names, rng=rng, points=points)

    def _covariance(self, phi: torch.Tensor) -> torch.Tensor:
        """Covariance (n, K, K) of the logits for features (n, D): a product W Wᵀ, so never
        indefinite.
        """
        if self.structure == "full":
            values, vectors = self.curvature
            root = vectors / torch.sqrt(values + self.prior_precision)
            w = torch.einsum(
                "nd,kdp->nkp", phi, root.reshape(self.layer.out_features, phi.shape[1], -1)
            )
            return w @ w.mT
        a, u, b, v = self.curvature
        scale = ((phi @ u) ** 2) @ (1 / (torch.outer(a, b) + self.prior_precision))
        w = v * torch.sqrt(scale)[:, None, :]
        return w @ w.mT


def fit_laplace(
    model: nn.Module,
    x: Any,
    *,
    prior_precision: float | None = None,
    validation: tuple[Any, Any] | None = None,
    structure: str = "auto",
    layer: nn.Linear | None = None,
    batch_size: int = 256,
) -> LastLayerLaplace:
    r"""Put a Gaussian over the last linear layer of a trained classifier.

    .. math::
        \theta \sim \mathcal{N}\big(\theta^*, (H + \tau I)^{-1}\big), \quad
        H = \sum_n \tilde\varphi_n \tilde\varphi_n^\top \otimes (\mathrm{diag}\, p_n - p_n p_n^\top)

    with the trained weights θ*, the features :math:`\tilde\varphi` that enter the layer (and 1 for
    its bias) and the predicted probabilities p.

    Parameters
    ----------
    model : torch.nn.Module
        A classifier trained with cross-entropy whose output are the logits of a `torch.nn.Linear`.
        It is not changed.
    x : array or tensor (N, ...)
        The instances it was trained on. Their labels are not needed.
    prior_precision : float, optional
        τ. Defaults to the value that maximizes the marginal likelihood, the one solution of
        :math:`\tau \Vert\theta^*\Vert^2 = \sum_i \lambda_i / (\lambda_i + \tau)` with the eigenvalues λ of H.
    validation : pair (x, y), optional
        Instances that the network was not trained on, and their labels 0 … K − 1: choose the τ with
        the lowest log loss there. Better than the marginal likelihood for a network that is sure of
        its training data: its Hessian is close to 0, and the Gaussian then far too wide.
    structure : {"auto", "full", "kronecker"}
        Full Hessian, or its Kronecker factorization :math:`\tfrac1N \sum
        \tilde\varphi\tilde\varphi^\top \otimes \sum (\mathrm{diag}\, p - pp^\top)`; "auto" is full
        up to 2,000 weights (weights and biases of the layer).
    layer : torch.nn.Linear, optional
        The last layer, if it is not the last `torch.nn.Linear` of ``model.modules()``.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    >>> q = fit_laplace(model, np.random.default_rng(0).normal(size=(50, 2))).predict(np.array([[0.0, 0.0], [9.0, 9.0]]))
    >>> q.cov.shape
    (2, 3, 3)
    """  # noqa: E501
    check_model(model)
    check_choice(structure, "structure", ("auto", "full", "kronecker"))
    if prior_precision is not None and not 0 < prior_precision < math.inf:
        raise ValueError(
            f"`prior_precision` must be a positive number or None; got {prior_precision!r}"
        )
    if prior_precision is not None and validation is not None:
        raise ValueError(
            "give `prior_precision` or the `validation` instances to choose it by, not both"
        )
    x = as_input(x)
    last = _last_layer(model, layer)
    weights = [p.detach().double() for p in (last.weight, last.bias) if p is not None]
    if structure == "auto":
        structure = "full" if sum(p.numel() for p in weights) <= FULL_UP_TO else "kronecker"
    with _features(model, last) as run:
        pairs = (
            run(batch) for batch in batches(x, check_positive(batch_size, "batch_size"), model)
        )
        curvature = _full(pairs) if structure == "full" else _kronecker(pairs)
    # Rounding leaves the flat directions (a constant added to all logits) at about −1e-16 of the
    # largest eigenvalue.
    curvature = tuple(part.clamp(min=0) if part.ndim == 1 else part for part in curvature)
    if prior_precision is None and validation is None:
        prior_precision = _most_likely(
            _eigenvalues(curvature), float(sum((p**2).sum() for p in weights))
        )
    fitted = LastLayerLaplace(model, last, structure, prior_precision or 1.0, curvature)
    return fitted if validation is None else _validated(fitted, *validation, batch_size)


def _last_layer(model: nn.Module, layer: Any) -> nn.Linear:
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    if layer is None:
        if not linear:
            raise ValueError(
                "`model` has no torch.nn.Linear; the last-layer Laplace approximation needs one as "
                "its last layer"
            )
        return linear[-1]
    if not any(layer is module for module in linear):
        raise ValueError(f"`layer` must be a torch.nn.Linear of `model`; got {layer!r}")
    return layer


@contextmanager
def _features(
    model: nn.Module, layer: nn.Linear
) -> Iterator[Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]]:
    """A function from a batch to the features (n, D), or (n, D + 1) with a bias, in double
    precision, and the logits (n, K).
    """
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    handle = layer.register_forward_hook(
        lambda module, inputs, output: seen.append((inputs[0], output))
    )

    def run(batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen.clear()
        out = model(batch)
        if (
            len(seen) != 1
            or not isinstance(out, torch.Tensor)
            or out.shape != seen[0][1].shape
            or not torch.equal(out, seen[0][1])
        ):
            raise ValueError(
                f"the output of `model` must be the output of its last layer, {layer}, used once; "
                "here it is something else (a softmax on "
                "top?). Take the network without what follows, or pass the last layer as `layer`"
            )
        phi = seen[0][0].double()
        if phi.ndim != 2:
            raise ValueError(
                "the last layer must see one row of features per instance; got shape "
                f"{tuple(phi.shape)}"
            )
        if layer.bias is not None:
            phi = torch.cat([phi, torch.ones_like(phi[:, :1])], dim=1)
        return phi, out

    try:
        with evaluating(model):
            yield run
    finally:
        handle.remove()


def _full(pairs: Iterator[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, ...]:
    """Eigenvalues and eigenvectors of H, rows ordered by class, then feature."""
    hessian: Any = 0
    for phi, logits in pairs:
        p = torch.softmax(logits.double(), -1)
        k, d = p.shape[1], phi.shape[1]
        part = phi.new_zeros((k, d, k, d))
        for i in range(k):
            for j in range(i, k):
                spread = p[:, i] * (float(i == j) - p[:, j])
                part[i, :, j] = part[j, :, i] = (phi * spread[:, None]).T @ phi
        hessian = hessian + part.reshape(k * d, k * d)
    return tuple(torch.linalg.eigh(hessian))


def _kronecker(pairs: Iterator[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, ...]:
    """Eigenvalues and eigenvectors of Σ φφᵀ and of (1/N) Σ (diag p − ppᵀ)."""
    outer: Any = 0
    spread: Any = 0
    n = 0
    for phi, logits in pairs:
        p = torch.softmax(logits.double(), -1)
        outer = outer + phi.T @ phi
        spread = spread + torch.diag(p.sum(0)) - p.T @ p
        n += len(phi)
    return (*torch.linalg.eigh(outer), *torch.linalg.eigh(spread / n))


def _eigenvalues(curvature: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """All P eigenvalues of the Hessian."""
    single = [part for part in curvature if part.ndim == 1]
    return single[0] if len(single) == 1 else torch.outer(*single).flatten()


def _effective(values: torch.Tensor, tau: float) -> float:
    return float((values / (values + tau)).sum())


def _most_likely(values: torch.Tensor, squared_norm: float) -> float:
    r"""The prior precision with the largest marginal likelihood.

    The derivative of its logarithm in ln τ is :math:`\tfrac12 (\sum_i \lambda_i/(\lambda_i + \tau)
    - \tau \Vert\theta\Vert^2)`, which only falls: there is one root, and it is the maximum.
    """
    from scipy.optimize import brentq

    if squared_norm == 0 or not bool((values > 0).any()):
        raise ValueError(
            "`prior_precision` cannot be estimated by the marginal likelihood: the last layer's "
            "weights are all 0, or every training "
            "prediction is exactly 0 or 1. Give a number, for instance 1.0"
        )
    low = high = math.log(len(values) / squared_norm)  # as if the data had determined all P weights
    while _effective(values, math.exp(low)) < math.exp(low) * squared_norm:
        low -= 10
    return math.exp(
        brentq(
            lambda t: _effective(values, math.exp(t)) - math.exp(t) * squared_norm,
            low,
            high,
            xtol=1e-12,
        )
    )


def _validated(fitted: LastLayerLaplace, x: Any, y: Any, batch_size: int) -> LastLayerLaplace:
    """The same with the prior precision of the lowest log loss on instances that the network has
    not seen.
    """
    from scipy.optimize import minimize_scalar

    x = as_input(x)
    y = torch.as_tensor(to_numpy(y))
    k = fitted.layer.out_features
    if (
        tuple(y.shape) != (x.shape[0],)
        or y.is_floating_point()
        or int(y.min()) < 0
        or int(y.max()) >= k
    ):
        raise ValueError(
            f"`validation` must be instances and one class index from 0 to {k - 1} for each; got "
            f"{y.dtype} of shape {tuple(y.shape)}"
        )
    with _features(fitted.model, fitted.layer) as run:
        pairs = [run(batch) for batch in batches(x, batch_size, fitted.model)]
    phi, logits = (
        torch.cat([pair[0] for pair in pairs]),
        torch.cat([pair[1] for pair in pairs]).double(),
    )

    def loss(t: float) -> float:
        q = LogisticNormal(
            logits, replace(fitted, prior_precision=math.exp(t))._covariance(phi), points=32
        )
        chosen = q.mean()[torch.arange(len(y)), y.to(logits.device).long()]
        return -float(torch.log(chosen.clamp(min=1e-300)).mean())

    # The loss may have several minima in ln τ: a coarse look, then a fine one around the best.
    grid = range(-8, 17, 2)
    best = min(grid, key=loss)
    fine = minimize_scalar(
        loss, bounds=(best - 2, best + 2), method="bounded", options={"xatol": 0.02}
    )
    return replace(fitted, prior_precision=math.exp(fine.x))
