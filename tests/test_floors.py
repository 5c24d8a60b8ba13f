"""`make test-lowest` installs exactly the lowest versions that pyproject.toml declares."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
script = runpy.run_path(str(ROOT / ".ci" / "lowest_versions.py"))
PYPROJECT, PINNED = (ROOT / "pyproject.toml").read_text(), (ROOT / "constraints.txt").read_text()


def pins(lines: list[str]) -> dict[str, str]:
    return dict(line.split("==") for line in lines if "==" in line)


def test_each_pin_is_the_floor():
    content = tomllib.loads(PYPROJECT)
    project, groups = content["project"], content["dependency-groups"]
    lines = script["constraints"](PYPROJECT, PINNED)
    found = pins(lines)
    assert len(found) == len([line for line in lines if "==" in line])  # none twice
    asked = [
        line
        for extra in (
            project["dependencies"],
            *project["optional-dependencies"].values(),
            *groups.values(),
        )
        for line in extra
    ]
    for line in asked:
        name, _, floor = line.partition(">=")
        if name.partition("[")[0] not in ("labelwise", "torch"):
            assert found[name.partition("[")[0]] == floor
    assert found["jaxlib"] == found["jax"]
    assert found["torch"] == pins(PINNED.splitlines())["torch"] == "2.13.0"
    assert {name.lower() for name in pins(PINNED.splitlines())} - {
        name.lower() for name in found
    } == {"greenlet"}
    assert "torchvision<0" in lines


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('"zarr"', "`zarr` must be written as name>=version"),
        ('"zarr>=3.1,<4"', "must be written as name>=version"),
        ('"numpy>=1.26"', "`numpy` must have one lowest version; got 2.1 and 1.26"),
    ],
)
def test_a_dependency_without_one_floor_is_refused(line, words):
    project = (
        '[project]\nname = "it"\ndependencies = '
        f'["numpy>=2.1"]\n[project.optional-dependencies]\nmore = ["it[less]", {line}]\n'
    )
    with pytest.raises(ValueError, match=words):
        script["floors"](project)
