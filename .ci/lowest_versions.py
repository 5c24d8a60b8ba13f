"""Print constraints that install the lowest version of everything that pyproject.toml asks for.

What it does not name itself (dependencies of dependencies) stays as in constraints.txt. The floor
of torch is not tested: constraints.txt pins the one release with a CPU build.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
AS_PINNED = {"torch"}
FOLLOWS = {"jaxlib": "jax"}  # released together, and only these work together
AS_OLD = {
    "pyparsing": "3.2.0"
}  # later ones warn of what matplotlib 3.9 calls, and warnings are errors in the tests
CHOSEN_BY_OTHERS = {"greenlet"}  # each playwright asks for exactly one


def floors(pyproject: str) -> dict[str, str]:
    """The lowest version of each package that a project names, whatever the extra or group."""
    content = tomllib.loads(pyproject)
    project, groups = content["project"], content.get("dependency-groups", {})
    named = [
        *project["dependencies"],
        *(
            line
            for lines in (*project["optional-dependencies"].values(), *groups.values())
            for line in lines
        ),
    ]
    found: dict[str, str] = {}
    for line in named:
        if line.startswith(f"{project['name']}["):
            continue
        match = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", line)
        if match is None:
            raise ValueError(f"`{line}` must be written as name>=version")
        name, version = match.groups()
        if found.setdefault(name, version) != version:
            raise ValueError(
                f"`{name}` must have one lowest version; got {found[name]} and {version}"
            )
    return found


def constraints(pyproject: str, pinned: str) -> list[str]:
    """A line for each package: its floor, or the line of ``pinned``."""
    lowest = {name: version for name, version in floors(pyproject).items() if name not in AS_PINNED}
    lowest |= {name: lowest[leader] for name, leader in FOLLOWS.items()} | AS_OLD
    left_out = lowest.keys() | CHOSEN_BY_OTHERS
    others = [
        line
        for line in pinned.splitlines()
        if line and line[0] != "#" and re.split("[=<]", line)[0].lower() not in left_out
    ]
    return [*(f"{name}=={version}" for name, version in lowest.items()), *others]


if __name__ == "__main__":
    print(
        "\n".join(
            constraints(
                (ROOT / "pyproject.toml").read_text(), (ROOT / "constraints.txt").read_text()
            )
        )
    )
