"""What the tables of each experiment say, in words above them."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from typing import Any

from ..pages import interval, number, spread
from ..text import counted
from .claims import ENOUGH, change, verdict_on
from .holdout_numbers import SAME_CLASS, effect_in_words
from .intervals import excludes_zero, paired_difference, simultaneous, welch
from .provenance import TITLES, Results, in_words
from .published_tables import TABLE_2
from .records import Record, distinct, pick, select
from .tables import above_and_below, measure_in_words, percent

__all__ = [
    "arc_in_words",
    "artifact_in_words",
    "holdout_in_words",
    "human_in_words",
    "losses_in_words",
    "ood_in_words",
]


def arc_in_words(folder: Results) -> Iterator[str]:
    """How steadily the curves rise, and what the measure is worth."""
    steady, worth = [], []
    for name, stored in folder.find("arc"):
        numbers = stored["numbers"]
        steady += [x["mean"] for x in numbers["monotonicity"] if x["mean"] is not None]
        largest = max(abs(cell["mean"]) for cell in numbers["area difference"])
        worth.append(f"{number(largest, 5)} ({in_words(name, stored)})")
    if worth:
        yield (
            "*In words:* the curves rise almost everywhere: their monotonicity is at least "
            f"{floor(1e4 * min(steady)) / 1e4:.4f}, where 1 means that they never fall. (The noisy "
            "end, where few instances are left, has little weight.) The choice of the measure is "
            f"worth an area of at most {'; '.join(worth)}.\n"
        )


def ood_in_words(folder: Results) -> Iterator[str]:
    """Which differences between measures are clear when tested together."""
    for _, stored in folder.find("ood", "fashion-mnist")[:1]:
        differences = select(stored["numbers"]["auroc difference"], part="epistemic")
        clear = []
        for cell in differences:
            at = simultaneous(cell, len(differences))
            if excludes_zero(at):
                where = TITLES.get(cell["set"], cell["set"])
                clear.append(f"{where}, {measure_in_words(cell)}: {interval(at, 4)}")
        which = f" ({'; '.join(clear)})" if clear else ""
        yield (
            f"*In words:* of the {len(differences)} differences between measures on "
            f"FashionMNIST, {len(clear)} are clear when tested together{which}.\n"
        )


def artifact_in_words(folder: Results) -> Iterator[str]:
    """Why mishandled images look out-of-distribution."""
    for name, stored in folder.find("artifact", "cifar10")[:1]:
        numbers = stored["numbers"]
        mishandled = {"pixels": "not scaled", "orientation": "transposed"}
        parts, every = [], []
        for subsets in select(numbers["subsets"], **mishandled):
            below, middle, above = above_and_below(subsets["auroc"])
            parts.append(
                f"of {len(subsets['auroc'])} with {subsets['members']} members {above} above .9, "
                f"{middle} between, {below} below .1"
            )
            every += subsets["auroc"]
        confidence = pick(numbers["confidence"], set="cifar10", **mishandled)
        below, _, above = above_and_below(every)
        usually = "not near 1 for most, although"
        if above > len(every) / 2:
            usually = "usually near 1, because"
        agreed = ""
        if below:
            agreed = (
                "; where they happen to be certain of the same class, epistemic uncertainty is "
                "nearly 0 and the AUROC with it"
            )
        yield (
            f"*In words ({in_words(name, stored)}):* the AUROC is {usually} saturated members "
            f"(mean confidence {spread(confidence)}) are certain of different classes{agreed}. "
            f"{'; '.join(parts).capitalize()}.\n"
        )


def holdout_in_words(folder: Results) -> Iterator[str]:
    """Drops and effects of the new images, by data set."""
    for data in ("fashion-mnist", "cifar10"):
        for _, stored in folder.find("holdout", data)[:1]:
            yield from _holdout_on(data, stored["numbers"])


def _holdout_on(data: str, numbers: dict[str, Any]) -> Iterator[str]:
    """What the runs on one data set say."""
    effects = select(numbers["effect"], arm="swap")
    effect = pick(effects, among=None)
    enough = len(effect["runs"]) >= ENOUGH
    runs = counted(len(effect["runs"]), "run")
    drop = {arm: of["drop"]["relative"]["selected"] for arm, of in numbers["table"].items()}
    mean, sd = TABLE_2[data]["relative"]["selected"]
    beside = ""
    if enough:
        beside = f"; ours − paper's {interval(welch(drop['swap']['runs'], (mean, sd)))}"
    same, known = numbers["same class by mean over own instances"]
    yield (
        f"*Ours, {TITLES[data]}, {runs}:* relative drop {spread(drop['swap'])} "
        f"with new images (the paper's {number(mean, 3)} ± {number(sd, 3)}"
        f"{beside}), {spread(drop['no-swap'])} without. The text's rule, the mean over a "
        "class's own images, selects the same class "
        f"as the code's in {same} of {known} runs.\n"
    )
    if enough:
        also = ""
        for cell in select(effects, among=SAME_CLASS):
            if cell["low"] is not None:
                also = (
                    " Only the runs in which the text's rule selects the same class: "
                    f"{change(cell)}, {verdict_on(cell)}."
                )
        yield (
            "*In words:* continued training lowers EU with or without new images; the new "
            f"images change it by {change(effect)}. So many runs have an 80 % chance of showing "
            f"a true drop of {percent(effect['detectable'])}.{also}\n"
        )
    else:
        yield (
            f"{runs.capitalize()} give {interval(effect)} for log EU(swap) − log "
            "EU(no swap): values without a verdict.\n"
        )
    if data == "cifar10":
        yield (
            "In the very epoch of the swap, the learning rate falls 100-fold by the text's "
            "schedule, which we follow (10-fold in the published "
            "script): the arms with a constant rate separate the two.\n"
        )
    if {"swap-constant", "no-swap-constant"} <= set(drop):
        relative = {arm: number(cell["mean"], 3) for arm, cell in drop.items()}
        yield (
            "With a constant rate, the relative drop (negative: a rise) is "
            f"{relative['swap-constant']} with new images and {relative['no-swap-constant']} "
            f"without ({counted(numbers['table']['swap-constant']['runs'], 'run')}, from other "
            f"checkpoints; with the falling rate {relative['swap']} and {relative['no-swap']}).\n"
        )
    others = [cell for cell in numbers["effect"] if cell["arm"] != "swap"]
    if others:
        each = (
            f"{effect_in_words(cell).replace('-', ' ')} {interval(cell)} ({_found(cell)})"
            for cell in others
        )
        few = ""
        if min(len(cell["runs"]) for cell in others) < ENOUGH:
            few = ": values without a verdict"
        yield f"Other arms, difference in log EU: {'; '.join(each)}{few}.\n"


def _found(cell: Record) -> str:
    runs = counted(len(cell["runs"]), "run")
    if len(cell["runs"]) < ENOUGH:
        return runs
    return f"{runs}, with an 80 % chance of showing a drop of {percent(cell['detectable'])}"


def losses_in_words(folder: Results) -> Iterator[str]:
    """Which loss is highest, and which others cannot be told from it."""
    for name, stored in folder.find("losses"):
        each = _indistinguishable(stored["numbers"]["value"])
        yield f"*{in_words(name, stored)}:* {'; '.join(each)}.\n"


def _indistinguishable(values: list[Record]) -> Iterator[str]:
    """For each task the highest mean, and which others a paired test with simultaneous intervals
    cannot tell from it.
    """
    for task in distinct(values, "task"):
        cells = select(values, task=task)
        best = max(cells, key=lambda cell: cell["mean"])
        what = "rejecting errors" if task == "rejection" else f"detecting {TITLES.get(task, task)}"
        top = f"{best['part']} uncertainty under {best['loss']} loss ({spread(best, 4)})"
        if len(best["runs"]) < 2:
            yield f"{what}: {top} is highest, but one run is too few to name a winner"
            continue
        pairs = len(cells) * (len(cells) - 1) // 2  # the highest is chosen by the same runs
        close = []
        for cell in cells:
            apart = simultaneous(paired_difference(best, cell), pairs)
            if cell is not best and apart["low"] <= 0:
                close.append(f"{cell['part']} {cell['loss']}")
        verdict = f"not distinguishable from {', '.join(close)}" if close else "above all others"
        yield f"{what}: {top}, {verdict}"


def human_in_words(folder: Results) -> Iterator[str]:
    """What correlates with the spread of votes, by label and by class."""
    scores = {
        "probability": "predicted probability",
        "TU": "total",
        "AU": "aleatoric",
        "EU": "epistemic",
    }
    for i, (name, stored) in enumerate(folder.find("human")):
        numbers = stored["numbers"]
        classes = {
            short: pick(numbers["spearman of the class means, over classes"], score=score)
            for short, score in scores.items()
        }
        each = ", ".join(f"{short} {interval(cell)}" for short, cell in classes.items())
        if i > 0:
            words = in_words(name, stored, with_data=False)
            yield f"Trainings differ in this: {words}: {each}.\n"
            continue
        probability, tu, au, eu = (
            spread(pick(numbers["mean over labels"], score=score)) for score in scores.values()
        )
        clear = [short for short, cell in classes.items() if cell["low"] > 0]
        yield (
            f"*In words ({in_words(name, stored)}):* label by label, the spread of votes "
            f"correlates with the predicted probability itself ({probability}), TU ({tu}), AU "
            f"({au}) and EU ({eu}). Which *classes* people disagree on is another question. The "
            "correlation of the means of the 10 classes is clearly positive for "
            f"{', '.join(clear) or 'none'}: {each}.\n"
        )
