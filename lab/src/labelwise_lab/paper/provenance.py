"""What is in a results folder, in words and Markdown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..pages import table
from ..text import counted
from .published_tables import PUBLISHED_FILES
from .settings import sets_used
from .tables import read, tables

__all__ = ["TITLES", "Results", "data_of", "in_words", "not_run", "provenance"]

TITLES = {
    "mnist": "MNIST",
    "fashion-mnist": "FashionMNIST",
    "kmnist": "KMNIST",
    "cifar10": "CIFAR-10",
    "svhn": "SVHN",
    "cifar10.2": "CIFAR-10.2",
}
EXPERIMENTS = ("arc", "ood", "losses", "gallery", "artifact", "human", "holdout", "fingerprint")
"""Names of their results, without .json."""


@dataclass(frozen=True)
class Results:
    """A results folder, as the page in the folder ``page`` shows it."""

    folder: Path
    page: Path

    def find(self, experiment: str, data: str | None = None) -> list[tuple[str, dict[str, Any]]]:
        """(folder name, stored result) of an experiment, the paper's settings first, then by name;
        trials on digits are left out.
        """
        names = [path.parent.name for path in self.folder.glob(f"*/{experiment}.json")]
        names = [
            name for name in names if data_of(name) != "digits" and data in (None, data_of(name))
        ]
        names.sort(key=lambda name: (not name.endswith("-paper"), name))
        return [(name, read(self.folder / name / f"{experiment}.json")) for name in names]

    def stored(self, folder: str, experiment: str) -> dict[str, Any] | None:
        """One result, if it is there."""
        path = self.folder / folder / f"{experiment}.json"
        return read(path) if path.is_file() else None

    def published(self, data: str) -> dict[str, Any] | None:
        """What follows from the authors' arrays."""
        return self.stored("published", PUBLISHED_FILES[data])

    def fingerprint(self) -> dict[str, Any] | None:
        """The comparison with the paper's Table 1."""
        return self.stored("fingerprint", "fingerprint")

    def versions(self) -> str:
        """With which versions the numbers were computed, each once; JSON files of others are left
        alone.
        """
        paths = [
            path
            for path in sorted(self.folder.glob("*/*.json"))
            if path.parent.name == "published" or path.stem in EXPERIMENTS
        ]
        about = [read(path)["about"] for path in paths]
        sets = dict.fromkeys(
            ", ".join(f"{name} {version}" for name, version in each["versions"].items())
            for each in about
        )
        dates = sorted({each["date"] for each in about})
        when = f" ({dates[0]} to {dates[-1]})" if dates else ""
        if not sets:
            return ""
        return (
            f"Numbers computed with {'; '.join(sets)}{when}; versions and machines of the "
            "trainings were not recorded."
        )

    def figure(self, name: str, file: str, caption: str) -> str:
        """A figure of a result, if it is there."""
        path = self.folder / name / file
        link = Path(os.path.relpath(path, self.page)).as_posix()
        return f"![{caption}]({link})\n" if path.is_file() else ""

    def picture(self, file: str, caption: str) -> str:
        """A dot-plot of the page itself, if it is there."""
        there = (self.page.parent / "pictures" / file).is_file()
        return f"![{caption}](../pictures/{file})\n" if there else ""

    def tables(self, name: str, experiment: str) -> Iterator[str]:
        for title, columns, rows in tables(self.folder / name / f"{experiment}.json"):
            yield f"{title}:\n\n{table(columns, rows)}"


def data_of(folder: str) -> str:
    """The data set in the name of a folder, such as ``holdout-cifar10-paper``."""
    name = folder.removeprefix("holdout-")
    for data in (*TITLES, "digits"):
        if name.startswith(f"{data}-"):
            return data
    return name


def in_words(folder: str, stored: dict[str, Any], *, with_data: bool = True) -> str:
    """Data set, protocol, departures from it, and runs.

    >>> in_words("mnist-paper-weight_decay=1e-05-5-epochs", {"about": {"runs": 2}})
    'MNIST, protocol “paper”, changed: weight_decay=1e-05, 5 epochs, 2 runs'
    """
    data = data_of(folder)
    protocol, _, rest = folder.removeprefix("holdout-").removeprefix(f"{data}-").partition("-")
    parts = re.split(
        r"-(?=[a-z_]+=|\d+-(?:epochs|members)(?:-|$))", rest
    )  # a value may have a hyphen too: weight_decay=1e-05
    changes = ", ".join(re.sub(r"^(\d+)-(epochs|members)$", r"\1 \2", part) for part in parts)
    words = [
        f"protocol “{protocol}”",
        *[f"changed: {changes}"] * bool(rest),
        counted(stored["about"]["runs"], "run"),
    ]
    return ", ".join([TITLES.get(data, data)] * with_data + words)


def not_run(command: str) -> str:
    """In the place of results that are not in the folder."""
    return f"*Not run here.* `labelwise-lab reproduce {command}`"


def provenance(stored: dict[str, Any]) -> str:
    """The command, and what was used of a data set where it is not all of it."""
    about = stored["about"]
    words = f"`{about['command']}`"
    if not isinstance(about["setting"], str):
        used = sets_used(about["experiment"], about["setting"]["data"])
        for name, note in about.get("data", {}).items():
            if name in used:
                words += f" {TITLES.get(name, name)}: {note}."
    return f"{words}\n"
