"""What is not in the results folder, and why."""

from __future__ import annotations

from collections.abc import Iterator

from .provenance import TITLES, Results, data_of
from .records import select

__all__ = ["TRAININGS", "missing"]

SGD = "--change optimizer=sgd --change rate=0.1 --change momentum=0.9 --change weight_decay="
TRAININGS = {
    "fashion-mnist-code": (
        "as the published code (Adam, batches of 64, not shuffled)",
        "--protocol code",
    ),
    "fashion-mnist-paper-batch_size=64": ("batches of 64", "--change batch_size=64"),
    "fashion-mnist-paper-5-epochs": ("after 5 epochs", "--epochs 5"),
    "fashion-mnist-paper-10-epochs": ("after 10 epochs", "--epochs 10"),
    "fashion-mnist-paper-15-epochs": ("after 15 epochs", "--epochs 15"),
    "fashion-mnist-paper-scaled=false": ("pixels of 0 … 255", "--change scaled=false"),
    "fashion-mnist-paper-optimizer=sgd-rate=0.1-momentum=0.9-weight_decay=0.0005": (
        "SGD, weight decay 0.0005",
        f"{SGD}0.0005",
    ),
    "fashion-mnist-paper-optimizer=sgd-rate=0.1-momentum=0.9-weight_decay=0.0001": (
        "SGD, weight decay 0.0001",
        f"{SGD}0.0001",
    ),
}
"""Trainings that might explain the paper's Table 1 -> how they differ from its text, in words and
as options.
"""


def missing(folder: Results) -> Iterator[str]:
    """What the paper has and the results folder does not: the reason, or the command that starts or
    resumes it.
    """
    reasons = {
        "kmnist": "only its test set was available, not the training files",
        "svhn": "only the first 10,000 test digits were available, not the training files",
    }
    for data, why in reasons.items():
        if not folder.find("arc", data):
            yield (
                f"- {TITLES[data]}, accuracy–rejection curves: {why}. `labelwise-lab reproduce arc "
                f"--data {data} --runs 5`"
            )
    if not any((folder.folder / "mnist-paper").glob("run-0/*.npz")):
        yield (
            "- MNIST: its predictions were not stored, so that the audit cannot recompute them. "
            "`labelwise-lab reproduce arc --data mnist --runs 1`"
        )
    yield from _runs_of_recipes(folder)
    yield from _runs_of_holdout(folder)
    prints = folder.fingerprint()
    numbers = {"trainings": [], "candidates": []} if prints is None else prints["numbers"]
    for name, (_, change) in TRAININGS.items():
        stored = select(numbers["trainings"], training=name)
        train = "`labelwise-lab reproduce ood --data fashion-mnist"
        add = f"`labelwise-lab reproduce fingerprint --training results/{name}`"
        if not stored:
            yield (
                f"- FashionMNIST, training for the fingerprint: {train} {change}` starts or "
                f"resumes it, {add} adds it."
            )
        elif name in numbers["candidates"] and stored[0]["runs"] < 5:
            yield (
                f"- FashionMNIST, fresh runs of the candidate: {train} --first-run 1 --runs 5 "
                f"{change}` starts or resumes them, {add} adds them."
            )
    if not any(data_of(name) == "cifar10.2" for name, _ in folder.find("ood")):
        yield "- CIFAR-10.2: the images were not available."
    yield (
        "- PET/CT (Figs. 2 and 4, left column of Appendix C.2): the volumes were not available, "
        "and the authors' slices are not published."
    )


def _runs_of_recipes(folder: Results, wanted: int = 5) -> Iterator[str]:
    for data in ("fashion-mnist", "cifar10"):
        stored = folder.stored(f"{data}-paper", "ood")
        have = 0 if stored is None else stored["about"]["runs"]
        if have < wanted:
            yield (
                f"- {TITLES[data]}, the paper's recipe: {have or 'none'} of {wanted} runs; "
                f"`labelwise-lab reproduce ood --data {data} --runs {wanted}` starts or resumes it."
            )


def _runs_of_holdout(folder: Results, wanted: int = 100) -> Iterator[str]:
    """Runs of an arm with its control; the learning rate of FashionMNIST is constant anyway."""
    for data, arms in {"fashion-mnist": ["swap"], "cifar10": ["swap", "swap-constant"]}.items():
        stored = folder.stored(f"holdout-{data}-paper", "holdout")
        effects = [] if stored is None else stored["numbers"]["effect"]
        have = {
            arm: sum(len(each["runs"]) for each in select(effects, arm=arm, among=None))
            for arm in arms
        }
        if min(have.values()) < wanted:
            counts = ", ".join(
                f"{n or 'none'} of {wanted} runs" + " with a constant rate" * ("constant" in arm)
                for arm, n in have.items()
            )
            options = "".join(f" --arm {arm}" for arm in arms)
            yield (
                f"- {TITLES[data]}, hold-out: {counts}; `labelwise-lab reproduce holdout --data "
                f"{data} --runs {wanted}{options}` starts or resumes it."
            )
