"""One member: checkpoints, metrics and batches."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from labelwise_lab.training import _member
from small_networks import Dropped
from small_trainings import RECIPE, fit, same, weights


@pytest.mark.parametrize("make_model", ["mlp", Dropped])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_going_on_after_each_epoch_gives_the_same_weights(
    tmp_path, monkeypatch, make_model, optimizer
):
    recipe = replace(RECIPE, optimizer=optimizer, momentum=0.9, rates=((0, 0.01), (2, 0.001)))
    straight = fit(tmp_path / "straight", make_model, recipe=recipe)
    save = _member._save

    def save_and_stop(*state):
        save(*state)
        raise InterruptedError

    for _ in range(6):  # two members, three epochs
        monkeypatch.setattr(_member, "_save", save_and_stop)
        with pytest.raises(InterruptedError):
            fit(tmp_path / "stopped", make_model, recipe=recipe, resume=True)
    monkeypatch.undo()
    stopped = fit(tmp_path / "stopped", make_model, recipe=recipe, resume=True)
    assert same(weights(straight), weights(stopped))
    assert [len(lines) for lines in stopped.metrics] == [3, 3]


def test_checkpoints_never_run_code(tmp_path):
    fitted = fit(tmp_path)
    trap = tmp_path / "executed"

    class Explosive:
        def __reduce__(self):
            return Path.touch, (trap,)

    torch.save({"epoch": 1, "model": Explosive()}, fitted.checkpoints[0])
    fitted.checkpoints[1].write_bytes(fitted.checkpoints[1].read_bytes()[:5000])
    for member in (0, 1):
        with pytest.raises(
            ValueError,
            match=f"member-{member}.pt' cannot be read; delete it to train this member again",
        ):
            fitted.model(member)
    assert not trap.exists()


def test_a_loss_that_explodes_is_said(tmp_path):
    with pytest.raises(
        ValueError, match=r"the loss of member 0 is (nan|inf) in epoch 1: lower the learning rate"
    ):
        fit(tmp_path, recipe=replace(RECIPE, optimizer="sgd", rates=((0, 1e30),)))


def test_a_single_instance_is_not_left_alone():
    assert [len(part) for part in _member._batches(65, 32, None)] == [32, 33]
    assert [len(part) for part in _member._batches(67, 32, None)] == [
        32,
        35,
    ]  # too few for batch normalization
    assert [len(part) for part in _member._batches(68, 32, None)] == [32, 32, 4]
    assert [len(part) for part in _member._batches(5, 2, None)] == [2, 3]
    assert [len(part) for part in _member._batches(3, 32, None)] == [3]
    assert [len(part) for part in _member._batches(1, 32, None)] == [1]
    order = torch.cat(list(_member._batches(65, 32, torch.Generator().manual_seed(0))))
    assert sorted(order.tolist()) == list(range(65))
    assert order.tolist() != list(range(65))


def test_unshuffled_recipes_see_the_order_of_the_files(tmp_path, monkeypatch):
    orders, batches = [], _member._batches

    def spy(n, size, generator):
        orders.append(generator)
        return batches(n, size, generator)

    monkeypatch.setattr(_member, "_batches", spy)
    fit(tmp_path / "a", recipe=replace(RECIPE, epochs=1, shuffle=False), n_members=1)
    assert orders == [None]


def test_augmented_images_are_shifted_and_reproducible(tmp_path):
    recipe = replace(RECIPE, augment=True)
    a, b, plain = (
        fit(tmp_path / "a", recipe=recipe),
        fit(tmp_path / "b", recipe=recipe),
        fit(tmp_path / "c"),
    )
    assert same(weights(a), weights(b))
    assert not same(weights(a), weights(plain))


def test_metrics_are_json_lines(tmp_path):
    fit(tmp_path, n_members=1)
    lines = (tmp_path / "member-0.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3]
