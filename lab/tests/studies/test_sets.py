"""The study's pages show the stored numbers, and these keep the guarantees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

STUDIES = Path(__file__).parents[2] / "studies"


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
