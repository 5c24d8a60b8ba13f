"""acquire: which cases to label next, from the shell."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import command_line
import labelwise as lw

NAMES = ["airplane", "cat", "dog"]
PROBS = np.random.default_rng(0).dirichlet(np.ones(3), (5, 300))
IDS = [f"image-{i}.png" for i in range(300)]


@pytest.fixture
def preds(tmp_path: Path) -> Path:
    np.savez(tmp_path / "preds.npz", probs=PROBS, class_names=NAMES, ids=IDS)
    return tmp_path / "preds.npz"


def run(*args: object) -> Any:
    return command_line.run("acquire", *args)


def test_a_hundred_cases_for_one_class(preds, tmp_path) -> None:
    result = run(preds, "--label", "cat", "--budget", 100, "-o", tmp_path / "next.csv")
    assert result.exit_code == 0, result.output
    choice = lw.decisions.acquire(lw.Ensemble(PROBS, class_names=NAMES), budget=100, label="cat")
    with (tmp_path / "next.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [IDS[i] for i in choice.indices]
    assert [int(row["rank"]) for row in rows] == list(range(1, 101))
    assert {row["label"] for row in rows} == {"cat"}
    np.testing.assert_allclose([float(row["score"]) for row in rows], choice.score[choice.indices])
    assert "100 of 300 cases to label next, for cat" in result.output
    assert f"{IDS[choice.indices[0]]}: {choice.explain(0)}" in result.output
    pipe = run(preds, "--label", "cat", "--budget", 100, "-o", "-")
    assert pipe.stdout.splitlines() == (tmp_path / "next.csv").read_text().splitlines()


def test_all_classes_with_costs(preds, tmp_path) -> None:
    (tmp_path / "costs.toml").write_text("[missed]\ndog = 30\n")
    found = json.loads(
        run(preds, "--budget", 7, "--costs", tmp_path / "costs.toml", "--json").stdout
    )
    q = lw.Ensemble(PROBS, class_names=NAMES)
    choice = lw.decisions.acquire(q, lw.decisions.Costs(missed={"dog": 30}), budget=7)
    assert [row["id"] for row in found["chosen"]] == [IDS[i] for i in choice.indices]
    assert found["chosen"][0]["label"] == choice.label[0]
    balanced = json.loads(run(preds, "--budget", 6, "--batch", "balanced", "--json").stdout)
    assert sorted(row["label"] for row in balanced["chosen"]) == sorted(2 * NAMES)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--budget", 5, "--label", "cta"], "Did you mean 'cat'?"),
        (["--budget", 301], "must be at most the pool's 300 cases; got 301"),
        (["--budget", 0], "0 is not in the range x>=1"),
        (["--label", "cat"], "Missing option '--budget'"),
        (
            ["--budget", 5, "-o", "next.xlsx"],
            "the chosen cases are written as .csv; got 'next.xlsx'",
        ),
        (["--budget", 5, "--costs", "none.toml"], "there is no costs file 'none.toml'"),
    ],
)
def test_mistakes_are_one_sentence(preds, more, message) -> None:
    result = run(preds, *more)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_one_member_has_nothing_to_go_by(tmp_path) -> None:
    np.savez(tmp_path / "one.npz", probs=PROBS[:1])
    result = run(tmp_path / "one.npz", "--budget", 5)
    assert result.exit_code == 2
    assert "needs at least 2" in result.output
