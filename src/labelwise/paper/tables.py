"""Tables from the stored numbers of an experiment: for the terminal and for the results page."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

from ..decomposition import PARTS

__all__ = ["DROP_COLUMNS", "Table", "drop_rows", "effect_rows", "interval", "number", "read", "runs_word", "spread", "tables"]

Table = tuple[str, list[str], list[list[str]]]
"""Title, columns, rows."""
SHORT = {"total": "TU", "aleatoric": "AU", "epistemic": "EU"}
DROP_COLUMNS = [
    "arm", "drop", "its class", "other classes", "next highest", "its class has the largest", "another class rises", "predicted by a line",
]  # fmt: skip


def read(path: Path) -> dict[str, Any]:
    """A stored result."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no result {str(path)!r}; run the experiment first")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def tables(path: Path) -> list[Table]:
    """The tables of the experiment whose result is in ``path``."""
    stored = read(path)
    about, numbers = stored["about"], stored["numbers"]
    if about["setting"] == "published":
        return [_drops({"swap": numbers}, about["runs"])]
    makers = {"arc": arc, "ood": ood, "losses": losses, "gallery": gallery, "holdout": holdout, "artifact": artifact, "human": human}
    return makers[about["experiment"]](numbers, about)


def spread(cell: dict[str, Any], digits: int = 3) -> str:
    """Mean ± standard deviation between runs; one run has none."""
    mean = number(cell["mean"], digits)
    return mean if cell.get("sd") is None else f"{mean} ± {number(cell['sd'], digits)}"


def interval(cell: dict[str, Any] | None, digits: int = 3) -> str:
    """A mean, or an estimate, with its 95 % interval."""
    if cell is None:
        return "–"
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


def _keys(cells: dict[str, Any], *places: int) -> list[Any]:
    """The distinct words at one place of keys such as ``mnist | variance | total``; for several places, their combinations."""
    words = [list(dict.fromkeys(key.split(" | ")[place] for key in cells)) for place in places]
    return words[0] if len(words) == 1 else list(product(*words))


