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
    u = lw.decompose(q, loss, threads=threads)
    return u, u.sum(), lw.joint.decompose(q, loss)


def numpy_twin(probs: np.ndarray, loss: str) -> Any:
    from labelwise import _kernels

    native, _kernels._fused = _kernels._fused, None
    try:
        return labelwise(probs, loss)
    finally:
        _kernels._fused = native


def scipy_log(p: np.ndarray) -> Any:
    """With `scipy.special.entr`, each used once."""
    from scipy.special import entr

    bit = p.dtype.type(np.log(2))
    mean = p.mean(axis=0)
    h_mean, h = entr(mean) / bit, entr(p).mean(axis=0) / bit
    total = h_mean + entr(1 - mean) / bit
    aleatoric = h + entr(1 - p).mean(axis=0) / bit
    parts = total, aleatoric, total - aleatoric
    joint = h_mean.sum(-1), h.sum(-1)
    return parts, [x.sum(-1) for x in parts], (*joint, joint[0] - joint[1])


def numpy_squared(p: np.ndarray) -> Any:
    mean = p.mean(axis=0)
    parts = mean * (1 - mean), (p * (1 - p)).mean(axis=0), p.var(axis=0)
    sums = [x.sum(-1) for x in parts]
    return parts, sums, sums


def torch_log(p: Any) -> Any:
    import torch

    bit = 0.6931471805599453
    mean = p.mean(0)
    h_mean, h = torch.special.entr(mean) / bit, torch.special.entr(p).mean(0) / bit
    total = h_mean + torch.special.entr(1 - mean) / bit
    aleatoric = h + torch.special.entr(1 - p).mean(0) / bit
    epistemic = total - aleatoric
    a, b = h_mean.sum(-1), h.sum(-1)
    return total, aleatoric, epistemic, total.sum(-1), aleatoric.sum(-1), epistemic.sum(-1), a, b, a - b


def torch_squared(p: Any) -> Any:
    mean = p.mean(0)
    total, aleatoric = mean * (1 - mean), (p * (1 - p)).mean(0)
    epistemic = ((p - mean) ** 2).mean(0)
    return total, aleatoric, epistemic, total.sum(-1), aleatoric.sum(-1), epistemic.sum(-1)


_compiled: dict[str, Any] = {}


def compiled(f: Any) -> Any:
    import torch

    if f.__name__ not in _compiled:
        _compiled[f.__name__] = torch.compile(f, dynamic=False)
    return _compiled[f.__name__]


def contenders(probs: np.ndarray, loss: str, names: list[str]) -> dict[str, Run]:
    """What to call for each name, given the predictions (M, N, K)."""
    import torch

    tensor = torch.from_numpy(probs)
    formulas = {"log": (scipy_log, torch_log), "squared": (numpy_squared, torch_squared)}[loss]
    known: dict[str, Run] = {
        "labelwise": lambda: labelwise(probs, loss),
        "labelwise, 1 thread": lambda: labelwise(probs, loss, 1),
        "NumPy twin": lambda: numpy_twin(probs, loss),
        "SciPy" if loss == "log" else "NumPy": lambda: formulas[0](probs),
        "torch": lambda: formulas[1](tensor),
        "torch.compile": lambda: compiled(formulas[1])(tensor),
    }
    return {name: known[name] for name in names}
