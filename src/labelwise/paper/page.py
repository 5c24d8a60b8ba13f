"""The results page: ``page.md`` filled with the tables and figures of the results folder, and with what is missing there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..decomposition import PARTS
from .comparison import detection, holdout
from .provenance import TITLES, Results, data_of, in_words, provenance
from .tables import runs_word, spread

__all__ = ["page"]

Remarks = Callable[[dict[str, Any]], Iterator[str]]


def page(results: Path, beside: Path) -> str:
    """The page as Markdown; paths of figures are relative to the folder ``beside``."""
    if not results.is_dir():
        raise FileNotFoundError(f"there is no results folder {str(results)!r}")
    folder = Results(results, beside)
    galleries = {f"gallery-{part}.png": f"Highest {part} uncertainty" for part in PARTS}
    sections = {
        "gallery": _section(folder, "gallery", "--data mnist", galleries),
        "arc": _section(folder, "arc", "--data fashion-mnist --runs 5", {"arc.png": "Accuracy–rejection curves"}, _monotonicity),
        "ood": detection(folder),
        "artifact": _section(folder, "artifact", "--data cifar10", {"artifact.png": "AUROC by handling of the images"}, _not_run),
        "holdout": holdout(folder),
        "losses": _section(folder, "losses", "--data fashion-mnist --runs 5", {"losses.png": "Six losses"}, _best),
        "human": _section(folder, "human", "--data cifar10", {"human.png": "Aleatoric uncertainty against votes"}),
        "missing": _missing(folder),
    }
    text = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    for name, lines in sections.items():
        text = text.replace(f"{{{name}}}", "\n".join(line for line in lines if line).strip())
    return text


def _section(folder: Results, experiment: str, usual: str, figures: dict[str, str], remarks: Remarks | None = None) -> Iterator[str]:
    """Every stored result of an experiment: tables, remarks, figures and provenance."""
    found = folder.find(experiment)
    if not found:
        yield f"*Not run here.* `labelwise reproduce {experiment} {usual}`"
    for name, stored in found:
        yield f"### {in_words(name, stored)}\n"
        if experiment != "gallery":
            yield from folder.tables(name, experiment)
        if remarks is not None:
            yield from remarks(stored["numbers"])
        for file, caption in figures.items():
            yield f"{caption}:\n"
            yield folder.figure(name, file, caption)
        yield provenance(stored)


def _monotonicity(numbers: dict[str, Any]) -> Iterator[str]:
    steady = [cell["mean"] for cell in numbers["monotonicity"].values()]
    yield (
        ("The curves rise nearly all the way, as the paper says. " if min(steady) > 0.95 else "")
        + f"Monotonicity (1: rejecting more never makes the rest worse) is {min(steady):.3f} to {max(steady):.3f} for the nine scores.\n"
    )


def _not_run(numbers: dict[str, Any]) -> Iterator[str]:
    for why in numbers["not run"].values():
        yield f"On CIFAR-10.2 itself: not run here ({why.rstrip('.')}).\n"


def _best(numbers: dict[str, Any]) -> Iterator[str]:
    """For each task the loss and part with the highest mean."""
    values, sentences = numbers["value"], []
    for task in dict.fromkeys(key.split(" | ")[0] for key in values):
        best = max((key for key in values if key.startswith(f"{task} | ")), key=lambda key: values[key]["mean"])
        _, loss, part = best.split(" | ")
        what = "rejecting errors" if task == "rejection" else f"detecting {TITLES.get(task, task)}"
        sentences.append(f"{what}: {part} uncertainty under {loss} loss ({spread(values[best], 4)})")
    yield f"Highest on average for {'; '.join(sentences)}.\n"


def _missing(folder: Results) -> Iterator[str]:
    words = {"arc": "accuracy–rejection curves", "ood": "out-of-distribution detection", "holdout": "the hold-out experiment"}
    for experiment, what in words.items():
        wanted = {"mnist", "fashion-mnist", "kmnist", "cifar10", "svhn"} if experiment == "arc" else {"fashion-mnist", "cifar10"}
        for data in sorted(wanted - {data_of(name) for name, _ in folder.find(experiment)}):
            yield f"- {TITLES[data]}, {what}: `labelwise reproduce {experiment} --data {data} --runs 5`"
    for data in ("fashion-mnist", "cifar10"):
        for experiment in ("ood", "arc"):
            found, what = dict(folder.find(experiment, data)), f"{TITLES[data]}, {words[experiment]}"
            paper = found.get(f"{data}-paper")
            if paper and paper["about"]["runs"] < 5:
                yield f"- {what}: {runs_word(paper['about']['runs'])} of the paper's 5"
            elif found and not paper:
                command = f"labelwise reproduce {experiment} --data {data} --runs 5"
                yield f"- {what}: a reduced recipe instead of the paper's; the full one is `{command}`"
