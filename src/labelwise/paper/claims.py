"""The first screen of the results page: each claim of the paper with a verdict and its evidence, and what follows for practice."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, sqrt
from statistics import fmean, variance
from typing import Any

from ..evaluation import mean_over_runs
from .provenance import TITLES, Results
from .published_tables import TABLE_1, TABLE_2
from .scores import MEASURES
from .tables import interval, number, percent, runs_word, spread

__all__ = ["claims", "practice", "simultaneous", "welch"]

HELD, NOT_HELD, NOT_REFUTED, UNTESTED = "**holds**", "**does not hold**", "not refuted", "could not be tested"
Cells = dict[str, Any]


def claims(folder: Results) -> Iterator[str]:
    """Rows of the table, in the paper's order."""
    for row in (*_rejection(folder), *_detection(folder), *_artifact(folder), *_holdout(folder)):
        yield "| " + " | ".join(row) + " |"
    reason = "the volumes were not available, and the authors' slices are not published"
    yield f"| PET/CT: label-wise uncertainty of slices, rejection (Figs. 2 and 4) | {UNTESTED} | {reason} |"


def simultaneous(cell: Cells, family: int) -> Cells:
    """The mean over runs with a 95 % interval for all of a family of comparisons together (Bonferroni)."""
    if len(cell["runs"]) < 2:
        return {"mean": cell["mean"], "low": None, "high": None}
    found = mean_over_runs(cell["runs"], confidence=1 - 0.05 / family)
    return {"mean": cell["mean"], "low": float(found.low), "high": float(found.high)}


def welch(runs: list[float], theirs: tuple[float, float], *, family: int = 1, count: int = 5) -> Cells:
    """The mean of our runs less that of theirs (mean and deviation of ``count`` runs) with Welch's interval; one run is taken to vary like theirs."""
    from scipy.stats import t

    mean, sd = theirs
    n, own = len(runs), fmean(runs)
    b = sd**2 / count
    a = sd**2 if n == 1 else variance(runs) / n
    freedom = count - 1 if n == 1 else (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (count - 1))
    reach = float(t.ppf(1 - 0.025 / family, freedom)) * sqrt(a + b)
    return {"mean": own - mean, "low": own - mean - reach, "high": own - mean + reach}


def _excludes_zero(cell: Cells) -> bool:
    return cell["low"] is not None and (cell["low"] > 0 or cell["high"] < 0)


def _rejection(folder: Results) -> Iterator[list[str]]:
    claim = "Rejecting by any of the three measures raises accuracy, and they nearly coincide (Fig. 3)"
    found = [(name, stored) for name, stored in folder.find("arc") if name == "fashion-mnist-paper"]
    if not found:
        yield [claim, UNTESTED, "`labelwise reproduce arc --data fashion-mnist --runs 5`"]
    for _, stored in found:
        numbers = stored["numbers"]
        steady = min(cell["mean"] for cell in numbers["monotonicity"].values())
        family = len(numbers["area difference"])
        apart = {key: simultaneous(cell, family) for key, cell in numbers["area difference"].items()}
        key = max(apart, key=lambda key: abs(apart[key]["mean"]))
        words = key.replace(" | epistemic", " (EU)").replace(" | total", " (TU)").replace(" | aleatoric", " (AU)")
        evidence = (
            f"FashionMNIST, {runs_word(stored['about']['runs'])}: accuracy {number(numbers['accuracy']['mean'], 3)}, area under the curve "
            f"{number(numbers['area']['label-wise entropy | total']['mean'], 4)}; largest of {family} differences: {words} {interval(apart[key], 5)}"
        )
        yield [claim, HELD if steady > 0.95 and abs(apart[key]["mean"]) < 0.001 else NOT_HELD, evidence]
    missing = [data for data in ("kmnist", "svhn") if not folder.find("arc", data)]
    if missing:
        titles = " and ".join(TITLES[data] for data in missing)
        yield [f"The same on {titles}", UNTESTED, "their training files were not available; only test sets are used here"]


