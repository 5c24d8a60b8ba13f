"""The results page: every table and figure of the paper beside what is in the results folder, and what is not there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .paper import PUBLISHED_FILES, TABLE_1, TABLE_2
from .tables import Table, drop_rows, interval, number, read, runs_word, spread, tables

TITLES = {
    "mnist": "MNIST",
    "fashion-mnist": "FashionMNIST",
    "kmnist": "KMNIST",
    "cifar10": "CIFAR-10",
    "svhn": "SVHN",
    "cifar10.2": "CIFAR-10.2",
}
HEAD = """# Results

The experiments of the paper, run again with this package on the published data sets, beside the paper's numbers; with the slips of the
published code mended, and with controls where a conclusion needs them. Every number says how many runs it is from, and every section the
command that makes it again. This page is written by `labelwise reproduce page` from the folder `results`; apart from the paper's own, no number in it is
typed.

Protocol **paper** is what the text says, **code** what the published code did; where they differ, both can be run. ± is the standard
deviation between runs (n − 1), unless said otherwise; brackets are 95 % intervals: Student's t over runs, or DeLong's over test instances.
Each run is an ensemble trained from scratch; run r has seed r. “Measures” are the label-wise variance (squared loss), the label-wise entropy
(log loss) and the entropy over all classes at once, whose epistemic part is mutual information.
"""
MEASURES = ("variance", "label-wise entropy", "entropy")


def page(results: Path, beside: Path) -> str:
    """The page as Markdown; paths of figures are relative to the folder ``beside``."""
    if not results.is_dir():
        raise FileNotFoundError(f"there is no results folder {str(results)!r}")
    folder = _Results(results, beside)
    sections = [
        "\n".join(part(folder)).strip() for part in (_galleries, _curves, _detection, _artefact, _holdout, _losses, _human, _missing)
    ]
    return "\n\n".join([HEAD.strip(), *sections]) + "\n"


class _Results:
    """What is in a results folder."""

    def __init__(self, results: Path, beside: Path) -> None:
        self.results, self.beside = results, beside

    def find(self, experiment: str, data: str | None = None) -> list[tuple[str, dict[str, Any]]]:
        """(folder name, stored result) of an experiment, the paper's settings first, then by name; trials on digits are left out."""
        found = []
        for path in sorted(self.results.glob(f"*/{experiment}.json")):
            stored = read(path)
            name = path.parent.name
            about = _data(name)
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


def _data(folder: str) -> str:
    """The data set in the name of a folder, such as ``holdout-cifar10-paper``."""
    name = folder.removeprefix("holdout-")
    return next((data for data in sorted([*TITLES, "digits"], key=len, reverse=True) if name.startswith(f"{data}-")), name)


def _setting(folder: str, stored: dict[str, Any]) -> str:
    """In words: data set, protocol and what departs from it."""
    data = _data(folder)
    rest = folder.removeprefix("holdout-").removeprefix(f"{data}-").split("-", 1)
    departs = (
        f", changed: {rest[1].replace('-epochs', ' epochs').replace('-members', ' members').replace('-', ', ')}" if len(rest) > 1 else ""
    )
    return f"{TITLES.get(data, data)}, protocol “{rest[0]}”{departs}, {runs_word(stored['about']['runs'])}"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(cell or " " for cell in row) + " |" for row in rows])


def _made_by(stored: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in stored["about"]["versions"].items())
    return f"`{stored['about']['command']}` ({stored['about']['date']}; {versions})"


def _galleries(folder: _Results) -> Iterator[str]:
    yield "## Label-wise uncertainty of single instances (Figs. 1 and 5)\n"
    found = folder.find("gallery")
    if not found:
        yield "*Not run here.* `labelwise reproduce gallery --data mnist`"
    for name, stored in found:
        yield f"### {_setting(name, stored)}\n"
        for part in ("total", "aleatoric", "epistemic"):
            yield f"Highest {part} uncertainty, bits; the true label is green, the predicted one underlined:\n"
            yield folder.figure(name, f"gallery-{part}.png", f"Instances with the highest {part} uncertainty") + "\n"
        yield _made_by(stored) + "\n"


