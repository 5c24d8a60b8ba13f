"""Studies are scripts: they are loaded by their path."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of the studies; `tables` is also the name of others' modules."""
    monkeypatch.syspath_prepend(STUDIES)
    for name in ("tables", "units"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def run(name: str) -> Any:
        spec = importlib.util.spec_from_file_location(f"study_{name}", STUDIES / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look there
        spec.loader.exec_module(module)
        return module

    return run
