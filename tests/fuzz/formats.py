"""What is damaged, and how it is read: valid samples of what labelwise understands by itself."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .mutations import Tree

NAMES = ["lung", "lymphoma", "melanoma"]
COSTS = b"""class_names = ["lung", "lymphoma", "melanoma"]
matrix = [[0, 1, 2.5], [4, 0, 1], [20, 3, 0]]
abstain = 0.8
ask = 0.5
expert_error = 0.02
"""
COSTS_WITH_DEFAULT = b"default = 1\nask = 2\n[missed]\nmelanoma = 20\n[false_alarm]\nlung = 0.5\n"
COSTS_BY_NAME = b"""expert_error = 0.1
[false_alarm]
lung = 1
lymphoma = 2
melanoma = 3.5
[missed]
lung = 10
lymphoma = 2e1
"melanoma" = 30
"""
EVENTS = b'chest = ["lung", "lymphoma"]\nskin = ["melanoma"]\n'


@dataclass(frozen=True)
class Format:
    """One kind of file, or folder of files."""

    sample: Tree
    """Valid files, by name."""
    read: Callable[[Path], object]
    """Reads them in a folder."""


# Predictions: five members, twelve instances, three classes

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), (5, 12))
IDS = [f"case {i}" for i in range(12)]
Y_TRUE = RNG.integers(0, 3, 12)
ARRAYS = {
    "probs": PROBS,
    "y_true": Y_TRUE,
    "class_names": np.array(NAMES),
    "ids": np.array(IDS),
    "weights": np.array([1.0, 2, 1, 1, 3]),
    "images": RNG.integers(0, 256, (12, 4, 4), dtype=np.uint8),
}


def npz(**content: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **content)
    return file.getvalue()


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], **dialect: Any) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, **dialect)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def rows(member: int) -> list[list[Any]]:
    return [
        [IDS[i], NAMES[Y_TRUE[i]], f"model {member}", *PROBS[member, i].tolist()] for i in range(12)
    ]


HEADER = ["id", "label", "model", *NAMES]
LONG = [*rows(0), *rows(1)]
COMMAS = [[str(x).replace(".", ",") for x in row] for row in LONG]
LINES = [json.dumps(dict(zip(HEADER, row, strict=True))) for row in LONG]
MEMBERS = [
    json.dumps({"id": IDS[i], "probs": PROBS[:, i].tolist(), "y_true": int(Y_TRUE[i])})
    for i in range(12)
]
FOLDER = {
    f"preds.d/model{k}.csv": table(
        ["id", *NAMES], [[x, *row] for x, row in zip(IDS, PROBS[k].tolist(), strict=True)]
    )
    for k in range(3)
}
CSV = {"preds.csv": table(HEADER, LONG)}


def one(folder: Path) -> Path:
    return next(iter(sorted(folder.glob("preds.*"))), folder / "preds.missing")


def read_predictions(folder: Path) -> None:
    """As `labelwise quantify` reads them: a block and its uncertainty, the ids."""
    import labelwise as lw

    predictions = lw.load_predictions(one(folder))
    u = lw.decompose(predictions[:1000].distribution())
    for part in (u.total, u.aleatoric, u.epistemic):
        values = np.asarray(part)
        if not np.all(np.isfinite(values) & (values >= 0)):
            raise AssertionError("not an uncertainty")
    if predictions.ids is not None:
        np.asarray(predictions.ids[:])


def read_with_labels(folder: Path) -> None:
    """Labels in a file of their own, matched by id."""
    import labelwise as lw

    labels = next(iter(folder.glob("labels.*")), folder / "labels.missing")
    predictions = lw.load_predictions(one(folder), labels=labels)
    if not len(predictions) == len(predictions.true_class):
        raise AssertionError("labels that do not fit")


def read_costs(folder: Path) -> None:
    """The costs, used for every task that they are for."""
    from labelwise.decisions import Costs

    costs = Costs.from_toml(folder / "costs.toml")
    for task in ("multiclass", "per_label"):
        with suppress(ValueError):
            costs.problem(task, 3, tuple(NAMES))


def read_events(folder: Path) -> None:
    """Groups of classes, resolved."""
    from labelwise.cli._input import read_events
    from labelwise.events import as_events

    family = as_events(read_events(folder / "events.toml"))
    if family is not None:
        family.resolve(3, tuple(NAMES))


def command(*words: str) -> Callable[[Path], None]:
    """Run ``labelwise``; it must succeed (0) or say in one sentence what is wrong (2)."""

    def run(folder: Path) -> None:
        from click.testing import CliRunner

        from labelwise.cli import main

        args = [w.replace("PREDS", str(one(folder))).replace("OUT", str(folder)) for w in words]
        result = CliRunner().invoke(main, args)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise AssertionError(f"a traceback: {result.exception!r}") from result.exception
        if result.exit_code not in (0, 2) or "Traceback" in result.output:
            raise AssertionError(f"exit code {result.exit_code}: {result.output[:300]}")
        if result.exit_code == 2:
            *before, said = result.stderr.strip().split("\n")
            if any(not line.startswith(("Note: ", "preds.", "  ")) for line in before):
                raise AssertionError(f"not notes: {before[0][:300]!r}")
            if not said.startswith("Error: "):
                raise AssertionError(f"not one sentence: {said[:300]!r}")
            if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in said):
                raise AssertionError(f"control characters: {said[:300]!r}")
        if list(folder.glob("*.partial")):
            raise AssertionError("blocks are left behind")

    return run


ALPHA = {key: x for key, x in ARRAYS.items() if key not in ("probs", "weights")}
FORMATS: dict[str, Format] = {
    "csv": Format(CSV, read_predictions),
    "csv semicolon": Format(
        {"preds.csv": b"\xef\xbb\xbf" + table(HEADER, COMMAS, delimiter=";")}, read_predictions
    ),
    "tsv": Format(
        {"preds.tsv": table(["", *HEADER], [[i, *x] for i, x in enumerate(LONG)], delimiter="\t")},
        read_predictions,
    ),
    "folder csv": Format(FOLDER, read_predictions),
    "labels csv": Format(
        FOLDER | {"labels.csv": table(["id", "y_true"], list(zip(IDS, Y_TRUE, strict=True)))},
        read_with_labels,
    ),
    "json lines": Format({"preds.jsonl": "\n".join(LINES).encode()}, read_predictions),
    "json lines of members": Format({"preds.jsonl": "\n".join(MEMBERS).encode()}, read_predictions),
    "arrays": Format({"preds.npz": npz(**ARRAYS)}, read_predictions),
    "arrays alpha": Format({"preds.npz": npz(alpha=1 + PROBS[0], **ALPHA)}, read_predictions),
    "folder npy": Format(
        {f"preds.d/model{k}.npy": npy(PROBS[k]) for k in range(3)},
        read_predictions,
    ),
    "costs": Format({"costs.toml": COSTS}, read_costs),
    "costs by name": Format({"costs.toml": COSTS_BY_NAME}, read_costs),
    "costs with default": Format({"costs.toml": COSTS_WITH_DEFAULT}, read_costs),
    "events": Format({"events.toml": EVENTS}, read_events),
    "command quantify": Format(CSV, command("quantify", "PREDS", "-o", "OUT/u.csv")),
    "command quantify arrays": Format(
        {"preds.npz": npz(**ARRAYS)}, command("quantify", "PREDS", "-o", "OUT/u.npz")
    ),
    "command evaluate": Format(FOLDER, command("evaluate", "PREDS", "--normalize")),
    "command decide": Format(
        CSV | {"costs.toml": COSTS},
        command("decide", "PREDS", "--costs", "OUT/costs.toml", "-o", "OUT/plan.csv"),
    ),
}