def _curves(folder: _Results) -> Iterator[str]:
    yield "## Accuracy–rejection curves (Fig. 3, Appendix C.2)\n"
    yield (
        "The paper shows curves without numbers, and says that the three measures nearly coincide, for total, aleatoric and epistemic "
        "uncertainty. (Its panel “FMNIST (TU)” includes the figure file of CIFAR-10.) The area under the curve is the accuracy averaged over "
        "all shares of rejected instances; the band is the 95 % interval over runs, or over instances where there is one run.\n"
    )
    found = folder.find("arc")
    if not found:
        yield "*Not run here.* `labelwise reproduce arc --data fashion-mnist --runs 5`"
    for name, stored in found:
        yield f"### {_setting(name, stored)}\n"
        yield folder.figure(name, "arc.png", "Accuracy–rejection curves") + "\n"
        for title, columns, rows in folder.tables(name, "arc"):
            yield f"{title}:\n\n{markdown(columns, rows)}\n"
        steady = [cell["mean"] for cell in stored["numbers"]["monotonicity"].values()]
        yield (
            f"The curves rise nearly all the way, as the paper says: monotonicity (1: rejecting more never makes the rest worse) is {min(steady):.3f} to "
            f"{max(steady):.3f} for the nine scores.\n"
            if min(steady) > 0.95
            else f"Monotonicity (1: rejecting more never makes the rest worse) is {min(steady):.3f} to {max(steady):.3f} for the nine scores.\n"
        )
        yield _made_by(stored) + "\n"


def _detection(folder: _Results) -> Iterator[str]:
    yield "## Out-of-distribution detection (Table 1)\n"
    yield (
        "AUROC of epistemic uncertainty, as in the caption of Table 1 (its text says total uncertainty, which is given below). "
        "The paper prints ± 0.18 for its first number, a misprint of .018.\n"
    )
    for data, pairs in TABLE_1.items():
        found = folder.find("ood", data)
        rows = []
        for other, measures in pairs.items():
            rows.append([f"{TITLES[other]}", "paper, 5 runs", *(f"{m:.3f} ± {sd:.3f}" for m, sd in measures.values()), ""])
            for name, stored in found:
                cells = stored["numbers"]["auroc"]
                if f"{other} | variance | epistemic" in cells:
                    ours = [spread(cells[f"{other} | {measure} | epistemic"]) for measure in MEASURES]
                    rows.append([TITLES[other], _setting(name, stored).partition(", ")[2], *ours, _order(stored, other, measures)])
        yield f"### {TITLES[data]}\n"
        yield markdown(["against", "", *MEASURES, "order"], rows) + "\n"
        if not found:
            yield f"*Not run here.* `labelwise reproduce ood --data {data} --runs 5`\n"
        for name, stored in found:
            yield f"**{_setting(name, stored)}.** {_made_by(stored)}\n"
            for other, why in stored["numbers"]["not run"].items():
                yield f"{TITLES.get(other, other)}: not run here ({why.rstrip('.')}).\n"
            for title, columns, rows in folder.tables(name, "ood"):
                yield f"{title}:\n\n{markdown(columns, rows)}\n"
            yield folder.figure(name, "ood.png", "ROC curves of the first run") + "\n"
        yield from _closest(found, pairs)


def _order(stored: dict[str, Any], other: str, measures: dict[str, tuple[float, float]]) -> str:
    """Whether the measures come in the paper's order, and whether the differences are beyond doubt."""
    cells, differences = stored["numbers"]["auroc"], stored["numbers"]["auroc difference"]
    ours = sorted(MEASURES, key=lambda m: cells[f"{other} | {m} | epistemic"]["mean"])
    theirs = sorted(MEASURES, key=lambda m: measures[m][0])
    sure = [
        d["low"] is not None and (d["low"] > 0 or d["high"] < 0)
        for key, d in differences.items()
        if key.startswith(f"{other} | ") and key.endswith("epistemic")
    ]
    same = "as in the paper" if ours == theirs else "another one"
    return same if stored["about"]["runs"] < 2 else f"{same}; {sum(sure)} of {len(sure)} differences clear"


def _closest(found: list[tuple[str, dict[str, Any]]], pairs: dict[str, dict[str, tuple[float, float]]]) -> Iterator[str]:
    """How far each setting is from the paper's numbers, on average over its cells."""
    rows = []
    for name, stored in found:
        cells = stored["numbers"]["auroc"]
        gaps = {
            other: [cells[f"{other} | {m} | epistemic"]["mean"] - mean for m, (mean, _) in measures.items()]
            for other, measures in pairs.items()
            if f"{other} | variance | epistemic" in cells
        }
        if gaps:
            accuracy = stored["numbers"].get("accuracy")
            every = [x for gap in gaps.values() for x in gap]
            rows.append(
                [
                    _setting(name, stored).partition(", ")[2],
                    "–" if accuracy is None else spread(accuracy, 4),
                    *(number(sum(gap) / len(gap), 3) for gap in gaps.values()),
                    number(sum(every) / len(every), 3),
                ]
            )
    if len(rows) > 1:
        others = [TITLES[other] for other in pairs if f"{other} | variance | epistemic" in found[0][1]["numbers"]["auroc"]]
        yield "How far from the paper's AUROCs, averaged over the three measures (ours − paper's):\n"
        yield markdown(["setting", "accuracy", *others, "on average"], rows) + "\n"


