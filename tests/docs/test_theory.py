"""docs/explanation/theory.md: every numbered statement of the paper is there, with code that can
be imported and a test that exists.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
THEORY = ROOT / "docs" / "explanation" / "theory.md"
# The numbered statements of the paper's source, in order. Equations: sections 2.1 (1-6), 3 (7-16),
# 3.1 (17-19), 3.2 (20-22), appendix A (23-28).
PAPER = [
    *(f"({n})" for n in range(1, 29)),
    *(f"Definition 2.1 ({part})" for part in ("i", "ii", "iii")),
    *(f"A{n}" for n in range(8)),
    "Theorem 3.1",
    "Theorem 3.2",
    "Proposition A.1",
]


def rows(text: str) -> list[tuple[str, ...]]:
    """Statement, meaning, code and test of each row of the table."""
    table = text.split("| paper | states | code | test |\n|---|---|---|---|\n")[1].split("\n\n")[0]
    return [
        tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in table.splitlines()
    ]


def functions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node.name


ROWS = rows(THEORY.read_text(encoding="utf-8"))


def test_every_statement_has_a_row():
    assert [row[0].rstrip() for row in ROWS] == PAPER


def test_code_and_test_exist():
    for equation, states, code, test in ROWS:
        assert states, equation
        module, _, name = code.strip("`").partition(":")
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        assert callable(found), equation
        file, _, function = test.strip("`").partition("::")
        assert function in functions(ROOT / file), equation


def test_tests_named_in_the_text_exist():
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", THEORY.read_text(encoding="utf-8"))
    assert len(named) > len(ROWS)
    for file, function in named:
        assert function in functions(ROOT / file)
