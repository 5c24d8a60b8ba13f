"""Real libraries: not collected by `make test`, run by `make test-ecosystem`, where nothing is skipped."""

from __future__ import annotations

import os

import numpy as np
import pytest

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # warnings are those of the libraries
        item.add_marker(pytest.mark.filterwarnings("default"))