def _artefact(folder: _Results) -> Iterator[str]:
    yield "## The CIFAR-10.2 column of Table 1 is an artefact\n"
    yield (
        "CIFAR-10.2 was drawn like CIFAR-10, so an ensemble should hardly tell them apart; the paper reports AUROCs of .998 to 1.00. The "
        "published code feeds its pixels as 0 … 255 where the network was trained on 0 … 1, and exchanges height and width. Below, CIFAR-10's "
        "*own* test images go through both mistakes and are compared with themselves: all that exceeds 0.5 comes from the handling alone.\n"
    )
    found = folder.find("artefact")
    if not found:
        yield "*Not run here.* `labelwise reproduce artefact --data cifar10`"
    for name, stored in found:
        yield f"### {_setting(name, stored)}\n"
        for title, columns, rows in folder.tables(name, "artefact"):
            yield f"{title}:\n\n{markdown(columns, rows)}\n"
        yield folder.figure(name, "artefact.png", "AUROC by handling of the images") + "\n"
        for why in stored["numbers"]["not run"].values():
            yield f"On CIFAR-10.2 itself: not run here ({why.rstrip('.')}).\n"
        yield _made_by(stored) + "\n"


def _holdout(folder: _Results) -> Iterator[str]:
    yield "## New data for the class with the highest epistemic uncertainty (Table 2, Appendix C.3)\n"
    yield HOLDOUT
    for data, printed in TABLE_2.items():
        yield f"### {TITLES[data]}\n"
        columns = [
            "",
            "drop",
            "selected class",
            "other classes",
            "next highest drop",
            "selected has the largest",
            "another class rises",
            "foretold",
        ]
        rows = [
            ["paper, 5 runs", kind, *(f"{m:.4f} ± {sd:.4f}" for m, sd in printed[kind].values()), "", "", ""]
            for kind in ("absolute", "relative")
        ]
        again = folder.published(data)
        if again is not None:
            rows += drop_rows("recomputed from the authors' arrays, 5 runs", again["numbers"], again["about"]["runs"])
        found = folder.find("holdout", data)
        for name, stored in found:
            n = stored["about"]["runs"]
            words = _setting(name, stored).partition(", ")[2]
            for arm, table in stored["numbers"]["table"].items():
                rows += drop_rows(f"{arm.replace('-', ' ')} ({words})", table, n)
        yield markdown(columns, rows) + "\n"
        if again is not None:
            excess = again["numbers"]["excess"]
            yield (
                f"In the authors' arrays, a line fitted to the other classes foretells {100 * again['numbers']['predicted by the other classes']['value']:.0f} % "
                f"of the selected class's drop; it exceeds the line by {interval(excess, 5)} (bootstrap over runs, all resamples). "
                f"`{again['about']['command']}`\n"
            )
        if not found:
            yield f"*Not run here.* `labelwise reproduce holdout --data {data} --runs 5`\n"
        for name, stored in found:
            numbers = stored["numbers"]
            yield f"**What the new images add: {_setting(name, stored)}.**\n"
            effects = [
                [key.replace("-", " "), interval(cell), interval(other) if (other := numbers["effect on other classes"].get(key)) else "–"]
                for key, cell in numbers["effect"].items()
            ]
            yield markdown(["log EU(arm) − log EU(control)", "the arm's class", "other classes"], effects) + "\n"
            yield _verdict(stored) + "\n"
            yield folder.figure(name, "holdout.png", "ECDF of epistemic uncertainty before and after") + "\n"
            yield _made_by(stored) + "\n"


HOLDOUT = """An ensemble is trained on a small part of the data (FashionMNIST 300 images, CIFAR-10 5,000). The class with the highest mean label-wise EU
then gets other images of its kind from the hold-out in each further epoch, and its EU falls. The paper has no control. Here the same checkpoint
is continued in several ways, and the EU of the same class is compared:

- **swap**: the paper's experiment; **no swap**: the training just goes on with the same images;
- **old pool**: the class is drawn anew in each epoch, but from the images it had; **random class**: another class gets the new images;
- **half**: the class is selected on one half of the test set and judged on the other (in the rows “other half”);
- **constant**: the learning rate stays what it was (on CIFAR-10 it falls in the same epoch in which the images are exchanged; on FashionMNIST
  Adam's is constant anyway).

“Next highest drop” is the largest among the *other classes* (the published code took it over runs), and ± the deviation over runs with n in the
denominator, as there (the published ± .0000 is the deviation of a single number). “Foretold”: the share of the selected class's drop that a
line fitted to the untouched classes predicts from its EU before.
"""


