"""Real libraries: not collected by `make test`, run by `make test-ecosystem`, where nothing is
skipped.
"""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

BESIDE = ("numpy", "torch", "jax", "scikit-learn", "pandas", "polars", "xarray")
os.environ["KERAS_BACKEND"] = "jax"
os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(scope="session")
def data() -> tuple[np.ndarray, np.ndarray]:
    """Numbers (200, 5) and three classes that depend on them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 5)).astype(np.float32)
    return x, np.argmax(x[:, :3] + 0.5 * rng.normal(size=(200, 3)), axis=1)


@pytest.fixture
def names() -> np.ndarray:
    return np.array(["ant", "bee", "cat"])


def pytest_report_header() -> list[str]:
    """The versions of all libraries that are tested with."""
    wanted = [
        line.partition("==")[0]
        for file in Path(__file__).parent.glob("*.txt")
        for line in file.read_text().splitlines()
    ]
    there = {dist.name.lower().replace("_", "-"): dist.version for dist in metadata.distributions()}
    return [f"{name} {there[name]}" for name in sorted({*wanted, *BESIDE}) if name in there]
