"""decide: the story of a decision, the table of decisions, and numbers equal to the library's."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import command_line
import labelwise as lw

NAMES = ["nevus", "melanoma", "lentigo"]
COSTS = "default = 1\nask = 0.5\n[missed]\nmelanoma = 20\n"


@pytest.fixture
def preds(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([3, 0.5, 0.5], (3, 80))
    y = (probs.mean(0).cumsum(axis=1) < rng.random((80, 1))).sum(axis=1)
    path = tmp_path / "preds.npz"
    np.savez(path, probs=probs, y_true=y, class_names=NAMES, ids=[f"case {i}" for i in range(80)])
    (tmp_path / "costs.toml").write_text(COSTS)
    return path


def run(preds: Path, *more: Any) -> Any:
    result = command_line.run("decide", preds, "--costs", preds.with_name("costs.toml"), *more)
    assert result.exit_code == 0, result.output
    return result


def plan_of(preds: Path, task: str = "multiclass") -> tuple[lw.typing.Decisions, np.ndarray]:
    with np.load(preds) as file:
        q = (lw.MultiLabelEnsemble if task == "per_label" else lw.Ensemble)(
            file["probs"], class_names=file["class_names"].tolist()
        )
        return lw.decisions.decide(
            q, lw.decisions.Costs.from_toml(preds.with_name("costs.toml")), task=task
        ), file["y_true"]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_it_tells_what_the_decisions_change(preds) -> None:
    plan, y = plan_of(preds)
    output = run(preds).output
    assert str(plan.summary(y)) in output
    assert plan.summary(y).cost_sentence() in output
    assert f"Asking pays below {plan.break_even:.3g}" in output


def test_numbers_for_programs(preds) -> None:
    plan, y = plan_of(preds)
    found = json.loads(run(preds, "--json").stdout)
    assert found["expected_cost"] == pytest.approx(plan.expected_cost.mean())
    assert sum(found["actions"].values()) == 80
    assert found["summary"]["cost_after"] == pytest.approx(plan.summary(y).cost_after)
    assert found["break_even"] == pytest.approx(plan.value_of_label.max())
    excess = plan.summary(y).excess
    assert found["summary"]["excess"]["low"] == pytest.approx(excess.low)
    assert found["summary"]["class_names"] == NAMES
    missed = plan.summary(y).by_class["missed_after"]
    assert found["summary"]["by_class"]["missed_after"] == missed.tolist()


def test_the_table_has_truth_probabilities_argmax_and_reason(preds, tmp_path) -> None:
    plan, y = plan_of(preds)
    run(preds, "-o", tmp_path / "plan.csv")
    rows = table(tmp_path / "plan.csv")
    assert [row["id"] for row in rows] == [f"case {i}" for i in range(80)]
    assert [row["y_true"] for row in rows] == [NAMES[k] for k in y]
    assert [row["most_probable"] for row in rows] == [NAMES[k] for k in plan.mean.argmax(axis=1)]
    assert [row["action"] for row in rows] == plan.action_names.tolist()
    assert [row["reason"] for row in rows] == [plan.explain(i) for i in range(80)]
    np.testing.assert_allclose(
        [[float(row[f"p_{name}"]) for name in NAMES] for row in rows], plan.mean
    )
    assert (
        run(preds, "-o", "-").stdout.splitlines()[:2]
        == (tmp_path / "plan.csv").read_text().splitlines()[:2]
    )


def test_without_labels_the_break_even_is_still_said(preds, tmp_path) -> None:
    with np.load(preds) as file:
        np.savez(preds, probs=file["probs"], class_names=file["class_names"])
    result = run(preds, "-o", tmp_path / "plan.csv")
    assert "Asking pays below" in result.output
    assert "y_true" not in table(tmp_path / "plan.csv")[0]
    assert json.loads(run(preds, "--json").stdout)["summary"] is None


def test_costliest_cases_with_equal_costs_are_ordered_by_the_value_of_the_label(preds) -> None:
    plan, _ = plan_of(preds)
    assert np.sum(plan.expected_cost == 0.5) > 5  # all asked cases cost the price of asking
    expected = sorted(range(80), key=lambda i: (-plan.expected_cost[i], -plan.value_of_label[i]))[
        :5
    ]
    shown = list(json.loads(run(preds, "--json").stdout)["explanations"])
    assert shown == [f"case {i}" for i in expected]


def test_bad_calibration_is_a_note(tmp_path) -> None:
    probs = np.tile([[0.99, 0.01], [0.01, 0.99]], (2, 200, 1))
    np.savez(
        tmp_path / "preds.npz", probs=probs, y_true=np.random.default_rng(0).integers(0, 2, 400)
    )
    (tmp_path / "costs.toml").write_text("default = 1\n")
    result = run(tmp_path / "preds.npz")
    assert "Note: The expected costs and values of these decisions are unreliable." in result.stderr
    assert "UserWarning" not in result.output


def test_labels_that_occur_together_have_a_line_each(tmp_path) -> None:
    rng = np.random.default_rng(0)
    preds = tmp_path / "preds.npz"
    np.savez(
        preds,
        probs=rng.random((3, 20, 2)),
        y_true=rng.integers(0, 2, (20, 2)),
        class_names=["edema", "mass"],
    )
    (tmp_path / "costs.toml").write_text("default = 1\nask = 0.3\n[missed]\nmass = 5\n")
    run(preds, "-o", tmp_path / "plan.csv")
    rows = table(tmp_path / "plan.csv")
    plan, y = plan_of(preds, "per_label")
    assert [row["label"] for row in rows] == ["edema", "mass"] * 20
    assert [row["instance"] for row in rows[:4]] == ["0", "0", "1", "1"]
    assert [row["y_true"] == "True" for row in rows] == (y == 1).ravel().tolist()
    assert [row["action"] for row in rows] == plan.action_names.ravel().tolist()
    np.testing.assert_allclose(
        [float(row["expected_cost"]) for row in rows], plan.expected_cost.ravel()
    )
    assert rows[3]["reason"] == plan.explain(1, label="mass")


def test_decide_per_label(preds, tmp_path) -> None:
    preds.with_name("costs.toml").write_text("false_alarm = 1\nmissed = 5\n")
    run(preds, "--task", "per_label", "-o", tmp_path / "plan.csv")
    assert len(table(tmp_path / "plan.csv")) == 80 * len(NAMES)
