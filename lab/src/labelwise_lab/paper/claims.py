"""The first screen of the results page: each claim of the paper with a verdict and its evidence.

A claim *holds* where an interval confirms it, *does not hold* where one contradicts it, and is *not
refuted* otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import exp, log

from .holdout_numbers import SAME_CLASS
from .intervals import Cells, excludes_zero, simultaneous, welch, wider
from .provenance import TITLES, Results
from .published_tables import TABLE_1, TABLE_2
from .scores import MEASURES
from .tables import interval, number, percent, runs_word, spread

__all__ = [
    "COINCIDE",
    "ENOUGH",
    "HELD",
    "NEAR_ONE",
    "NOT_HELD",
    "claims",
    "cutoffs",
    "limit",
    "verdict_on",
]

HELD, NOT_HELD, NOT_REFUTED, UNTESTED = (
    "**holds**",
    "**does not hold**",
    "not refuted",
    "could not be tested",
)
NOT_REPRODUCED, ARTIFACT = "**not reproduced**", "**artifact**"
COINCIDE, NEARLY, RELEVANT, ENOUGH, STEADY, NEAR_ONE = 0.001, 0.003, 0.1, 10, 0.95, 0.9
"""Areas and AUROCs that (nearly) coincide; a share of EU that matters; runs below which there is no
verdict on an effect; monotonicity of a curve that rises; AUROC of an artifact.
"""
SUBSET = "SVHN: the first 10,000 of 26,032 test digits, re-cropped from the street numbers"


def cutoffs() -> str:
    """What the verdicts take for small and for enough."""
    return (
        f"Verdicts use intervals. Areas coincide if they differ by less than {COINCIDE}, AUROCs "
        f"are nearly the same below {NEARLY}, a curve rises if its "
        f"monotonicity is above {STEADY}; that new images lower EU does not hold if a drop of "
        f"{100 * RELEVANT:.0f} % is excluded, and there is no "
        f"verdict on it with fewer than {ENOUGH} runs; an AUROC above {NEAR_ONE} of the same "
        "images against themselves is an artifact. These limits "
        "were set after the results were known."
    )


def claims(folder: Results) -> Iterator[str]:
    """Rows of the table, in the paper's order."""
    for row in (*_rejection(folder), *_detection(folder), *_artifact(folder), *_holdout(folder)):
        yield "| " + " | ".join(row) + " |"
    reason = "the volumes were not available, and the authors' slices are not published"
    yield (
        f"| PET/CT: label-wise uncertainty of slices, rejection (Figs. 2 and 4) | {UNTESTED} | "
        f"{reason} |"
    )


def _rejection(folder: Results) -> Iterator[list[str]]:
    places = {
        "cifar10": ("Fig. 3", ["total"]),
        "fashion-mnist": ("Appendix C.2", ["total", "aleatoric", "epistemic"]),
    }
    for data, (place, parts) in places.items():
        what = (
            "total uncertainty"
            if parts == ["total"]
            else "total, aleatoric and epistemic uncertainty"
        )
        claim = (
            f"{TITLES[data]}: rejecting by {what} raises accuracy, and the three measures nearly "
            f"coincide ({place})"
        )
        stored = dict(folder.find("arc", data)).get(f"{data}-paper")
        if stored is None:
            yield [claim, UNTESTED, f"`labelwise-lab reproduce arc --data {data} --runs 5`"]
            continue
        numbers, runs = stored["numbers"], stored["about"]["runs"]
        of = {
            key: cell
            for key, cell in numbers["area difference"].items()
            if key.split(" | ")[1] in parts
        }
        apart = {key: simultaneous(cell, len(of)) for key, cell in of.items()}
        steady = [
            cell for key, cell in numbers["monotonicity"].items() if key.split(" | ")[-1] in parts
        ]
        rises = all(
            (cell["mean"] if cell["low"] is None else cell["low"]) > STEADY
            for cell in steady
            if cell["mean"] is not None
        )
        key = max(apart, key=lambda key: abs(apart[key]["mean"]))
        words = (
            key.replace(" | epistemic", " (EU)")
            .replace(" | total", " (TU)")
            .replace(" | aleatoric", " (AU)")
        )
        evidence = (
            f"{runs_word(runs)}: accuracy {number(numbers['accuracy']['mean'], 3)}, area under the "
            "curve "
            f"{number(numbers['area']['label-wise entropy | total']['mean'], 4)}; largest of "
            f"{len(of)} differences: {words} {interval(apart[key], 5)}"
        )
        yield [claim, _small(apart.values(), COINCIDE) if rises else NOT_HELD, evidence]
    missing = [data for data in ("kmnist", "svhn") if not folder.find("arc", data)]
    if missing:
        titles = " and ".join(TITLES[data] for data in missing)
        yield [
            f"The same on {titles}",
            UNTESTED,
            "their training files were not available; only test sets are used here",
        ]


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
    if found is None or not all(
        f"{other} | entropy | epistemic" in found["numbers"]["auroc"] for other in others
    ):
        yield [
            "FashionMNIST against MNIST and KMNIST (Table 1)",
            UNTESTED,
            f"`labelwise-lab reproduce ood --data {data} --runs 5`",
        ]
    else:
        yield from _table_1(found, data, others)
    yield from _svhn(folder)


