"""The page of claims: each claim of the paper with a verdict and a line of evidence.

A claim *holds* where an interval confirms it, *does not hold* where one contradicts it, and is *not
refuted* otherwise. What could not be tested is listed by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import exp, log
from pathlib import Path
from typing import NamedTuple

from ..pages import fill, interval, number, spread, table
from ..text import counted
from .intervals import excludes_zero, simultaneous, welch
from .missing import missing
from .provenance import TITLES, Results
from .published_tables import TABLE_1, TABLE_2
from .records import Record, distinct, pick, select
from .tables import measure_in_words

__all__ = [
    "ENOUGH",
    "HELD",
    "NOT_HELD",
    "change",
    "claims",
    "claims_page",
    "verdict_on",
]

HELD = "**holds**"
NOT_HELD = "**does not hold**"
NOT_REFUTED = "not refuted"
UNTESTED = "could not be tested"
NOT_REPRODUCED = "**not reproduced**"
ARTIFACT = "**artifact**"

COINCIDE = 0.001  # areas that differ by less coincide
NEARLY = 0.003  # AUROCs that differ by less are nearly the same
RELEVANT = 0.1  # share of EU that matters
ENOUGH = 10  # runs below which there is no verdict on an effect
STEADY = 0.95  # monotonicity of a curve that rises
NEAR_ONE = 0.9  # AUROC of an artifact
LABEL_WISE = "label-wise entropy"
GAP = "[the gap](results-tables.md#the-gap-to-the-paper)"


class Claim(NamedTuple):
    """What the paper says, what we say to it, and why."""

    words: str
    verdict: str
    evidence: str


def claims_page(folder: Results) -> str:
    """The page as Markdown."""
    found = list(claims(folder))
    tested = [claim for claim in found if claim.verdict != UNTESTED]
    untested = [(claim.words, claim.evidence) for claim in found if claim.verdict == UNTESTED]
    verdicts = Counter(claim.verdict.partition(" (")[0] for claim in tested)
    sections: dict[str, Iterable[str]] = {
        "lead": [
            f"Of {len(found)} claims, {len(tested)} could be tested here: {verdicts[HELD]} hold, "
            f"{verdicts[NOT_HELD]} do not; the others were not reproduced, not refuted, or are an "
            "artifact."
        ],
        "tested": [table(["claim of the paper", "verdict", "evidence"], tested)],
        "untested": [table(["claim of the paper", "why"], untested)],
        "unexplained": unexplained(folder),
        "missing": missing(folder),
        "coincide": [f"{COINCIDE}"],
        "nearly": [f"{NEARLY}"],
        "steady": [f"{STEADY}"],
        "relevant": [f"{100 * RELEVANT:.0f} %"],
        "enough": [f"{ENOUGH}"],
        "near_one": [f"{NEAR_ONE}"],
    }
    template = Path(__file__).with_name("claims.md")
    return fill(template.read_text(encoding="utf-8"), sections)


def claims(folder: Results) -> Iterator[Claim]:
    """In the paper's order."""
    yield from _rejection(folder)
    yield from _fashion(folder)
    yield from _svhn(folder)
    yield from _artifact(folder)
    yield from _holdout(folder)
    yield Claim(
        "PET/CT: label-wise uncertainty of slices, rejection (Figs. 2 and 4)",
        UNTESTED,
        "the volumes were not available, and the authors' slices are not published",
    )


def _not_run(claim: str, command: str) -> Claim:
    return Claim(claim, UNTESTED, f"`labelwise-lab reproduce {command}`")


