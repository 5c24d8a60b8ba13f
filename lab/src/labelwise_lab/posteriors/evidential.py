"""Evidential networks (Sensoy, Kaplan & Kandemir 2018): one network whose output is a Dirichlet
distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from labelwise import Dirichlet

from ..training.forward import as_input, batches, check_model, evaluating, like_input, run, seeded
from ..validation import as_seed, check_choice, check_positive, to_numpy

_EVIDENCE = {
    "softplus": nn.functional.softplus,
    "relu": nn.functional.relu,
    "exp": lambda z: torch.exp(torch.clamp(z, max=10.0)),
}


class Evidence(nn.Module):  # type: ignore[misc]
    """The last layer of an evidential network: scores z become concentrations α = evidence(z) + 1 ≥
    1.

    ``activation`` is ``"softplus"``, ``"relu"`` (the original's; an instance whose evidence is 0
    for every class has no gradient) or ``"exp"`` (scores above 10 count as 10).

    >>> import torch
    >>> Evidence("relu")(torch.tensor([[-1.0, 0.0, 4.0]]))
    tensor([[1., 1., 5.]])
    """

    def __init__(self, activation: str = "softplus") -> None:
        super().__init__()
        check_choice(activation, "activation", _EVIDENCE)
        self.activation = activation

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return _EVIDENCE[self.activation](z) + 1

    def extra_repr(self) -> str:
        return repr(self.activation)


def annealing(epoch: int, *, epochs: int = 10) -> float:
    """The weight min(1, epoch / epochs) of the KL term; the first epoch is 0.

    >>> [annealing(t) for t in (0, 5, 20)]
    [0.0, 0.5, 1.0]
    """
    return min(1.0, epoch / epochs) if epochs > 0 else 1.0


def evidential_loss(alpha: torch.Tensor, y: Any, *, kl_weight: float = 1.0) -> torch.Tensor:
    r"""The loss of Sensoy et al., averaged over the instances, to be minimized in any training
    loop.

    .. math::
        \mathbb{E}_{\Theta \sim \mathrm{Dir}(\alpha)} \Vert y - \Theta \Vert^2
        + \lambda\, \mathrm{KL}\big(\mathrm{Dir}(\tilde\alpha) \,\Vert\, \mathrm{Dir}(1, \dots, 1)\big),
        \quad \tilde\alpha = y + (1 - y) \odot \alpha

    Their Eq. (5) in closed form, for concentrations ``alpha`` (N, K), for instance from `Evidence`,
    and ``y``: class indices (N,) or one-hot rows (N, K) (votes that sum to 1 work too). The KL term
    removes evidence for wrong classes; its weight λ (``kl_weight``) should grow from 0
    (`annealing`), or the network is drawn to the uniform distribution before it has learned
    anything.

    >>> import torch
    >>> evidential_loss(torch.tensor([[1.0, 1.0]]), torch.tensor([0]))  # the uniform distribution: E (1 - Θ)² + E Θ² = 2/3
    tensor(0.6667)
    """  # noqa: E501
    if not isinstance(alpha, torch.Tensor) or alpha.ndim != 2 or alpha.shape[1] < 2:
        what = (
            f"shape {tuple(alpha.shape)}"
            if isinstance(alpha, torch.Tensor)
            else type(alpha).__name__
        )
        raise ValueError(
            f"`alpha` must be a tensor (instances, classes) with at least 2 classes; got {what}"
        )
    _check_positive(alpha)
    alpha = alpha.float() if alpha.dtype in (torch.float16, torch.bfloat16) else alpha
    target = _one_hot(y, alpha)
    total = alpha.sum(-1, keepdim=True)
    mean = alpha / total
    risk = ((target - mean) ** 2 + mean * (1 - mean) / (total + 1)).sum(-1)
    return (risk + kl_weight * _kl_to_uniform(target + (1 - target) * alpha)).mean()


def _check_positive(alpha: torch.Tensor) -> None:
    if bool((alpha > 0).all()):
        return
    if bool(torch.isnan(alpha).any()):
        raise ValueError(
            "`alpha` must be positive; got NaN: the training has diverged. Standardize the inputs, "
            "or lower the learning rate"
        )
    raise ValueError(
        f"`alpha` must be positive; the lowest value is {alpha.detach().min():.4g}. If these are "
        "scores, end the network with predictors.Evidence()"
    )


def _kl_to_uniform(alpha: torch.Tensor) -> torch.Tensor:
    """KL(Dir(α) ‖ Dir(1, …, 1)) in nats, (N,)."""
    total = alpha.sum(-1)
    log_volume = (
        torch.lgamma(total)
        - torch.lgamma(alpha).sum(-1)
        - torch.lgamma(torch.full_like(total, alpha.shape[-1]))
    )
    return log_volume + ((alpha - 1) * (torch.digamma(alpha) - torch.digamma(total)[:, None])).sum(
        -1
    )


def _one_hot(y: Any, alpha: torch.Tensor) -> torch.Tensor:
    y = torch.as_tensor(y, device=alpha.device)
    if tuple(y.shape) == tuple(alpha.shape):
        return y.to(alpha.dtype)
    if tuple(y.shape) != (alpha.shape[0],) or y.is_floating_point():
        raise ValueError(
            f"`y` must hold {alpha.shape[0]} class indices or be one-hot of shape "
            f"{tuple(alpha.shape)}; got {y.dtype} of shape {tuple(y.shape)}"
        )
    if int(y.min()) < 0 or int(y.max()) >= alpha.shape[1]:
        raise ValueError(
            f"`y` must hold class indices from 0 to {alpha.shape[1] - 1}; got {int(y.min())} to "
            f"{int(y.max())}"
        )
    return nn.functional.one_hot(y.long(), alpha.shape[1]).to(alpha.dtype)


def fit_evidential(
    model: nn.Module,
    x: Any,
    y: Any,
    *,
    epochs: int = 100,
    lr: float = 1e-3,
    batch_size: int = 64,
    annealing_epochs: int = 10,
    rng: int | np.random.Generator | None = 0,
) -> nn.Module:
    """Train an evidential network with Adam; for small data in memory. `evidential_loss` fits any
    other training loop.

    ``model``, a network that ends with `Evidence`, is trained in place and returned in evaluation
    mode; its initial weights are those it comes with. ``y`` is as for `evidential_loss`;
    ``annealing_epochs`` is the number of epochs until the KL term has its full weight; ``rng`` is
    the random seed or generator for the order of the batches and for dropout.

    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> x = np.array([[-1.0], [-0.9], [0.9], [1.0]])
    >>> model = torch.nn.Sequential(torch.nn.Linear(1, 2), Evidence())
    >>> q = predict_evidential(fit_evidential(model, x, np.array([0, 0, 1, 1]), lr=0.1), x)
    >>> q.mean().argmax(-1)
    array([0, 0, 1, 1])
    """
    check_model(model)
    x = as_input(x)
    y = torch.as_tensor(to_numpy(y))
    epochs, batch_size, seed = (
        check_positive(epochs, "epochs"),
        check_positive(batch_size, "batch_size"),
        as_seed(rng),
    )
    if y.ndim == 0 or y.shape[0] != x.shape[0]:
        raise ValueError(
            f"`y` must have one entry for each of the {x.shape[0]} instances of `x`; got shape "
            f"{tuple(y.shape)}"
        )
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    with seeded(seed):
        for epoch in range(epochs):
            order = np.asarray(torch.randperm(x.shape[0]))
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                alpha = model(next(batches(x[rows], batch_size, model)))
                loss = evidential_loss(
                    alpha, y[rows], kl_weight=annealing(epoch, epochs=annealing_epochs)
                )
                if not bool(torch.isfinite(loss)):
                    raise ValueError(
                        f"the loss is {loss.detach():.4g} in epoch {epoch}: standardize `x`, or "
                        f"lower `lr` (now {lr})"
                    )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    return model.eval()


def predict_evidential(
    model: nn.Module, x: Any, *, batch_size: int = 1024, class_names: Sequence[str] | None = None
) -> Dirichlet:
    """The Dirichlet distributions that an evidential network predicts in evaluation mode; a NumPy
    ``x`` gives NumPy, a tensor a tensor.

    >>> import torch
    >>> q = predict_evidential(torch.nn.Sequential(torch.nn.Linear(4, 3), Evidence()), np.zeros((2, 4)))
    >>> lw.decompose(q, "squared").epistemic.shape
    (2, 3)
    """  # noqa: E501
    check_model(model)
    x = as_input(x)
    with evaluating(model):
        alpha = run(model, x, check_positive(batch_size, "batch_size"))
    _check_positive(alpha)
    return Dirichlet(like_input(alpha, x), class_names=class_names)