def _svhn(folder: Results) -> Iterator[list[str]]:
    """Levels, order and similarity of the measures; one run allows no verdict on what differs
    between trainings.
    """
    found = [
        (name, stored)
        for name, stored in folder.find("ood", "cifar10")
        if f"svhn | {MEASURES[0]} | epistemic" in stored["numbers"]["auroc"]
    ]
    claim = "CIFAR-10 against SVHN: AUROC .745 to .761 (Table 1)"
    if not found:
        yield [claim, UNTESTED, "`labelwise-lab reproduce ood --data cifar10 --runs 5`"]
        return
    name, stored = found[0]  # the paper's recipe, if it is there
    numbers, runs = stored["numbers"], stored["about"]["runs"]
    ours = {m: numbers["auroc"][f"svhn | {m} | epistemic"] for m in MEASURES}
    values = ", ".join(f"{m} {spread(cell)}" for m, cell in ours.items())
    if name != "cifar10-paper":
        what = name.removeprefix("cifar10-paper-").replace("-", " ")
        yield [claim, UNTESTED, f"{runs_word(runs)} ({what}): {values}; {SUBSET}"]
        return
    gaps = {
        m: welch(cell["runs"], TABLE_1["cifar10"]["svhn"][m], family=len(MEASURES))
        for m, cell in ours.items()
    }
    apart = ", ".join(f"{m} {interval(gap)}" for m, gap in gaps.items())
    room = max(gap["high"] - gap["mean"] for gap in gaps.values())
    borrowed = (
        (
            f" (one run, taken to vary like the paper's: only a gap of more than {number(room, 2)} "
            "could be seen)"
        )
        if runs == 1
        else ""
    )
    refuted = any(map(excludes_zero, gaps.values()))
    yield [
        claim,
        NOT_REPRODUCED if refuted else NOT_REFUTED,
        f"{runs_word(runs)}: {values}; ours − paper's: {apart}{borrowed}; {SUBSET}",
    ]
    order, similar = (
        "the variance detects best (by .001 and .016)",
        "label-wise entropy and entropy yield similar results (.015 apart)",
    )
    best, cells = _differences(
        numbers, ["svhn | variance − entropy", "svhn | variance − label-wise entropy"], runs
    )
    verdict = (
        HELD
        if all(cell["low"] > 0 for cell in cells)
        else NOT_HELD
        if any(cell["high"] < 0 for cell in cells)
        else NOT_REFUTED
    )
    yield [f"CIFAR-10 against SVHN: {order}", UNTESTED if runs == 1 else verdict, best]
    words, cells = _differences(numbers, ["svhn | label-wise entropy − entropy"], runs)
    yield [
        f"CIFAR-10 against SVHN: {similar}",
        UNTESTED if runs == 1 else _small(cells, NEARLY),
        words,
    ]


