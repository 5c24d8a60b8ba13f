"""What is in a results folder, in words and Markdown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .paper import PUBLISHED_FILES
from .tables import Table, read, runs_word, tables

TITLES = {
    "mnist": "MNIST",
    "fashion-mnist": "FashionMNIST",
    "kmnist": "KMNIST",
    "cifar10": "CIFAR-10",
    "svhn": "SVHN",
    "cifar10.2": "CIFAR-10.2",
}


class Stored:
    """What is in a results folder."""

    def __init__(self, results: Path, beside: Path) -> None:
        self.results, self.beside = results, beside

    def find(self, experiment: str, data: str | None = None) -> list[tuple[str, dict[str, Any]]]:
        """(folder name, stored result) of an experiment, the paper's settings first, then by name; trials on digits are left out."""
        found = []
        for path in sorted(self.results.glob(f"*/{experiment}.json")):
            stored = read(path)
            name = path.parent.name
            about = data_of(name)
            if name == "published" or about == "digits" or (data is not None and about != data):
                continue
            found.append((name, stored))
        return sorted(found, key=lambda item: (not item[0].endswith("-paper"), item[0]))

    def published(self, data: str) -> dict[str, Any] | None:
        path = self.results / "published" / f"{PUBLISHED_FILES[data]}.json"
        return read(path) if path.is_file() else None

    def figure(self, folder: str, file: str, caption: str) -> str:
        path = self.results / folder / file
        if not path.is_file():
            return ""
        return f"![{caption}]({Path(os.path.relpath(path, self.beside)).as_posix()})"

    def tables(self, folder: str, experiment: str) -> list[Table]:
        return tables(self.results / folder / f"{experiment}.json")


def data_of(folder: str) -> str:
    """The data set in the name of a folder, such as ``holdout-cifar10-paper``."""
    name = folder.removeprefix("holdout-")
    return next((data for data in sorted([*TITLES, "digits"], key=len, reverse=True) if name.startswith(f"{data}-")), name)


def in_words(folder: str, stored: dict[str, Any]) -> str:
    """In words: data set, protocol and what departs from it."""
    data = data_of(folder)
    rest = folder.removeprefix("holdout-").removeprefix(f"{data}-").split("-", 1)
    departs = (
        f", changed: {rest[1].replace('-epochs', ' epochs').replace('-members', ' members').replace('-', ', ')}" if len(rest) > 1 else ""
    )
    return f"{TITLES.get(data, data)}, protocol “{rest[0]}”{departs}, {runs_word(stored['about']['runs'])}"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(cell or " " for cell in row) + " |" for row in rows])


def made_by(stored: dict[str, Any]) -> str:
    """The command, the day and the versions."""
    versions = ", ".join(f"{name} {version}" for name, version in stored["about"]["versions"].items())
    return f"`{stored['about']['command']}` ({stored['about']['date']}; {versions})"