def _rejection(folder: Results) -> Iterator[Claim]:
    places = {
        "cifar10": ("Fig. 3", "total uncertainty", ["total"]),
        "fashion-mnist": (
            "Appendix C.2",
            "total, aleatoric and epistemic uncertainty",
            ["total", "aleatoric", "epistemic"],
        ),
    }
    for data, (place, what, parts) in places.items():
        claim = (
            f"{TITLES[data]}: rejecting by {what} raises accuracy, and the three measures nearly "
            f"coincide ({place})"
        )
        stored = folder.stored(f"{data}-paper", "arc")
        if stored is None:
            yield _not_run(claim, f"arc --data {data} --runs 5")
            continue
        numbers = stored["numbers"]
        apart = [cell for cell in numbers["area difference"] if cell["part"] in parts]
        apart = [cell | simultaneous(cell, len(apart)) for cell in apart]
        rises = all(
            (cell["mean"] if cell["low"] is None else cell["low"]) > STEADY
            for cell in numbers["monotonicity"]
            if cell["part"] in parts and cell["mean"] is not None
        )
        largest = max(apart, key=lambda cell: abs(cell["mean"]))
        evidence = (
            f"{counted(stored['about']['runs'], 'run')}; the largest difference of areas is "
            f"{interval(largest, 5)}"
        )
        yield Claim(claim, _small(apart, COINCIDE) if rises else NOT_HELD, evidence)
    absent = [TITLES[data] for data in ("kmnist", "svhn") if not folder.find("arc", data)]
    if absent:
        yield Claim(
            f"The same on {' and '.join(absent)}",
            UNTESTED,
            "their training files were not available; only test sets are used here",
        )


def _small(cells: Iterable[Record], limit: float) -> str:
    """Whether all differences are smaller than ``limit``, by their intervals."""
    ends = [(cell["low"], cell["high"]) for cell in cells]
    if any(low is None for low, _ in ends):
        return UNTESTED
    if all(-limit < low and high < limit for low, high in ends):
        return HELD
    return NOT_HELD if any(low > limit or high < -limit for low, high in ends) else NOT_REFUTED


def _sign(cells: Iterable[Record], sign: int) -> str:
    """Whether all differences have this sign, by their intervals."""
    ends = [sorted((sign * cell["low"], sign * cell["high"])) for cell in cells]
    if all(low > 0 for low, _ in ends):
        return HELD
    return NOT_HELD if any(high < 0 for _, high in ends) else NOT_REFUTED


def _fashion(folder: Results) -> Iterator[Claim]:
    """FashionMNIST in Table 1: the order of the measures, their similarity, and the levels."""
    printed = TABLE_1["fashion-mnist"]
    stored = folder.stored("fashion-mnist-paper", "ood")
    there = [] if stored is None else distinct(stored["numbers"]["auroc"], "set")
    if stored is None or not set(printed) <= set(there):
        yield _not_run(
            "FashionMNIST against MNIST and KMNIST (Table 1)", "ood --data fashion-mnist --runs 5"
        )
        return
    numbers, n = stored["numbers"], stored["about"]["runs"]
    apart = [
        cell
        for cell in select(numbers["auroc difference"], part="epistemic")
        if cell["set"] in printed
    ]
    apart = [cell | simultaneous(cell, len(apart)) for cell in apart]
    of_variance = select(apart, measure="variance")
    of_entropies = select(apart, measure=LABEL_WISE)

    verdict = NOT_REFUTED
    if n > 1:
        verdict = _sign(of_variance, -1)
    yield Claim(
        "FashionMNIST: the variance detects slightly worse than the entropies (Table 1: by .008 to "
        ".013)",
        f"{HELD} (the sign)" if verdict == HELD else verdict,
        _decisive("nearest to 0", max(of_variance, key=lambda cell: cell["mean"]), of_variance, n),
    )
    yield Claim(
        "FashionMNIST: label-wise entropy and entropy are nearly the same (.001 and .002 apart)",
        _small(of_entropies, NEARLY),
        _decisive(
            "largest", max(of_entropies, key=lambda cell: abs(cell["mean"])), of_entropies, n
        ),
    )
    by_verdict: dict[str, list[str]] = {NOT_REPRODUCED: [], NOT_REFUTED: []}
    levels = []
    for other, of in printed.items():
        ours = pick(numbers["auroc"], set=other, measure="entropy", part="epistemic")
        gap = welch(ours["runs"], of["entropy"], family=len(printed))
        levels.append(f"{TITLES[other]} {interval(gap)}")
        by_verdict[NOT_REPRODUCED if excludes_zero(gap) else NOT_REFUTED].append(TITLES[other])
    if all(by_verdict.values()):
        verdict = ", ".join(f"{words} ({' and '.join(s)})" for words, s in by_verdict.items())
    else:
        verdict = NOT_REPRODUCED if by_verdict[NOT_REPRODUCED] else NOT_REFUTED
    see = f"; see {GAP}" if by_verdict[NOT_REPRODUCED] else ""
    published = (f"{of['entropy'][0]:.3f}".lstrip("0") for of in printed.values())
    yield Claim(
        f"FashionMNIST: AUROC {' and '.join(published)} with five members, trained as the text "
        "says (Table 1, entropy)",
        verdict,
        f"{counted(n, 'run')}; ours − paper's: {', '.join(levels)}{see}",
    )


