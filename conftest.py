"""Fixtures shared by all tests: the array libraries, and the rule that nothing is skipped
silently.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

# Threads of torch that wait must sleep: several processes test at once, and one that spins takes
# the core of the one it waits for.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(
    0, str(Path(__file__).parent / "tests")
)  # so that tests can import `strategies` and the like

from optional_libraries import optional


class Library:
    """One array library: how to make its arrays and read them back."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = optional({"jax": "jax.numpy"}.get(name, name))
        if name == "jax":
            importlib.import_module("jax").config.update("jax_enable_x64", True)

    def array(self, values: Any, dtype: str = "float64") -> Any:
        values = np.asarray(values, dtype=dtype)
        return values if self.name == "numpy" else self.module.asarray(values)

    def numpy(self, x: Any) -> np.ndarray:
        return np.asarray(x.detach()) if self.name == "torch" else np.asarray(x)


@pytest.fixture(name="optional")
def _optional() -> Callable[[str], ModuleType]:
    """The function `optional` for tests."""
    return optional


@pytest.fixture(params=["numpy", "torch", "jax"])
def lib(request: pytest.FixtureRequest) -> Library:
    """Each array library in turn."""
    return Library(request.param)


@pytest.fixture(autouse=True)
def _names_for_doctests(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.clear()
    if request.node.path.suffix == ".md":
        return  # pages import what they use, so that people can copy them

    import labelwise as lw

    doctest_namespace.update(np=np, lw=lw)
    if find_spec("labelwise_lab"):
        doctest_namespace.update(labelwise_lab=importlib.import_module("labelwise_lab"))


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    """What one test or page draws is not kept for the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