def _differences(numbers: Cells, pairs: list[str], runs: int) -> tuple[str, list[Cells]]:
    """Differences between measures in words and numbers: over runs, or over the test images of a
    single run.
    """
    if runs > 1:
        cells = [
            simultaneous(numbers["auroc difference"][f"{pair} | epistemic"], len(pairs))
            for pair in pairs
        ]
        where = runs_word(runs)
    else:
        cells = [
            wider(numbers["auroc difference, instances of run 0"][pair], len(pairs))
            for pair in pairs
        ]
        where = "over the test images of 1 run (another training may differ by more)"
    each = (
        f"{pair.partition(' | ')[2]} {interval(cell, 4)}"
        for pair, cell in zip(pairs, cells, strict=True)
    )
    return f"{where}: {', '.join(each)}", cells


def _table_1(found: Cells, data: str, others: list[str]) -> Iterator[list[str]]:
    numbers, runs = found["numbers"], runs_word(found["about"]["runs"])
    pairs = ("variance − label-wise entropy", "variance − entropy", "label-wise entropy − entropy")
    apart = {
        (other, pair): simultaneous(
            numbers["auroc difference"][f"{other} | {pair} | epistemic"], len(others) * len(pairs)
        )
        for other in others
        for pair in pairs
    }

    def evidence(*shown: str) -> str:
        return f"{runs}: " + "; ".join(
            (
                f"{TITLES[other]} "
                f"{', '.join(f'{pair} {interval(apart[other, pair], 4)}' for pair in shown)}"
            )
            for other in others
        )

    below = [apart[other, pair] for other in others for pair in pairs[:2]]
    known = all(cell["low"] is not None for cell in below)
    clear = known and all(cell["high"] < 0 for cell in below)
    yield [
        (
            "FashionMNIST: the variance detects slightly worse than the entropies (Table 1: by "
            ".008 to .013)"
        ),
        f"{HELD} (the sign)"
        if clear
        else NOT_HELD
        if known and any(cell["low"] > 0 for cell in below)
        else NOT_REFUTED,
        evidence(*pairs[:2]),
    ]
    yield [
        "FashionMNIST: label-wise entropy and entropy are nearly the same (.001 and .002 apart)",
        _small([apart[other, pairs[2]] for other in others], NEARLY),
        evidence(pairs[2]),
    ]
    gaps = {}
    for other in others:
        gaps[other] = welch(
            numbers["auroc"][f"{other} | entropy | epistemic"]["runs"],
            TABLE_1[data][other]["entropy"],
            family=len(others),
        )
    refuted = [TITLES[other] for other, gap in gaps.items() if excludes_zero(gap)]
    open_ = [TITLES[other] for other, gap in gaps.items() if not excludes_zero(gap)]
    split = {NOT_REPRODUCED: refuted, NOT_REFUTED: open_}
    verdict = ", ".join(
        words + f" ({' and '.join(sets)})" * bool(refuted and open_)
        for words, sets in split.items()
        if sets
    )
    levels = " and ".join(
        f"{TABLE_1[data][other]['entropy'][0]:.3f}".lstrip("0") for other in others
    )
    yield [
        (
            f"FashionMNIST: AUROC {levels} with five members, trained as the text says (Table 1, "
            "entropy)"
        ),
        verdict,
        f"{runs}: "
        + ", ".join(
            (
                f"{TITLES[other]} {spread(numbers['auroc'][f'{other} | entropy | epistemic'])} "
                f"(ours − paper's {interval(gap)})"
            )
            for other, gap in gaps.items()
        )
        + ("; see [the gap to the paper](#the-gap-to-the-paper)" if refuted else ""),
    ]


def _artifact(folder: Results) -> Iterator[list[str]]:
    claim = "CIFAR-10.2 is told from CIFAR-10 with AUROC .998 to 1.00 (Table 1)"
    found = folder.find("artifact", "cifar10")
    if not found:
        yield [claim, UNTESTED, "`labelwise-lab reproduce artifact --data cifar10`"]
        return
    _, stored = found[0]
    numbers, members = stored["numbers"], stored["about"]["setting"]["members"]
    pairs = numbers["subsets"]["not scaled | transposed | 2"]
    same = numbers["auroc"]["cifar10 | not scaled | transposed | label-wise entropy"]
    artifact = same["mean"] > NEAR_ONE
    yield [
        claim,
        ARTIFACT if artifact else UNTESTED,
        "CIFAR-10's *own* test images, with pixels of 0 … 255 and transposed as in the published "
        f"code, give {spread(same)} with "
        f"{members} members; of {len(pairs)} pairs of members {sum(x > 0.9 for x in pairs)} give "
        f"above .9, {sum(x < 0.1 for x in pairs)} below .1; "
        "CIFAR-10.2 itself was not available",
    ]


