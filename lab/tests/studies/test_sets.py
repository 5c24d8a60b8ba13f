"""The study's pages show the stored numbers, and these keep the guarantees."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A study as a module; `tables` is also the name of others' modules."""
    monkeypatch.syspath_prepend(STUDIES)
    monkeypatch.delitem(sys.modules, "tables", raising=False)

    def run(name: str) -> Any:
        spec = importlib.util.spec_from_file_location(f"study_{name}", STUDIES / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return run


@pytest.mark.parametrize(("module", "name"), [("sets_page", "sets"), ("sets_peers", "sets_peers")])
def test_the_page_shows_the_stored_numbers(load: Any, module: str, name: str) -> None:
    assert (
        load(module).page(json.loads((STUDIES / f"{name}.json").read_text()))
        == (STUDIES / f"{name}.md").read_text()
    )


def test_stored_coverage_is_what_is_promised() -> None:
    stored = json.loads((STUDIES / "sets.json").read_text())
    assert all(row["high"] >= 0.9 for row in stored["simulation"] + stored["confirmation"])
    assert all(row["high"] >= 0.9 for row in stored["groups"] if "ignored" not in row["estimand"])
    for data in stored["real"]:
        promised = [row for method, row in data["methods"].items() if method.startswith("class")]
        assert all(row["high"] >= data["level"] for row in promised)
    peers = json.loads((STUDIES / "sets_peers.json").read_text())["rows"]
    assert {row["peer"] for row in peers if row["other"]} <= {"crepes"}