def _detection(folder: Results) -> Iterator[list[str]]:
    data = "fashion-mnist"
    found = dict(folder.find("ood", data)).get(f"{data}-paper")
    others = list(TABLE_1[data])
    if found is None or not all(f"{other} | entropy | epistemic" in found["numbers"]["auroc"] for other in others):
        yield ["FashionMNIST against MNIST and KMNIST (Table 1)", UNTESTED, f"`labelwise reproduce ood --data {data} --runs 5`"]
    else:
        yield from _table_1(found, data, others)
    yield from _svhn(folder)


def _svhn(folder: Results) -> Iterator[list[str]]:
    levels, order = (
        "CIFAR-10 against SVHN: AUROC .745 to .761 (Table 1)",
        "CIFAR-10 against SVHN: the variance detects best (by .001 and .016)",
    )
    found = [
        (name, stored)
        for name, stored in folder.find("ood", "cifar10")
        if f"svhn | {MEASURES[0]} | epistemic" in stored["numbers"]["auroc"]
    ]
    if not found:
        yield [levels, UNTESTED, "`labelwise reproduce ood --data cifar10 --runs 5`"]
    for name, stored in found[:1]:  # the paper's recipe, if it is there
        numbers, runs = stored["numbers"], stored["about"]["runs"]
        ours = {m: numbers["auroc"][f"svhn | {m} | epistemic"] for m in MEASURES}
        values = ", ".join(f"{m} {spread(cell)}" for m, cell in ours.items())
        subset = "SVHN: the first 10,000 of 26,032 test digits, re-cropped from the street numbers"
        if name != "cifar10-paper":
            what = name.removeprefix("cifar10-paper-").replace("-", " ")
            yield [levels, UNTESTED, f"{runs_word(runs)} ({what}): {values}; {subset}"]
            return
        gaps = {m: welch(cell["runs"], TABLE_1["cifar10"]["svhn"][m], family=len(MEASURES)) for m, cell in ours.items()}
        refuted = any(map(_excludes_zero, gaps.values()))
        apart = ", ".join(f"{m} {interval(gap)}" for m, gap in gaps.items())
        yield [levels, NOT_HELD if refuted else NOT_REFUTED, f"{runs_word(runs)}: {values}; ours − paper's: {apart}; {subset}"]
        pairs = [f"svhn | variance − {m}" for m in ("entropy", "label-wise entropy")]
        if runs == 1:
            cells = [numbers["auroc difference, instances of run 0"][pair] for pair in pairs]
            words = " and ".join(interval(cell, 4) for cell in cells)
            yield [order, UNTESTED, f"in 1 run, by {words} (over test images; it may be otherwise in another training)"]
            return
        cells = [simultaneous(numbers["auroc difference"][f"{pair} | epistemic"], len(pairs)) for pair in pairs]
        verdict = HELD if all(cell["low"] > 0 for cell in cells) else NOT_HELD if any(cell["high"] < 0 for cell in cells) else NOT_REFUTED
        yield [order, verdict, f"{runs_word(runs)}: by {' and '.join(interval(cell, 4) for cell in cells)}"]


