"""The ways to the same numbers: the native kernel at each of its levels, the code for every array
library, and the Accumulator.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise._engine import kernel as _kernels
from optional_libraries import optional

_ASKED = os.environ.get("LABELWISE_KERNEL")
KERNELS = (
    [_ASKED]
    if _ASKED
    else [*_kernels.AVAILABLE]
    if "baseline" in _kernels.AVAILABLE
    else ["numpy", "baseline"]
)
"""All kernels of this machine; with LABELWISE_KERNEL only that one, as where there is no other."""


def use_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "numpy":
        monkeypatch.setattr(_kernels, "native", None)
    elif name in _kernels.AVAILABLE:
        monkeypatch.setattr(_kernels, "level", name)
    else:
        if os.environ.get("LABELWISE_REQUIRE_ALL") == "1":
            pytest.fail(
                "the native kernel was not built, and LABELWISE_REQUIRE_ALL=1 forbids going without"
            )
        pytest.skip("the native kernel was not built here")


Way = Callable[[type, np.ndarray, Any, Any], lw.typing.Uncertainty]
"""Takes the kind of ensemble, probs (M, N, K), weights (M,), (M, N) or none, and the loss."""


def decomposed(kind: type, probs: np.ndarray, weights: Any, loss: Any) -> lw.typing.Uncertainty:
    """As users do it: most losses come from the kernel, all others block by block."""
    return lw.decompose(kind(probs, weights=weights, member_axis=0), loss)


def general(kind: type, probs: Any, weights: Any, loss: Any) -> lw.typing.Uncertainty:
    """By the code that serves every array library."""
    loss = lw.losses.as_loss(loss)
    law = kind(probs, weights=weights, member_axis=0).marginal()
    parts = law.split(loss)[:3]
    return lw.typing.Uncertainty(
        *map(np.asarray, parts), tuple(map(str, range(probs.shape[-1]))), loss
    )


def _tensor(probs: np.ndarray) -> Any:
    torch = optional("torch")
    known = probs.dtype.name != "bfloat16"
    return (
        torch.from_numpy(probs)
        if known
        else torch.from_numpy(probs.view(np.uint16)).view(torch.bfloat16)
    )


def with_torch(kind: type, probs: np.ndarray, weights: Any, loss: Any) -> lw.typing.Uncertainty:
    """Tensors in main memory: through the kernel."""
    return _as_numpy(decomposed(kind, _tensor(probs), weights, loss))


def general_torch(kind: type, probs: np.ndarray, weights: Any, loss: Any) -> lw.typing.Uncertainty:
    """As on other devices."""
    return general(kind, _tensor(probs), weights, loss)


def with_jax(kind: type, probs: np.ndarray, weights: Any, loss: Any) -> lw.typing.Uncertainty:
    """Arrays in main memory, not traced: through the kernel."""
    jax = optional("jax")
    jax.config.update("jax_enable_x64", True)
    return _as_numpy(decomposed(kind, jax.numpy.asarray(probs), weights, loss))


def _as_numpy(u: lw.typing.Uncertainty) -> lw.typing.Uncertainty:
    return lw.typing.Uncertainty(
        *map(np.asarray, (u.total, u.aleatoric, u.epistemic)), u.class_names, u.loss
    )


def accumulated(kind: type, probs: np.ndarray, weights: Any, loss: Any) -> lw.typing.Uncertainty:
    """One member after another, large ensembles in two halves that are merged; where each instance
    has weights of its own, one instance after another.
    """
    if weights is not None and np.ndim(weights) == 2:
        alone = []
        for i in range(probs.shape[1]):
            alone.append(accumulated(kind, probs[:, i : i + 1], weights[:, i], loss))
        parts = {}
        for part in ("total", "aleatoric", "epistemic"):
            parts[part] = np.concatenate([getattr(u, part) for u in alone])
        return replace(alone[0], **parts)
    m = len(probs)
    halves = [lw.Accumulator(loss, multilabel=kind is lw.MultiLabelEnsemble) for _ in range(2)]
    for i, member in enumerate(probs):
        halves[m > 4 and i >= m // 2].update(member, weight=1.0 if weights is None else weights[i])
    return halves[0].merge(halves[1]).result()


WAYS: dict[str, Way] = {
    **dict.fromkeys(KERNELS, decomposed),
    "general": general,
    "torch": with_torch,
    "torch general": general_torch,
    # without the kernel JAX computes by itself, and flushes subnormal numbers to 0
    **({"jax": with_jax} if lw.kernel_info()["kernel"] != "numpy" else {}),
    "accumulated": accumulated,
}
RANGES = ("smooth", "confident", "one-hot", "subnormal")


def predictions(values: str, dtype: Any, shape: tuple[int, int, int] = (5, 40, 3)) -> np.ndarray:
    """Probabilities of labels that may occur together, of one of four `RANGES` of values; of the
    first instance all members agree.
    """
    rng, info = np.random.default_rng(3), np.finfo(dtype)
    tiny = float(info.smallest_normal)
    p = {
        "smooth": rng.random(shape),
        "confident": np.where(
            rng.random(shape) < 0.5,
            tiny ** rng.random(shape),
            1 - float(info.epsneg) * rng.integers(0, 9, shape),
        ),
        "one-hot": rng.integers(0, 2, shape),
        "subnormal": tiny * rng.random(shape),
    }[values].astype(dtype)
    p[:, 0] = p[0, 0]
    return p


def choose(name: str, monkeypatch: pytest.MonkeyPatch) -> Way:
    """One of `WAYS`, with its kernel."""
    if name in KERNELS:
        use_kernel(name, monkeypatch)
    return WAYS[name]
