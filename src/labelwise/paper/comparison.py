"""Sections of the results page that put the paper's Tables 1 and 2 beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from statistics import fmean, variance
from typing import Any

from .provenance import TITLES, Results, in_words, markdown, provenance
from .published_tables import TABLE_1, TABLE_2
from .scores import MEASURES
from .tables import DROP_COLUMNS, drop_rows, effect_rows, interval, number, runs_word, spread

__all__ = ["detection", "holdout"]

Found = list[tuple[str, dict[str, Any]]]
"""(folder name, stored result)."""
Published = dict[str, dict[str, tuple[float, float]]]
"""Set -> measure -> AUROC, mean and deviation."""


def detection(folder: Results) -> Iterator[str]:
    """Table 1."""
    for data, pairs in TABLE_1.items():
        found = folder.find("ood", data)
        rows = []
        for other, measures in pairs.items():
            rows.append([TITLES[other], "paper, 5 runs", *(f"{m:.3f} ± {sd:.3f}" for m, sd in measures.values()), ""])
            for name, stored in found:
                if _has(stored, other):
                    ours = [spread(stored["numbers"]["auroc"][f"{other} | {measure} | epistemic"]) for measure in MEASURES]
                    rows.append([TITLES[other], in_words(name, stored, with_data=False), *ours, _order(stored, other, measures)])
        yield f"### {TITLES[data]}\n"
        yield markdown(["against", "", *MEASURES, "order"], rows) + "\n"
        if not found:
            yield f"*Not run here.* `labelwise reproduce ood --data {data} --runs 5`\n"
        for name, stored in found:
            yield f"**{in_words(name, stored)}.** {provenance(stored)}"
            for other, why in stored["numbers"]["not run"].items():
                yield f"{TITLES.get(other, other)}: not run here ({why.rstrip('.')}).\n"
            yield from folder.tables(name, "ood")
            yield folder.figure(name, "ood.png", "ROC curves of the first run")
        yield from _closest(found, pairs)
        yield from _how_many(found, pairs)


def _has(stored: dict[str, Any], other: str) -> bool:
    return f"{other} | variance | epistemic" in stored["numbers"]["auroc"]


def _order(stored: dict[str, Any], other: str, measures: dict[str, tuple[float, float]]) -> str:
    """Whether the measures come in the paper's order, and whether the differences are beyond doubt."""
    cells, differences = stored["numbers"]["auroc"], stored["numbers"]["auroc difference"]
    ours = sorted(MEASURES, key=lambda m: cells[f"{other} | {m} | epistemic"]["mean"])
    theirs = sorted(MEASURES, key=lambda m: measures[m][0])
    sure = [
        d["low"] is not None and (d["low"] > 0 or d["high"] < 0)
        for key, d in differences.items()
        if key.startswith(f"{other} | ") and key.endswith("epistemic")
    ]
    same = "as in the paper" if ours == theirs else "another one"
    return same if stored["about"]["runs"] < 2 else f"{same}; {sum(sure)} of {len(sure)} differences clear"


def _closest(found: Found, pairs: Published) -> Iterator[str]:
    """How far each setting is from the paper's numbers, on average over the measures, and which differ from the text's settings."""
    others = [other for other in pairs if found and _has(found[0][1], other)]
    if not others:
        return
    rows = []
    for name, stored in found:
        text = _as_in_the_text(stored, found)
        gaps, apart = [], []
        for other in others:
            runs = _averaged(stored, other) if _has(stored, other) else []
            mean, sd = (fmean(column) for column in zip(*pairs[other].values(), strict=True))
            gaps.append(interval(_difference(runs, (mean, sd, 5)) if runs else None))
            if runs and text is not None and text is not stored:
                usual = _averaged(text, other)
                verdict = {True: " (beyond)", False: " (within)", None: ""}[_beyond(runs, usual)]
                apart.append(f"{TITLES[other]} {number(fmean(runs) - fmean(usual), 3)}{verdict}")
        accuracy = stored["numbers"].get("accuracy")
        words = in_words(name, stored, with_data=False)
        rows.append([words, "–" if accuracy is None else spread(accuracy, 4), *gaps, ", ".join(apart) or "–"])
    yield (
        "How far from the paper's AUROCs (ours − paper's, averaged over the three measures; brackets: Welch's interval). The last column "
        "compares with protocol “paper” and as many members: beyond or within what another run of that would give (95 % prediction interval).\n"
    )
    yield markdown(["setting", "accuracy", *(TITLES[other] for other in others), "against protocol “paper”"], rows) + "\n"


def _as_in_the_text(stored: dict[str, Any], found: Found) -> dict[str, Any] | None:
    """The result of the text's own settings, with as many members as this one, if there is one."""
    wanted = {**stored["about"]["setting"], "protocol": "paper", "changes": [], "epochs": None}
    return next((other for _, other in found if other["about"]["setting"] == wanted), None)


