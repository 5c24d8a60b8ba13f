"""The results page: every table and figure of the paper beside what is in the results folder, and what is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..decomposition import PARTS
from .comparison import detection, holdout
from .provenance import TITLES, Stored, data_of, in_words, made_by, markdown
from .tables import runs_word, spread

HEAD = """# Results

The experiments of the paper, run again with this package on the published data sets, beside the paper's numbers; with the slips of the
published code mended, and with controls where a conclusion needs them. Every number says how many runs it is from, and every section the
command that makes it again. This page is written by `labelwise reproduce page` from the folder `results`; apart from the paper's own, no number in it is
typed.

Protocol **paper** is what the text says, **code** what the published code did; where they differ, both can be run. ± is the standard
deviation between runs (n − 1), unless said otherwise; brackets are 95 % intervals: Student's t over runs, or DeLong's over test instances.
Each run is an ensemble trained from scratch; run r has seed r. “Measures” are the label-wise variance (squared loss), the label-wise entropy
(log loss) and the entropy over all classes at once, whose epistemic part is mutual information.

## Where the paper's text and its code differ

| | text (protocol “paper”) | published code (protocol “code”) |
|---|---|---|
| batches | 256 | by script: 64 in the order of the files, 256 shuffled, or 64 shuffled |
| epochs of the CNN | MNIST 10, FashionMNIST and KMNIST 20 | 20 |
| optimiser of the CNN | Adam | Adam; one script trains everything with SGD |
| learning rate of the ResNet | 0.1, from epoch 20 0.001, from 25 0.0001; 30 epochs | 0.1, 0.01, 0.001 at the same epochs; 20 or 30 epochs |
| weight decay of the ResNet | 1e-4 | 1e-4 or 5e-4 |
| CIFAR-10 normalisation | statistics of the training set | fixed means and deviations |
| entropies | bits | divided by their maxima (no curve and no AUROC depends on it) |
| out-of-distribution score | total uncertainty | epistemic uncertainty, as in the caption of the table |
"""


def page(results: Path, beside: Path) -> str:
    """The page as Markdown; paths of figures are relative to the folder ``beside``."""
    if not results.is_dir():
        raise FileNotFoundError(f"there is no results folder {str(results)!r}")
    folder = Stored(results, beside)
    sections = ["\n".join(part(folder)).strip() for part in (_galleries, _curves, detection, _artefact, holdout, _losses, _human, _missing)]
    return "\n\n".join([HEAD.strip(), *sections]) + "\n"


def _galleries(folder: Stored) -> Iterator[str]:
    yield "## Label-wise uncertainty of single instances (Figs. 1 and 5)\n"
    found = folder.find("gallery")
    if not found:
        yield "*Not run here.* `labelwise reproduce gallery --data mnist`"
    for name, stored in found:
        yield f"### {in_words(name, stored)}\n"
        for part in PARTS:
            yield f"Highest {part} uncertainty, bits; the true label is green, the predicted one underlined:\n"
            yield folder.figure(name, f"gallery-{part}.png", f"Instances with the highest {part} uncertainty") + "\n"
        yield made_by(stored) + "\n"


def _curves(folder: Stored) -> Iterator[str]:
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
        yield f"### {in_words(name, stored)}\n"
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
        yield made_by(stored) + "\n"


def _artefact(folder: Stored) -> Iterator[str]:
    yield "## The CIFAR-10.2 column of Table 1 is an artefact\n"
    yield (
        "CIFAR-10.2 was drawn like CIFAR-10, so an ensemble should hardly tell them apart; the paper reports AUROCs of .998 to 1.00. The "
        "published code feeds its pixels as 0 … 255 where the network was trained on 0 … 1, and exchanges height and width. Below, CIFAR-10's "
        "*own* test images go through both mistakes and are compared with themselves: whatever is not 0.5 comes from the handling alone. Pixels of 0 … 255 saturate the network: "
        "its members become certain (the column “members' confidence” is the mean of their highest probability), most of them of one class for all images, and epistemic uncertainty "
        "only says whether these classes differ (“all agree”). Where they do, the AUROC is near 1; where the members happen to agree, there is none "
        "to detect anything by, though the predictions are worthless. (There is a second slip: the code's label-wise entropy rounds all logarithms to whole numbers when the first probability is exactly 0, as it is in a "
        "saturated network.)\n"
    )
    found = folder.find("artefact")
    if not found:
        yield "*Not run here.* `labelwise reproduce artefact --data cifar10`"
    for name, stored in found:
        yield f"### {in_words(name, stored)}\n"
        for title, columns, rows in folder.tables(name, "artefact"):
            yield f"{title}:\n\n{markdown(columns, rows)}\n"
        yield folder.figure(name, "artefact.png", "AUROC by handling of the images") + "\n"
        for why in stored["numbers"]["not run"].values():
            yield f"On CIFAR-10.2 itself: not run here ({why.rstrip('.')}).\n"
        yield made_by(stored) + "\n"


def _losses(folder: Stored) -> Iterator[str]:
    yield "## Which loss?\n"
    yield (
        "The paper leaves open which loss to use. Six, for rejecting errors (area under the accuracy–rejection curve) and for finding "
        "strangers (AUROC); differences are paired by run. “Cost 1 : 9” makes a missed label nine times as bad as a false one.\n"
    )
    found = folder.find("losses")
    if not found:
        yield "*Not run here.* `labelwise reproduce losses --data fashion-mnist --runs 5`"
    for name, stored in found:
        yield f"### {in_words(name, stored)}\n"
        for title, columns, rows in folder.tables(name, "losses"):
            yield f"{title}:\n\n{markdown(columns, rows)}\n"
        yield _best(stored) + "\n"
        yield folder.figure(name, "losses.png", "Six losses") + "\n"
        yield made_by(stored) + "\n"


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


def _human(folder: Stored) -> Iterator[str]:
    yield "## People's votes\n"
    yield (
        "CIFAR-10H has about 50 votes for each test image of CIFAR-10. Where people disagree, the image itself is ambiguous, and aleatoric uncertainty "
        "should be high; the spread of votes is measured by the same entropy, label by label.\n"
    )
    found = folder.find("human")
    if not found:
        yield "*Not run here.* `labelwise reproduce human --data cifar10`"
    for name, stored in found:
        yield f"### {in_words(name, stored)}\n"
        for title, columns, rows in folder.tables(name, "human"):
            yield f"{title}:\n\n{markdown(columns, rows)}\n"
        yield folder.figure(name, "human.png", "Aleatoric uncertainty against votes") + "\n"
        yield made_by(stored) + "\n"


def _missing(folder: Stored) -> Iterator[str]:
    yield "## What is not here\n"
    absent = {
        "arc": {"mnist", "fashion-mnist", "kmnist", "cifar10", "svhn"},
        "ood": {"fashion-mnist", "cifar10"},
        "holdout": {"fashion-mnist", "cifar10"},
    }
    words = {"arc": "accuracy–rejection curves", "ood": "out-of-distribution detection", "holdout": "the hold-out experiment"}
    for experiment, wanted in absent.items():
        there = {data_of(name) for name, _ in folder.find(experiment)}
        for data in sorted(wanted - there):
            yield f"- {TITLES[data]}, {words[experiment]}: `labelwise reproduce {experiment} --data {data} --runs 5`"
    for experiment, data in (("ood", "fashion-mnist"), ("arc", "fashion-mnist"), ("ood", "cifar10"), ("arc", "cifar10")):
        for name, stored in folder.find(experiment, data):
            if name == f"{data}-paper" and stored["about"]["runs"] < 5:
                yield f"- {TITLES[data]}, {words[experiment]}: {runs_word(stored['about']['runs'])} of the paper's 5"
        if not any(name == f"{data}-paper" for name, _ in folder.find(experiment, data)) and folder.find(experiment, data):
            yield f"- {TITLES[data]}, {words[experiment]}: a reduced recipe instead of the paper's; the full one is `labelwise reproduce {experiment} --data {data} --runs 5`"
    yield "- PET/CT (Figs. 2 and 4, left column of Appendix C.2): the volumes were not available for these runs, and the authors' slices are not published."