def arc(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """Area under the accuracy–rejection curves, and differences between the measures."""
    area, difference = numbers["area"], numbers["area difference"]
    title = f"Area under the accuracy–rejection curve, {runs_word(about['runs'])}; accuracy {spread(numbers['accuracy'], 4)}"
    rows = [[name, *(spread(area[f"{name} | {part}"], 4) for part in PARTS)] for name in _keys(area, 0)]
    compared = [[pair, *(interval(difference[f"{pair} | {part}"], 5) for part in PARTS)] for pair in _keys(difference, 0)]
    columns = [SHORT[part] for part in PARTS]
    return [(title, ["measure", *columns], rows), ("Differences of the area, paired by run", ["measures", *columns], compared)]


def ood(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """AUROCs by set and measure, differences between the measures, and the effect of the number of members."""
    cells, differences, instances = (numbers[f"auroc{kind}"] for kind in ("", " difference", " difference, instances of run 0"))
    runs, order = runs_word(about["runs"]), ("epistemic", "total", "aleatoric")
    rows = [[name, measure, *(spread(cells[f"{name} | {measure} | {part}"]) for part in order)] for name, measure in _keys(cells, 0, 1)]
    compared = [
        [name, pair, interval(differences[f"{name} | {pair} | epistemic"], 4), interval(instances[f"{name} | {pair}"], 4)]
        for name, pair in _keys(differences, 0, 1)
    ]
    made: list[Table] = [
        (f"AUROC, {about['setting']['data']} against other sets, {runs}", ["set", "measure", "EU", "TU", "AU"], rows),
        ("Differences of the AUROC (EU)", ["set", "measures", f"over {runs}", "over the instances of run 0"], compared),
    ]
    by_size = numbers.get("auroc by members")
    if by_size:
        measures, sizes = _keys(by_size, 1), _keys(by_size, 2)
        rows = [[name, size, *(spread(by_size[f"{name} | {m} | {size}"]) for m in measures)] for name, size in _keys(by_size, 0, 2)]
        title = f"AUROC (EU) by the number of members, for ensembles drawn from the {sizes[-1]} of all runs"
        made.append((title, ["set", "members", *measures], rows))
    return made


def losses(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """For each task, each loss and its difference from log loss."""
    value, difference = numbers["value"], numbers["difference from log"]
    columns = ["loss", *(SHORT[part] for part in PARTS), *(f"{SHORT[part]} − log's" for part in PARTS)]
    made = []
    for task in _keys(value, 0):
        what, digits = ("Area under the accuracy–rejection curve", 4) if task == "rejection" else (f"AUROC against {task}", 3)
        rows = []
        for loss in _keys(value, 1):
            keys = [f"{task} | {loss} | {part}" for part in PARTS]
            rows.append([loss, *(spread(value[key], digits) for key in keys), *(interval(difference.get(key), digits + 1) for key in keys)])
        made.append((f"{what}, {runs_word(about['runs'])}", columns, rows))
    return made


def gallery(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """The instances shown."""
    columns = ["position", "true", "predicted", *(SHORT[part] for part in PARTS)]
    rows = {
        part: [[str(x["position"]), x["true"], x["predicted"], *(number(x[p], 3) for p in PARTS)] for x in numbers[part]] for part in PARTS
    }
    return [(f"Highest {part} uncertainty (bits, run 0)", columns, rows[part]) for part in PARTS]


def holdout(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """Table 2 for each arm, and the paired effects."""
    title = "log EU(arm) − log EU(control), same checkpoint and class, 95 % t-interval"
    return [_drops(numbers["table"], about["runs"]), (title, ["arm − control", "its class", "other classes"], effect_rows(numbers))]


def _drops(arms: dict[str, Any], n: int) -> Table:
    rows = [row for arm, table in arms.items() for row in drop_rows(arm, table, n)]
    return f"Drop in mean EU, {runs_word(n)}, mean ± sd (n)", DROP_COLUMNS, rows


def effect_rows(numbers: dict[str, Any]) -> list[list[str]]:
    """What each arm adds to its control, for its class and for the others."""
    others = numbers["effect on other classes"]
    return [[name.replace("-", " "), interval(cell), interval(others.get(name))] for name, cell in numbers["effect"].items()]


def drop_rows(arm: str, table: dict[str, Any], n: int) -> list[list[str]]:
    """The two rows, absolute and relative, of one arm."""
    rises, of = table["EU of another class rises"]
    predicted = f"{number(100 * table['predicted by the other classes']['value'], 0)} %"
    made = []
    for kind, drop in table["drop"].items():
        cells = [spread({**drop[name], **({"sd": None} if n < 2 else {})}, 4) for name in ("selected", "others", "next highest")]
        largest = f"{table['selected has the largest drop'][kind]}/{n}"
        made.append([arm, kind, *cells, largest, f"{rises}/{of}", predicted if kind == "absolute" else ""])
    return made


def artifact(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """AUROC of the same images, handled in four ways."""
    cells = numbers["auroc"]
    measures = _keys(cells, 3)
    rows = []
    for data, scaled, way in _keys(cells, 0, 1, 2):
        key = f"{data} | {scaled} | {way}"
        accuracy = numbers["accuracy"].get(f"{scaled} | {way}") if data == about["setting"]["data"] else None
        values = [*(cells[f"{key} | {measure}"] for measure in measures), numbers["confidence"][key], numbers["agreement"][key]]
        rows.append([data, scaled, way, *map(spread, values), "–" if accuracy is None else spread(accuracy)])
    columns = ["images", "pixels", "", *measures, "members' confidence", "all agree", "accuracy"]
    return [(f"AUROC (EU) against the plain test images, {runs_word(about['runs'])}", columns, rows)]


def human(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """Rank correlations with votes and error, and label by label."""
    pairs, labels = numbers["spearman"], numbers["spearman by label"]
    images, votes, aleatoric = (
        numbers[key] for key in ("spearman by label, images of the last run", "mean spread of the votes", "mean aleatoric")
    )
    rows = [[SHORT[part], *(spread(pairs[f"{part} | {what}"]) for what in ("votes", "error"))] for part in PARTS]
    by_label = [
        [name, spread(labels[name]), interval(images[name]), number(votes[name], 4), spread(aleatoric[name], 4)]
        for name in sorted(labels, key=lambda name: -labels[name]["mean"])
    ]
    title = f"Spearman correlation with the spread of votes and with error, {runs_word(about['runs'])}"
    means = (
        f"Label by label: AU against the votes; Spearman correlation of the class means {spread(numbers['spearman of the class means'])}"
    )
    columns = ["label", "Spearman", "over images (last run)", "mean spread of votes", "mean AU"]
    return [(title, ["uncertainty", "votes", "error"], rows), (means, columns, by_label)]
