"""What is in a results folder, in words and Markdown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .published_tables import PUBLISHED_FILES
from .tables import read, runs_word, tables

__all__ = ["TITLES", "Results", "data_of", "in_words", "markdown", "not_run", "provenance"]

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
        names = [
            path.parent.name
            for path in self.folder.glob(f"*/{experiment}.json")
            if path.parent.name != "published"
        ]
        chosen = [
            name for name in names if data_of(name) != "digits" and data in (None, data_of(name))
        ]
        chosen.sort(key=lambda name: (not name.endswith("-paper"), name))
        return [(name, read(self.folder / name / f"{experiment}.json")) for name in chosen]

    def published(self, data: str) -> dict[str, Any] | None:
        path = self.folder / "published" / f"{PUBLISHED_FILES[data]}.json"
        return read(path) if path.is_file() else None

    def fingerprint(self) -> dict[str, Any] | None:
        path = self.folder / "fingerprint" / "fingerprint.json"
        return read(path) if path.is_file() else None

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
        path = self.folder / name / file
        return (
            f"![{caption}]({Path(os.path.relpath(path, self.page)).as_posix()})\n"
            if path.is_file()
            else ""
        )

    def picture(self, file: str, caption: str) -> str:
        """A dot-plot of the page itself."""
        return (
            f"![{caption}](pictures/{file})\n" if (self.page / "pictures" / file).is_file() else ""
        )

    def tables(self, name: str, experiment: str) -> Iterator[str]:
        for title, columns, rows in tables(self.folder / name / f"{experiment}.json"):
            yield f"{title}:\n\n{markdown(columns, rows)}\n"


def data_of(folder: str) -> str:
    """The data set in the name of a folder, such as ``holdout-cifar10-paper``."""
    name = folder.removeprefix("holdout-")
    return next(
        (
            data
            for data in sorted([*TITLES, "digits"], key=len, reverse=True)
            if name.startswith(f"{data}-")
        ),
        name,
    )


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
        runs_word(stored["about"]["runs"]),
    ]
    return ", ".join([TITLES.get(data, data)] * with_data + words)


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(
        lines + ["| " + " | ".join(cell or " " for cell in row) + " |" for row in rows]
    )


def not_run(command: str) -> str:
    """In the place of results that are not in the folder."""
    return f"*Not run here.* `labelwise-lab reproduce {command}`"


def provenance(stored: dict[str, Any]) -> str:
    """The command, and what was used of a data set where it is not all of it."""
    from .settings import sets_used

    setting = stored["about"]["setting"]
    used = (
        ()
        if isinstance(setting, str)
        else sets_used(stored["about"]["experiment"], setting["data"])
    )
    notes = [
        f"{TITLES.get(name, name)}: {note}"
        for name, note in stored["about"].get("data", {}).items()
        if name in used
    ]
    return f"`{stored['about']['command']}`" + "".join(f" {note}." for note in notes) + "\n"
