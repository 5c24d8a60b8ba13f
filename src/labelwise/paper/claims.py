"""The first screen of the results page: each claim of the paper with a verdict and its evidence.

A claim *holds* where an interval confirms it, *does not hold* where one contradicts it, and is *not refuted* otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import exp, log

from .intervals import Cells, excludes_zero, simultaneous, welch
from .provenance import TITLES, Results
from .published_tables import TABLE_1, TABLE_2
from .scores import MEASURES
from .tables import interval, number, percent, runs_word, spread

__all__ = ["claims", "cutoffs", "limit"]

HELD, NOT_HELD, NOT_REFUTED, UNTESTED = "**holds**", "**does not hold**", "not refuted", "could not be tested"
COINCIDE, NEARLY, RELEVANT, ENOUGH = 0.001, 0.003, 0.1, 10
"""Areas and AUROCs that (nearly) coincide; a share of EU that matters; runs below which there is no verdict on an effect."""


def cutoffs() -> str:
    """What the verdicts take for small and for enough."""
    return (
        f"Verdicts use intervals. Areas coincide if they differ by less than {COINCIDE}, AUROCs are nearly the same below {NEARLY}; that new images "
        f"lower EU does not hold if a drop of {100 * RELEVANT:.0f} % is excluded, and there is no verdict on it with fewer than {ENOUGH} runs."
    )


def claims(folder: Results) -> Iterator[str]:
    """Rows of the table, in the paper's order."""
    for row in (*_rejection(folder), *_detection(folder), *_artifact(folder), *_holdout(folder)):
        yield "| " + " | ".join(row) + " |"
    reason = "the volumes were not available, and the authors' slices are not published"
    yield f"| PET/CT: label-wise uncertainty of slices, rejection (Figs. 2 and 4) | {UNTESTED} | {reason} |"


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
        yield [claim, _small(apart.values(), COINCIDE) if steady > 0.95 else NOT_HELD, evidence + _single_runs(folder)]
    missing = [data for data in ("kmnist", "svhn") if not folder.find("arc", data)]
    if missing:
        titles = " and ".join(TITLES[data] for data in missing)
        yield [f"The same on {titles}", UNTESTED, "their training files were not available; only test sets are used here"]


def _single_runs(folder: Results) -> str:
    """The largest difference of the area where there is one run, on harder images."""
    parts = []
    for _, stored in folder.find("arc", "cifar10")[:1]:
        if stored["about"]["runs"] == 1:
            widest = max(abs(cell["mean"]) for cell in stored["numbers"]["area difference"].values())
            parts.append(
                f"; CIFAR-10, 1 run, without a verdict: accuracy {number(stored['numbers']['accuracy']['mean'], 3)}, differences up to {number(widest, 3)}"
            )
    return "".join(parts)


def _small(cells: Iterable[Cells], limit: float) -> str:
    """Whether all differences are smaller than ``limit``, by their intervals."""
    ends = [(cell["low"], cell["high"]) for cell in cells]
    if any(low is None for low, _ in ends):
        return UNTESTED
    if all(-limit < low and high < limit for low, high in ends):
        return HELD
    return NOT_HELD if any(low > limit or high < -limit for low, high in ends) else NOT_REFUTED


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
        refuted = any(map(excludes_zero, gaps.values()))
        apart = ", ".join(f"{m} {interval(gap)}" for m, gap in gaps.items())
        missed = "**not reproduced**" if runs == 1 else NOT_HELD
        yield [levels, missed if refuted else NOT_REFUTED, f"{runs_word(runs)}: {values}; ours − paper's: {apart}; {subset}"]
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
    below = [apart[other, "variance"] for other in others]
    sign = NOT_REFUTED
    if all(excludes_zero(cell) for cell in below):
        sign = f"{HELD} (the sign)" if all(cell["mean"] < 0 for cell in below) else NOT_HELD
    yield [
        "FashionMNIST: the variance detects slightly worse than the entropies (Table 1: by .013 and .010)",
        sign,
        f"{runs}: " + ", ".join(f"{TITLES[other]} {interval(apart[other, 'variance'], 4)}" for other in others),
    ]
    yield [
        "FashionMNIST: label-wise entropy and entropy are nearly the same (.001 and .002 apart)",
        _small([apart[other, "label-wise entropy"] for other in others], NEARLY),
        f"{runs}: " + ", ".join(f"{TITLES[other]} {interval(apart[other, 'label-wise entropy'], 4)}" for other in others),
    ]
    gaps = {}
    for other in others:
        gaps[other] = welch(numbers["auroc"][f"{other} | entropy | epistemic"]["runs"], TABLE_1[data][other]["entropy"], family=len(others))
    refuted = [TITLES[other] for other, gap in gaps.items() if excludes_zero(gap)]
    open_ = [TITLES[other] for other, gap in gaps.items() if not excludes_zero(gap)]
    verdict = (
        NOT_HELD
        if not open_
        else NOT_REFUTED
        if not refuted
        else f"{NOT_HELD} ({' and '.join(refuted)}), {NOT_REFUTED} ({' and '.join(open_)})"
    )
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
    artifact = same["mean"] > 0.9
    yield [
        claim,
        f"{NOT_HELD} (as evidence)" if artifact else UNTESTED,
        f"{'an artifact: ' * artifact}CIFAR-10's *own* test images, with pixels of 0 … 255 and transposed as in the published code, give {spread(same)} with "
        f"{members} members; of {len(pairs)} pairs of members {sum(x > 0.9 for x in pairs)} give above .9, {sum(x < 0.1 for x in pairs)} below .1; "
        "CIFAR-10.2 itself was not available",
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
            if n < ENOUGH:
                words = "effect of the new images, log EU(swap) − log EU(no swap)"
                yield [claim, UNTESTED, f"{runs_word(n)} are too few: {words} {interval(effect)}"]
                continue
            verdict = HELD if effect["high"] < 0 else NOT_HELD if effect["low"] > log(1 - RELEVANT) else NOT_REFUTED
            yield [claim, verdict, f"{runs_word(n)}: with new images {limit(effect)}"]
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
        f"the final EU differs by {_signed(change)} [{_signed(low)}, {_signed(high)}] from that without them: the interval excludes {largest} "
        f"(so many runs can be expected to find one of {percent(effect['detectable'])} or more)"
    )


def _signed(x: float) -> str:
    """Percent with their sign.

    >>> _signed(7.4), _signed(-5.2), _signed(-0.3)
    ('+7 %', '−5 %', '0 %')
    """
    rounded = round(x)
    return f"{'+' * (rounded > 0)}{number(rounded, 0)} %"
