"""sets: fit, predict and evaluate as the library does, on files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import labelwise as lw
from labelwise.cli import main

NAMES = ["nevus", "melanoma", "lentigo"]


def data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=150)
    probs = rng.dirichlet([1, 1, 1], (3, 150)) + 0.6 * np.eye(3)[y]
    return probs / probs.sum(axis=-1, keepdims=True), y


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, seed in (("cal", 0), ("new", 1)):
        probs, y = data(seed)
        np.savez(
            tmp_path / f"{name}.npz",
            probs=probs,
            y_true=y,
            class_names=NAMES,
            ids=[f"case {i}" for i in range(150)],
        )
        np.savez(
            tmp_path / f"{name}_patients.npz",
            probs=probs,
            y_true=y,
            class_names=NAMES,
            groups=np.arange(150) // 5,
        )
        np.savez(
            tmp_path / f"{name}_labels.npz",
            probs=probs,
            y_true=np.eye(3, dtype=int)[y],
            class_names=NAMES,
        )
    return tmp_path


def run(*words: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(main, ["sets", *map(str, words)])
    assert result.exit_code == code, result.output
    return result


def test_the_three_steps(folder: Path) -> None:
    assert (
        "With probability at least 80 %"
        in run("fit", folder / "cal.npz", "-o", folder / "sets.npz", "--coverage", 0.8).output
    )
    fitted = lw.sets.load_sets(folder / "sets.npz")
    probs, y = data(1)
    q = lw.Ensemble(probs, class_names=NAMES)
    found = json.loads(
        run("evaluate", folder / "new.npz", "--sets", folder / "sets.npz", "--json").stdout
    )
    expected = fitted.evaluate(q, y)
    assert [row["name"] for row in found["rows"]] == ["all classes", *NAMES]
    assert found["rows"][2]["coverage"] == pytest.approx(expected["melanoma"].coverage)
    assert "melanoma" in run("evaluate", folder / "new.npz", "--sets", folder / "sets.npz").output
    run("predict", folder / "new.npz", "--sets", folder / "sets.npz", "-o", folder / "sets.csv")
    with (folder / "sets.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    sets = fitted.predict(q)
    assert [row["set"] for row in rows] == ["; ".join(sets[i]) for i in range(150)]
    assert rows[3]["id"] == "case 3"


def test_classes_without_names_are_said_to_be_matched_by_position(folder: Path) -> None:
    run("fit", folder / "cal.npz", "-o", folder / "sets.npz")
    probs, y = data(1)
    np.savez(folder / "unnamed.npz", probs=probs, y_true=y)
    for words in (["evaluate"], ["predict", "-o", folder / "sets.csv"]):
        named = run(*words, folder / "new.npz", "--sets", folder / "sets.npz")
        unnamed = run(*words, folder / "unnamed.npz", "--sets", folder / "sets.npz")
        said = "classes matched by position, as 'nevus', 'melanoma', 'lentigo'"
        assert said in unnamed.stderr
        assert said not in named.stderr


def test_pools_and_patients(folder: Path) -> None:
    (folder / "pools.toml").write_text('rare = ["melanoma", "lentigo"]\n')
    output = run(
        "fit",
        folder / "cal.npz",
        "-o",
        folder / "s.npz",
        "--events",
        folder / "pools.toml",
    ).output
    assert "not for each class of an event by itself" in output
    output = run(
        "fit",
        folder / "cal_patients.npz",
        "-o",
        folder / "s.npz",
        "--guarantee",
        "marginal",
    ).output
    assert "a random case of a new group" in output
    assert (
        "group" in run("evaluate", folder / "new_patients.npz", "--sets", folder / "s.npz").output
    )


def test_groups_of_the_file_are_used(folder: Path) -> None:
    probs, y = data(1)
    groups = np.arange(150) // 5
    for name in ("cal", "new"):
        stored = dict(np.load(folder / f"{name}_labels.npz"))
        np.savez(folder / f"{name}_label_patients.npz", **stored, groups=groups)
    run("fit", folder / "cal_label_patients.npz", "-o", folder / "l.npz", "--multilabel")
    given = ("--sets", folder / "l.npz", "--multilabel")
    found = json.loads(run("evaluate", folder / "new_label_patients.npz", *given, "--json").stdout)
    fitted = lw.sets.load_sets(folder / "l.npz")
    expected = fitted.evaluate(
        lw.MultiLabelEnsemble(probs), np.eye(3, dtype=int)[y], groups=groups
    ).missed
    assert [row["missed_high"] for row in found["rows"]] == pytest.approx(expected.high.tolist())
    assert (
        "so they are evaluated by group"
        in run("evaluate", folder / "new_labels.npz", *given, code=2).output
    )
    run("fit", folder / "cal.npz", "-o", folder / "s.npz")  # without groups
    widths = []
    for name in ("new", "new_patients"):
        rows = json.loads(
            run("evaluate", folder / f"{name}.npz", "--sets", folder / "s.npz", "--json").stdout
        )["rows"]
        widths.append(rows[0]["coverage_high"] - rows[0]["coverage_low"])
    assert widths[0] != widths[1]  # the groups of the new cases count


def test_labels_that_occur_together(folder: Path) -> None:
    output = run(
        "fit",
        folder / "cal_labels.npz",
        "-o",
        folder / "l.npz",
        "--multilabel",
    ).output
    assert "conformal risk control" in output
    assert (
        "missed"
        in run(
            "evaluate", folder / "new_labels.npz", "--sets", folder / "l.npz", "--multilabel"
        ).output
    )
    found = json.loads(
        run(
            "evaluate",
            folder / "new_labels.npz",
            "--sets",
            folder / "l.npz",
            "--multilabel",
            "--json",
        ).stdout
    )
    assert len(found["rows"]) == 3
    lines = run(
        "predict", folder / "new_labels.npz", "--sets", folder / "l.npz", "--multilabel", "-o", "-"
    ).stdout.splitlines()
    answers = (
        lw.sets.load_sets(folder / "l.npz")
        .predict(lw.MultiLabelEnsemble(data(1)[0], class_names=NAMES))
        .answer
    )
    words = np.array(["no", "yes", "unsure"])[answers]
    assert lines == [
        "instance,nevus,melanoma,lentigo",
        *(",".join([str(i), *row]) for i, row in enumerate(words)),
    ]


def test_mistakes(folder: Path) -> None:
    probs, _ = data(0)
    np.savez(folder / "unlabeled.npz", probs=probs)
    assert (
        "no true labels"
        in run("fit", folder / "unlabeled.npz", "-o", folder / "s.npz", code=2).output
    )
    assert (
        "needs at least"
        in run(
            "fit", folder / "cal.npz", "-o", folder / "s.npz", "--coverage", 0.999, code=2
        ).output
    )
    assert (
        "strictly between 0 and 1"
        in run("fit", folder / "cal.npz", "-o", folder / "s.npz", "--coverage", 90, code=2).output
    )
    assert (
        "there is no sets file"
        in run(
            "predict", folder / "new.npz", "--sets", folder / "none.npz", "-o", "-", code=2
        ).output
    )
    assert (
        "written as .csv"
        in run(
            "predict",
            folder / "new.npz",
            "--sets",
            folder / "cal.npz",
            "-o",
            folder / "x.txt",
            code=2,
        ).output
    )
    assert (
        "cal.npz"
        in run(
            "predict", folder / "new.npz", "--sets", folder / "cal.npz", "-o", "-", code=2
        ).output
    )
