"""Tables from the stored numbers of an experiment: for the terminal and for the results page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..decomposition import PARTS

Table = tuple[str, list[str], list[list[str]]]
"""Title, columns, rows."""
SHORT = {"total": "TU", "aleatoric": "AU", "epistemic": "EU"}


def read(path: Path) -> dict[str, Any]:
    """A stored result."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no result {str(path)!r}; run the experiment first")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def tables(path: Path) -> list[Table]:
    """The tables of the experiment whose result is in ``path``."""
    stored = read(path)
    makers: dict[str, Callable[[dict[str, Any]], list[Table]]] = {
        "arc": arc,
        "ood": ood,
        "losses": losses,
        "gallery": gallery,
        "holdout": holdout,
        "artefact": artefact,
        "human": human,
    }
    if stored["about"]["setting"] == "published":
        return published(stored)
    return makers[stored["about"]["experiment"]](stored)


def spread(cell: dict[str, Any], digits: int = 3) -> str:
    """Mean ± standard deviation between runs; one run has none."""
    mean = number(cell["mean"], digits)
    return mean if cell.get("sd") is None else f"{mean} ± {number(cell['sd'], digits)}"


def interval(cell: dict[str, Any], digits: int = 3) -> str:
    """A mean, or an estimate, with its 95 % interval."""
    value = number(cell["mean"] if "mean" in cell else cell["value"], digits)
    return value if cell.get("low") is None else f"{value} [{number(cell['low'], digits)}, {number(cell['high'], digits)}]"


def number(value: float | None, digits: int) -> str:
    """With a proper minus sign, and none before 0.000."""
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) != 0 else text.lstrip("-")


def runs_word(n: int) -> str:
    """``1 run``, ``5 runs``."""
    return f"{n} run{'s' * (n != 1)}"


def _keys(cells: dict[str, Any], place: int) -> list[str]:
    """The distinct words at one place of keys such as ``mnist | variance | total``."""
    return list(dict.fromkeys(key.split(" | ")[place] for key in cells))


def arc(stored: dict[str, Any]) -> list[Table]:
    """Area under the accuracy–rejection curves, and differences between the measures."""
    numbers, n = stored["numbers"], stored["about"]["runs"]
    title = f"Area under the accuracy–rejection curve, {runs_word(n)}; accuracy {spread(numbers['accuracy'], 4)}"
    rows = [[measure, *(spread(numbers["area"][f"{measure} | {part}"], 4) for part in PARTS)] for measure in _keys(numbers["area"], 0)]
    compared = [
        [pair, *(interval(numbers["area difference"][f"{pair} | {part}"], 5) for part in PARTS)]
        for pair in _keys(numbers["area difference"], 0)
    ]
    columns = [SHORT[part] for part in PARTS]
    return [(title, ["measure", *columns], rows), ("Differences of the area, paired by run", ["measures", *columns], compared)]


def ood(stored: dict[str, Any]) -> list[Table]:
    """AUROCs by set and measure, and differences between the measures."""
    numbers, n = stored["numbers"], stored["about"]["runs"]
    cells = numbers["auroc"]
    rows = [
        [name, measure, *(spread(cells[f"{name} | {measure} | {part}"]) for part in ("epistemic", "total", "aleatoric"))]
        for name in _keys(cells, 0)
        for measure in _keys(cells, 1)
    ]
    differences = numbers["auroc difference"]
    compared = [
        [
            name,
            pair,
            interval(differences[f"{name} | {pair} | epistemic"], 4),
            interval(numbers["auroc difference, instances of run 0"][f"{name} | {pair}"], 4),
        ]
        for name in _keys(differences, 0)
        for pair in _keys(differences, 1)
    ]
    made: list[Table] = [
        (f"AUROC, {stored['about']['setting']['data']} against other sets, {runs_word(n)}", ["set", "measure", "EU", "TU", "AU"], rows),
        ("Differences of the AUROC (EU)", ["set", "measures", f"over {runs_word(n)}", "over the instances of run 0"], compared),
    ]
    pooled = numbers.get("auroc by members")
    if pooled:
        sizes = _keys(pooled, 2)
        measures = _keys(pooled, 1)
        rows = [
            [name, size, *(spread(pooled[f"{name} | {measure} | {size}"]) for measure in measures)]
            for name in _keys(pooled, 0)
            for size in sizes
        ]
        title = f"AUROC (EU) by the number of members, for ensembles drawn from the {sizes[-1]} of all runs"
        made.append((title, ["set", "members", *measures], rows))
    return made


def losses(stored: dict[str, Any]) -> list[Table]:
    """For each task, each loss and its difference from log loss."""
    numbers, n = stored["numbers"], stored["about"]["runs"]
    made = []
    for task in _keys(numbers["value"], 0):
        what = "Area under the accuracy–rejection curve" if task == "rejection" else f"AUROC against {task}"
        digits = 4 if task == "rejection" else 3
        rows = []
        for loss in _keys(numbers["value"], 1):
            row = [loss, *(spread(numbers["value"][f"{task} | {loss} | {part}"], digits) for part in PARTS)]
            difference = [numbers["difference from log"].get(f"{task} | {loss} | {part}") for part in PARTS]
            rows.append(row + ["–" if d is None else interval(d, digits + 1) for d in difference])
        columns = ["loss", *(SHORT[part] for part in PARTS), *(f"{SHORT[part]} − log's" for part in PARTS)]
        made.append((f"{what}, {runs_word(n)}", columns, rows))
    return made


