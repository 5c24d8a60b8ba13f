"""The recipes are those of the paper's text and of its published code."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from labelwise_lab.training.recipes import RECIPES, Recipe, find_recipe

CIFAR = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))


@pytest.mark.parametrize(("name", "epochs"), [("mnist", 10), ("fashion-mnist", 20), ("kmnist", 20)])
def test_paper_cnn(name, epochs):
    r = find_recipe(name, "paper")
    assert (r.network, r.epochs, r.batch_size, r.optimizer, r.shuffle) == (
        "cnn",
        epochs,
        256,
        "adam",
        True,
    )
    assert (r.weight_decay, r.augment, r.normalize) == (0, False, None)
    assert {r.rate(e) for e in range(r.epochs)} == {
        torch.optim.Adam([torch.zeros(1)]).defaults["lr"]
    }


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "kmnist"])
def test_code_cnn(name):
    r = find_recipe(name, "code")
    assert (r.network, r.epochs, r.batch_size, r.optimizer, r.shuffle) == (
        "cnn",
        20,
        64,
        "adam",
        False,
    )


@pytest.mark.parametrize("name", ["cifar10", "svhn"])
def test_paper_resnet(name):
    r = find_recipe(name, "paper")
    assert (r.network, r.epochs, r.batch_size, r.optimizer) == ("resnet18", 30, 256, "sgd")
    assert (r.momentum, r.weight_decay) == (0.9, 1e-4)
    assert [r.rate(e) for e in range(30)] == [0.1] * 20 + [0.001] * 5 + [0.0001] * 5
    assert (r.augment, r.normalize) == ((True, "train") if name == "cifar10" else (False, None))


def test_code_resnet():
    r = find_recipe("cifar10", "code")
    assert r.normalize == CIFAR
    assert r.augment
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[20, 25], gamma=0.1)
    for epoch in range(30):
        assert r.rate(epoch) == pytest.approx(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()


def test_medical():
    paper, code = (find_recipe("petct", protocol) for protocol in ("paper", "code"))
    assert (paper.network, paper.epochs, paper.batch_size, paper.optimizer, paper.rate(39)) == (
        "resnet50",
        40,
        50,
        "adam",
        1e-3,
    )
    assert [code.rate(e) for e in (0, 6, 7, 14, 39)] == pytest.approx(
        [1e-3, 1e-3, 1e-4, 1e-5, 1e-8]
    )
    assert code.weight_decay == 5e-4


def test_choice():
    assert find_recipe("mnist") == RECIPES["paper"]["mnist"]
    assert find_recipe("retinamnist", shape=(3, 28, 28)).network == "cnn"
    assert find_recipe("dermatology", shape=(34,)).network == "mlp"
    assert find_recipe("mnist", "default", shape=(1, 28, 28)).batch_size == 64
    with pytest.raises(
        ValueError,
        match=r"the recipe 'paper' is for mnist, .* got 'retinamnist'. Use the recipe 'default'",
    ):
        find_recipe("retinamnist", "paper")
    with pytest.raises(ValueError, match="Did you mean 'paper'"):
        find_recipe("mnist", "papr")


def test_stretching_keeps_every_stage_that_fits():
    r = find_recipe("cifar10", "paper")
    assert r.stretched(30) == r
    assert r.stretched(3).rates == ((0, 0.1), (2, 0.0001))
    assert r.stretched(1).rates == ((0, 0.1),)
    assert r.stretched(60).rates == ((0, 0.1), (40, 0.001), (50, 0.0001))


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch_size": 2.5},
        {"optimizer": "lion"},
        {"rates": ()},
        {"rates": ((1, 0.1),)},
        {"rates": ((0, -1.0),)},
        {"normalize": "test"},
    ],
)
def test_wrong_recipes_are_refused(wrong):
    with pytest.raises(ValueError, match=f"`{next(iter(wrong))}` must"):
        replace(Recipe("cnn", epochs=1, batch_size=1), **wrong)
