"""Files, lines and syntax-tree nodes of the library and the lab, by folder, with the number of
conditional expressions and comprehensions per 10,000 nodes.

    python .ci/size.py            a table
    python .ci/size.py REVISION   the same, beside an earlier state of the repository

Lines flatter dense code; nodes of the syntax tree do not. tests/test_size.py keeps the budget.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
PACKAGES = {"library": "src/labelwise", "lab": "lab/src/labelwise_lab"}


def folder_of(path: str) -> tuple[str, str] | None:
    """The package and the folder in it that a file belongs to."""
    for package, start in PACKAGES.items():
        if path.startswith(f"{start}/") and path.endswith(".py"):
            inside = path.removeprefix(f"{start}/").split("/")
            return package, inside[0] if len(inside) > 1 else "(top)"
    return None


def sizes(files: dict[str, str]) -> dict[tuple[str, str], Counter[str]]:
    """Counts by package and folder, from texts by path."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for path, text in files.items():
        key = folder_of(path)
        if key is not None:
            counts = found.setdefault(key, Counter())
            counts.update(files=1, lines=text.count("\n"))
            for node in ast.walk(ast.parse(text)):
                counts["nodes"] += 1
                counts["conditionals"] += isinstance(node, ast.IfExp)
                counts["comprehensions"] += isinstance(node, COMPREHENSIONS)
    return found


def files_now() -> dict[str, str]:
    """The Python files of both packages in the working tree."""
    paths = [path for start in PACKAGES.values() for path in (ROOT / start).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def files_at(revision: str) -> dict[str, str]:
    """The same in an earlier state."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout

    paths = git("ls-tree", "-r", "--name-only", revision).splitlines()
    return {path: git("show", f"{revision}:{path}") for path in paths if folder_of(path)}


def main() -> None:
    """Print the table."""
    states = [sizes(files_now())]
    if len(sys.argv) > 1:
        states.insert(0, sizes(files_at(sys.argv[1])))
    print("| package | folder |" + " files | lines | nodes | if-else | compr. |" * len(states))
    print("|---|---|" + "---:|" * 5 * len(states))
    for package in PACKAGES:
        folders = sorted({key for state in states for key in state if key[0] == package})
        totals = [
            sum((state[key] for key in folders if key in state), Counter()) for state in states
        ]
        for key in folders:
            print(row(*key, [state.get(key, Counter()) for state in states]))
        print(row(package, "**all**", totals))


def per_10000(counts: Counter[str], what: str) -> float:
    """How many of these there are in 10,000 nodes."""
    return 1e4 * counts[what] / max(counts["nodes"], 1)


def row(package: str, folder: str, counts: list[Counter[str]]) -> str:
    """A line of the table."""
    numbers = []
    for count in counts:
        numbers += [f"{count[what]:,}" for what in ("files", "lines", "nodes")]
        numbers += [f"{per_10000(count, what):.0f}" for what in ("conditionals", "comprehensions")]
    return f"| {package} | {folder} | " + " | ".join(numbers) + " |"


if __name__ == "__main__":
    main()
