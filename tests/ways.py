"""The ways to the same numbers: the native kernel at each of its levels, the code for every array library, and the Accumulator."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise._engine import kernel as _kernels

_ASKED = os.environ.get("LABELWISE_KERNEL")
KERNELS = [_ASKED] if _ASKED else [*_kernels.AVAILABLE] if "baseline" in _kernels.AVAILABLE else ["numpy", "baseline"]
"""All kernels of this machine; with LABELWISE_KERNEL only that one, as where there is no other."""


def use_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "numpy":
        monkeypatch.setattr(_kernels, "native", None)
    elif name in _kernels.AVAILABLE:
        monkeypatch.setattr(_kernels, "_level", name)
    else:
        if os.environ.get("LABELWISE_REQUIRE_ALL") == "1":
            pytest.fail("the native kernel was not built, and LABELWISE_REQUIRE_ALL=1 forbids going without")
        pytest.skip("the native kernel was not built here")


Way = Callable[[type, np.ndarray, Any, Any], lw.Uncertainty]
"""Takes the kind of ensemble, probs (M, N, K), weights (M,), (M, N) or none, and the loss."""


def decomposed(kind: type, probs: np.ndarray, weights: Any, loss: Any) -> lw.Uncertainty:
    """As users do it: most losses come from the kernel, all others block by block."""
    return lw.decompose(kind(probs, weights=weights, member_axis=0), loss)


def general(kind: type, probs: Any, weights: Any, loss: Any) -> lw.Uncertainty:
    """By the code that serves every array library."""
    loss = lw.losses.as_loss(loss)
    law = kind(probs, weights=weights, member_axis=0).marginal()
    parts = loss.entropy(*law.mean), law.aleatoric(loss), law.epistemic(loss)
    return lw.Uncertainty(*map(np.asarray, parts), tuple(map(str, range(probs.shape[-1]))), loss)


def with_torch(kind: type, probs: np.ndarray, weights: Any, loss: Any) -> lw.Uncertainty:
    import torch

    known = probs.dtype.name != "bfloat16"
    tensor = torch.from_numpy(probs) if known else torch.from_numpy(probs.view(np.uint16)).view(torch.bfloat16)
    return general(kind, tensor, weights, loss)


def accumulated(kind: type, probs: np.ndarray, weights: Any, loss: Any) -> lw.Uncertainty:
    """One member after another, large ensembles in two halves that are merged."""
    m = len(probs)
    halves = [lw.Accumulator(loss, multilabel=kind is lw.MultiLabelEnsemble) for _ in range(2)]
    for i, member in enumerate(probs):
        halves[m > 4 and i >= m // 2].update(member, weight=1.0 if weights is None else weights[i])
    return halves[0].merge(halves[1]).result()


WAYS: dict[str, Way] = {**dict.fromkeys(KERNELS, decomposed), "general": general, "torch": with_torch, "accumulated": accumulated}


def choose(name: str, monkeypatch: pytest.MonkeyPatch) -> Way:
    """One of `WAYS`, with its kernel."""
    if name in KERNELS:
        use_kernel(name, monkeypatch)
    return WAYS[name]
