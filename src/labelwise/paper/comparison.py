"""Sections of the results page that put the paper's Tables 1 and 2 beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from statistics import fmean, variance
from typing import Any

from .paper import TABLE_1, TABLE_2
from .provenance import TITLES, Stored, in_words, made_by, markdown
from .scores import MEASURES
from .tables import drop_rows, interval, number, runs_word, spread

HOLDOUT = """An ensemble is trained on a small part of the data (FashionMNIST 300 images, CIFAR-10 5,000). The class with the highest mean label-wise EU
then gets other images of its kind from the hold-out in each further epoch, and its EU falls. The paper has no control. Here the same checkpoint
is continued in several ways, and the EU of the same class is compared:

- **swap**: the paper's experiment; **no swap**: the training just goes on with the same images;
- **old pool**: the class is drawn anew in each epoch, but from the images it had; **random class**: another class gets the new images;
- **half**: the class is selected on one half of the test set and judged on the other (in the rows “other half”);
- **constant**: the learning rate stays what it was (on CIFAR-10 it falls in the same epoch in which the images are exchanged; on FashionMNIST
  Adam's is constant anyway).

“Next highest drop” is the largest among the *other classes* (the published code took it over runs), and ± the deviation over runs with n in the
denominator, as there (the published ± .0000 is the deviation of a single number). “Foretold”: the share of the selected class's drop that a
line fitted to the untouched classes predicts from its EU before.
"""


def detection(folder: Stored) -> Iterator[str]:
    """Table 1."""
    yield "## Out-of-distribution detection (Table 1)\n"
    yield (
        "AUROC of epistemic uncertainty, as in the caption of Table 1 (its text says total uncertainty, which is given below). "
        "The paper prints ± 0.18 for its first number, a misprint of .018.\n"
    )
    for data, pairs in TABLE_1.items():
        found = folder.find("ood", data)
        rows = []
        for other, measures in pairs.items():
            rows.append([f"{TITLES[other]}", "paper, 5 runs", *(f"{m:.3f} ± {sd:.3f}" for m, sd in measures.values()), ""])
            for name, stored in found:
                cells = stored["numbers"]["auroc"]
                if f"{other} | variance | epistemic" in cells:
                    ours = [spread(cells[f"{other} | {measure} | epistemic"]) for measure in MEASURES]
                    rows.append([TITLES[other], in_words(name, stored).partition(", ")[2], *ours, _order(stored, other, measures)])
        yield f"### {TITLES[data]}\n"
        yield markdown(["against", "", *MEASURES, "order"], rows) + "\n"
        if not found:
            yield f"*Not run here.* `labelwise reproduce ood --data {data} --runs 5`\n"
        for name, stored in found:
            yield f"**{in_words(name, stored)}.** {made_by(stored)}\n"
            for other, why in stored["numbers"]["not run"].items():
                yield f"{TITLES.get(other, other)}: not run here ({why.rstrip('.')}).\n"
            for title, columns, rows in folder.tables(name, "ood"):
                yield f"{title}:\n\n{markdown(columns, rows)}\n"
            yield folder.figure(name, "ood.png", "ROC curves of the first run") + "\n"
        yield from _closest(found, pairs)
        yield from _how_many(found, pairs)


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


def _closest(found: list[tuple[str, dict[str, Any]]], pairs: dict[str, dict[str, tuple[float, float]]]) -> Iterator[str]:
    """How far each setting is from the paper's numbers, on average over the measures, and which differ from the text's settings."""
    others = [other for other in pairs if found and f"{other} | variance | epistemic" in found[0][1]["numbers"]["auroc"]]
    if not others:
        return
    rows = []
    for name, stored in found:
        text = _as_in_the_text(stored, found)
        gaps, apart = [], []
        for other in others:
            if f"{other} | variance | epistemic" not in stored["numbers"]["auroc"]:
                gaps.append("–")
                continue
            runs = _averaged(stored, other)
            theirs = [fmean(column) for column in zip(*pairs[other].values(), strict=True)]
            gaps.append(interval(_difference(runs, (theirs[0], theirs[1], 5))))
            if text is not None and text is not stored:
                usual = _averaged(text, other)
                verdict = {True: " (beyond)", False: " (within)", None: ""}[_beyond(runs, usual)]
                apart.append(f"{TITLES[other]} {number(fmean(runs) - fmean(usual), 3)}{verdict}")
        accuracy = stored["numbers"].get("accuracy")
        rows.append(
            [in_words(name, stored).partition(", ")[2], "–" if accuracy is None else spread(accuracy, 4), *gaps, ", ".join(apart) or "–"]
        )
    yield (
        "How far from the paper's AUROCs (ours − paper's, averaged over the three measures; brackets: Welch's interval). The last column "
        "compares with protocol “paper” and as many members: beyond or within what another run of that would give (95 % prediction interval).\n"
    )
    yield markdown(["setting", "accuracy", *(TITLES[other] for other in others), "against protocol “paper”"], rows) + "\n"


def _as_in_the_text(stored: dict[str, Any], found: list[tuple[str, dict[str, Any]]]) -> dict[str, Any] | None:
    """The result of the text's own settings, with as many members as this one, if there is one."""
    wanted = {**stored["about"]["setting"], "protocol": "paper", "changes": [], "epochs": None}
    return next((other for _, other in found if other["about"]["setting"] == wanted), None)


def _how_many(found: list[tuple[str, dict[str, Any]]], pairs: dict[str, dict[str, tuple[float, float]]]) -> Iterator[str]:
    """With how many members, drawn from those of all runs, the AUROCs come closest to the paper's."""
    for _, stored in found:
        pooled = stored["numbers"].get("auroc by members")
        if not pooled or _as_in_the_text(stored, found) is not stored:
            continue
        cells = [(other, measure) for other in pairs for measure in MEASURES if any(key.startswith(f"{other} | ") for key in pooled)]
        sizes = list(dict.fromkeys(key.split(" | ")[2] for key in pooled))
        far = {size: fmean(abs(pooled[f"{o} | {m} | {size}"]["mean"] - pairs[o][m][0]) for o, m in cells) for size in sizes}
        best = min(sizes, key=lambda size: far[size])
        told = [
            f"{TITLES[o]}, {m}: {spread(pooled[f'{o} | {m} | {best}'])} (paper {pairs[o][m][0]:.3f} ± {pairs[o][m][1]:.3f})"
            for o, m in cells
        ]
        own = str(stored["about"]["setting"]["members"])
        yield (
            "How much the number of members matters is in the table “AUROC (EU) by the number of members” above. "
            f"All cells together come closest to the paper's with **{best} members**, where they differ by {number(far[best], 3)} on average"
            + (f" (with {own} by {number(far[own], 3)})" if own in far and own != best else "")
            + f". {'; '.join(told)}. The text says that there were five.\n"
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


def holdout(folder: Stored) -> Iterator[str]:
    """Table 2."""
    yield "## New data for the class with the highest epistemic uncertainty (Table 2, Appendix C.3)\n"
    yield HOLDOUT
    for data, printed in TABLE_2.items():
        yield f"### {TITLES[data]}\n"
        columns = [
            "",
            "drop",
            "selected class",
            "other classes",
            "next highest drop",
            "selected has the largest",
            "another class rises",
            "foretold",
        ]
        rows = [
            ["paper, 5 runs", kind, *(f"{m:.4f} ± {sd:.4f}" for m, sd in printed[kind].values()), "", "", ""]
            for kind in ("absolute", "relative")
        ]
        again = folder.published(data)
        if again is not None:
            rows += drop_rows("recomputed from the authors' arrays, 5 runs", again["numbers"], again["about"]["runs"])
        found = folder.find("holdout", data)
        for name, stored in found:
            n = stored["about"]["runs"]
            words = in_words(name, stored).partition(", ")[2]
            for arm, table in stored["numbers"]["table"].items():
                rows += drop_rows(f"{arm.replace('-', ' ')} ({words})", table, n)
        yield markdown(columns, rows) + "\n"
        if again is not None:
            excess = again["numbers"]["excess"]
            yield (
                f"In the authors' arrays, a line fitted to the other classes foretells {100 * again['numbers']['predicted by the other classes']['value']:.0f} % "
                f"of the selected class's drop; it exceeds the line by {interval(excess, 5)} (bootstrap over runs, all resamples). "
                f"`{again['about']['command']}`\n"
            )
        if not found:
            yield f"*Not run here.* `labelwise reproduce holdout --data {data} --runs 5`\n"
        for name, stored in found:
            numbers = stored["numbers"]
            yield f"**What the new images add: {in_words(name, stored)}.**\n"
            effects = [
                [key.replace("-", " "), interval(cell), interval(other) if (other := numbers["effect on other classes"].get(key)) else "–"]
                for key, cell in numbers["effect"].items()
            ]
            yield markdown(["log EU(arm) − log EU(control)", "the arm's class", "other classes"], effects) + "\n"
            yield _verdict(stored) + "\n"
            yield folder.figure(name, "holdout.png", "ECDF of epistemic uncertainty before and after") + "\n"
            yield made_by(stored) + "\n"


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