def _table_1(found: Cells, data: str, others: list[str]) -> Iterator[list[str]]:
    numbers, runs = found["numbers"], runs_word(found["about"]["runs"])
    family = len(others) * len(MEASURES)
    apart = {
        (other, a): simultaneous(numbers["auroc difference"][f"{other} | {a} − entropy | epistemic"], family)
        for other in others
        for a in ("variance", "label-wise entropy")
    }
    lower = all(_excludes_zero(apart[other, "variance"]) and apart[other, "variance"]["mean"] < 0 for other in others)
    yield [
        "FashionMNIST: the variance detects slightly worse than the entropies (Table 1: by .013 and .010)",
        HELD if lower else NOT_HELD,
        f"{runs}: " + ", ".join(f"{TITLES[other]} {interval(apart[other, 'variance'], 4)}" for other in others),
    ]
    small = all(abs(x) < 0.003 for other in others for x in (apart[other, "label-wise entropy"][k] or 1 for k in ("low", "high")))
    yield [
        "FashionMNIST: label-wise entropy and entropy are nearly the same (.001 and .002 apart)",
        HELD if small else NOT_HELD,
        f"{runs}: " + ", ".join(f"{TITLES[other]} {interval(apart[other, 'label-wise entropy'], 4)}" for other in others),
    ]
    gaps = {}
    for other in others:
        gaps[other] = welch(numbers["auroc"][f"{other} | entropy | epistemic"]["runs"], TABLE_1[data][other]["entropy"], family=len(others))
    refuted = [TITLES[other] for other, gap in gaps.items() if _excludes_zero(gap)]
    verdict = NOT_HELD if len(refuted) == len(gaps) else f"{NOT_HELD} ({' and '.join(refuted)})" if refuted else NOT_REFUTED
    levels = " and ".join(f"{TABLE_1[data][other]['entropy'][0]:.3f}".lstrip("0") for other in others)
    yield [
        f"FashionMNIST: AUROC {levels} with five members (Table 1, entropy)",
        verdict,
        f"{runs}: "
        + ", ".join(
            f"{TITLES[other]} {spread(numbers['auroc'][f'{other} | entropy | epistemic'])} (ours − paper's {interval(gap)})"
            for other, gap in gaps.items()
        )
        + ("; see [the gap to the paper](#the-gap-to-the-paper)" if refuted else ""),
    ]


def _artifact(folder: Results) -> Iterator[list[str]]:
    claim = "CIFAR-10.2 is told from CIFAR-10 with AUROC .998 to 1.00 (Table 1)"
    found = folder.find("artifact", "cifar10")
    if not found:
        yield [claim, UNTESTED, "`labelwise reproduce artifact --data cifar10`"]
        return
    _, stored = found[0]
    numbers, members = stored["numbers"], stored["about"]["setting"]["members"]
    pairs = numbers["subsets"]["not scaled | transposed | 2"]
    same = numbers["auroc"]["cifar10 | not scaled | transposed | label-wise entropy"]
    yield [
        claim,
        NOT_HELD,
        f"an artifact: CIFAR-10's *own* test images, with pixels of 0 … 255 and transposed as in the published code, give {spread(same)} with "
        f"{members} members; of {len(pairs)} pairs of members {sum(x > 0.9 for x in pairs)} give above .9, {sum(x < 0.1 for x in pairs)} below .1",
    ]


def _holdout(folder: Results) -> Iterator[list[str]]:
    for data in TABLE_2:
        claim = f"{TITLES[data]}: the EU of the class with the highest EU falls because it gets new images (Table 2)"
        found = folder.find("holdout", data)
        if not found:
            yield [claim, UNTESTED, f"`labelwise reproduce holdout --data {data} --runs 5`"]
        for _, stored in found[:1]:
            effect = stored["numbers"]["effect"]["swap − no-swap"]
            n = len(effect["runs"])
            if n < 10:
                words = "effect of the new images, log EU(swap) − log EU(no swap)"
                yield [claim, UNTESTED, f"{runs_word(n)} are too few: {words} {interval(effect)}"]
                continue
            verdict = HELD if effect["high"] < 0 else NOT_HELD
            yield [claim, verdict, f"{runs_word(n)}: EU falls as much without them; with them {limit(effect)}"]
        arrays = folder.published(data)
        if arrays is not None:
            columns, printed = arrays["numbers"]["drop"]["absolute"]["next highest"], TABLE_2[data]["absolute"]["next highest"][0]
            yield [
                f"{TITLES[data]}: the next highest drop is {printed:.4f} ± .0000 (Table 2)",
                NOT_HELD,
                f"{spread(columns, 4)} from the authors' own arrays, {runs_word(arrays['about']['runs'])}: it was taken over runs instead of classes",
            ]


