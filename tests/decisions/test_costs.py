"""Costs by name, from files, and as they fit a task."""

from __future__ import annotations

import re

import numpy as np
import pytest

import labelwise as lw
from labelwise.decisions import Costs

NAMES = ["nevus", "melanoma"]
MATRIX = {"nevus": {"melanoma": 1}, "melanoma": {"nevus": 50}}


def test_a_mapping_and_an_array_are_the_same_costs():
    assert np.array_equal(Costs(MATRIX).matrix, Costs([[0, 1], [50, 0]], class_names=NAMES).matrix)
    assert np.array_equal(Costs({"a": {"a": 2, "b": 1}, "b": {"a": 3}}).matrix, [[2, 1], [3, 0]])


def test_costs_follow_the_classes_of_the_prediction_by_name():
    problem, names = Costs(MATRIX).problem("multiclass", 2, ("melanoma", "nevus"))
    assert names == ("melanoma", "nevus")
    assert np.array_equal(problem.table, [[0, 50], [1, 0]])
    costs = Costs(false_alarm={"melanoma": 2, "nevus": 1}, missed=3)
    table = costs.problem("per_label", 2, ("melanoma", "nevus"))[0].table
    assert table[:, 0, 1].tolist() == [2, 1]
    assert table[:, 1, 0].tolist() == [3, 3]


def test_names_of_the_costs_serve_a_prediction_without_names():
    q = lw.Ensemble(np.array([[[0.5, 0.5]]]))
    assert lw.decisions.decide(
        q, Costs(MATRIX, class_names=NAMES), task="multiclass"
    ).class_names == tuple(NAMES)
    with pytest.raises(ValueError, match="the prediction has no class names"):
        lw.decisions.decide(q, Costs(MATRIX), task="multiclass")


@pytest.mark.parametrize(
    ("costs", "task", "classes", "message"),
    [
        (Costs([[0, 1], [1, 0]]), "per_label", 2, "needs a `default`, `missed` or `false_alarm`"),
        (
            Costs([[0, 1], [1, 0]]),
            "multiclass",
            3,
            "`matrix` is 2 × 2; the prediction has K = 3 classes",
        ),
        (
            Costs([[0, 1], [1, 0]]),
            "multi-class",
            2,
            "'multiclass' (choose one class) or 'per_label'",
        ),
        (
            Costs(MATRIX, class_names=NAMES),
            "multiclass",
            3,
            "for 2 classes; the prediction has K = 3",
        ),
    ],
)
def test_costs_that_do_not_fit_the_task_are_refused(costs, task, classes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        costs.problem(task, classes, None)


def test_defaults_are_read(tmp_path):
    path = tmp_path / "costs.toml"
    path.write_text("default = 1\nask = 2\n[missed]\nmel = 20\n")
    costs = Costs.from_toml(path)
    assert (costs.default, costs.missed, costs.false_alarm, costs.ask) == (1, {"mel": 20}, None, 2)
    assert costs.class_names is None


def test_costs_with_defaults_decide_like_the_whole_matrix():
    rng = np.random.default_rng(0)
    names = ["akiec", "mel", "nv"]
    q = lw.Ensemble(rng.dirichlet(np.ones(3), (2, 50)), class_names=names)
    y = rng.integers(0, 3, 50)
    short, full = (
        Costs(missed={"mel": 20}, ask=0.4),
        Costs([[0, 1, 1], [20, 0, 20], [1, 1, 0]], class_names=names, ask=0.4),
    )
    plans = [lw.decisions.decide(q, costs, task="multiclass") for costs in (short, full)]
    assert np.array_equal(plans[0].action, plans[1].action)
    assert str(plans[0].summary(y)) == str(plans[1].summary(y))
    needs = [lw.decisions.acquire(q, costs, budget=1).need for costs in (short, full)]
    assert np.array_equal(*needs)


def test_files(tmp_path):
    path = tmp_path / "costs.toml"
    path.write_text(
        (
            'class_names = ["nevus", "Ünïcode µ"]\nask = 3\nmatrix."Ünïcode µ".nevus = '
            '50\nmatrix.nevus."Ünïcode µ" = 1\n'
        ),
        encoding="utf-8",
    )
    costs = Costs.from_toml(path)
    assert costs.ask == 3
    assert np.array_equal(costs.matrix, [[0, 1], [50, 0]])
    path.write_text("aks = 2\nfalse_alarm = 1\nmissed = 1\n")
    with pytest.raises(
        ValueError, match=r"costs.toml: unknown entry 'aks' in the costs. Did you mean 'ask'\?"
    ):
        Costs.from_toml(path)
    path.write_text("ask = = 2")
    with pytest.raises(ValueError, match=r"costs\.toml: Invalid"):
        Costs.from_toml(path)
    path.write_text("ask = 1\ndefault = [1,\n")
    with pytest.raises(ValueError, match=r"costs\.toml: Invalid value \(at end of document\)"):
        Costs.from_toml(path)
    with pytest.raises(FileNotFoundError):
        Costs.from_toml(tmp_path / "nothing.toml")
