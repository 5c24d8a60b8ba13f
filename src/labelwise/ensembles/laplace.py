r"""Laplace approximation of the last layer: a trained network with a Gaussian over the weights of its final linear layer.

The network up to the last layer is a fixed feature map φ(x), so the curvature of the cross-entropy in the last weights is
known in closed form, Σ_n φφᵀ ⊗ (diag p − ppᵀ): the generalised Gauss–Newton matrix is the exact Hessian, and the labels are
not needed for it (MacKay 1992; Daxberger et al. 2021).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .._arrays import to_numpy
from ..distributions import LogisticNormal
from ._evidence import best_mode, best_precision, effective, eigenvalues, full_spectrum, kronecker_spectrum, most_probable
from ._forward import as_input, batches, check_count, check_model, evaluating, like_input

FULL_UP_TO = 2000
"""Number of last-layer weights up to which ``structure="auto"`` keeps the full Hessian."""


@dataclass(frozen=True, eq=False)
class LastLayerLaplace:
    """A network with a Gaussian posterior over its last layer; made by `fit_laplace`."""

    model: nn.Module
    layer: nn.Linear
    weights: torch.Tensor
    """(K, D) or, with a bias, (K, D + 1): the mean of the last layer's weights, the bias last."""
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
                phi, dtype = run(batch)
                means.append((phi @ self.weights.T).to(device=device, dtype=dtype))
                covariances.append(self._covariance(phi).to(device=device, dtype=dtype))
        mean, cov = like_input(torch.cat(means), x), like_input(torch.cat(covariances), x)
        return LogisticNormal(mean, cov, names=names, seed=seed, points=points)

    def _covariance(self, phi: torch.Tensor) -> torch.Tensor:
        """Covariance (n, K, K) of the logits for features (n, D): a product W Wᵀ, so never indefinite."""
        if self.structure == "full":
            values, vectors = self.curvature
            k = self.weights.shape[0]
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
    y: Any = None,
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
        The instances it was trained on.
    y : array or tensor (N,), optional
        Their labels, 0 … K − 1. With them, θ* is the mode of the posterior under the prior τ; without, the weights as they were
        trained, and predictions keep their mean. Laplace's approximation is one around a mode, and a network trained without the matching
        weight decay (τ/N) is at none: sure of its training data, it has next to no curvature, and the Gaussian becomes far too wide.
    prior_precision : float, optional
        τ. By default the value that maximises the marginal likelihood, where
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

    Notes
    -----
    The features of all N instances are kept in memory, in double precision.

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
    if prior_precision is not None and not 0 < prior_precision < math.inf:
        raise ValueError(f"`prior_precision` must be a positive number or None (marginal likelihood); got {prior_precision!r}")
    x = as_input(x)
    last = _last_layer(model, layer)
    with _features(model, last) as run:
        phi = torch.cat([run(batch)[0] for batch in batches(x, check_count(batch_size, "batch_size"), model)])
    weights = last.weight.detach().double()
    if last.bias is not None:
        weights = torch.cat([weights, last.bias.detach().double()[:, None]], dim=1)
    if structure == "auto":
        structure = "full" if weights.numel() <= FULL_UP_TO else "kronecker"
    spectrum = full_spectrum if structure == "full" else kronecker_spectrum
    if y is not None:
        labels = _labels(y, phi, weights)
        if prior_precision is None:
            prior_precision, weights = best_mode(phi, labels, weights, spectrum)
        else:
            weights = most_probable(phi, labels, weights, prior_precision)
    curvature = spectrum(phi, weights, vectors=True)
    values = eigenvalues(curvature)
    if prior_precision is None:
        prior_precision = best_precision(values, float((weights**2).sum()))
    return LastLayerLaplace(model, last, weights, structure, float(prior_precision), effective(values, prior_precision), curvature)


def _last_layer(model: nn.Module, layer: Any) -> nn.Linear:
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    if layer is None:
        if not linear:
            raise ValueError("`model` has no torch.nn.Linear; the last-layer Laplace approximation needs one as its last layer")
        return linear[-1]
    if not any(layer is module for module in linear):
        raise ValueError(f"`layer` must be a torch.nn.Linear of `model`; got {layer!r}")
    return layer


def _labels(y: Any, phi: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    labels = torch.as_tensor(to_numpy(y), device=phi.device)
    n, k = len(phi), len(weights)
    if tuple(labels.shape) != (n,) or labels.is_floating_point():
        raise ValueError(
            f"`y` must hold one class index for each of the {n} instances of `x`; got {labels.dtype} of shape {tuple(labels.shape)}"
        )
    if int(labels.min()) < 0 or int(labels.max()) >= k:
        raise ValueError(f"`y` must hold class indices from 0 to {k - 1}; got {int(labels.min())} to {int(labels.max())}")
    return labels.long()


@contextmanager
def _features(model: nn.Module, layer: nn.Linear) -> Iterator[Callable[[torch.Tensor], tuple[torch.Tensor, torch.dtype]]]:
    """A function from a batch to the features (n, D), or (n, D + 1) with a bias, in double precision, and the type of the logits."""
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    handle = layer.register_forward_hook(lambda module, inputs, output: seen.append((inputs[0], output)))

    def run(batch: torch.Tensor) -> tuple[torch.Tensor, torch.dtype]:
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
        return phi, out.dtype

    try:
        with evaluating(model):
            yield run
    finally:
        handle.remove()