def _decisive(which: str, cell: Record, among: list[Record], runs: int) -> str:
    """The one of several differences on which the verdict depends."""
    where = TITLES.get(cell["set"], cell["set"])
    return (
        f"{counted(runs, 'run')}; {which} of {len(among)}: {where}, {measure_in_words(cell)} "
        f"{interval(cell, 4)}"
    )


def _svhn(folder: Results) -> Iterator[Claim]:
    """Levels, order and similarity of the measures; one run allows no verdict on what differs
    between trainings.
    """
    levels = "CIFAR-10 against SVHN: AUROC .745 to .761 (Table 1)"
    stored = folder.stored("cifar10-paper", "ood")
    if stored is None or "svhn" not in distinct(stored["numbers"]["auroc"], "set"):
        yield _not_run(levels, "ood --data cifar10 --runs 5")
        return
    numbers, n = stored["numbers"], stored["about"]["runs"]
    ours = select(numbers["auroc"], set="svhn", part="epistemic")
    printed = TABLE_1["cifar10"]["svhn"]
    gaps = [cell | welch(cell["runs"], printed[cell["measure"]], family=len(ours)) for cell in ours]
    farthest = max(gaps, key=lambda gap: abs(gap["mean"]))
    borrowed = ""
    if n == 1:
        room = max(gap["high"] - gap["mean"] for gap in gaps)
        borrowed = f"; a gap below {number(room, 2)} could not be seen"
    yield Claim(
        levels,
        NOT_REPRODUCED if any(map(excludes_zero, gaps)) else NOT_REFUTED,
        f"{counted(n, 'run')}; farthest from the paper's: {farthest['measure']} "
        f"{interval(farthest)}{borrowed}",
    )
    best = "CIFAR-10 against SVHN: the variance detects best (by .001 and .016)"
    alike = (
        "CIFAR-10 against SVHN: label-wise entropy and entropy yield similar results (.015 apart)"
    )
    if n == 1:
        why = "another training may differ by more than the measures do: 1 run gives no verdict"
        yield Claim(best, UNTESTED, why)
        yield Claim(alike, UNTESTED, why)
        return
    differences = select(numbers["auroc difference"], set="svhn", part="epistemic")
    of_variance = select(differences, measure="variance")
    of_variance = [cell | simultaneous(cell, len(of_variance)) for cell in of_variance]
    smallest = min(of_variance, key=lambda cell: cell["mean"])
    yield Claim(best, _sign(of_variance, 1), _decisive("smallest", smallest, of_variance, n))
    entropies = pick(differences, measure=LABEL_WISE, minus="entropy")
    entropies |= simultaneous(entropies, 1)
    yield Claim(alike, _small([entropies], NEARLY), _decisive("largest", entropies, [entropies], n))


def _artifact(folder: Results) -> Iterator[Claim]:
    claim = "CIFAR-10.2 is told from CIFAR-10 with AUROC .998 to 1.00 (Table 1)"
    found = folder.find("artifact", "cifar10")
    if not found:
        yield _not_run(claim, "artifact --data cifar10")
        return
    _, stored = found[0]
    way = {"pixels": "not scaled", "orientation": "transposed"}
    same = pick(stored["numbers"]["auroc"], set="cifar10", **way, measure=LABEL_WISE)
    yield Claim(
        claim,
        ARTIFACT if same["mean"] > NEAR_ONE else UNTESTED,
        "[CIFAR-10's own test images](results-tables.md#the-cifar-102-column-of-table-1), "
        f"mishandled as in the published code, give {spread(same)}",
    )


