r"""Laplace approximation of the last layer: a trained network with a Gaussian over the weights of its final linear layer.

The network up to the last layer is a fixed feature map φ(x), so the curvature of the cross-entropy in the last weights is
known in closed form, Σ_n φφᵀ ⊗ (diag p − ppᵀ): the generalised Gauss–Newton matrix is the exact Hessian, and the labels are
not needed for it (Daxberger et al. 2021; MacKay 1992).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..distributions import LogisticNormal
from ._forward import as_input, batches, check_count, check_model, evaluating, like_input

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
    effective_parameters: float
    """Σ λ/(λ + τ) over the eigenvalues λ of the Hessian: how many of the weights the data have determined."""
    curvature: tuple[torch.Tensor, ...]
    """Eigenvalues and eigenvectors of the Hessian: full (P,) and (P, P); Kronecker those of both factors."""

    def predict(
        self, x: Any, *, batch_size: int = 256, names: Sequence[str] | None = None, seed: int = 0, points: int = 256
    ) -> LogisticNormal:
        """The law of the logits: Gaussian, because they are linear in the last weights; with their full covariance.

        ``seed`` and ``points`` are those of `LogisticNormal`. A NumPy ``x`` gives NumPy, a tensor a tensor.
        """
        x = as_input(x)
        device = x.device if isinstance(x, torch.Tensor) else "cpu"
        means, covariances = [], []
        with _features(self.model, self.layer) as run:
            for batch in batches(x, check_count(batch_size, "batch_size"), self.model):
                phi, logits = run(batch)
                means.append(logits.to(device))
                covariances.append(self._covariance(phi).to(device=device, dtype=logits.dtype))
        mean, cov = like_input(torch.cat(means), x), like_input(torch.cat(covariances), x)
        return LogisticNormal(mean, cov, names=names, seed=seed, points=points)

    def _covariance(self, phi: torch.Tensor) -> torch.Tensor:
        """Covariance (n, K, K) of the logits for features (n, D): a product W Wᵀ, so never indefinite."""
        if self.structure == "full":
            values, vectors = self.curvature
            k = self.layer.out_features
            root = vectors / torch.sqrt(values + self.prior_precision)
            w = torch.einsum("nd,kdp->nkp", phi, root.reshape(k, phi.shape[1], -1))
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
    structure: str = "auto",
    layer: nn.Linear | None = None,
    batch_size: int = 256,
) -> LastLayerLaplace:
    r"""Put a Gaussian over the last linear layer of a trained classifier.

    .. math::
        \theta \sim \mathcal{N}\big(\theta^*, (H + \tau I)^{-1}\big), \quad
        H = \sum_n \tilde\varphi_n \tilde\varphi_n^\top \otimes (\mathrm{diag}\, p_n - p_n p_n^\top)

    with the features :math:`\tilde\varphi` that enter the layer (and 1 for its bias) and the predicted probabilities p.

    Parameters
    ----------
    model : torch.nn.Module
        A classifier trained with cross-entropy whose output are the logits of a `torch.nn.Linear`. It is not changed.
    x : array or tensor (N, ...)
        The instances it was trained on. Their labels are not needed.
    prior_precision : float, optional
        τ. By default the value that maximises the marginal likelihood, the one solution of
        :math:`\tau \Vert\theta^*\Vert^2 = \sum_i \lambda_i / (\lambda_i + \tau)` with the eigenvalues λ of H.
    structure : {"auto", "full", "kronecker"}
        Full Hessian, or its Kronecker factorisation :math:`\tfrac1N \sum \tilde\varphi\tilde\varphi^\top \otimes \sum (\mathrm{diag}\, p - pp^\top)`;
        "auto" is full up to 2,000 weights (weights and biases of the layer).
    layer : torch.nn.Linear, optional
        The last layer, if it is not the last `torch.nn.Linear` of ``model.modules()``.
    batch_size : int

    Returns
    -------
    LastLayerLaplace
        ``.predict(x)`` gives a `LogisticNormal`.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    >>> q = fit_laplace(model, np.random.default_rng(0).normal(size=(50, 2))).predict(np.array([[0.0, 0.0], [9.0, 9.0]]))
    >>> q.cov.shape
    (2, 3, 3)
    """
    check_model(model)
    if structure not in ("auto", "full", "kronecker"):
        raise ValueError(f"`structure` must be 'auto', 'full' or 'kronecker'; got {structure!r}")
    if prior_precision is not None and not 0 < prior_precision < float("inf"):
        raise ValueError(f"`prior_precision` must be a positive number or None (marginal likelihood); got {prior_precision!r}")
    x = as_input(x)
    last = _last_layer(model, layer)
    weights = [p.detach().double() for p in (last.weight, last.bias) if p is not None]
    count = sum(p.numel() for p in weights)
    if structure == "auto":
        structure = "full" if count <= FULL_UP_TO else "kronecker"
    with _features(model, last) as run:
        pairs = (run(batch) for batch in batches(x, check_count(batch_size, "batch_size"), model))
        curvature = _full(pairs) if structure == "full" else _kronecker(pairs)
    # Rounding leaves the flat directions (a constant added to all logits) at about −1e-16 of the largest eigenvalue.
    curvature = tuple(part.clamp(min=0) if part.ndim == 1 else part for part in curvature)
    values = curvature[0] if structure == "full" else torch.outer(curvature[0], curvature[2]).flatten()
    if prior_precision is None:
        prior_precision = _best_precision(values, float(sum((p**2).sum() for p in weights)))
    effective = float((values / (values + prior_precision)).sum())
    return LastLayerLaplace(model, last, structure, float(prior_precision), effective, curvature)


def _last_layer(model: nn.Module, layer: Any) -> nn.Linear:
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    if layer is None:
        if not linear:
            raise ValueError("`model` has no torch.nn.Linear; the last-layer Laplace approximation needs one as its last layer")
        return linear[-1]
    if not any(layer is module for module in linear):
        raise ValueError(f"`layer` must be a torch.nn.Linear of `model`; got {layer!r}")
    return layer


@contextmanager
def _features(model: nn.Module, layer: nn.Linear) -> Iterator[Any]:
    """A function from a batch to the features (n, D + 1), in double precision, and the logits (n, K)."""
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    handle = layer.register_forward_hook(lambda module, inputs, output: seen.append((inputs[0], output)))

    def run(batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen.clear()
        out = model(batch)
        if len(seen) != 1 or not isinstance(out, torch.Tensor) or out.shape != seen[0][1].shape or not torch.equal(out, seen[0][1]):
            raise ValueError(
                f"the output of `model` must be the output of its last layer, {layer}, used once; here it is something else (a softmax on "
                "top?). Take the network without what follows, or name the last layer in `layer`"
            )
        phi = seen[0][0].double()
        if phi.ndim != 2:
            raise ValueError(f"the last layer must see one row of features per instance; got shape {tuple(phi.shape)}")
        if layer.bias is not None:
            phi = torch.cat([phi, torch.ones_like(phi[:, :1])], dim=1)
        return phi, out

    try:
        with evaluating(model):
            yield run
    finally:
        handle.remove()


def _full(pairs: Iterator[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalues and eigenvectors of H, rows ordered by class, then feature."""
    hessian: Any = 0
    for phi, logits in pairs:
        p = torch.softmax(logits.double(), -1)
        k, d = p.shape[1], phi.shape[1]
        spread = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
        blocks = torch.stack([torch.einsum("nd,nl,ne->lde", phi, spread[:, i], phi) for i in range(k)])
        hessian = hessian + blocks.permute(0, 2, 1, 3).reshape(k * d, k * d)
    values, vectors = torch.linalg.eigh(hessian)
    return values, vectors


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


def _best_precision(values: torch.Tensor, squared_norm: float) -> float:
    r"""The prior precision with the largest marginal likelihood, by bisection.

    The derivative of its logarithm in ln τ is :math:`\tfrac12 (\sum_i \lambda_i/(\lambda_i + \tau) - \tau \Vert\theta\Vert^2)`, which
    only falls: there is one root, and it is the maximum.
    """
    if squared_norm == 0 or not bool((values > 0).any()):
        raise ValueError(
            "`prior_precision` cannot be had from the marginal likelihood: the last layer's weights are all 0, or every training "
            "prediction is exactly 0 or 1. Give a number, for instance 1.0"
        )
    low, high = -60.0, 60.0  # of ln τ
    for _ in range(80):
        middle = (low + high) / 2
        tau = math.exp(middle)
        if float((values / (values + tau)).sum()) > tau * squared_norm:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)
