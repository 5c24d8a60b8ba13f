"""What is not in the results folder, and why."""

from __future__ import annotations

from collections.abc import Iterator

from .provenance import TITLES, Results, data_of
from .tables import runs_word

__all__ = ["TRAININGS", "missing"]

SGD = "--change optimizer=sgd --change rate=0.1 --change momentum=0.9 --change weight_decay="
TRAININGS = {
    "fashion-mnist-code": ("as the published code (Adam, batches of 64, not shuffled)", "--protocol code"),
    "fashion-mnist-paper-batch_size=64": ("batches of 64", "--change batch_size=64"),
    "fashion-mnist-paper-5-epochs": ("after 5 epochs", "--epochs 5"),
    "fashion-mnist-paper-10-epochs": ("after 10 epochs", "--epochs 10"),
    "fashion-mnist-paper-15-epochs": ("after 15 epochs", "--epochs 15"),
    "fashion-mnist-paper-scaled=false": ("pixels of 0 … 255", "--change scaled=false"),
    "fashion-mnist-paper-optimizer=sgd-rate=0.1-momentum=0.9-weight_decay=0.0005": ("SGD, weight decay 0.0005", f"{SGD}0.0005"),
    "fashion-mnist-paper-optimizer=sgd-rate=0.1-momentum=0.9-weight_decay=0.0001": ("SGD, weight decay 0.0001", f"{SGD}0.0001"),
}
"""Trainings that might explain the paper's Table 1 -> how they differ from its text, in words and as options."""


def missing(folder: Results) -> Iterator[str]:
    """What the paper has and the results folder does not: the reason, or the command that starts or resumes it."""
    reasons = {
        "kmnist": "only its test set was available, not the training files",
        "svhn": "only the first 10,000 test digits were available, not the training files",
    }
    for data, why in reasons.items():
        if not folder.find("arc", data):
            yield f"- {TITLES[data]}, accuracy–rejection curves: {why}. `labelwise reproduce arc --data {data} --runs 5`"
    if not any((folder.folder / "mnist-paper").glob("run-0/*.npz")):
        yield "- MNIST: its predictions were not stored, so that the audit cannot recompute them. `labelwise reproduce arc --data mnist --runs 1`"
    for data, experiment in (("fashion-mnist", "ood"), ("cifar10", "ood"), ("fashion-mnist", "holdout"), ("cifar10", "holdout")):
        found = {name.removeprefix("holdout-"): stored for name, stored in folder.find(experiment, data)}
        paper = found.get(f"{data}-paper")
        wanted = 100 if experiment == "holdout" else 5
        arms = " --arm swap --arm no-swap" if experiment == "holdout" else ""
        if data == "cifar10" and arms:
            arms += " --arm swap-constant --arm no-swap-constant"
        command = f"`labelwise reproduce {experiment} --data {data} --runs {wanted}{arms}` starts or resumes it"
        if paper is None or paper["about"]["runs"] < wanted:
            have = "none" if paper is None else runs_word(paper["about"]["runs"])
            what = "hold-out" if experiment == "holdout" else "the paper's recipe"
            begun = sorted((folder.folder / f"{data}-paper").glob("run-*/members")) if not arms else []
            parts = [f", {len(list(m.glob(f'{data}-?.npz')))} of 5 members of {m.parent.name.replace('-', ' ')}" for m in begun]
            yield f"- {TITLES[data]}, {what}: {have} of {wanted} runs{''.join(parts)}; {command}."
    prints = folder.fingerprint()
    for name, (_, change) in TRAININGS.items():
        if prints is None or name not in prints["numbers"]["trainings"]:
            start = f"`labelwise reproduce ood --data fashion-mnist {change}` starts or resumes it"
            yield f"- FashionMNIST, training for the fingerprint: {start}, `labelwise reproduce fingerprint --training results/{name}` adds it."
        elif name in prints["numbers"]["candidates"] and prints["numbers"]["trainings"][name]["runs"] < 5:
            start = f"`labelwise reproduce ood --data fashion-mnist --runs 5 {change}` starts or resumes them"
            yield f"- FashionMNIST, fresh runs of the candidate: {start}, `labelwise reproduce fingerprint --training results/{name}` adds them."
    if not any(data_of(name) == "cifar10.2" for name, _ in folder.find("ood")):
        yield "- CIFAR-10.2: the images were not available."
    yield "- PET/CT (Figs. 2 and 4, left column of Appendix C.2): the volumes were not available, and the authors' slices are not published."
