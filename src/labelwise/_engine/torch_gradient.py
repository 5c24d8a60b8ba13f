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


def applies(q: Any) -> bool:
    """Whether the kernel can compute and differentiate the ensemble ``q``."""
    p, w = q.stored, q.weights
    wanted = (
        p.requires_grad
        and torch.is_grad_enabled()
        and in_main_memory(p)
        and p.dtype in (torch.float32, torch.float64)
    )
    return wanted and (w is None or (in_main_memory(w) and not w.requires_grad))


def differentiable(
    probs: torch.Tensor, values: Values, again: Values, weights: Any, options: dict[str, Any]
) -> tuple[torch.Tensor, ...]:
    """``values(probs)``, from the kernel, as part of the graph; ``again`` computes them the general
    way, for second derivatives.
    """
    result: tuple[torch.Tensor, ...] = _Parts.apply(probs, values, again, weights, options)
    return result


class _Parts(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def forward(
        ctx: Any,
        probs: torch.Tensor,
        values: Values,
        again: Values,
        weights: Any,
        options: dict[str, Any],
    ) -> Any:
        ctx.save_for_backward(probs)
        ctx.again, ctx.weights, ctx.options = again, weights, options
        return values(probs.detach())

    @staticmethod
    def backward(ctx: Any, *given: torch.Tensor) -> Any:
        (probs,) = ctx.saved_tensors
        if torch.is_grad_enabled():  # these derivatives are differentiated themselves
            return (
                *torch.autograd.grad(ctx.again(probs), probs, given, create_graph=True),
                None,
                None,
                None,
                None,
            )
        m, *batch, k = probs.shape
        flat = probs.detach().reshape(m, -1, k).contiguous().numpy()
        above: Any = tuple(g.detach().expand(*batch, k).reshape(-1, k).numpy() for g in given)
        w = (
            None
            if ctx.weights is None
            else ctx.weights.numpy().reshape(m, -1)
            if ctx.weights.ndim > 1
            else ctx.weights.numpy()
        )
        slopes = kernel.slopes(probs=flat, weights=w, given=above, **ctx.options)
        return torch.from_numpy(slopes).reshape(probs.shape), None, None, None, None
