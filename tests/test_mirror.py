"""Tests mirror ``src/``: the module ``a/_b.py`` is tested in ``tests/a/test_b.py``, the functions of a package in ``tests/a/test_init.py``."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import labelwise

ROOT, TESTS = Path(labelwise.__file__).parent, Path(__file__).parent

# Module -> why it has no test of its name.
EXCEPTIONS = {
    "__init__.py": "names for users: test_import.py",
    "__main__.py": "calls the command",
    "_engine/compute.py": "chooses the road; test_accuracy.py, test_arrays.py and test_dask.py compare all roads, test_calls.py counts their steps",
    "predictors/keras_models.py": "needs Keras: ecosystem/",
    "paper/appendix.py": "its page is compared with the one in docs/: cli/test_reproduce.py",
    "paper/dotplots.py": "draws that page's figures: cli/test_reproduce.py",
    "paper/tables.py": "prints every experiment's tables: cli/test_reproduce.py",
    "paper/published_tables.py": "constants",
    "paper/arc.py": "an experiment, run by its command: cli/test_reproduce.py",
    "paper/gallery.py": "an experiment, run by its command: cli/test_reproduce.py",
    "paper/losses.py": "an experiment, run by its command: cli/test_reproduce.py",
    "paper/bundle.py": "a command: cli/test_reproduce.py",
    "paper/holdout_runs.py": "what holdout_numbers.py reads: paper/test_holdout_numbers.py",
}


def has_behavior(path: Path) -> bool:
    """A package without functions and classes of its own only names what its modules have."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return path.name != "__init__.py" or any(isinstance(x, ast.FunctionDef | ast.ClassDef) and not x.name.startswith("__") for x in body)


MODULES = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if has_behavior(path)}


def place_of(module: str) -> Path:
    path = Path(module)
    return TESTS / path.parent / f"test_{path.stem.strip('_')}.py"


@pytest.mark.parametrize("module", sorted(MODULES - set(EXCEPTIONS)))
def test_every_module_has_a_test_of_its_name(module: str) -> None:
    assert place_of(module).is_file(), f"write {place_of(module).relative_to(TESTS.parent)}, or give the reason in EXCEPTIONS"


def test_exceptions_are_needed() -> None:
    """A module that is gone, or has its test by now, is no exception."""
    gone = set(EXCEPTIONS) - {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py")}
    assert sorted(gone | {module for module in EXCEPTIONS if place_of(module).is_file()}) == []
