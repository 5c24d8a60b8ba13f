"""The library stays small: a budget in nodes of the syntax tree."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARY = 190_000
FOLDER = 25_000


script = runpy.run_path(str(ROOT / ".ci" / "size.py"))


def test_the_library_and_its_folders_keep_their_budgets() -> None:
    # not when the module is imported: every worker imports it
    sizes = {
        folder: counts["nodes"]
        for (package, folder), counts in script["sizes"](script["files_now"]()).items()
        if package == "library"
    }
    assert sum(sizes.values()) <= LIBRARY
    too_large = {folder: nodes for folder, nodes in sizes.items() if nodes > FOLDER}
    assert too_large == {}


def test_nodes_are_counted() -> None:
    files = {"src/labelwise/a/b.py": "x = 1\n", "tests/c.py": "x = 1\n"}
    ((key, counts),) = script["sizes"](files).items()
    assert key == ("library", "a")
    assert counts["files"] == counts["lines"] == 1
    assert counts["nodes"] == 5  # module, assignment, name, store, value
