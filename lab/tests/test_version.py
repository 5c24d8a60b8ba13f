"""Both packages are released together, with one version."""

from __future__ import annotations

import tomllib
from pathlib import Path

import labelwise
import labelwise_lab

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def test_the_lab_is_for_the_library_beside_it() -> None:
    assert labelwise_lab.__version__ == labelwise.__version__
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = "torch,sklearn,plots,medical"
    assert project["dependencies"][0] == f"labelwise[{extras}]=={labelwise.__version__}"
