"""Tables from the stored numbers of an experiment: for the terminal and for the results page."""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import Any

from ..files import read_json
from ..pages import interval, number, spread
from ..text import PARTS, counted
from .holdout_numbers import effect_in_words
from .records import Record, distinct, pick, select

__all__ = [
    "DROP_COLUMNS",
    "EFFECT_COLUMNS",
    "Table",
    "above_and_below",
    "drop_rows",
    "effect_rows",
    "measure_in_words",
    "percent",
    "read",
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
    wrong = "it must hold `about` and `numbers`"
    try:
        stored = read_json(path)
        if all(isinstance(stored[key], dict) for key in ("about", "numbers")):
            return dict(stored)
    except (TypeError, KeyError):
        pass
    except ValueError as error:
        wrong = str(error)
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
        rows = drop_rows("swap", numbers, about["runs"])
        return [("Drop in mean EU, mean ± sd (n)", DROP_COLUMNS, rows)]
    makers = {
        "arc": arc_tables,
        "ood": ood_tables,
        "losses": losses_tables,
        "gallery": gallery_tables,
        "holdout": holdout_tables,
        "artifact": artifact_tables,
        "human": human_tables,
        "fingerprint": fingerprint_tables,
    }
    return makers[about["experiment"]](numbers, about)


def arc_tables(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """Area under the accuracy–rejection curves, and differences between the measures."""
    area, difference = numbers["area"], numbers["area difference"]
    title = (
        f"Area under the accuracy–rejection curve, {counted(about['runs'], 'run')}; accuracy "
        f"{spread(numbers['accuracy'], 4)}"
    )
    rows = [
        [measure, *(spread(pick(area, measure=measure, part=part), 4) for part in PARTS)]
        for measure in distinct(area, "measure")
    ]
    compared = [
        [measure_in_words(total)]
        + [interval(pick(difference, **_pair(total), part=part), 5) for part in PARTS]
        for total in select(difference, part="total")
    ]
    columns = [SHORT[part] for part in PARTS]
    return [
        (title, ["measure", *columns], rows),
        ("Differences of the area, paired by run", ["measures", *columns], compared),
    ]


def _pair(record: Record) -> dict[str, Any]:
    """The measure, and the one whose value is subtracted."""
    return {key: record[key] for key in ("measure", "minus")}


def measure_in_words(record: Record) -> str:
    """A measure, or the difference of two, such as ``variance − entropy``."""
    words = str(record["measure"])
    return f"{words} − {record['minus']}" if record.get("minus") else words


def ood_tables(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """AUROCs by set and measure, and differences between the measures."""
    runs = counted(about["runs"], "run")
    rows = []
    for name in distinct(numbers["auroc"], "set"):
        for measure in distinct(numbers["auroc"], "measure"):
            cells = select(numbers["auroc"], set=name, measure=measure)
            by_part = (pick(cells, part=part) for part in ("epistemic", "total", "aleatoric"))
            rows.append([name, measure, *map(spread, by_part)])
    compared = []
    for cell in numbers["auroc difference, instances of run 0"]:
        over_runs = pick(
            numbers["auroc difference"], set=cell["set"], **_pair(cell), part="epistemic"
        )
        compared.append(
            [cell["set"], measure_in_words(cell), interval(over_runs, 4), interval(cell, 4)]
        )
    return [
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


def losses_tables(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """For each task, each loss and its difference from log loss."""
    losses = distinct(numbers["value"], "loss")
    short = [SHORT[part] for part in PARTS]
    columns = ["loss", *short, *(f"{name} − log's" for name in short)]
    tied = [[loss, *map(spread, select(numbers["tied"], loss=loss))] for loss in losses]
    found: list[Table] = [
        ("Share of test instances whose score ties with another's", columns[:4], tied)
    ]
    for task in distinct(numbers["value"], "task"):
        what, digits = f"AUROC against {task}", 3
        if task == "rejection":
            what, digits = "Area under the accuracy–rejection curve", 4
        rows = []
        for loss in losses:
            values = select(numbers["value"], task=task, loss=loss)
            apart = select(numbers["difference from log"], task=task, loss=loss)
            rows.append(
                [loss]
                + [spread(cell, digits) for cell in values]
                + ([interval(cell, digits + 1) for cell in apart] or ["–"] * len(values))
            )
        found.append((f"{what}, {counted(about['runs'], 'run')}", columns, rows))
    return found


def gallery_tables(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """The instances shown."""
    columns = ["position", "true", "predicted", *(SHORT[part] for part in PARTS)]
    found = []
    for part in PARTS:
        rows = [
            [str(x["position"]), x["true"], x["predicted"], *(number(x[p], 3) for p in PARTS)]
            for x in numbers[part]
        ]
        found.append((f"Highest {part} uncertainty (bits, run 0)", columns, rows))
    return found


def holdout_tables(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
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
    rows = []
    for cell in numbers["effect"]:
        about = {key: cell[key] for key in ("arm", "control", "among")}
        others = select(numbers["effect on other classes"], **about)
        rows.append(
            [
                effect_in_words(cell).replace("-", " "),
                str(len(cell["runs"])),
                interval(cell),
                percent(cell["detectable"]),
                interval(others[0]) if others else "–",
            ]
        )
    return rows


def percent(log_ratio: float | None) -> str:
    """By how many percent EU is lower."""
    return "–" if log_ratio is None else f"{100 * (1 - exp(-log_ratio)):.0f} %"


def drop_rows(arm: str, table: dict[str, Any], n: int) -> list[list[str]]:
    """The two rows, absolute and relative, of one arm and its n runs."""
    rises, of = table["EU of another class rises"]
    predicted = f"{number(100 * table['predicted by the other classes']['value'], 0)} %"
    rows = []
    for kind, drop in table["drop"].items():
        cells = [drop[name] for name in ("selected", "others", "next highest")]
        if n < 2:
            cells = [{"mean": cell["mean"]} for cell in cells]
        rows.append(
            [
                arm.replace("-", " "),
                str(n),
                kind,
                *(spread(cell, 4) for cell in cells),
                f"{table['selected has the largest drop'][kind]}/{n}",
                f"{rises}/{of}",
                predicted if kind == "absolute" else "",
            ]
        )
    return rows


def above_and_below(aurocs: list[float]) -> tuple[int, int, int]:
    """How many AUROCs are below 0.1, between, and above 0.9."""
    below, above = sum(x < 0.1 for x in aurocs), sum(x > 0.9 for x in aurocs)
    return below, len(aurocs) - below - above, above


def artifact_tables(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """AUROC of the same images, handled in four ways."""
    rows = []
    for cell in numbers["confidence"]:
        way = {key: cell[key] for key in ("pixels", "orientation")}
        where = {"set": cell["set"], **way}
        cells = [
            *select(numbers["auroc"], **where),
            cell,
            pick(numbers["agreement"], **where),
        ]
        accuracy = "–"
        if cell["set"] == about["setting"]["data"]:
            accuracy = spread(pick(numbers["accuracy"], **way))
        rows.append([*where.values(), *map(spread, cells), accuracy])
    measures = distinct(numbers["auroc"], "measure")
    columns = ["images", "pixels", "", *measures, "members' confidence", "all agree", "accuracy"]
    counts = [
        [
            *(str(each[key]) for key in ("pixels", "orientation", "members")),
            *map(str, (len(each["auroc"]), *above_and_below(each["auroc"]))),
        ]
        for each in numbers["subsets"]
    ]
    subsets = (
        "AUROC (EU, label-wise entropy) of every subset of the members: how many are below 0.1, "
        "between, and above 0.9"
    )
    of_subsets = ["pixels", "", "members", "subsets", "below 0.1", "between", "above 0.9"]
    title = f"AUROC (EU) against the plain test images, {counted(about['runs'], 'run')}"
    return [(title, columns, rows), (subsets, of_subsets, counts)]


def human_tables(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """Rank correlations with votes and error, and label by label."""
    rows = []
    for part in PARTS:
        cells = (pick(numbers["spearman"], part=part, against=what) for what in ("votes", "error"))
        rows.append([SHORT[part], *map(spread, cells)])
    compared = []
    for cell in numbers["mean over labels"]:
        score = cell["score"]
        of_means = pick(numbers["spearman of the class means, over classes"], score=score)
        compared.append([SHORT.get(score, score), spread(cell), interval(of_means)])
    by_label = []
    for cell in sorted(numbers["spearman by label"], key=lambda cell: -(cell["mean"] or 0)):
        label = cell["label"]
        over_images = pick(numbers["spearman by label, images of the last run"], label=label)
        of_votes = pick(numbers["mean spread of the votes"], label=label)["value"]
        aleatoric = pick(numbers["mean aleatoric"], label=label)
        by_label.append(
            [
                label,
                spread(cell),
                interval(over_images),
                number(of_votes, 4),
                spread(aleatoric, 4),
            ]
        )
    runs = counted(about["runs"], "run")
    return [
        (
            f"Spearman correlation with the spread of votes and with error, {runs}",
            ["uncertainty, summed over the labels", "votes", "error"],
            rows,
        ),
        (
            "Label by label, with a baseline",
            ["score", "mean over the labels", "class means (n = 10 classes)"],
            compared,
        ),
        (
            "AU against the votes, by label",
            ["label", "Spearman", "over images (last run)", "mean spread of votes", "mean AU"],
            by_label,
        ),
    ]


def fingerprint_tables(numbers: dict[str, Any], about: dict[str, Any]) -> list[Table]:
    """For each set: levels and differences by the number of members and for other trainings, with
    the distance from the paper's.
    """

    def cell(records: list[Record], key: str, quantity: Record) -> str:
        found = pick(records, **_pair(quantity))
        return f"{number(found[key], 4)} ({number(found['distance'], 1)})"

    what = "value (distance from the paper's in standard errors)"
    found: list[Table] = []
    for name in distinct(numbers["paper"], "set"):
        by_size = select(numbers["by members"], set=name)
        by_training = select(numbers["trainings"], set=name)
        quantities = [
            quantity
            for quantity in select(numbers["paper"], set=name)
            if quantity["minus"] or quantity["measure"] == "entropy"
        ]
        columns = ["", *map(measure_in_words, quantities)]
        paper = ["paper", *(number(quantity["value"], 3) for quantity in quantities)]
        sizes = [
            [f"{size} members"]
            + [cell(select(by_size, members=size), "mean", each) for each in quantities]
            for size in distinct(by_size, "members")
        ]
        trained = []
        for training in distinct(by_training, "training"):
            of = select(by_training, training=training)
            words = f"{training}, {counted(of[0]['runs'], 'run')}"
            trained.append([words, *(cell(of, "value", each) for each in quantities)])
        title = f"{name}, by the number of members, drawn from {about['members']}: {what}"
        found.append((title, columns, [paper, *sizes]))
        found.append((f"{name}, by training: {what}", columns, [paper, *trained]))
    return found
