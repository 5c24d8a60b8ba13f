"""What is trained, by name."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import labelwise as lw
import labelwise_lab
from labelwise_lab.paper.settings import DATA, Setting, TestImages, parse_change


@pytest.mark.parametrize("data", [name for name in DATA if name != "digits"])
@pytest.mark.parametrize("protocol", ["paper", "code"])
def test_every_data_set_of_the_paper_has_a_recipe(data, protocol):
    setting = Setting(data, protocol)
    assert setting.name == f"{data}-{protocol}"
    assert setting.recipe() == labelwise_lab.training.find_recipe(data, protocol)
    for name in (data, *DATA[data]):
        assert name in labelwise_lab.datasets.names()


def test_names_tell_settings_apart():
    changes = (
        parse_change("batch_size=64"),
        parse_change("shuffle=false"),
        parse_change("rate=0.1"),
    )
    setting = Setting("fashion-mnist", changes=changes, members=3, epochs=4)
    assert (
        setting.name
        == "fashion-mnist-paper-batch_size=64-shuffle=false-rate=0.1-4-epochs-3-members"
    )
    assert (
        setting.canonical().name
        == "fashion-mnist-paper-batch_size=64-rate=0.1-shuffle=false-4-epochs-3-members"
    )
    recipe = setting.recipe()
    assert (recipe.batch_size, recipe.shuffle, recipe.rates, recipe.epochs) == (
        64,
        False,
        ((0, 0.1),),
        4,
    )


@pytest.mark.parametrize(
    ("data", "changes", "epochs", "name"),
    [
        (
            "fashion-mnist",
            ["batch_size=256", "shuffle=true", "scaled=true", "rate=1e-3"],
            20,
            "fashion-mnist-paper",
        ),
        ("fashion-mnist", ["weight_decay=0.00001"], None, "fashion-mnist-paper-weight_decay=1e-05"),
        (
            "fashion-mnist",
            ["batch_size=128", "batch_size=64"],
            None,
            "fashion-mnist-paper-batch_size=64",
        ),
        (
            "cifar10",
            ["weight_decay=0.0001", "rate=0.1"],
            None,
            "cifar10-paper-rate=0.1",
        ),  # constant, unlike the recipe's
        ("digits", ["network=mlp"], 5, "digits-paper-5-epochs"),
        ("digits", ["network=cnn"], None, "digits-paper-network=cnn"),
    ],
)
def test_changes_to_what_the_recipe_has_are_none(data, changes, epochs, name):
    assert (
        Setting(data, changes=tuple(map(parse_change, changes)), epochs=epochs).canonical().name
        == name
    )


def test_the_order_of_changes_does_not_matter_and_stored_folders_keep_their_names():
    changes = [
        parse_change(text)
        for text in ("optimizer=sgd", "rate=0.1", "momentum=0.9", "weight_decay=0.0001")
    ]
    names = {
        Setting("fashion-mnist", changes=order).canonical().name
        for order in itertools.permutations(changes)
    }
    assert names == {"fashion-mnist-paper-optimizer=sgd-rate=0.1-momentum=0.9-weight_decay=0.0001"}


def test_pixels_without_scaling(optional):
    from labelwise_lab.training.inputs import Inputs

    torch = optional("torch")
    setting = Setting("fashion-mnist", changes=(parse_change("scaled=false"),))
    assert setting.name == "fashion-mnist-paper-scaled=false"
    x = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    torch.testing.assert_close(
        Inputs.fit(x, setting.recipe())(torch.from_numpy(x))[:, 0], torch.from_numpy(x).float()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "batch_size",
            "a change must be FIELD=VALUE with one of the fields network, epochs, batch_size",
        ),
        ("size=3", "a change must be FIELD=VALUE"),
        ("batch_size=many", "`batch_size` must be a int; got 'many'"),
        ("shuffle=perhaps", "`shuffle` must be a bool; got 'perhaps'"),
    ],
)
def test_wrong_changes(text, message):
    with pytest.raises(ValueError, match=message):
        parse_change(text)


def test_unknown_data():
    with pytest.raises(ValueError, match="`data` must be one of 'mnist', 'fashion-mnist'"):
        Setting("imagenet")


def test_out_of_distribution_sets_for_the_digits():
    test = labelwise_lab.datasets.load("digits").test
    shuffled, fashion = (TestImages(name).load() for name in ("shuffled-digits", "fashion-8x8"))
    assert shuffled.x.shape == test.x.shape
    np.testing.assert_array_equal(
        np.sort(shuffled.x.reshape(-1, 64)), np.sort(test.x.reshape(-1, 64))
    )
    assert not np.array_equal(shuffled.x, test.x)
    assert fashion.x.shape[1:] == (8, 8)
    assert fashion.x.dtype == np.uint8
    bundled = lw.demo.load_fashion_ensemble()
    assert fashion.x[0].astype(float).mean() * 64 / 49 == pytest.approx(
        bundled.images[0].mean(), abs=2
    )  # padded by 2 pixels
    turned = TestImages("digits", transposed=True)
    np.testing.assert_array_equal(turned.load().x, test.x.transpose(0, 2, 1))
    assert (turned.name, TestImages("digits", scaled=False).name) == (
        "digits-transposed",
        "digits-unscaled",
    )
