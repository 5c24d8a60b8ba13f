"""The lab stands on the library's public names, and on no others."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import labelwise_lab

ROOT = Path(labelwise_lab.__file__).parent
PUBLIC = {
    "labelwise",
    *(
        f"labelwise.{name}"
        for name in (
            "axioms",
            "calibration",
            "cli",
            "decisions",
            "demo",
            "evaluation",
            "events",
            "io",
            "joint",
            "metrics",
            "models",
            "plots",
            "report",
            "sets",
            "typing",
        )
    ),
}


def private_imports(text: str) -> Iterator[str]:
    """What a file takes from the library that is not offered by a public module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "labelwise" and alias.name not in PUBLIC:
                    yield alias.name
        if isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            if module.split(".")[0] != "labelwise":
                continue
            for alias in node.names:
                name = f"{module}.{alias.name}"
                offered = module in PUBLIC and alias.name in importlib.import_module(module).__all__
                if not offered and name not in PUBLIC and alias.name != "__version__":
                    yield name


def test_the_lab_takes_only_what_the_library_offers() -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in sorted(ROOT.rglob("*.py"))
        if (names := sorted(private_imports(path.read_text(encoding="utf-8"))))
    }
    assert found == {}


def test_the_check_sees_every_kind_of_import() -> None:
    text = (
        "import labelwise._arrays\nfrom labelwise._arrays import as_real\n"
        "from labelwise import decompose, _arrays\nfrom labelwise.io.npz import read\n"
        "from labelwise import evaluation\nfrom .files import reading\nimport numpy\n"
    )
    assert sorted(private_imports(text)) == [
        "labelwise._arrays",
        "labelwise._arrays",
        "labelwise._arrays.as_real",
        "labelwise.io.npz.read",
    ]
