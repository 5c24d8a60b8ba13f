"""What follows from the results for practice: up to five sentences, each only where the numbers
support it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .claims import COINCIDE, HELD, NEAR_ONE, NOT_HELD, limit, verdict_on
from .intervals import simultaneous
from .provenance import TITLES, Results
from .scores import MEASURES
from .tables import interval, number, runs_word

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
    stored = dict(folder.find("losses", "fashion-mnist")).get("fashion-mnist-paper")
    if stored is None or stored["about"]["runs"] < 2:
        return
    value, difference = (
        {
            key.removeprefix("rejection | "): cell
            for key, cell in stored["numbers"][kind].items()
            if key.startswith("rejection")
        }
        for kind in ("value", "difference from log")
    )
    total, alone = value["log | total"], value["log | epistemic"]
    gain = simultaneous(_less(total, alone), 1)
    if gain["low"] <= 0:
        return
    apart = [simultaneous(difference[f"{loss} | total"], len(SMOOTH)) for loss in SMOOTH]
    widest = max(max(-cell["low"], cell["high"]) for cell in apart)
    alike = (
        f" Log, squared, spherical and zero-one loss differ by less than {COINCIDE} in area."
        if widest < COINCIDE
        else ""
    )
    costs = {
        ratio: simultaneous(difference[f"cost {ratio} | total"], 2) for ratio in ("1 : 9", "9 : 1")
    }
    worse = [
        f"{ratio} by {interval(_negative(cell), 4)}"
        for ratio, cell in costs.items()
        if cell["high"] < 0
    ]
    unequal = (
        (
            f" Unequal costs reject errors worse ({', '.join(worse)}): use them for decisions that "
            "have these costs."
        )
        if worse
        else ""
    )
    cifar = dict(folder.find("losses", "cifar10")).get("cifar10-paper")
    beside = ""
    if cifar is not None:
        of = [
            cifar["numbers"]["value"][f"rejection | log | {part}"]["mean"]
            for part in ("total", "epistemic")
        ]
        beside = (
            f"; CIFAR-10, {runs_word(cifar['about']['runs'])}: {number(of[0], 4)} against "
            f"{number(of[1], 4)}"
        )
    yield (
        "To reject errors, rank by total uncertainty, not by epistemic uncertainty alone: its "
        f"area under the curve is larger by {interval(gain, 4)} "
        f"(FashionMNIST, {runs_word(len(total['runs']))}{beside}).{alike}{unequal}"
    )


def _less(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """The paired difference of two means over runs."""
    return {
        "runs": [x - y for x, y in zip(a["runs"], b["runs"], strict=True)],
        "mean": a["mean"] - b["mean"],
    }


def _negative(cell: dict[str, Any]) -> dict[str, Any]:
    return {"mean": -cell["mean"], "low": -cell["high"], "high": -cell["low"]}


def _detect(folder: Results) -> Iterator[str]:
    each, best = [], set()
    for name, stored in folder.find("ood"):
        if name not in ("fashion-mnist-paper", "cifar10-paper"):
            continue
        for other in dict.fromkeys(key.split(" | ")[0] for key in stored["numbers"]["auroc"]):
            of = {
                s: stored["numbers"]["auroc"][f"{other} | label-wise entropy | {part}"]["mean"]
                for s, part in PARTS.items()
            }
            best.add(max(of, key=lambda s: of[s]))
            values = ", ".join(f"{s} {number(x, 3)}" for s, x in of.items())
            each.append(
                f"{TITLES.get(other, other)} {values}, {runs_word(stored['about']['runs'])}"
            )
    if each:
        words = (
            "none is always best" if len(best) > 1 else f"{best.pop()} was highest on each of ours"
        )
        yield (
            "To detect out-of-distribution inputs, compare epistemic, total and aleatoric "
            f"uncertainty on your own data: {words} ({'; '.join(each)})."
        )


def _members(folder: Results) -> Iterator[str]:
    """What matters more, the number of members or the measure: the ranges of the AUROC of epistemic
    uncertainty.
    """
    found: dict[str, tuple[dict[str, float], tuple[str, ...], str]] = {}
    prints = folder.fingerprint()
    if prints is not None:
        cells = {key: cell["mean"] for key, cell in prints["numbers"]["by members"].items()}
        found["kmnist"] = cells, ("2", "5", "10"), "FashionMNIST against KMNIST"
    for name, stored in folder.find("ood", "cifar10"):
        if name == "cifar10-paper" and "auroc by members" in stored["numbers"]:
            found["svhn"] = (
                stored["numbers"]["auroc by members"],
                ("2", "5"),
                f"CIFAR-10 against SVHN, {runs_word(stored['about']['runs'])}",
            )
    more: dict[bool, list[str]] = {True: [], False: []}
    for other, (cells, sizes, words) in found.items():
        of = {m: [cells[f"{other} | {m} | {size}"] for size in sizes] for m in MEASURES}
        by_size = max(abs(x[-1] - x[0]) for x in of.values())
        by_measure = max(
            max(x[i] for x in of.values()) - min(x[i] for x in of.values())
            for i in range(len(sizes))
        )
        levels = ", ".join(number(x, 3) for x in of["entropy"])
        more[by_size > by_measure].append(
            f"{words}: mutual information {levels} with {', '.join(sizes[:-1])} and {sizes[-1]} "
            f"members, up to {number(by_measure, 3)} between measures"
        )
    verdicts = {
        True: "the number of members mattered more than the measure",
        False: "the measure mattered more than the number of members",
    }
    parts = [f"{verdicts[size]} ({'; '.join(each)})" for size, each in more.items() if each]
    if parts:
        yield (
            f"For detection, try several measures and more members: {'; elsewhere, '.join(parts)}."
        )


def _arithmetic(folder: Results) -> Iterator[str]:
    prints, parts = folder.fingerprint(), []
    if prints is not None:
        lost = [
            prints["numbers"]["trainings"]["fashion-mnist-paper"][f"mnist | {score}"]
            for score in ("variance", "variance, float32")
        ]
        parts.append(
            "Compute epistemic uncertainty without cancellation: p (p − mean) in single precision "
            "moves the AUROC of the variance against MNIST from "
            f"{number(lost[0], 4)} to {number(lost[1], 4)}."
        )
    for _, stored in folder.find("artifact", "cifar10")[:1]:
        every = [
            x
            for key, values in stored["numbers"]["subsets"].items()
            if key.startswith("not scaled | transposed")
            for x in values
        ]
        high, low = sum(x > NEAR_ONE for x in every), sum(x < 1 - NEAR_ONE for x in every)
        few = f", but nearly 0 for {low}" if low else ""
        parts.append(
            "Check the preprocessing: pixels that were not scaled made the epistemic uncertainty "
            "of familiar images look out-of-distribution for "
            f"{high} of {len(every)} sets of members{few}."
        )
    if parts:
        yield " ".join(parts)


def _new_data(folder: Results) -> Iterator[str]:
    stored = dict(folder.find("holdout", "fashion-mnist")).get("holdout-fashion-mnist-paper")
    if stored is None:
        return
    effect = stored["numbers"]["effect"]["swap − no-swap"]
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
