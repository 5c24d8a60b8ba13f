"""The page of the study of epistemic uncertainty and more data, more_data.md, from its stored
units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from more_data_claims import (
    CELLS,
    LEVEL,
    NOISE,
    NOISY,
    SIZES,
    TEST,
    TESTED,
    Contrast,
    by_draw,
    examine_claims,
)
from tables import interval as over_splits

from labelwise_lab.pages import interval, number, table
from labelwise_lab.statistics import mean_over_runs

TITLES = {"fashion-mnist": "FashionMNIST", "digits": "digits"}
MODEL_WORDS = {"forest": "forests", "mlp": "MLPs"}
SCORES = {"EU": "EU_k", "TU": "TU_k", "error": "current error"}
Units = Sequence[Mapping[str, Any]]


def in_words(record: Mapping[str, Any]) -> str:
    """A contrast."""
    words = SCORES[record["score"]]
    words += " by itself" if record["minus"] is None else f" − {SCORES[record['minus']]}"
    if len(record["models"]) == 1:
        words += f", {MODEL_WORDS[record['models'][0]]} alone"
    return words + ", noisy labels" * (record["arm"] == "noise")


def answer(claims: Sequence[dict[str, Any]], draws: int) -> str:
    """The first sentences: the primary contrast, then what else is shown."""
    primary, *others = claims
    found = f"{interval(primary, 2)} over {draws} draws, p = {number(primary['p'], 3)}"
    if not primary["shown"]:
        first = (
            "**Not shown**: that EU_k ranks the classes by their gain from more data better or "
            f"worse than the current error does. Difference in rank correlation: {found}."
        )
    elif primary["mean"] > 0:
        first = (
            "**Yes**: EU_k ranks the classes by their gain from more data better than the current "
            f"error does. Difference in rank correlation: {found}."
        )
    else:
        first = (
            "**No**: the current error of a class tells its gain from more data better than EU_k "
            f"does. Difference in rank correlation: {found}."
        )
    shown = [f"- {in_words(other)}: {interval(other, 2)}" for other in others if other["shown"]]
    rest = "None of the other contrasts is shown."
    if shown:
        rest = f"Shown of the other {len(others)} contrasts:\n\n" + "\n".join(shown)
    return f"{first}\n\n{rest}"


def totals(units: Units, data: str, model: str) -> dict[str, np.ndarray]:
    """Sums over the classes at each size, mean over the draws; clean labels."""
    own = [u for u in units if (u["data"], u["model"], u["arm"]) == (data, model, "clean")]
    return {
        key: np.mean([np.sum(u[key], axis=1) for u in own], axis=0)
        for key in ("EU", "TU", "error", "after")
    }


def size_of_claims(units: Units) -> str:
    """How far the claim is from the gain, at the smallest size."""
    found = []
    for model, words in MODEL_WORDS.items():
        of = totals(units, TESTED, model)
        gained = of["after"][0] - of["after"][-1]
        found.append(f"{words} claimed {number(of['EU'][0], 3)} and gained {number(gained, 3)}")
    sizes = SIZES[TESTED]
    return (
        f"The size of the claim tells the kind of model: from {sizes[0]} to {sizes[-1]:,} images, "
        f"{'; '.join(found)} (sums over the classes)."
    )


def claims_table(claims: Sequence[dict[str, Any]]) -> str:
    rows = []
    for record in claims:
        primary = "p (Holm)" not in record
        rows.append(
            [
                f"**{in_words(record)}** (primary)" if primary else in_words(record),
                interval(record, 2),
                number(record["p"], 4),
                "" if primary else number(record["p (Holm)"], 4),
                "yes" if record["shown"] else "no",
            ]
        )
    head = ["rank correlation with the gain", "mean [95 % interval]", "p", "p (Holm)", "shown"]
    return table(head, rows)


def estimate(values: np.ndarray, data: str) -> dict[str, float]:
    """Mean and 95 % interval over draws; those of the digits share cases."""
    if data == TESTED:
        mean = mean_over_runs(values)
        return {"mean": float(mean.value), "low": float(mean.low), "high": float(mean.high)}
    share = TEST[data] / (TEST[data] + SIZES[data][-1])
    value, half = over_splits(values, share)
    return {"mean": value, "low": value - half, "high": value + half}


def correlations(units: Units) -> str:
    """Of each score with the gain, for each data set, model and arm."""
    rows = []
    for data, model, arm in CELLS:
        cells = []
        for score in SCORES:
            contrast = Contrast(score, arm=arm, models=(model,))
            cells.append(interval(estimate(by_draw(units, contrast, data), data), 2))
        name = f"{TITLES[data]}, {MODEL_WORDS[model]}" + ", noisy labels" * (arm == "noise")
        rows.append([name, *cells])
    return table(["", *SCORES.values()], rows)


def amounts(units: Units) -> Iterator[str]:
    """What is claimed and what is gained at each size, summed over the classes."""
    rows = []
    for data, model, arm in CELLS:
        if arm != "clean":
            continue
        of = totals(units, data, model)
        total, claimed, error, after = (of[key] for key in ("TU", "EU", "error", "after"))
        for i, size in enumerate(SIZES[data]):
            gained = number(after[i] - after[-1], 3) if i < len(after) - 1 else ""
            rows.append(
                [
                    f"{TITLES[data]}, {MODEL_WORDS[model]}" if i == 0 else "",
                    f"{size:,}",
                    number(claimed[i], 3),
                    gained,
                    number(error[i], 3),
                    number(claimed[i] / total[i], 2),
                ]
            )
    yield table(["", "n", "EU claimed", "gain up to n_max", "current error", "EU ÷ TU"], rows)


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    lines = [
        "# When does epistemic uncertainty say that more data help?",
        "",
        "Generated by `lab/studies/more_data.py`; do not edit.",
        "",
    ]
    units = results["units"]
    if units:
        claims = examine_claims(units)
        lines += [answer(claims, results["draws"]), "", size_of_claims(units), ""]
        lines += ["## Contrasts", ""]
        lines += [
            "Spearman's correlation of a score with the gain in Brier score over the ten classes "
            f"of FashionMNIST: mean over five training sizes and, unless named, both models. "
            f"{results['draws']} draws without a common image are the units; p from exact sign "
            f"flips, two-sided (no effect: symmetric about 0); intervals one by one. "
            f"“Shown”: p at most {LEVEL}; all but the primary after Holm's correction.",
            "",
            claims_table(claims),
            "## Each score by itself",
            "",
            "Not tested. The draws of the digits are splits of the same cases; their intervals "
            "allow for it (Nadeau and Bengio 2003).",
            "",
            correlations(units),
            "- The gains are measured on 1,500 or 415 images; their noise lowers all correlations.",
            "- The trees of a default forest vote 0 or 1, so that its EU_k is its TU_k.",
            "",
            "## How much is claimed, and how much is gained",
            "",
            "Sums over the classes, mean over the draws; clean labels. The gain is that from n to "
            "the largest size, so it says nothing of data beyond.",
            "",
            *amounts(units),
        ]
    else:
        lines += ["Not run yet: the claims are fixed, the results are not there.", ""]
    lines += [
        "## What was withdrawn",
        "",
        "Reports once read a small epistemic share, EU ÷ TU, as “more data will hardly help”. That "
        "was withdrawn: five MLPs had the same share, 0.041, on 40 digits (accuracy .76) and on "
        "1,197 (.97). The share tells the kind of model.",
        "",
        "## How it was done",
        "",
        "The design, the contrasts and the tests were committed before the run "
        "(`lab/studies/more_data_claims.py`"
        + (f", {results['claims']}" if "claims" in results else "")
        + ").",
        "",
        "- Squared loss: EU_k, TU_k and the current error (Brier_k) are measured on one half of "
        "the test images, the gain on the other. Only the error needs labels.",
        "- Forests of 50 trees; five MLPs with 64 hidden units, 1,000 steps whatever the size.",
        f"- Noisy labels: of the first {NOISY} classes, {100 * NOISE:.0f} % are replaced by "
        "another of them, in training and test.",
    ]
    if units:
        lines.append(f"- {results['minutes']} minutes of one core.")
    return "\n".join(lines).rstrip() + "\n"