def _holdout(folder: Results) -> Iterator[Claim]:
    for data in TABLE_2:
        claim = (
            f"{TITLES[data]}: the EU of the class with the highest EU falls because it gets new "
            "images (Table 2)"
        )
        found = folder.find("holdout", data)
        if not found:
            yield _not_run(claim, f"holdout --data {data} --runs 5")
        for _, stored in found[:1]:
            effect = pick(stored["numbers"]["effect"], arm="swap", among=None)
            verdict = verdict_on(effect)
            evidence = f"{counted(len(effect['runs']), 'run')} are too few"
            if verdict != UNTESTED:
                evidence = (
                    f"{counted(len(effect['runs']), 'run')}; EU with the new images, compared with "
                    f"none: {change(effect)}"
                )
            yield Claim(claim, verdict, evidence)
        arrays = folder.published(data)
        if arrays is not None:
            ours = arrays["numbers"]["drop"]["absolute"]["next highest"]
            printed = TABLE_2[data]["absolute"]["next highest"][0]
            wrong = abs(ours["mean"] - printed) >= 5e-5  # half of the last printed digit
            yield Claim(
                f"{TITLES[data]}: the next highest drop is {printed:.4f} ± .0000 (Table 2)",
                NOT_HELD if wrong else HELD,
                f"{spread(ours, 4)} from the authors' own arrays"
                + ": it was taken over runs instead of classes" * wrong,
            )


def verdict_on(effect: Record) -> str:
    """Whether new images lower EU."""
    if len(effect["runs"]) < ENOUGH:
        return UNTESTED
    if effect["high"] < 0:
        return HELD
    return NOT_HELD if effect["low"] > log(1 - RELEVANT) else NOT_REFUTED


def change(effect: Record) -> str:
    """The geometric mean of a ratio of EU as a change in percent, with its interval.

    >>> change({"mean": log(1.07), "low": log(0.95), "high": log(1.22)})
    '+7 % [−5 %, +22 %]'
    """
    mean, low, high = (
        _signed(round(100 * (exp(effect[key]) - 1))) for key in ("mean", "low", "high")
    )
    return f"{mean} [{low}, {high}]"


def _signed(percent: int) -> str:
    """With its sign.

    >>> _signed(7), _signed(-5), _signed(0)
    ('+7 %', '−5 %', '0 %')
    """
    return f"{'+' * (percent > 0)}{number(percent, 0)} %"


def unexplained(folder: Results) -> Iterator[str]:
    """What differs from the paper without a known reason."""
    prints = folder.fingerprint()
    if prints is not None:
        lower = "our AUROCs on FashionMNIST are lower than Table 1's"
        yield f"- **Unexplained:** {lower}. {_gap(prints)}"
    for data, printed in TABLE_2.items():
        for _, stored in folder.find("holdout", data)[:1]:
            drop = stored["numbers"]["table"]["swap"]["drop"]["relative"]["selected"]
            if len(drop["runs"]) < ENOUGH:
                continue
            gap = welch(drop["runs"], printed["relative"]["selected"])
            if excludes_zero(gap):
                yield (
                    f"- **Unexplained:** on {TITLES[data]} the EU of Table 2's class falls by "
                    f"{100 * drop['mean']:.0f} % here and by "
                    f"{100 * printed['relative']['selected'][0]:.0f} % in the paper "
                    f"(difference {interval(gap)}). Something differs that we do not know."
                )


def _gap(prints: Record) -> str:
    """What the trainings say of the gap to Table 1."""
    candidates = prints["numbers"]["candidates"]
    if not candidates:
        return f"No training that we tried explains {GAP}."
    fresh = [
        record for record in prints["numbers"]["ours − paper's"] if record["training"] in candidates
    ]
    if not fresh:
        return f"One training with SGD is a candidate, which only fresh runs can test: {GAP}."
    if any(map(excludes_zero, fresh)):
        return f"Fresh runs refute the one candidate, a training with SGD: {GAP}."
    return f"Fresh runs of one candidate, a training with SGD, do not refute it: {GAP}."
