"""Uncertainty of PyTorch ensembles that is differentiated: values and derivatives from the kernel.

What the kernel cannot differentiate goes the general way: losses other than log and squared, second
derivatives, forward mode, ``vmap``, weights that need a gradient, events, half precision, other
devices, and compiled code.
"""

from __future__ import annotations

from typing import Any

import torch

from . import kernel
from .host import in_main_memory


def split(q: Any, loss: Any, unit: float, n_jobs: int | None) -> tuple[torch.Tensor, ...] | None:
    """Total, aleatoric and epistemic uncertainty of the ensemble ``q`` as part of the graph, in
    ``unit`` times bits under log loss; ``None`` where the kernel cannot differentiate it.
    """
    probs, weights = q.stored, q.weights
    if not (probs.requires_grad and torch.is_grad_enabled() and in_main_memory(probs)):
        return None
    if weights is not None and (weights.requires_grad or not in_main_memory(weights)):
        return None
    if probs.dtype not in (torch.float32, torch.float64):
        return None
    return _Parts.apply(probs, q, loss, unit, n_jobs)


class _Parts(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def forward(
        ctx: Any, probs: torch.Tensor, q: Any, loss: Any, unit: float, n_jobs: int | None
    ) -> Any:
        ctx.save_for_backward(probs)
        ctx.set_materialize_grads(False)
        ctx.q, ctx.loss, ctx.unit = q.with_values(stored=None), loss, unit
        constant = q.with_values(stored=probs.detach().contiguous())
        return constant.fast(loss, None, n_jobs).parts

    @staticmethod
    def backward(ctx: Any, *given: torch.Tensor | None) -> Any:
        (probs,) = ctx.saved_tensors
        m, *batch, k = probs.shape
        if given[0] is None and given[1] is None:  # by epistemic uncertainty alone
            given = given[2:]
        above = [probs.new_zeros(*batch, k) if g is None else g for g in given]
        if torch.is_grad_enabled():  # these derivatives are differentiated themselves
            law = ctx.q.with_values(stored=probs).marginal()
            parts = law.split(ctx.loss)[:3][-len(above) :]
            (slopes,) = torch.autograd.grad(parts, probs, above, create_graph=True)
            return slopes, None, None, None, None
        flat = probs.detach().reshape(m, -1, k).contiguous().numpy()
        rows = [g.detach().expand(*batch, k).reshape(-1, k).numpy() for g in above]
        weights = ctx.q.weights
        if weights is not None:
            weights = weights.numpy()
        found = kernel.slopes(ctx.loss.name, flat, weights, rows, unit=ctx.unit)
        return torch.from_numpy(found).reshape(probs.shape), None, None, None, None
