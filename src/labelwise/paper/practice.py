"""What follows from the results for practice: five sentences."""

from __future__ import annotations

from collections.abc import Iterator

from .claims import limit
from .provenance import TITLES, Results
from .tables import number, runs_word

__all__ = ["practice"]

PARTS = {"EU": "epistemic", "TU": "total", "AU": "aleatoric"}


def practice(folder: Results) -> Iterator[str]:
    """The sentences whose numbers are there."""
    for name, stored in folder.find("losses", "fashion-mnist"):
        if name == "fashion-mnist-paper":
            area = {
                key.removeprefix("rejection | "): x["mean"] for key, x in stored["numbers"]["value"].items() if key.startswith("rejection")
            }
            alike = [area[f"{loss} | total"] for loss in ("log", "squared", "spherical", "zero-one")]
            costs = min(area[f"cost {ratio} | total"] for ratio in ("1 : 9", "9 : 1"))
            ends = " to ".join(dict.fromkeys(number(x, 4) for x in (min(alike), max(alike))))
            yield (
                f"1. To reject errors, rank by total uncertainty. Log, squared, spherical and zero-one loss hardly differ (area {ends}); "
                f"epistemic uncertainty alone ({number(area['log | epistemic'], 4)}) and "
                f"unequal costs (down to {number(costs, 4)}) reject worse."
            )
    each, best = [], set()
    for name, stored in folder.find("ood"):
        if name not in ("fashion-mnist-paper", "cifar10-paper"):
            continue
        for other in dict.fromkeys(key.split(" | ")[0] for key in stored["numbers"]["auroc"]):
            of = {s: stored["numbers"]["auroc"][f"{other} | label-wise entropy | {part}"]["mean"] for s, part in PARTS.items()}
            best.add(max(of, key=lambda s: of[s]))
            values = ", ".join(f"{s} {number(x, 3)}" for s, x in of.items())
            each.append(f"{TITLES.get(other, other)} {values}, {runs_word(stored['about']['runs'])}")
    if each:
        words = "none is always best" if len(best) > 1 else f"{best.pop()} was highest on each of ours"
        yield f"2. To detect out-of-distribution inputs, compare epistemic, total and aleatoric uncertainty on your own data: {words} ({'; '.join(each)})."
    prints = folder.fingerprint()
    if prints is not None:
        by, sizes = prints["numbers"]["by members"], ("2", "5", "10")
        levels = [by[f"kmnist | entropy | {size}"]["mean"] for size in sizes]
        widest = max(abs(by[f"kmnist | variance − entropy | {size}"]["mean"]) for size in sizes)
        yield (
            "3. The number of members matters more than the choice among variance, label-wise entropy and entropy: with 2, 5 and 10 members, "
            f"EU detects KMNIST with an AUROC of {', '.join(number(x, 3) for x in levels)}; the three measures differ by at most {number(widest, 3)} (FashionMNIST)."
        )
        lost = [prints["numbers"]["trainings"]["fashion-mnist-paper"][f"mnist | {score}"] for score in ("variance", "variance, float32")]
        yield (
            "4. Compute epistemic uncertainty as a mean divergence, not as a difference in single precision: that alone moves the AUROC of the "
            f"variance against MNIST from {number(lost[0], 4)} to {number(lost[1], 4)}. And check the preprocessing: broken inputs can make "
            "members agree, with an epistemic uncertainty of 0."
        )
    for name, stored in folder.find("holdout", "fashion-mnist"):
        if name == "holdout-fashion-mnist-paper":
            effect = stored["numbers"]["effect"]["swap − no-swap"]
            yield (
                f"5. That a class has the highest epistemic uncertainty does not show that new images of it will lower it: with them {limit(effect)}, in "
                f"{runs_word(len(effect['runs']))} of a small training set. Judge acquisition against a control."
            )
