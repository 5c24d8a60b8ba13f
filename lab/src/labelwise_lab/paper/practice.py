"""What follows from the results for practice: up to five sentences, each only where the numbers
support it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..pages import interval, number
from ..text import counted, enumerated
from .claims import COINCIDE, HELD, NOT_HELD, limit, verdict_on
from .intervals import paired_difference, simultaneous
from .provenance import TITLES, Results
from .records import distinct, pick, select
from .scores import MEASURES
from .tables import above_and_below

__all__ = ["practice"]

PARTS = {"EU": "epistemic", "TU": "total", "AU": "aleatoric"}
SMOOTH = ("squared", "spherical", "zero-one")
"""Losses that are compared with log loss."""


def practice(folder: Results) -> Iterator[str]:
    """The sentences whose numbers are there, numbered."""
    sentences = (
        *_reject(folder),
        *_detect(folder),
        *_members(folder),
        *_arithmetic(folder),
        *_new_data(folder),
    )
    return (f"{i}. {sentence}" for i, sentence in enumerate(sentences, 1))


def _reject(folder: Results) -> Iterator[str]:
    stored = folder.stored("fashion-mnist-paper", "losses")
    if stored is None or stored["about"]["runs"] < 2:
        return
    value = select(stored["numbers"]["value"], task="rejection", loss="log")
    total, alone = pick(value, part="total"), pick(value, part="epistemic")
    gain = simultaneous(paired_difference(total, alone), 1)
    if gain["low"] <= 0:
        return
    apart = select(stored["numbers"]["difference from log"], task="rejection", part="total")
    smooth = [simultaneous(pick(apart, loss=loss), len(SMOOTH)) for loss in SMOOTH]
    alike = ""
    if max(max(-cell["low"], cell["high"]) for cell in smooth) < COINCIDE:
        alike = (
            f" Log, squared, spherical and zero-one loss differ by less than {COINCIDE} in area."
        )
    worse = []
    for ratio in ("1 : 9", "9 : 1"):
        cell = simultaneous(pick(apart, loss=f"cost {ratio}"), 2)
        if cell["high"] < 0:
            loss = {"mean": -cell["mean"], "low": -cell["high"], "high": -cell["low"]}
            worse.append(f"{ratio} by {interval(loss, 4)}")
    unequal = ""
    if worse:
        unequal = (
            f" Unequal costs reject errors worse ({', '.join(worse)}): use them for decisions that "
            "have these costs."
        )
    cifar = folder.stored("cifar10-paper", "losses")
    beside = ""
    if cifar is not None:
        of = select(cifar["numbers"]["value"], task="rejection", loss="log")
        areas = [number(pick(of, part=part)["mean"], 4) for part in ("total", "epistemic")]
        runs = counted(cifar["about"]["runs"], "run")
        beside = f"; CIFAR-10, {runs}: {' against '.join(areas)}"
    yield (
        "To reject errors, rank by total uncertainty, not by epistemic uncertainty alone: its "
        f"area under the curve is larger by {interval(gain, 4)} "
        f"(FashionMNIST, {counted(len(total['runs']), 'run')}{beside}).{alike}{unequal}"
    )


def _detect(folder: Results) -> Iterator[str]:
    each, best = [], set()
    for name in ("cifar10-paper", "fashion-mnist-paper"):
        stored = folder.stored(name, "ood")
        if stored is None:
            continue
        for other in distinct(stored["numbers"]["auroc"], "set"):
            cells = select(stored["numbers"]["auroc"], set=other, measure="label-wise entropy")
            of = {short: pick(cells, part=part)["mean"] for short, part in PARTS.items()}
            best.add(max(of, key=lambda short: of[short]))
            values = ", ".join(f"{short} {number(x, 3)}" for short, x in of.items())
            runs = counted(stored["about"]["runs"], "run")
            each.append(f"{TITLES.get(other, other)} {values}, {runs}")
    if each:
        words = "none is always best"
        if len(best) == 1:
            words = f"{best.pop()} was highest on each of ours"
        yield (
            "To detect out-of-distribution inputs, compare epistemic, total and aleatoric "
            f"uncertainty on your own data: {words} ({'; '.join(each)})."
        )


def _members(folder: Results) -> Iterator[str]:
    """What matters more, the number of members or the measure: the ranges of the AUROC of epistemic
    uncertainty.
    """
    by_verdict: dict[str, list[str]] = {
        "the number of members mattered more than the measure": [],
        "the measure mattered more than the number of members": [],
    }
    of_size, of_measure = by_verdict.values()
    for words, sizes, aurocs in _by_members(folder):
        by_size = max(abs(each[-1] - each[0]) for each in aurocs.values())
        by_measure = max(max(each) - min(each) for each in zip(*aurocs.values(), strict=True))
        levels = ", ".join(number(x, 3) for x in aurocs["entropy"])
        (of_size if by_size > by_measure else of_measure).append(
            f"{words}: mutual information {levels} with {enumerated([str(m) for m in sizes])} "
            f"members, up to {number(by_measure, 3)} between measures"
        )
    parts = [f"{verdict} ({'; '.join(each)})" for verdict, each in by_verdict.items() if each]
    if parts:
        yield (
            f"For detection, try several measures and more members: {'; elsewhere, '.join(parts)}."
        )


def _by_members(folder: Results) -> Iterator[tuple[str, list[int], dict[str, list[float]]]]:
    """Words, numbers of members, and the AUROC of each measure with so many."""
    prints = folder.fingerprint()
    if prints is not None:
        cells = select(prints["numbers"]["by members"], set="kmnist", minus=None)
        sizes = [2, 5, 10]
        aurocs = {
            m: [pick(cells, measure=m, members=size)["mean"] for size in sizes] for m in MEASURES
        }
        yield "FashionMNIST against KMNIST", sizes, aurocs
    stored = folder.stored("cifar10-paper", "ood")
    if stored is not None and "auroc by members" in stored["numbers"]:
        cells = select(stored["numbers"]["auroc by members"], set="svhn")
        sizes = [2, 5]
        aurocs = {
            m: [pick(cells, measure=m, members=size)["value"] for size in sizes] for m in MEASURES
        }
        runs = counted(stored["about"]["runs"], "run")
        yield f"CIFAR-10 against SVHN, {runs}", sizes, aurocs


def _arithmetic(folder: Results) -> Iterator[str]:
    prints, parts = folder.fingerprint(), []
    if prints is not None:
        own = select(prints["numbers"]["trainings"], training="fashion-mnist-paper", set="mnist")
        lost = [
            pick(own, measure=measure, minus=None)["value"]
            for measure in ("variance", "variance, float32")
        ]
        parts.append(
            "Compute epistemic uncertainty without cancellation: p (p − mean) in single precision "
            "moves the AUROC of the variance against MNIST from "
            f"{number(lost[0], 4)} to {number(lost[1], 4)}."
        )
    for _, stored in folder.find("artifact", "cifar10")[:1]:
        mishandled = {"pixels": "not scaled", "orientation": "transposed"}
        subsets = select(stored["numbers"]["subsets"], **mishandled)
        every = [auroc for each in subsets for auroc in each["auroc"]]
        low, _, high = above_and_below(every)
        few = f", but nearly 0 for {low}" if low else ""
        parts.append(
            "Check the preprocessing: pixels that were not scaled made the epistemic uncertainty "
            "of familiar images look out-of-distribution for "
            f"{high} of {len(every)} sets of members{few}."
        )
    if parts:
        yield " ".join(parts)


def _new_data(folder: Results) -> Iterator[str]:
    stored = folder.stored("holdout-fashion-mnist-paper", "holdout")
    if stored is None:
        return
    effect = pick(stored["numbers"]["effect"], arm="swap", among=None)
    where = "FashionMNIST, 300 training images"
    if verdict_on(effect) == NOT_HELD:
        yield (
            "That a class has the highest epistemic uncertainty does not show that new images of "
            "it will lower it. "
            f"{where}: {limit(effect)}. Judge acquisition against a control."
        )
    elif verdict_on(effect) == HELD:
        yield (
            f"New images of the class with the highest epistemic uncertainty lower it. {where}: "
            f"{limit(effect)}."
        )
