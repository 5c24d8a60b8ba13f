"""Tables from the stored numbers of an experiment: for the terminal and for the results page."""

from __future__ import annotations

import json
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

from ..text import PARTS

__all__ = [
    "DROP_COLUMNS",
    "EFFECT_COLUMNS",
    "Table",
    "drop_rows",
    "effect_rows",
    "interval",
    "number",
    "read",
    "runs_word",
    "spread",
    "tables",
]

Table = tuple[str, list[str], list[list[str]]]
"""Title, columns, rows."""
SHORT = {"total": "TU", "aleatoric": "AU", "epistemic": "EU"}
DROP_COLUMNS = [
    "arm",
    "runs",
    "drop",
    "its class",
    "other classes",
    "next highest",
    "its class has the largest",
    "another class rises",
    "predicted by a line",
]
EFFECT_COLUMNS = [
    "arm − control",
    "runs",
    "its class",
    "smallest detectable drop (80 % power)",
    "other classes",
]


def read(path: Path) -> dict[str, Any]:
    """A stored result: ``about``, where it comes from, and ``numbers``."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no result {str(path)!r}; run the experiment first")
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also what is not UTF-8
        wrong = str(error)
    else:
        if isinstance(stored, dict) and all(
            isinstance(stored.get(key), dict) for key in ("about", "numbers")
        ):
            return stored
        wrong = "it must hold `about` and `numbers`"
    kind = "published" if path.parent.name == "published" else path.stem
    raise ValueError(
        f"{str(path)!r} is not a stored result: {wrong}; delete it and run `labelwise-lab "
        f"reproduce {kind}` again"
    )


def tables(path: Path) -> list[Table]:
    """The tables of the experiment whose result is in ``path``."""
    stored = read(path)
    about, numbers = stored["about"], stored["numbers"]
    if about["setting"] == "published":
        return [
            (
                "Drop in mean EU, mean ± sd (n)",
                DROP_COLUMNS,
                drop_rows("swap", numbers, about["runs"]),
            )
        ]
    makers = {
        "arc": arc,
        "ood": ood,
        "losses": losses,
        "gallery": gallery,
        "holdout": holdout,
        "artifact": artifact,
        "human": human,
        "fingerprint": fingerprint,
    }
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
    return (
        value
        if cell.get("low") is None
        else f"{value} [{number(cell['low'], digits)}, {number(cell['high'], digits)}]"
    )


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
    """The distinct words at one place of keys such as ``mnist | variance | total``; for several
    places, their combinations.
    """
    words = [list(dict.fromkeys(key.split(" | ")[place] for key in cells)) for place in places]
    return words[0] if len(words) == 1 else list(product(*words))


def arc(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """Area under the accuracy–rejection curves, and differences between the measures."""
    area, difference = numbers["area"], numbers["area difference"]
    title = (
        f"Area under the accuracy–rejection curve, {runs_word(about['runs'])}; accuracy "
        f"{spread(numbers['accuracy'], 4)}"
    )
    rows = [
        [name, *(spread(area[f"{name} | {part}"], 4) for part in PARTS)] for name in _keys(area, 0)
    ]
    compared = [
        [pair, *(interval(difference[f"{pair} | {part}"], 5) for part in PARTS)]
        for pair in _keys(difference, 0)
    ]
    columns = [SHORT[part] for part in PARTS]
    return [
        (title, ["measure", *columns], rows),
        ("Differences of the area, paired by run", ["measures", *columns], compared),
    ]


def ood(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """AUROCs by set and measure, differences between the measures, and the effect of the number of
    members.
    """
    cells, differences, instances = (
        numbers[f"auroc{kind}"] for kind in ("", " difference", " difference, instances of run 0")
    )
    runs, order = runs_word(about["runs"]), ("epistemic", "total", "aleatoric")
    rows = [
        [name, measure, *(spread(cells[f"{name} | {measure} | {part}"]) for part in order)]
        for name, measure in _keys(cells, 0, 1)
    ]
    compared = [
        [
            name,
            pair,
            interval(differences[f"{name} | {pair} | epistemic"], 4),
            interval(instances[f"{name} | {pair}"], 4),
        ]
        for name, pair in _keys(differences, 0, 1)
    ]
    made: list[Table] = [
        (
            f"AUROC, {about['setting']['data']} against other sets, {runs}",
            ["set", "measure", "EU", "TU", "AU"],
            rows,
        ),
        (
            "Differences of the AUROC (EU)",
            ["set", "measures", f"over {runs}", "over the instances of run 0"],
            compared,
        ),
    ]
    return made


def losses(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """For each task, each loss and its difference from log loss."""
    value, difference = numbers["value"], numbers["difference from log"]
    columns = [
        "loss",
        *(SHORT[part] for part in PARTS),
        *(f"{SHORT[part]} − log's" for part in PARTS),
    ]
    tied = [
        [loss, *(spread(numbers["tied"][f"{loss} | {part}"]) for part in PARTS)]
        for loss in _keys(value, 1)
    ]
    made = [("Share of test instances whose score ties with another's", columns[:4], tied)]
    for task in _keys(value, 0):
        what, digits = (
            ("Area under the accuracy–rejection curve", 4)
            if task == "rejection"
            else (f"AUROC against {task}", 3)
        )
        rows = []
        for loss in _keys(value, 1):
            keys = [f"{task} | {loss} | {part}" for part in PARTS]
            rows.append(
                [
                    loss,
                    *(spread(value[key], digits) for key in keys),
                    *(interval(difference.get(key), digits + 1) for key in keys),
                ]
            )
        made.append((f"{what}, {runs_word(about['runs'])}", columns, rows))
    return made


def gallery(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """The instances shown."""
    columns = ["position", "true", "predicted", *(SHORT[part] for part in PARTS)]
    rows = {
        part: [
            [str(x["position"]), x["true"], x["predicted"], *(number(x[p], 3) for p in PARTS)]
            for x in numbers[part]
        ]
        for part in PARTS
    }
    return [(f"Highest {part} uncertainty (bits, run 0)", columns, rows[part]) for part in PARTS]


def holdout(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """Table 2 for each arm, and the paired effects."""
    rows = [
        row
        for arm, table in numbers["table"].items()
        for row in drop_rows(arm, table, table["runs"])
    ]
    title = "log EU(arm) − log EU(control), same checkpoint and class, 95 % t-interval"
    return [
        ("Drop in mean EU, mean ± sd (n)", DROP_COLUMNS, rows),
        (title, EFFECT_COLUMNS, effect_rows(numbers)),
    ]


def effect_rows(numbers: dict[str, Any]) -> list[list[str]]:
    """What each arm adds to its control, for its class and for the others."""
    others = numbers["effect on other classes"]
    return [
        [
            name.replace("-", " "),
            str(len(cell["runs"])),
            interval(cell),
            percent(cell["detectable"]),
            interval(others.get(name)),
        ]
        for name, cell in numbers["effect"].items()
    ]


def percent(log_ratio: float | None) -> str:
    """By how many percent EU is lower."""
    return "–" if log_ratio is None else f"{100 * (1 - exp(-log_ratio)):.0f} %"


def drop_rows(arm: str, table: dict[str, Any], n: int) -> list[list[str]]:
    """The two rows, absolute and relative, of one arm and its n runs."""
    rises, of = table["EU of another class rises"]
    predicted = f"{number(100 * table['predicted by the other classes']['value'], 0)} %"
    made = []
    for kind, drop in table["drop"].items():
        cells = [
            spread({**drop[name], **({"sd": None} if n < 2 else {})}, 4)
            for name in ("selected", "others", "next highest")
        ]
        largest = f"{table['selected has the largest drop'][kind]}/{n}"
        made.append(
            [
                arm.replace("-", " "),
                str(n),
                kind,
                *cells,
                largest,
                f"{rises}/{of}",
                predicted if kind == "absolute" else "",
            ]
        )
    return made


def artifact(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """AUROC of the same images, handled in four ways."""
    cells = numbers["auroc"]
    measures = _keys(cells, 3)
    rows = []
    for data, scaled, way in _keys(cells, 0, 1, 2):
        key = f"{data} | {scaled} | {way}"
        accuracy = (
            numbers["accuracy"].get(f"{scaled} | {way}")
            if data == about["setting"]["data"]
            else None
        )
        values = [
            *(cells[f"{key} | {measure}"] for measure in measures),
            numbers["confidence"][key],
            numbers["agreement"][key],
        ]
        rows.append(
            [data, scaled, way, *map(spread, values), "–" if accuracy is None else spread(accuracy)]
        )
    columns = ["images", "pixels", "", *measures, "members' confidence", "all agree", "accuracy"]
    counts = []
    for key, values in numbers["subsets"].items():
        below, above = sum(x < 0.1 for x in values), sum(x > 0.9 for x in values)
        counts.append(
            [*key.split(" | "), *map(str, (len(values), below, len(values) - below - above, above))]
        )
    subsets = (
        "AUROC (EU, label-wise entropy) of every subset of the members: how many are below 0.1, "
        "between, and above 0.9"
    )
    return [
        (f"AUROC (EU) against the plain test images, {runs_word(about['runs'])}", columns, rows),
        (
            subsets,
            ["pixels", "", "members", "subsets", "below 0.1", "between", "above 0.9"],
            counts,
        ),
    ]


def human(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """Rank correlations with votes and error, and label by label."""
    pairs, labels = numbers["spearman"], numbers["spearman by label"]
    images, votes, aleatoric = (
        numbers[key]
        for key in (
            "spearman by label, images of the last run",
            "mean spread of the votes",
            "mean aleatoric",
        )
    )
    rows = [
        [SHORT[part], *(spread(pairs[f"{part} | {what}"]) for what in ("votes", "error"))]
        for part in PARTS
    ]
    by_label = [
        [
            name,
            spread(labels[name]),
            interval(images[name]),
            number(votes[name], 4),
            spread(aleatoric[name], 4),
        ]
        for name in sorted(labels, key=lambda name: -(labels[name]["mean"] or 0))
    ]
    title = (
        f"Spearman correlation with the spread of votes and with error, {runs_word(about['runs'])}"
    )
    columns = ["label", "Spearman", "over images (last run)", "mean spread of votes", "mean AU"]
    compared = [
        [
            SHORT.get(name, name),
            spread(cell),
            interval(numbers["spearman of the class means, over classes"][name]),
        ]
        for name, cell in numbers["mean over labels"].items()
    ]
    return [
        (title, ["uncertainty, summed over the labels", "votes", "error"], rows),
        (
            "Label by label, with a baseline",
            ["score", "mean over the labels", "class means (n = 10 classes)"],
            compared,
        ),
        ("AU against the votes, by label", columns, by_label),
    ]


def fingerprint(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """For each set: levels and differences by the number of members and for other trainings, with
    the distance from the paper's.
    """
    distance = numbers["distance by members"]
    made: list[Table] = []
    for name in _keys(distance, 0):
        cells = [f"{name} | {quantity}" for quantity in _keys(distance, 1)]
        columns = ["", *_keys(distance, 1)]
        paper = ["paper", *(number(numbers["paper"][key], 3) for key in cells)]
        by_size = [
            [
                f"{m} members",
                *(
                    _with_distance(
                        numbers["by members"][f"{key} | {m}"]["mean"], distance[f"{key} | {m}"]
                    )
                    for key in cells
                ),
            ]
            for m in _keys(distance, 2)
        ]
        trained = [
            [
                f"{training}, {runs_word(of['runs'])}",
                *(_with_distance(of[key], numbers["distance"][training][key]) for key in cells),
            ]
            for training, of in numbers["trainings"].items()
        ]
        what = "value (distance from the paper's in standard errors)"
        made += [
            (
                f"{name}, by the number of members, drawn from {about['members']}: {what}",
                columns,
                [paper, *by_size],
            ),
            (f"{name}, by training: {what}", columns, [paper, *trained]),
        ]
    return made


def _with_distance(value: float, distance: float) -> str:
    return f"{number(value, 4)} ({number(distance, 1)})"
