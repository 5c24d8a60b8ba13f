"""The page of the study of acquisition, acquisition.md, from its stored curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from acquisition_claims import (
    ARMS,
    HIGHEST,
    HYPOTHESIS,
    INITIAL,
    LEAST,
    LEVEL,
    MIN_CASES,
    OTHERS,
    PRIMARY,
    examine_claims,
    over_families,
)

from labelwise_lab.pages import interval, number, table
from labelwise_lab.text import counted as words_for

FAMILY_WORDS = {"forest": "random forests", "logistic": "logistic regressions"}
Records = Sequence[dict[str, Any]]


def areas(units: Records, names: Sequence[str], family: str | None = None) -> dict[str, Any]:
    """Data set -> arm -> area, over one family or both."""
    found = {}
    for name in names:
        own = [u for u in units if u["name"] == name and family in (None, u["family"])]
        if own:
            found[name] = over_families(own)
    return found


def counted(results: dict[str, Any]) -> list[str]:
    """The data sets that count."""
    return [record["name"] for record in results["rule"] if record["counts"]]


def in_words(record: dict[str, Any]) -> str:
    return f"{record['arm']} − {record['minus']}"


def answer(claims: Records, sets: int) -> str:
    """The first sentences: the primary contrast, then what else is shown."""
    primary, *others = claims
    found = f"{interval(primary)} over {sets} data sets, p = {number(primary['p'], 3)}"
    subject = "acquisition by label-wise EU, classes in turn,"
    if not primary["shown"]:
        first = (
            f"**Not shown**: that {subject} beats BALD in turn. Difference in area under balanced "
            f"accuracy: {found}. A gain above {number(primary['high'], 3)} is outside the interval."
        )
    elif primary["mean"] > 0:
        first = f"**Yes**: {subject} beats BALD in turn, by {found}."
    else:
        first = f"**No**: {subject} is worse than BALD in turn, by {found}."
    shown = [f"{in_words(other)} {interval(other)}" for other in others if other["shown"]]
    rest = "None of the other contrasts is shown either."
    if shown:
        rest = f"Shown of the other {len(others)} contrasts: {'; '.join(shown)}."
    return f"{first}\n\n{rest}"


def claims_table(claims: Records) -> str:
    rows = []
    for record in claims:
        primary = "p (Holm)" not in record
        rows.append(
            [
                f"**{in_words(record)}** (primary)" if primary else in_words(record),
                interval(record),
                number(record["p"], 4),
                "" if primary else number(record["p (Holm)"], 4),
                "yes" if record["shown"] else "no",
            ]
        )
    return table(["difference in area", "mean [95 % interval]", "p", "p (Holm)", "shown"], rows)


def by_set(of: dict[str, Any]) -> str:
    """The area of each arm, by data set."""
    rows = []
    for name, arms in of.items():
        best = max(arms.values())
        cells = [f"**{number(x, 3)}**" if x == best else number(x, 3) for x in arms.values()]
        rows.append([name, *cells])
    if len(of) > len(HYPOTHESIS):
        means = [np.mean([arms[arm] for arms in of.values()]) for arm in ARMS]
        rows.append(["mean", *(number(x, 3) for x in means)])
    return table(["data", *ARMS], rows)


def families(units: Records, names: Sequence[str]) -> Iterator[str]:
    """The contrasts within each family, shown and not tested."""
    records = {family: examine_claims(areas(units, names, family)) for family in FAMILY_WORDS}
    rows = []
    for i, contrast in enumerate((PRIMARY, *OTHERS)):
        cells = [interval(of[i]) for of in records.values()]
        rows.append([in_words(contrast._asdict()), *cells])
    yield table(["difference in area", *FAMILY_WORDS.values()], rows)


def rule_table(rule: Records) -> str:
    """Every candidate, and why it counts or not."""
    rows = []
    for record in rule:
        sizes = record["classes"]
        why = "counts"
        if record["name"] in HYPOTHESIS:
            why = "made the hypothesis: shown"
        elif record["cases"] < MIN_CASES:
            why = f"fewer than {MIN_CASES} cases"
        elif not record["counts"]:
            why = "ceiling" if record["balanced accuracy"] > HIGHEST else "nothing learned"
        rows.append(
            [
                record["name"],
                f"{record['cases']:,}",
                str(len(sizes)),
                f"{min(sizes):,} to {max(sizes):,}",
                str(record.get("pool", "")),
                str(record.get("labels", "")),
                number(record["balanced accuracy"], 3),
                why,
            ]
        )
    head = ["data", "cases", "classes", "cases a class", "pool", "final labels", "random", ""]
    return table(head, rows)


def earlier(sets: dict[str, Any]) -> Iterator[str]:
    """The two data sets that suggested the question, as they were first run."""
    arms = next(iter(sets.values()))
    rows = [[name, *of.values()] for name, of in sets.items()]
    yield table(["data", *arms], rows)


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    lines = [
        "# Does label-wise acquisition beat the alternatives?",
        "",
        "Generated by `lab/studies/acquisition.py`; do not edit.",
        "",
    ]
    ran = bool(results.get("units"))
    if ran:
        units, names = results["units"], counted(results)
        of = areas(units, names)
        claims = examine_claims(of)
        lines += [answer(claims, len(of)), "", "## Contrasts", ""]
        lines += [
            f"Area: balanced accuracy, mean over the rounds. Each data set is one unit (mean over "
            f"{words_for(results['splits'], 'split')} and two families of models); p from exact "
            "sign flips, two-sided (no effect: symmetric about 0); intervals one by one. "
            f"“Shown”: p at most {LEVEL}; all but the primary after Holm's correction.",
            "",
            claims_table(claims),
            "## By data set",
            "",
            "Highest in bold; no tests. A single data set says little: its numbers vary between "
            "splits.",
            "",
            by_set(of),
            "## By family of models",
            "",
            "The same contrasts within each family; not tested.",
            "",
            *families(units, names),
        ]
    else:
        lines += ["Not run yet: the claims are fixed, the results are not there.", ""]
    lines += [
        "## The data that suggested it",
        "",
        "Cardiotocography and hypothyroid were studied first (area ± half of a 95 % interval; "
        "forests of 50 trees, 20 splits, 360 and 210 labels). They made the hypothesis and do not "
        "count above.",
        "",
        *earlier(results["earlier"]),
    ]
    shown = areas(results["units"], HYPOTHESIS) if ran else {}
    if shown:
        lines += ["With all arms, in the setting of this study:", "", by_set(shown)]
    lines += [
        "## How it was done",
        "",
        "The arms, the data, the contrasts and the tests were committed before the run "
        "(`lab/studies/acquisition_claims.py`"
        + (f", {results['claims']}" if "claims" in results else "")
        + ").",
        "",
    ]
    if ran:
        lines += [
            "- Candidates are all classification data that the lab or scikit-learn loads and whose "
            f"files were there. One counts with {MIN_CASES} cases or more, if a forest on the "
            "final number of *random* "
            f"labels has a balanced accuracy of at most {HIGHEST} and at least {LEAST} above "
            "chance (column “random”; no strategy is looked at).",
            f"- {INITIAL} labels to begin with, then eight rounds. Sets with classes of "
            "about the same size are thinned to a long tail, 10 : 1.",
            "- Images are averaged to 7 × 7 pixels. Forests of 50 trees; five logistic regressions "
            "on bootstrap samples.",
            f"- {results['minutes']} minutes of one core.",
            "",
            rule_table(results["rule"]),
        ]
    return "\n".join(lines).rstrip() + "\n"