def _how_many(found: Found, pairs: Published) -> Iterator[str]:
    """With how many members, drawn from those of all runs, the AUROCs come closest to the paper's."""
    for _, stored in found:
        by_size = stored["numbers"].get("auroc by members")
        if not by_size or _as_in_the_text(stored, found) is not stored:
            continue
        cells = [(other, measure) for other in pairs for measure in MEASURES if any(key.startswith(f"{other} | ") for key in by_size)]
        sizes = list(dict.fromkeys(key.split(" | ")[2] for key in by_size))
        far = {size: fmean(abs(by_size[f"{o} | {m} | {size}"]["mean"] - pairs[o][m][0]) for o, m in cells) for size in sizes}
        best, own = min(sizes, key=lambda size: far[size]), str(stored["about"]["setting"]["members"])
        each = [
            f"{TITLES[o]}, {m}: {spread(by_size[f'{o} | {m} | {best}'])} (paper {pairs[o][m][0]:.3f} ± {pairs[o][m][1]:.3f})"
            for o, m in cells
        ]
        yield (
            "How much the number of members matters is in the table “AUROC (EU) by the number of members” above. "
            f"All cells together come closest to the paper's with **{best} members**, where they differ by {number(far[best], 3)} on average"
            + (f" (with {own} by {number(far[own], 3)})" if own in far and own != best else "")
            + f". {'; '.join(each)}. The text says that there were five.\n"
        )
        return


def _averaged(stored: dict[str, Any], other: str) -> list[float]:
    """The AUROC of epistemic uncertainty, averaged over the measures, run by run."""
    cells = [stored["numbers"]["auroc"][f"{other} | {measure} | epistemic"]["runs"] for measure in MEASURES]
    return [fmean(values) for values in zip(*cells, strict=True)]


def _difference(runs: list[float], theirs: tuple[float, float, int]) -> dict[str, float | None]:
    """The mean of our runs less that of theirs (mean, deviation, count), with Welch's 95 % interval where we have several."""
    from scipy.stats import t

    mean, sd, count = theirs
    n, own = len(runs), fmean(runs)
    if n < 2:
        return {"mean": own - mean, "low": None, "high": None}
    a, b = variance(runs) / n, sd**2 / count
    reach = float(t.ppf(0.975, (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (count - 1)))) * sqrt(a + b)
    return {"mean": own - mean, "low": own - mean - reach, "high": own - mean + reach}


def _beyond(runs: list[float], others: list[float]) -> bool | None:
    """Whether the mean of ``runs`` lies outside the 95 % prediction interval of that many more of the ``others``; unknown for one of these."""
    from scipy.stats import t

    n = len(others)
    if n < 2:
        return None
    reach = float(t.ppf(0.975, n - 1)) * sqrt(variance(others) * (1 / n + 1 / len(runs)))
    return abs(fmean(runs) - fmean(others)) > reach


def holdout(folder: Results) -> Iterator[str]:
    """Table 2."""
    for data, printed in TABLE_2.items():
        yield f"### {TITLES[data]}\n"
        rows = [
            ["paper, 5 runs", kind, *(f"{m:.4f} ± {sd:.4f}" for m, sd in cells.values()), "", "", ""] for kind, cells in printed.items()
        ]
        arrays, found = folder.published(data), folder.find("holdout", data)
        if arrays is not None:
            rows += drop_rows("recomputed from the authors' arrays, 5 runs", arrays["numbers"], arrays["about"]["runs"])
        for name, stored in found:
            words = in_words(name, stored, with_data=False)
            for arm, table in stored["numbers"]["table"].items():
                rows += drop_rows(f"{arm.replace('-', ' ')} ({words})", table, stored["about"]["runs"])
        yield markdown(["", *DROP_COLUMNS[1:]], rows) + "\n"
        if arrays is not None:
            share, excess = arrays["numbers"]["predicted by the other classes"]["value"], interval(arrays["numbers"]["excess"], 5)
            yield (
                f"In the authors' arrays, a line fitted to the other classes predicts {100 * share:.0f} % of the selected class's drop; "
                f"it exceeds the line by {excess} (bootstrap over runs, all resamples). `{arrays['about']['command']}`\n"
            )
        if not found:
            yield f"*Not run here.* `labelwise reproduce holdout --data {data} --runs 5`\n"
        for name, stored in found:
            yield f"**What the new images add: {in_words(name, stored)}.**\n"
            columns = ["log EU(arm) − log EU(control)", "the arm's class", "other classes"]
            yield markdown(columns, effect_rows(stored["numbers"])) + "\n"
            yield _verdict(stored) + "\n"
            yield folder.figure(name, "holdout.png", "ECDF of epistemic uncertainty before and after")
            yield provenance(stored)


def _verdict(stored: dict[str, Any]) -> str:
    """One sentence on what the swap itself does, from the numbers."""
    numbers, n = stored["numbers"], stored["about"]["runs"]
    drop = {arm: numbers["table"][arm]["drop"]["absolute"]["selected"]["mean"] for arm in ("swap", "no-swap")}
    text = (
        f"Without any new images the EU of the selected class falls by {number(drop['no-swap'], 4)} on average, "
        f"{100 * drop['no-swap'] / drop['swap']:.0f} % of the {number(drop['swap'], 4)} with them."
    )
    same = sum(a == b for a, b in zip(numbers["selected"], numbers["selected, mean over own instances"], strict=True))
    text += f" (The class is selected by the mean over all test images, as in the code; the text's mean over its own images picks the same class in {same}/{n}.)"
    effect = numbers["effect"]["swap − no-swap"]
    if effect["low"] is None:
        return f"{text} One run says nothing about the spread of the difference."
    clear = (
        "an effect of the new images beyond chance"
        if effect["high"] < 0
        else "no effect of the new images that these runs can tell from chance"
    )
    return f"{text} The paired difference, {interval(effect)} over {runs_word(n)}, shows {clear}."