def _verdict(stored: dict[str, Any]) -> str:
    """One sentence on what the swap itself does, from the numbers."""
    numbers, n = stored["numbers"], stored["about"]["runs"]
    drop = {arm: numbers["table"][arm]["drop"]["absolute"]["selected"]["mean"] for arm in ("swap", "no-swap")}
    text = (
        f"Without any new images the EU of the selected class falls by {number(drop['no-swap'], 4)} on average, "
        f"{100 * drop['no-swap'] / drop['swap']:.0f} % of the {number(drop['swap'], 4)} with them."
    )
    effect = numbers["effect"]["swap − no-swap"]
    if effect["low"] is None:
        return f"{text} One run says nothing about the spread of the difference."
    clear = (
        "an effect of the new images beyond chance"
        if effect["high"] < 0
        else "no effect of the new images that these runs can tell from chance"
    )
    return f"{text} The paired difference, {interval(effect)} over {runs_word(n)}, shows {clear}."


def _losses(folder: _Results) -> Iterator[str]:
    yield "## Which loss?\n"
    yield (
        "The paper leaves open which loss to use. Six, for rejecting errors (area under the accuracy–rejection curve) and for finding "
        "strangers (AUROC); differences are paired by run. “Cost 1 : 9” makes a missed label nine times as bad as a false one.\n"
    )
    found = folder.find("losses")
    if not found:
        yield "*Not run here.* `labelwise reproduce losses --data fashion-mnist --runs 5`"
    for name, stored in found:
        yield f"### {_setting(name, stored)}\n"
        for title, columns, rows in folder.tables(name, "losses"):
            yield f"{title}:\n\n{markdown(columns, rows)}\n"
        yield _best(stored) + "\n"
        yield folder.figure(name, "losses.png", "Six losses") + "\n"
        yield _made_by(stored) + "\n"


def _best(stored: dict[str, Any]) -> str:
    """For each task the loss and part with the highest mean."""
    values = stored["numbers"]["value"]
    sentences = []
    for task in dict.fromkeys(key.split(" | ")[0] for key in values):
        best = max((key for key in values if key.startswith(f"{task} | ")), key=lambda key: values[key]["mean"])
        _, loss, part = best.split(" | ")
        what = "rejecting errors" if task == "rejection" else f"finding {TITLES.get(task, task)}"
        sentences.append(f"{what}: {part} uncertainty under {loss} loss ({spread(values[best], 4)})")
    return f"Highest on average for {'; '.join(sentences)}."


def _human(folder: _Results) -> Iterator[str]:
    yield "## People's votes\n"
    yield (
        "CIFAR-10H has about 50 votes for each test image of CIFAR-10. Where people disagree, the image itself is ambiguous, and aleatoric uncertainty "
        "should be high; the spread of votes is measured by the same entropy, label by label.\n"
    )
    found = folder.find("human")
    if not found:
        yield "*Not run here.* `labelwise reproduce human --data cifar10`"
    for name, stored in found:
        yield f"### {_setting(name, stored)}\n"
        for title, columns, rows in folder.tables(name, "human"):
            yield f"{title}:\n\n{markdown(columns, rows)}\n"
        yield folder.figure(name, "human.png", "Aleatoric uncertainty against votes") + "\n"
        yield _made_by(stored) + "\n"


def _missing(folder: _Results) -> Iterator[str]:
    yield "## What is not here\n"
    absent = {
        "arc": {"mnist", "fashion-mnist", "kmnist", "cifar10", "svhn"},
        "ood": {"fashion-mnist", "cifar10"},
        "holdout": {"fashion-mnist", "cifar10"},
    }
    words = {"arc": "accuracy–rejection curves", "ood": "out-of-distribution detection", "holdout": "the hold-out experiment"}
    for experiment, wanted in absent.items():
        there = {_data(name) for name, _ in folder.find(experiment)}
        for data in sorted(wanted - there):
            yield f"- {TITLES[data]}, {words[experiment]}: `labelwise reproduce {experiment} --data {data} --runs 5`"
    for experiment, data in (("ood", "fashion-mnist"), ("arc", "fashion-mnist"), ("ood", "cifar10"), ("arc", "cifar10")):
        for name, stored in folder.find(experiment, data):
            if name == f"{data}-paper" and stored["about"]["runs"] < 5:
                yield f"- {TITLES[data]}, {words[experiment]}: {runs_word(stored['about']['runs'])} of the paper's 5"
        if not any(name == f"{data}-paper" for name, _ in folder.find(experiment, data)) and folder.find(experiment, data):
            yield f"- {TITLES[data]}, {words[experiment]}: a reduced recipe instead of the paper's; the full one is `labelwise reproduce {experiment} --data {data} --runs 5`"
    yield "- PET/CT (Figs. 2 and 4, left column of Appendix C.2): the volumes were not available for these runs, and the authors' slices are not published."