def gallery(stored: dict[str, Any]) -> list[Table]:
    """The instances shown."""
    made = []
    for part in PARTS:
        rows = [[str(x["position"]), x["true"], x["predicted"], *(number(x[p], 3) for p in PARTS)] for x in stored["numbers"][part]]
        made.append((f"Highest {part} uncertainty (bits, run 0)", ["position", "true", "predicted", "TU", "AU", "EU"], rows))
    return made


def holdout(stored: dict[str, Any]) -> list[Table]:
    """Table 2 for each arm, and the paired effects."""
    numbers, n = stored["numbers"], stored["about"]["runs"]
    return [
        (
            f"Drop in mean EU, {runs_word(n)}, mean ± sd (n)",
            DROP_COLUMNS,
            [row for arm, t in numbers["table"].items() for row in drop_rows(arm, t, n)],
        ),
        (
            "log EU(arm) − log EU(control), same checkpoint and class, 95 % t-interval",
            ["arm − control", "its class", "the other classes"],
            [
                [
                    name,
                    interval(cell),
                    interval(numbers["effect on other classes"][name]) if name in numbers["effect on other classes"] else "–",
                ]
                for name, cell in numbers["effect"].items()
            ],
        ),
    ]


DROP_COLUMNS = [
    "arm",
    "drop",
    "its class",
    "others",
    "next highest",
    "its class has the largest",
    "another class rises",
    "foretold by the others",
]


def drop_rows(arm: str, table: dict[str, Any], n: int) -> list[list[str]]:
    """The two rows, absolute and relative, of one arm."""
    rises, of = table["EU of another class rises"]
    share = table["predicted by the other classes"]
    foretold = f"{number(100 * share['value'], 0)} %"
    made = []
    for kind, digits in (("absolute", 4), ("relative", 4)):
        columns = table["drop"][kind]
        made.append(
            [
                arm,
                kind,
                *(
                    spread(columns[name] if n > 1 else {"mean": columns[name]["mean"]}, digits)
                    for name in ("selected", "others", "next highest")
                ),
                f"{table['selected has the largest drop'][kind]}/{n}",
                f"{rises}/{of}",
                foretold if kind == "absolute" else "",
            ]
        )
    return made


def published(stored: dict[str, Any]) -> list[Table]:
    """Table 2 from the authors' arrays."""
    n = stored["about"]["runs"]
    return [(f"Drop in mean EU, {runs_word(n)}, mean ± sd (n)", DROP_COLUMNS, drop_rows("swap", stored["numbers"], n))]


def artefact(stored: dict[str, Any]) -> list[Table]:
    """AUROC of the same images, handled in four ways."""
    numbers, n = stored["numbers"], stored["about"]["runs"]
    cells = numbers["auroc"]
    rows = []
    for data in _keys(cells, 0):
        for scaled in _keys(cells, 1):
            for way in _keys(cells, 2):
                accuracy = numbers["accuracy"].get(f"{scaled} | {way}") if data == stored["about"]["setting"]["data"] else None
                key = f"{data} | {scaled} | {way}"
                row = [data, scaled, way, *(spread(cells[f"{key} | {measure}"]) for measure in _keys(cells, 3))]
                row += [spread(numbers[part][key]) for part in ("confidence", "agreement")]
                rows.append([*row, "–" if accuracy is None else spread(accuracy)])
    columns = ["images", "pixels", "", *_keys(cells, 3), "members' confidence", "all agree", "accuracy"]
    return [(f"AUROC (EU) against the plain test images, {runs_word(n)}", columns, rows)]


def human(stored: dict[str, Any]) -> list[Table]:
    """Rank correlations with votes and error, and label by label."""
    numbers, n = stored["numbers"], stored["about"]["runs"]
    pairs = numbers["spearman"]
    rows = [[SHORT[part], *(spread(pairs[f"{part} | {what}"]) for what in ("votes", "error"))] for part in PARTS]
    labels = numbers["spearman by label"]
    images = numbers["spearman by label, images of the last run"]
    by_label = [
        [
            name,
            spread(labels[name]),
            interval(images[name]),
            number(numbers["mean spread of the votes"][name], 4),
            spread(numbers["mean aleatoric"][name], 4),
        ]
        for name in sorted(labels, key=lambda name: -labels[name]["mean"])
    ]
    means = spread(numbers["spearman of the class means"])
    return [
        (f"Spearman correlation with the spread of votes and with error, {runs_word(n)}", ["uncertainty", "votes", "error"], rows),
        (
            f"Label by label: AU against the votes; Spearman correlation of the class means {means}",
            ["label", "Spearman", "over images (last run)", "mean spread of votes", "mean AU"],
            by_label,
        ),
    ]
