"""Tests mirror ``src/``: the module ``a/_b.py`` is tested in ``tests/a/test_b.py``, the functions
of a package in ``tests/a/test_init.py``.
"""

from __future__ import annotations

import ast
from pathlib import Path

import labelwise

TESTS = Path(__file__).parent
LAB = TESTS.parent / "lab"  # not in a source distribution
PACKAGES = {
    Path(labelwise.__file__).parent: TESTS,
    LAB / "src" / "labelwise_lab": LAB / "tests",
}

# Module -> why it has no test of its name.
EXCEPTIONS = {
    "labelwise/__main__.py": "calls the command",
    "labelwise/_engine/compute.py": (
        "chooses the road; test_accuracy.py, test_arrays.py and test_dask.py compare all roads, "
        "test_calls.py counts their steps"
    ),
    "labelwise/models/keras_models.py": "needs Keras: ecosystem/",
    "labelwise_lab/paper/appendix.py": (
        "its page is compared with the one in docs/: cli/test_reproduce.py"
    ),
    "labelwise_lab/paper/dotplots.py": "draws that page's figures: cli/test_reproduce.py",
    "labelwise_lab/paper/tables.py": "prints every experiment's tables: cli/test_reproduce.py",
    "labelwise_lab/paper/published_tables.py": "constants",
    "labelwise_lab/paper/gallery.py": "an experiment, run by its command: cli/test_reproduce.py",
    "labelwise_lab/paper/losses.py": "an experiment, run by its command: cli/test_reproduce.py",
    "labelwise_lab/paper/bundle.py": "a command: cli/test_reproduce.py",
    "labelwise_lab/paper/holdout_runs.py": (
        "what holdout_numbers.py reads: paper/test_holdout_numbers.py"
    ),
    "labelwise_lab/__main__.py": "calls the command",
    "labelwise_lab/cli/__init__.py": "names the commands: cli/",
}


def has_behavior(path: Path) -> bool:
    """A package without functions and classes of its own only names what its modules have."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return path.name != "__init__.py" or any(
        isinstance(x, ast.FunctionDef | ast.ClassDef) and not x.name.startswith("__") for x in body
    )


def modules() -> dict[str, Path]:
    """Every module with behavior, and the place of its test."""
    found = {}
    for root, tests in PACKAGES.items():
        for path in root.rglob("*.py"):
            if has_behavior(path):
                module = path.relative_to(root)
                found[f"{root.name}/{module.as_posix()}"] = (
                    tests / module.parent / f"test_{module.stem.strip('_')}.py"
                )
    return found


def test_every_module_has_a_test_of_its_name() -> None:
    missing = [
        str(test.relative_to(TESTS.parent))
        for module, test in modules().items()
        if module not in EXCEPTIONS and not test.is_file()
    ]
    assert missing == [], "write these, or give the reason in EXCEPTIONS"


def test_exceptions_are_needed() -> None:
    """A module that is gone, or has its test by now, is no exception."""
    found = modules()
    names = [name for name in EXCEPTIONS if LAB.exists() or name.startswith("labelwise/")]
    assert [name for name in names if name not in found or found[name].is_file()] == []
