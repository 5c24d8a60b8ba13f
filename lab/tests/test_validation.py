"""Checks of what callers of the lab pass."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise_lab import validation


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_only_positive_integers(value: object) -> None:
    with pytest.raises(ValueError, match="`n` must be a positive integer; got"):
        validation.check_positive(value, "n")
    assert validation.check_positive(np.int64(3), "n") == 3


def test_choices_with_the_one_that_was_meant() -> None:
    validation.check_choice("mlp", "network", ("mlp", "cnn"))
    with pytest.raises(ValueError, match=r"`network` must be 'mlp' or 'cnn'; got 'mlpp'\. Did you"):
        validation.check_choice("mlpp", "network", ("mlp", "cnn"))
    assert validation.suggest("zzz", ["a", "b"]) == ". Known: 'a', 'b'"


def test_class_names() -> None:
    assert validation.check_names(None, 2) is None
    assert validation.check_names(["a", "b"], 2) == ("a", "b")
    for wrong in (["a"], ["a", "a"], [1, 2]):
        with pytest.raises(ValueError, match="`class_names` must be 2 different names"):
            validation.check_names(wrong, 2)


def test_generators_and_seeds() -> None:
    generator = np.random.default_rng(0)
    assert validation.as_rng(generator) is generator
    assert validation.as_seed(5) == 5
    assert validation.as_seed(generator) != validation.as_seed(generator)
    for wrong in ("x", -1, True):
        with pytest.raises(TypeError, match="`rng` must be None, an integer seed"):
            validation.as_rng(wrong)


def test_tensors_become_arrays() -> None:
    torch = pytest.importorskip("torch")
    assert validation.to_numpy(torch.ones(2, requires_grad=True)).tolist() == [1, 1]
