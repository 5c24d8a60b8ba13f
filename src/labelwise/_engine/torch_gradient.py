"""Uncertainty of PyTorch ensembles that is differentiated: values and derivatives from the kernel.

What the kernel cannot differentiate goes the general way: losses other than log and squared, second
derivatives, forward mode, ``vmap``, weights that need a gradient, events, half precision, other
devices, and compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import kernel
from .host import in_main_memory

Values = Callable[[torch.Tensor], tuple[torch.Tensor, ...]]


def has_kernel_gradient(q: Any) -> bool:
    """Whether the kernel can compute and differentiate the ensemble ``q``."""
    weights = q.weights
    if not is_differentiable(q.stored):
        return False
    return weights is None or (in_main_memory(weights) and not weights.requires_grad)


def is_differentiable(probs: torch.Tensor) -> bool:
    """Whether the kernel can compute with ``probs``, which need a gradient."""
    if not (probs.requires_grad and torch.is_grad_enabled() and in_main_memory(probs)):
        return False
    return probs.dtype in (torch.float32, torch.float64)


def differentiable(
    probs: torch.Tensor,
    by_kernel: Values,
    by_equations: Values,
    weights: Any,
    options: dict[str, Any],
) -> tuple[torch.Tensor, ...]:
    """``by_kernel(probs)`` as part of the graph; ``by_equations`` computes the same the general
    way, for second derivatives.
    """
    result: tuple[torch.Tensor, ...] = _Parts.apply(
        probs, by_kernel, by_equations, weights, options
    )
    return result


class _Parts(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def forward(
        ctx: Any,
        probs: torch.Tensor,
        by_kernel: Values,
        by_equations: Values,
        weights: Any,
        options: dict[str, Any],
    ) -> Any:
        ctx.save_for_backward(probs)
        ctx.set_materialize_grads(False)
        ctx.by_equations, ctx.weights, ctx.options = by_equations, weights, options
        return by_kernel(probs.detach())

    @staticmethod
    def backward(ctx: Any, *given: torch.Tensor | None) -> Any:
        (probs,) = ctx.saved_tensors
        m, *batch, k = probs.shape
        if given[0] is None and given[1] is None:  # by epistemic uncertainty alone
            given = given[2:]
        above = [probs.new_zeros(*batch, k) if g is None else g for g in given]
        if torch.is_grad_enabled():  # these derivatives are differentiated themselves
            parts = ctx.by_equations(probs)[-len(above) :]
            (slopes,) = torch.autograd.grad(parts, probs, above, create_graph=True)
            return slopes, None, None, None, None
        flat = probs.detach().reshape(m, -1, k).contiguous().numpy()
        rows = tuple([g.detach().expand(*batch, k).reshape(-1, k).numpy() for g in above])
        weights = ctx.weights
        if weights is not None:
            weights = weights.numpy()
            if weights.ndim > 1:
                weights = weights.reshape(m, -1)
        found = kernel.slopes(probs=flat, weights=weights, given=rows, **ctx.options)
        return torch.from_numpy(found).reshape(probs.shape), None, None, None, None
