"""Training: the same seed gives the same weights, however the work is divided and however often it
is interrupted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import labelwise_lab
from labelwise_lab.datasets import Dataset, Examples
from labelwise_lab.training import load_ensemble, predict_ensemble
from small_networks import Dropped, EvenOrOdd
from small_trainings import DATA, RECIPE, RNG, N, X, Y, fit, same, weights


def test_same_seed_same_weights_and_members_differ(tmp_path):
    a, b, c = fit(tmp_path / "a"), fit(tmp_path / "b"), fit(tmp_path / "c", rng=8)
    assert same(weights(a), weights(b))
    assert not same(weights(a), weights(c))
    assert not same(weights(a)[:1], weights(a)[1:])
    more = fit(
        tmp_path / "a", n_members=3, resume=True
    )  # a member more leaves the others as they are
    assert same(weights(a), weights(more)[:2])
    assert more.n_members == 3


def test_members_can_be_trained_apart(tmp_path):
    whole, second = fit(tmp_path / "a"), fit(tmp_path / "b", members=[1])
    assert not (tmp_path / "b" / "member-0.pt").exists()
    probs = predict_ensemble(whole, X).probs
    np.testing.assert_array_equal(predict_ensemble(second, X, members=[1]).probs, probs[1:])
    np.testing.assert_array_equal(predict_ensemble(whole, X, members=[1, 0]).probs, probs[::-1])
    with pytest.raises(FileNotFoundError, match=r"there is no checkpoint .*member-0\.pt"):
        predict_ensemble(second, X)
    assert [len(epochs) for epochs in second.metrics] == [0, 3]
    with pytest.raises(
        ValueError, match=r"lacks members 0, but has 1; .* train them: members=\[0\], resume=True"
    ):
        load_ensemble(tmp_path / "b")
    with pytest.raises(ValueError, match="`start` lacks member 0"):
        fit(tmp_path / "c", epochs=4, start=second)
    assert not (tmp_path / "c").exists()
    assert same(weights(fit(tmp_path / "b", members=(0,), resume=True)), weights(whole))


def test_it_learns_and_says_so(tmp_path):
    fitted = fit(tmp_path, epochs=30)
    first, last = fitted.metrics[0][0], fitted.metrics[0][-1]
    assert [line["epoch"] for line in fitted.metrics[1]] == list(range(1, 31))
    assert {
        "member",
        "epoch",
        "learning_rate",
        "loss",
        "accuracy",
        "val_accuracy",
        "val_loss",
        "seconds",
    } == first.keys()
    assert last["loss"] < 0.5 * first["loss"]
    assert last["accuracy"] > 0.9
    assert last["val_accuracy"] > 0.9  # part of the training set here
    model = fitted.model(1)
    assert not model.training
    right = model(fitted.inputs(torch.from_numpy(X))).argmax(1).numpy() == Y
    assert right.mean() > 0.9


def test_an_ensemble_is_loaded_from_its_folder(tmp_path):
    fitted = fit(tmp_path / "a", recipe=replace(RECIPE, normalize="train"))
    again = load_ensemble(tmp_path / "a")
    for field in ("make_model", "n_classes", "class_names", "inputs", "recipe", "n_members"):
        assert getattr(again, field) == getattr(fitted, field)
    assert fitted.inputs.statistics == (
        (pytest.approx(X.mean() / 255),),
        (pytest.approx(X.std() / 255),),
    )
    assert torch.equal(fitted.model(1).layers[0].weight, again.model(1).layers[0].weight)
    own = fit(tmp_path / "b", Dropped)
    with pytest.raises(ValueError, match="pass the function `make_model`"):
        load_ensemble(own.folder)
    assert isinstance(load_ensemble(own.folder, Dropped).model(0), Dropped)
    with pytest.raises(FileNotFoundError, match=r"ensemble\.json is missing"):
        load_ensemble(tmp_path)
    with pytest.raises(ValueError, match="`member` must be between 0 and 1; got 2"):
        own.model(2)


def test_wrong_arguments_leave_no_trace(tmp_path):
    floats = X.astype(float)
    cases = [
        ({"data": (X, Y[:-1])}, ValueError, "one integer label for each of the 200"),
        ({"data": (X, Y.astype(float))}, ValueError, "integer label"),
        ({"data": (X, Y - 1)}, ValueError, "labels from 0"),
        ({"data": (X.astype(int), Y)}, TypeError, "uint8 images"),
        ({"data": (X[:0], Y[:0])}, ValueError, "at least one instance"),
        ({"data": (np.where(floats > 250, np.nan, floats), Y)}, ValueError, "must be finite"),
        ({"data": X}, TypeError, "a Dataset, an Examples or a pair"),
        ({"data": replace(DATA, train=None)}, ValueError, "only the test files were found"),
        (
            {"data": (floats, Y), "recipe": replace(RECIPE, normalize="train")},
            ValueError,
            "not uint8 images",
        ),
        (
            {"recipe": replace(RECIPE, normalize=((0.5, 0.5), (1.0, 1.0)))},
            ValueError,
            "each of the 1 channels; got 2 and 2",
        ),
        ({"make_model": "mpl"}, ValueError, "Did you mean 'mlp'"),
        ({"make_model": lambda: 3}, TypeError, r"must return a torch\.nn\.Module; got int"),
        ({"make_model": lambda: nn.Flatten()}, ValueError, r"for 2 classes; got shape \(2, 36\)"),
        ({"n_members": 0}, ValueError, "`n_members` must be a positive integer"),
        (
            {"members": [2]},
            ValueError,
            r"`members` must be different whole numbers from 0 to 1, in a list; got \[2\]",
        ),
        ({"members": 1}, ValueError, "in a list; got 1"),
        ({"members": [True]}, ValueError, "`members` must be different"),
        ({"members": [0, 0]}, ValueError, "`members` must be different"),
        ({"members": []}, ValueError, "`members` must be different"),
        ({"epochs": 0}, ValueError, "`epochs` must be a positive integer"),
        ({"rng": -1}, TypeError, "`rng`"),
    ]
    for change, kind, words in cases:
        with pytest.raises(kind, match=words):
            fit(tmp_path / "new", **change)
        assert not (tmp_path / "new").exists(), change
    with pytest.raises(TypeError, match=r"importable function.* or pass n_jobs=1"):
        fit(tmp_path / "other", lambda: Dropped(), n_jobs=2)


def test_read_only_and_strided_arrays_are_fine(tmp_path):
    frozen = X.copy()
    frozen.flags.writeable = False
    a, b, c = (
        fit(tmp_path / "a", data=(X, Y)),
        fit(tmp_path / "b", data=(frozen, Y)),
        fit(tmp_path / "c", data=(np.asfortranarray(X), Y)),
    )
    assert same(weights(a), weights(b))
    assert same(weights(a), weights(c))


def test_tables_of_numbers(tmp_path):
    x = RNG.normal(size=(80, 5))
    fitted = fit(tmp_path, data=(x, (x[:, 0] > 0).astype(int)), recipe="default")
    assert fitted.inputs.shape == (5,)
    assert fitted.recipe.network == "mlp"
    assert fitted.metrics[0][-1]["accuracy"] > 0.95


def test_threads_and_random_state_of_the_caller_are_left_alone(tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    before = torch.get_num_threads()
    fit(tmp_path).model(0)
    assert torch.get_num_threads() == before
    assert torch.equal(torch.rand(3), expected)


def test_lw_datasets_go_straight_in(tmp_path):
    data = labelwise_lab.datasets.load("digits")
    fitted = fit(tmp_path, data=data, recipe=None, epochs=2, n_members=1)
    assert fitted.class_names == data.class_names
    assert fitted.metrics[0][-1]["accuracy"] > 0.7


def test_a_member_sees_only_its_subset(tmp_path):
    rows = EvenOrOdd(N)
    fitted = fit(tmp_path / "a", subset=rows)
    alone = fit(
        tmp_path / "b",
        data=Dataset("", Examples(X[::2], Y[::2]), DATA.test, DATA.class_names),
        n_members=1,
        recipe=replace(RECIPE, epochs=1),
    )
    first = fit(tmp_path / "c", subset=rows, recipe=replace(RECIPE, epochs=1))
    assert same(
        weights(first)[:1], weights(alone)
    )  # the first epoch of member 0 is the one on even rows alone
    assert not same(weights(fitted), weights(fit(tmp_path / "d")))
    with pytest.raises(
        ValueError,
        match=(
            r"`subset` changed: it was EvenOrOdd\(n=200, turn=0\), now EvenOrOdd\(n=200, turn=1\)"
        ),
    ):
        fit(tmp_path / "a", subset=EvenOrOdd(N, 1), resume=True)


@pytest.mark.parametrize(
    "rows", [np.array([0.5]), np.array([[0]]), np.array([], int), np.array([-1]), np.array([N])]
)
def test_a_wrong_subset_is_refused(tmp_path, rows):
    with pytest.raises(
        ValueError,
        match=(
            r"`subset` must give positions of instances, whole numbers from 0 to 199 in one "
            r"dimension; got"
        ),
    ):
        fit(tmp_path / "a", subset=lambda member, epoch: rows)
    assert not (tmp_path / "a").exists()


def test_two_trainings_branch_off_from_one(tmp_path):
    whole = fit(tmp_path / "whole")
    start = fit(tmp_path / "start", recipe=replace(RECIPE, epochs=1))
    before = weights(start)
    on = fit(tmp_path / "on", start=start)
    other = fit(tmp_path / "other", start=start, subset=EvenOrOdd(N))
    assert same(weights(on), weights(whole))
    assert [line["epoch"] for line in on.metrics[1]] == [1, 2, 3]
    assert not same(weights(other), weights(whole))
    assert same(before, weights(start))
    again = fit(tmp_path / "on", start=start, resume=True)
    assert same(weights(again), weights(whole))
    with pytest.raises(
        ValueError,
        match="`start` has 2 members and 1 epochs; going on with 3 members up to epoch 3",
    ):
        fit(tmp_path / "x", start=start, n_members=3)
    with pytest.raises(ValueError, match="going on with 2 members up to epoch 1"):
        fit(tmp_path / "x", start=start, recipe=replace(RECIPE, epochs=1))
    with pytest.raises(
        TypeError,
        match="`start` must be an ensemble from fit_ensemble or load_ensemble; got PosixPath",
    ):
        fit(tmp_path / "x", start=tmp_path)
    assert not (tmp_path / "x").exists()
