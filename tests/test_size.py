"""The library stays small: a budget in nodes of the syntax tree."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = 176_500
FOLDER = 25_000


script = runpy.run_path(str(ROOT / ".ci" / "size.py"))
SIZES = {
    folder: counts["nodes"]
    for (package, folder), counts in script["sizes"](script["files_now"]()).items()
    if package == "library"
}


def test_the_library_keeps_its_budget() -> None:
    assert sum(SIZES.values()) <= LIBRARY


@pytest.mark.parametrize("folder", sorted(SIZES))
def test_no_folder_is_too_large(folder: str) -> None:
    assert SIZES[folder] <= FOLDER


def test_nodes_are_counted() -> None:
    files = {"src/labelwise/a/b.py": "x = 1\n", "tests/c.py": "x = 1\n"}
    ((key, counts),) = script["sizes"](files).items()
    assert key == ("library", "a")
    assert counts["files"] == counts["lines"] == 1
    assert counts["nodes"] == 5  # module, assignment, name, store, value
