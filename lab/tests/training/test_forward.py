"""Running a torch model leaves no trace: modes, gradients and random state are restored, also after
an error.
"""

from __future__ import annotations

import numpy as np
import pytest

from optional_libraries import optional

torch = optional("torch")

from labelwise_lab.training.forward import (  # noqa: E402
    as_input,
    batches,
    check_model,
    evaluating,
    like_input,
    run,
    seeded,
)


def test_batches_take_the_type_of_the_weights_and_leave_integers() -> None:
    model = torch.nn.Linear(3, 2)
    parts = list(batches(np.arange(15.0).reshape(5, 3), 2, model))
    assert [len(part) for part in parts] == [2, 2, 1]
    assert {part.dtype for part in parts} == {torch.float32}
    assert next(batches(np.arange(3), 3, model)).dtype == torch.int64
    x = np.random.default_rng(0).normal(size=(5, 3))
    with torch.no_grad():
        expected = model(torch.tensor(x, dtype=torch.float32))
        torch.testing.assert_close(run(model, x, 2), expected)


def test_modes_come_back_after_an_error() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout()).train()
    model[0].eval()
    with evaluating(model):
        assert not model.training
        assert not torch.is_grad_enabled()
    with pytest.raises(KeyError), evaluating(model):
        raise KeyError
    assert [module.training for module in model.modules()] == [True, False, True]
    assert torch.is_grad_enabled()


def test_the_global_generator_goes_on_as_before() -> None:
    torch.manual_seed(1)
    expected = torch.rand(2)
    torch.manual_seed(1)
    with seeded(5):
        inside = torch.rand(1)
    assert torch.equal(torch.rand(2), expected)
    with seeded(5):
        assert torch.equal(torch.rand(1), inside)


def test_mistakes_have_their_sentences() -> None:
    with pytest.raises(TypeError, match=r"`model` must be a torch\.nn\.Module; got int"):
        check_model(3)
    with pytest.raises(TypeError, match="`x` must hold numbers"):
        as_input(["a"])
    with pytest.raises(ValueError, match="at least one instance"):
        as_input(np.empty((0, 2)))
    with pytest.raises(
        ValueError, match=r"one row of class scores per instance; got shape \(2,\) for 2 instances"
    ):
        run(torch.nn.Flatten(0), np.ones((2, 1)), 2)
    assert isinstance(like_input(torch.ones(1), [1]), np.ndarray)
    assert isinstance(like_input(torch.ones(1), torch.ones(1)), torch.Tensor)
