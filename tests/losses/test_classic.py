"""Log, squared and spherical loss against their formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from loss_cases import GRID
from wrong_input import refused


def test_log_loss() -> None:
    np.testing.assert_allclose(
        lw.LogLoss().entropy(GRID),
        -GRID * np.log2(GRID) - (1 - GRID) * np.log2(1 - GRID),
        rtol=1e-8,
    )
    for base in (2, math.e, 10):
        np.testing.assert_allclose(
            lw.LogLoss(base=base).entropy(GRID),
            lw.LogLoss().entropy(GRID) / np.log2(base),
            rtol=1e-14,
        )
        np.testing.assert_allclose(
            lw.LogLoss(base).phi(GRID, 1), -np.log(GRID) / np.log(base), rtol=1e-14
        )
    assert lw.LogLoss() == lw.LogLoss(2.0)
    assert hash(lw.LogLoss()) == hash(lw.LogLoss(2.0))


def test_spherical_loss() -> None:
    norm = np.sqrt(GRID**2 + (1 - GRID) ** 2)
    np.testing.assert_allclose(lw.SphericalLoss().entropy(GRID), 1 - norm, atol=1e-15)
    np.testing.assert_allclose(lw.SphericalLoss().phi(GRID, 0), 1 - (1 - GRID) / norm, atol=1e-15)


@pytest.mark.parametrize("base", [1, 0, -2, 0.5, math.nan, math.inf])
def test_base_of_the_log_loss(base: float) -> None:
    with refused(
        ValueError,
        "`base` must be finite and greater than 1, or entropies are negative",
        f"got {base!r}",
    ):
        lw.LogLoss(base=base)


@pytest.mark.parametrize("base", ["2", None])
def test_base_that_is_no_number(base: Any) -> None:
    with refused(TypeError, "`base` must be a number", f"got {base!r}", "base=math.e for nats"):
        lw.LogLoss(base=base)
