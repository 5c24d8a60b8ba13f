"""The hold-out experiment: what each member sees, which class is chosen, and what is stored."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from labelwise_lab.paper import holdout
from labelwise_lab.paper.holdout import ARMS, Draw, arms_of, choose, halves, recipe_for
from labelwise_lab.paper.records import select
from labelwise_lab.paper.results_folder import Options
from labelwise_lab.paper.settings import Setting, parse_change
from labelwise_lab.training import Recipe

LABELS = np.random.default_rng(0).integers(0, 10, 2000)
SMALL = Draw(LABELS, 300, 5, seed=7)


def test_small_part_and_hold_out():
    small, held_out = SMALL.small_and_held_out()
    assert len(small) == 300
    assert np.array_equal(np.sort(np.concatenate([small, held_out])), np.arange(2000))
    assert not np.array_equal(small, replace(SMALL, seed=8).small_and_held_out()[0])
    for epoch in (0, 4, 5, 9):  # nothing is exchanged without a pool
        assert np.array_equal(SMALL(3, epoch), small)


@pytest.mark.parametrize("pool", ["new", "old"])
def test_one_class_is_redrawn(pool):
    draw = replace(SMALL, pool=pool, label=4)
    small, held_out = SMALL.small_and_held_out()
    assert np.array_equal(draw(0, 4), small)  # not before the continued training
    rows = draw(0, 5)
    own, others = rows[LABELS[rows] == 4], rows[LABELS[rows] != 4]
    assert np.array_equal(others, small[LABELS[small] != 4])
    assert len(own) == 30
    assert set(own) <= set(held_out if pool == "new" else small)
    assert len(set(own)) == 30 or pool == "old"  # from the old pool, with replacement
    assert np.array_equal(rows, draw(0, 5))
    assert not np.array_equal(rows, draw(0, 6))
    assert not np.array_equal(rows, draw(1, 5))
    assert repr(draw) == f"Draw(n_train=300, first=5, seed=7, pool={pool!r}, label=4)"


def test_a_small_pool_is_drawn_from_with_replacement():
    labels = np.concatenate([np.zeros(95, int), np.ones(5, int)])
    draw = Draw(labels, 80, 0, 0, "new", 1)
    rows = draw(0, 0)
    assert (labels[rows] == 1).sum() == 8


def test_recipes_follow_the_paper():
    plan = holdout.PLANS["cifar10"]
    paper, code = (recipe_for(Setting("cifar10", protocol), plan) for protocol in ("paper", "code"))
    assert (paper.epochs, paper.batch_size, paper.rates) == (
        40,
        64,
        ((0, 0.1), (20, 0.001), (25, 0.0001)),
    )
    assert code.rates == ((0, 0.1), (20, 0.01), (25, 0.001))
    fashion = recipe_for(Setting("fashion-mnist"), holdout.PLANS["fashion-mnist"])
    assert (fashion.network, fashion.epochs, fashion.batch_size, fashion.optimizer) == (
        "cnn",
        10,
        64,
        "adam",
    )
    assert "swap-constant" in arms_of(paper)
    assert "swap-constant" not in arms_of(fashion)  # Adam's learning rate is constant anyway
    assert arms_of(paper, ("swap", "no-swap")) == ("swap", "no-swap")


def test_the_class_is_chosen_by_its_mean():
    eu = np.zeros((100, 4))
    eu[:, 2] = 1
    chosen = choose(eu, 5)
    assert chosen["selected"] == 2
    assert chosen["random"] in (0, 1, 3)
    assert halves(100, 5).sum() == 50


def test_refusals(tmp_path):
    options = Options(tmp_path)
    for setting, arms, message in (
        (Setting("mnist"), None, "the hold-out experiment is on fashion-mnist, cifar10"),
        (Setting("digits"), ("swap", "no-swop"), "`arms` must be of swap, no-swap"),
        (
            Setting("digits", members=1),
            None,
            "`members` must be at least 2: a single network has no epistemic uncertainty; got 1",
        ),
        (Setting("digits", epochs=3), None, r"has 10 \+ 10 epochs; `epochs` is not for it"),
    ):
        with pytest.raises(ValueError, match=message):
            holdout.run(setting, 1, options, arms=arms)
    assert set(ARMS) >= {
        "swap",
        "no-swap",
        "old-pool",
        "random-class",
        "swap-constant",
        "no-swap-constant",
    }


def test_arms_come_with_their_control_and_the_command_names_all_stored_arms(tmp_path, monkeypatch):
    asked: list[tuple[str, ...]] = []

    def run_one(setting, run, options, *, arms):
        asked.append(arms)
        rng = np.random.default_rng(run)
        before = rng.exponential([1, 2, 3, 9], (60, 4))
        after = {name: before * rng.uniform(0.3, 0.9, 4) for name in arms}
        return holdout.Run(
            before,
            after,
            dict.fromkeys(arms, 3),
            halves(60, run),
            rng.integers(0, 4, 60),
            dict.fromkeys(["before", *arms], 1.0),
        )

    monkeypatch.setattr(holdout, "run_one", run_one)
    setting, typed = (
        Setting("digits", members=2),
        "labelwise-lab reproduce holdout --data digits --arm",
    )

    def command(runs: int, *arms: str, first_run: int = 0) -> str:
        options = Options(tmp_path, command=" --arm ".join([typed.removesuffix(" --arm"), *arms]))
        holdout.run(setting, runs, options, arms=arms, first_run=first_run)
        return json.loads(
            (tmp_path / "holdout-digits-paper-2-members" / "holdout.json").read_text()
        )["about"]["command"]

    assert command(1, "old-pool") == f"{typed} swap --arm no-swap --arm old-pool"
    assert asked == [("swap", "no-swap", "old-pool")]
    assert command(2, "swap") == f"{typed} swap --arm no-swap --arm old-pool"  # of run 0
    assert asked[1:] == [("swap", "no-swap")]
    assert (
        command(4, "random-class", first_run=3)
        == f"{typed} swap --arm no-swap --arm old-pool --arm random-class"
    )
    assert asked[2:] == [("no-swap", "random-class")]
    numbers = json.loads(
        (tmp_path / "holdout-digits-paper-2-members" / "holdout.json").read_text()
    )["numbers"]
    runs_of = {cell["arm"]: len(cell["runs"]) for cell in select(numbers["effect"], among=None)}
    assert runs_of["random-class"] == 1
    assert runs_of["swap"] == len(numbers["selected"]) == 2  # run 2 is nowhere, run 3 has no swap


def test_one_training_has_one_name():
    def name(*changes: str, data: str = "fashion-mnist") -> str:
        return holdout.canonical(Setting(data, changes=tuple(map(parse_change, changes)))).name

    assert (
        name("batch_size=64", "shuffle=true") == "fashion-mnist-paper"
    )  # as in the hold-out anyway
    assert (
        name("batch_size=256") == "fashion-mnist-paper-batch_size=256"
    )  # the recipe's own, but not the hold-out's
    assert name("network=cnn", data="digits") == "digits-paper-network=cnn"
    assert name("network=mlp", data="digits") == "digits-paper"
    assert name("batch_size=64", data="mnist") == "mnist-paper-batch_size=64"  # refused later


def test_arms_branch_off_from_one_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setitem(holdout.PLANS, "digits", holdout.Plan(100, 2, 2))
    said: list[str] = []
    setting = Setting("digits", members=2, changes=(("epochs", 2),))
    monkeypatch.setattr(
        holdout, "recipe_for", lambda *_: Recipe("mlp", 4, 64, rates=((0, 1e-3), (2, 1e-4)))
    )
    options = Options(tmp_path, n_jobs=1, say=said.append)
    run = holdout.run_one(setting, 0, options)
    assert [line.rpartition(", ")[2].partition(":")[0] for line in said][:3] == [
        "before",
        "swap",
        "no-swap",
    ]
    assert set(run.after) == set(ARMS)  # the learning rate falls here
    folder = tmp_path / f"holdout-{setting.name}" / "run-0"
    assert sorted(p.name for p in folder.iterdir() if p.is_dir()) == ["training-before"]
    assert run.before.shape == (539, 10)
    assert not np.array_equal(run.after["swap"], run.after["no-swap"])
    assert not np.array_equal(run.after["no-swap"], run.after["no-swap-constant"])
    said.clear()
    again = holdout.run_one(setting, 0, options)
    assert said == []
    assert all(np.array_equal(run.after[name], again.after[name]) for name in ARMS)
    (
        folder / "no-swap.npy"
    ).unlink()  # an interrupted run: only what is missing is recomputed, with the same result
    third = holdout.run_one(setting, 0, options)
    assert [line.rpartition(", ")[2].partition(":")[0] for line in said] == ["before", "no-swap"]
    assert np.array_equal(run.after["no-swap"], third.after["no-swap"])


def test_the_learning_rate_falls_with_the_swap_unless_held(tmp_path, monkeypatch, available_data):
    monkeypatch.setitem(holdout.PLANS, "cifar10", holdout.Plan(20, 20, 1))
    setting = Setting("cifar10", members=1, changes=(("network", "mlp"),))
    recipes = {}
    fit = holdout._Training.fit

    def spy(self, name, recipe, draw, start):
        recipes[name] = recipe
        return fit(self, name, recipe, draw, start)

    monkeypatch.setattr(holdout._Training, "fit", spy)
    available_data("cifar10", n_test=12)
    run = holdout.run_one(
        setting, 0, Options(tmp_path, n_jobs=1), arms=("swap", "no-swap", "no-swap-constant")
    )
    assert [recipes[name].rate(20) for name in ("swap", "no-swap", "no-swap-constant")] == [
        0.001,
        0.001,
        0.1,
    ]
    assert recipes["before"].epochs == 20
    assert set(run.after) == {"swap", "no-swap", "no-swap-constant"}
