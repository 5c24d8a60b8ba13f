"""docs/reference/design.md, the library in one sitting: the code it shows is the code in src."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "labelwise"
PAGE = (ROOT / "docs" / "reference" / "design.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def code_of(file: str, name: str) -> str:
    """The source of a class or function, without docstrings and empty lines."""
    text = (SOURCE / file).read_text(encoding="utf-8")
    lines = text.splitlines()
    found = None
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        if node.name == name and node.col_offset == 0:
            found = node
        if ast.get_docstring(node) is not None:
            docstring = node.body[0]
            for i in range(docstring.lineno - 1, docstring.end_lineno):
                lines[i] = ""
    assert found is not None, f"no {name} in {file}"
    return without_empty_lines("\n".join(lines[found.lineno - 1 : found.end_lineno]))


def without_empty_lines(text: str) -> str:
    return "".join(f"{line}\n" for line in text.splitlines() if line.strip())


def is_shown_by(block: str, code: str) -> bool:
    """Whether ``block`` is ``code``; a line ``...`` stands for any lines, at least one."""
    pattern = ""
    for line in without_empty_lines(block).splitlines(keepends=True):
        pattern += "(?:.*\n)+?" if line.strip() == "..." else re.escape(line)
    return re.fullmatch(pattern, code) is not None


@pytest.mark.parametrize(("file", "block"), SHOWN, ids=[file for file, _ in SHOWN])
def test_shown_code_is_the_code(file, block):
    name = re.match(r"(?:class|def) (\w+)", block)[1]
    assert is_shown_by(block, code_of(file, name))


def test_each_station_is_shown():
    assert [file for file, _ in SHOWN] == [
        "losses/classic.py",
        "losses/_special.py",
        "distributions/marginals/atoms.py",
        "distributions/marginals/base.py",
        "distributions/ensemble.py",
        "_engine/compute.py",
        "decomposition/__init__.py",
        "decomposition/uncertainty.py",
    ]
    assert len(PAGE.splitlines()) < 200  # one sitting


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("def f():\n    a = 1\n\n    return a\n", True),
        ("def f():\n    ...\n    return a\n", True),
        ("def f():\n    return a\n", False),  # a line is left out without saying so
        ("def f():\n    a = 2\n    return a\n", False),
        ("def f():\n    a = 1\n    return a\n    ...\n", False),  # nothing is left out there
    ],
)
def test_what_differs_from_the_code_is_found(block, expected):
    assert is_shown_by(block, "def f():\n    a = 1\n    return a\n") is expected


def test_what_the_page_names_is_there():
    named = re.findall(r"`(\w+)` in `([\w/.]+)`", PAGE)
    assert len(named) >= 10
    for name, file in named:
        assert re.search(rf"\b{name}\b", (SOURCE / file).read_text(encoding="utf-8")), (name, file)
    for path in re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?|_engine/\w+\.h)`", PAGE):
        assert (SOURCE / path).exists() or path in ("src/labelwise/", "lab/"), path
