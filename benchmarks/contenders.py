"""What is measured: the same results from labelwise, its NumPy twin, and the formulas as written with SciPy, NumPy and PyTorch.

Each returns label-wise TU, AU, EU (N, K), their sums (N,) and the joint TU, AU, EU (N,), as labelwise does in one pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ.setdefault("TORCHINDUCTOR_FX_GRAPH_CACHE", "1")
Run = Callable[[], Any]


def labelwise(probs: np.ndarray, loss: str, threads: int | None = None) -> Any:
    import labelwise as lw

    q = lw.Ensemble(probs)
    u = lw.decompose(q, loss, n_jobs=threads)
    return u, u.sum(), u.joint


def numpy_twin(probs: np.ndarray, loss: str) -> Any:
    from labelwise._engine import kernel as _kernels

    native, _kernels._fused = _kernels._fused, None
    try:
        return labelwise(probs, loss)
    finally:
        _kernels._fused = native


def scipy_log(p: np.ndarray) -> Any:
    """Eqs. (17)–(19), their sums and Eqs. (4)–(6), each as it is written, with `scipy.special.entr`."""
    from scipy.special import entr

    bit = p.dtype.type(np.log(2))
    mean = p.mean(axis=0)
    total = (entr(mean) + entr(1 - mean)) / bit
    aleatoric = ((entr(p) + entr(1 - p)) / bit).mean(axis=0)
    parts = total, aleatoric, total - aleatoric
    entropy, conditional = entr(p.mean(axis=0)).sum(-1) / bit, (entr(p).sum(-1) / bit).mean(axis=0)
    return parts, [x.sum(-1) for x in parts], (entropy, conditional, entropy - conditional)


def numpy_squared(p: np.ndarray) -> Any:
    mean = p.mean(axis=0)
    parts = mean * (1 - mean), (p * (1 - p)).mean(axis=0), p.var(axis=0)
    sums = [x.sum(-1) for x in parts]
    return parts, sums, sums


def torch_log(p: Any) -> Any:
    import torch

    bit = 0.6931471805599453
    mean = p.mean(0)
    total = (torch.special.entr(mean) + torch.special.entr(1 - mean)) / bit
    aleatoric = ((torch.special.entr(p) + torch.special.entr(1 - p)) / bit).mean(0)
    epistemic = total - aleatoric
    entropy, conditional = torch.special.entr(p.mean(0)).sum(-1) / bit, (torch.special.entr(p).sum(-1) / bit).mean(0)
    return total, aleatoric, epistemic, total.sum(-1), aleatoric.sum(-1), epistemic.sum(-1), entropy, conditional, entropy - conditional


def torch_squared(p: Any) -> Any:
    mean = p.mean(0)
    total, aleatoric = mean * (1 - mean), (p * (1 - p)).mean(0)
    epistemic = ((p - mean) ** 2).mean(0)
    return total, aleatoric, epistemic, total.sum(-1), aleatoric.sum(-1), epistemic.sum(-1)


def compiled(f: Any) -> Any:
    """Compiled for one shape; dynamo gives up on a function after eight of them."""
    import torch

    torch._dynamo.reset()
    return torch.compile(f, dynamic=False)


def contenders(probs: np.ndarray, loss: str, names: list[str]) -> dict[str, Run]:
    """What to call for each name, given the predictions (M, N, K)."""
    import torch

    tensor = torch.from_numpy(probs)
    formulas = {"log": (scipy_log, torch_log), "squared": (numpy_squared, torch_squared)}[loss]
    fast = compiled(formulas[1]) if "torch.compile" in names else None
    known: dict[str, Run] = {
        "labelwise": lambda: labelwise(probs, loss),
        "labelwise, 1 thread": lambda: labelwise(probs, loss, 1),
        "NumPy twin": lambda: numpy_twin(probs, loss),
        "SciPy" if loss == "log" else "NumPy": lambda: formulas[0](probs),
        "torch": lambda: formulas[1](tensor),
        "torch.compile": lambda: fast(tensor),
    }
    return {name: known[name] for name in names}