def _holdout(folder: Results) -> Iterator[list[str]]:
    for data in TABLE_2:
        claim = (
            f"{TITLES[data]}: the EU of the class with the highest EU falls because it gets new "
            "images (Table 2)"
        )
        found = folder.find("holdout", data)
        if not found:
            yield [claim, UNTESTED, f"`labelwise-lab reproduce holdout --data {data} --runs 5`"]
        for _, stored in found[:1]:
            effect = stored["numbers"]["effect"]["swap − no-swap"]
            n = len(effect["runs"])
            if n < ENOUGH:
                words = "effect of the new images, log EU(swap) − log EU(no swap)"
                yield [claim, UNTESTED, f"{runs_word(n)} are too few: {words} {interval(effect)}"]
                continue
            same = stored["numbers"]["effect"].get(SAME_CLASS)
            also = ""
            if same and same["low"] is not None:
                also = (
                    ". The class is chosen as in the code; in the runs in which the text's rule "
                    f"chooses the same, EU ends {_change(same)}: {verdict_on(same)}"
                )
            yield [claim, verdict_on(effect), f"{runs_word(n)}: {limit(effect)}{also}"]
        arrays = folder.published(data)
        if arrays is not None:
            columns, printed = (
                arrays["numbers"]["drop"]["absolute"]["next highest"],
                TABLE_2[data]["absolute"]["next highest"][0],
            )
            wrong = abs(columns["mean"] - printed) >= 5e-5  # half of the last printed digit
            yield [
                f"{TITLES[data]}: the next highest drop is {printed:.4f} ± .0000 (Table 2)",
                NOT_HELD if wrong else HELD,
                (
                    f"{spread(columns, 4)} from the authors' own arrays, "
                    f"{runs_word(arrays['about']['runs'])}"
                )
                + ": it was taken over runs instead of classes" * wrong,
            ]


def verdict_on(effect: Cells) -> str:
    """Whether new images lower EU."""
    if len(effect["runs"]) < ENOUGH:
        return UNTESTED
    return (
        HELD
        if effect["high"] < 0
        else NOT_HELD
        if effect["low"] > log(1 - RELEVANT)
        else NOT_REFUTED
    )


def limit(effect: Cells) -> str:
    """What the runs show of an effect, what they exclude, and what so many can show; it needs
    several runs.
    """
    drop = "any drop is excluded"
    if effect["high"] < 0:
        drop = f"a drop of less than {percent(-effect['high'])} is excluded"
    elif effect["low"] < 0:
        drop = f"a drop of more than {percent(-effect['low'])} is excluded"
    return (
        f"with new images, EU ends {_change(effect)}, so that {drop}; "
        f"{runs_word(len(effect['runs']))} have an 80 % chance of showing a "
        f"true drop of {percent(effect['detectable'])}"
    )


def _change(effect: Cells) -> str:
    """The geometric mean of the ratio as a change in percent."""
    change, low, high = (100 * (exp(effect[key]) - 1) for key in ("mean", "low", "high"))
    words = (
        f"{abs(round(change))} % {'higher' if change > 0 else 'lower'} than"
        if round(change)
        else "as high as"
    )
    return (
        f"{words} without them (geometric mean of {runs_word(len(effect['runs']))}; 95 % interval "
        f"{_signed(low)} to {_signed(high)})"
    )


def _signed(x: float) -> str:
    """Percent with their sign.

    >>> _signed(7.4), _signed(-5.2), _signed(-0.3)
    ('+7 %', '−5 %', '0 %')
    """
    rounded = round(x)
    return f"{'+' * (rounded > 0)}{number(rounded, 0)} %"