def limit(effect: Cells) -> str:
    """What can be excluded: the end of the interval, in percent of EU."""
    largest = f"a drop of more than {percent(-effect['low'])}" if effect["low"] < 0 else "a drop"
    change = 100 * (exp(effect["mean"]) - 1)
    low, high = (100 * (exp(effect[key]) - 1) for key in ("low", "high"))
    return (
        f"the final EU differs by {_signed(change)} [{_signed(low)}, {_signed(high)}] from that without them: {largest} is ruled out "
        f"(80 % power to find one of {percent(effect['detectable'])})"
    )


def _signed(x: float) -> str:
    """Percent with their sign.

    >>> _signed(7.4), _signed(-5.2), _signed(-0.3)
    ('+7 %', '−5 %', '0 %')
    """
    rounded = round(x)
    return f"{'+' * (rounded > 0)}{number(rounded, 0)} %"


def practice(folder: Results) -> Iterator[str]:
    """Five sentences, as far as their numbers are there."""
    for name, stored in folder.find("arc", "fashion-mnist"):
        if name == "fashion-mnist-paper":
            area = stored["numbers"]["area"]
            values = {part: number(area[f"label-wise entropy | {part}"]["mean"], 4) for part in ("total", "epistemic")}
            yield (
                f"1. To reject errors, rank by total uncertainty; the loss hardly matters (area {values['total']}; by epistemic uncertainty "
                f"alone {values['epistemic']})."
            )
    sets = {
        other: {
            part: stored["numbers"]["auroc"][f"{other} | label-wise entropy | {part}"]["mean"]
            for part in ("epistemic", "total", "aleatoric")
        }
        for name, stored in reversed(folder.find("ood"))
        for other in dict.fromkeys(key.split(" | ")[0] for key in stored["numbers"]["auroc"])
    }
    if sets:
        each = [
            f"{TITLES.get(other, other)} EU {number(of['epistemic'], 3)}, TU {number(of['total'], 3)}, AU {number(of['aleatoric'], 3)}"
            for other, of in sets.items()
        ]
        yield f"2. To detect out-of-distribution inputs, compare epistemic with total uncertainty on your own data: neither is always best ({'; '.join(each)})."
    prints = folder.fingerprint()
    if prints is not None:
        by, sizes = prints["numbers"]["by members"], ("2", "5", "10")
        levels = [by[f"kmnist | entropy | {size}"]["mean"] for size in sizes]
        widest = max(abs(by[f"kmnist | variance − entropy | {size}"]["mean"]) for size in sizes)
        yield (
            f"3. The number of members matters more than the measure: with 2, 5 and 10 members the AUROC against KMNIST is "
            f"{', '.join(number(x, 3) for x in levels)}; the measures differ by at most {number(widest, 3)}."
        )
        lost = [prints["numbers"]["trainings"]["fashion-mnist-paper"][f"mnist | {score}"] for score in ("variance", "variance, float32")]
        yield (
            "4. Compute epistemic uncertainty as a mean divergence, not as a difference in single precision: that alone moves the AUROC of the "
            f"variance against MNIST from {number(lost[0], 4)} to {number(lost[1], 4)}. And check the preprocessing: broken inputs can have "
            "an epistemic uncertainty of 0."
        )
    for name, stored in folder.find("holdout", "fashion-mnist"):
        if name == "holdout-fashion-mnist-paper":
            effect = stored["numbers"]["effect"]["swap − no-swap"]
            yield (
                f"5. That a class has the highest epistemic uncertainty does not show that new images of it will lower it: with them {limit(effect)}, in "
                f"{runs_word(len(effect['runs']))} of a small training set. Judge acquisition against a control."
            )
