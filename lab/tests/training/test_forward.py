"""Models are run without being changed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from labelwise_lab.training.forward import (
    as_input,
    check_model,
    evaluating,
    like_input,
    run,
    seeded,
)


def test_scores_of_all_instances_in_batches() -> None:
    model = nn.Linear(3, 2)
    x = np.random.default_rng(0).normal(size=(7, 3))
    with evaluating(model):
        scores = run(model, as_input(x), batch_size=3)
    expected = x @ model.weight.detach().numpy().T + model.bias.detach().numpy()
    np.testing.assert_allclose(like_input(scores, x), expected, atol=1e-6)
    assert isinstance(like_input(scores, torch.zeros(1)), torch.Tensor)


def test_modes_and_random_numbers_are_as_before() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout().eval())
    state = torch.random.get_rng_state()
    with evaluating(model), seeded(3):
        assert not model.training
        first = torch.rand(2)
    assert model.training
    assert not model[1].training
    assert torch.equal(torch.random.get_rng_state(), state)
    with seeded(3):
        assert torch.equal(torch.rand(2), first)


def test_refusals() -> None:
    with pytest.raises(TypeError, match=r"`model` must be a torch\.nn\.Module; got int"):
        check_model(3)
    with pytest.raises(TypeError, match="`x` must hold numbers"):
        as_input(["a"])
    with pytest.raises(ValueError, match="`x` must hold at least one instance"):
        as_input(np.zeros((0, 3)))
    with pytest.raises(TypeError, match="must return one tensor of class scores; got list"):
        run(lists(), torch.zeros(2, 3), 2)
    with pytest.raises(ValueError, match="must return one row of class scores per instance"):
        run(nn.Flatten(0), torch.zeros(2, 3), 2)


def lists() -> nn.Module:
    class Lists(nn.Module):
        def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
            return [x]

    return Lists()
