"""torch modules as members: what is restored, dropout, types and axes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import labelwise as lw
from labelwise.models.torch_models import torch_adapter
from model_cases import CODES, RNG, X, net, softmax_by_hand


def test_modes_gradients_and_random_state_are_restored(nets):
    nets[0].train()
    nets[1].eval()
    nets[2].train()
    nets[2][1].eval()
    statistics = nets[0][1].running_mean.clone()
    state = torch.get_rng_state()
    q = lw.from_models(nets, torch.from_numpy(X))
    assert [n.training for n in nets] == [True, False, True]
    assert not nets[2][1].training
    assert nets[2][0].training
    assert torch.equal(nets[0][1].running_mean, statistics)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()
    assert not q.probs.requires_grad
    with pytest.raises(RuntimeError):
        lw.from_models(nets, np.ones((2, 5), np.float32))
    assert [n.training for n in nets] == [True, False, True]


def test_one_module_with_dropout_is_mc_dropout():
    torch.manual_seed(0)
    model = net(dropout=0.5)
    q = lw.from_models(model, X)
    assert q.probs.shape == (50, 60, 3)
    assert q.probs.std(0).max() > 0.01
    np.testing.assert_array_equal(lw.from_models(model, X, rng=0).probs, q.probs)
    assert np.abs(lw.from_models(model, X, rng=1).probs - q.probs).max() > 0.01
    assert lw.from_models([model, model], X, n_samples=4).probs.shape == (8, 60, 3)
    # A list is an ensemble: dropout is off, and both members are the same network.
    q = lw.from_models([model, model], X)
    np.testing.assert_array_equal(q.probs[0], q.probs[1])
    with pytest.raises(ValueError, match="needs dropout layers with p > 0 in every module"):
        lw.from_models(net(), X, n_samples=5)


def test_one_module_without_dropout_is_one_member():
    q = lw.from_models(net(), X)
    assert q.n_members == 1
    assert lw.decompose(q).epistemic.max() == 0


class Hugging(nn.Module):
    """Takes inputs by name and returns an output with ``logits``, like the models of
    transformers.
    """

    def __init__(self, names: dict[int, str], problem_type: str | None = None) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.config = SimpleNamespace(id2label=names, problem_type=problem_type)

    def forward(self, values, mask):
        return SimpleNamespace(logits=self.layer(values * mask), loss=None)


def test_outputs_with_logits_inputs_by_name_and_names_of_the_configuration():
    models = [Hugging({0: "ant", 1: "bee", 2: "cat"}) for _ in range(2)]
    mask = np.ones_like(X)
    q = lw.from_models(models, {"values": X, "mask": mask}, batch_size=25)
    assert q.class_names == ("ant", "bee", "cat")
    expected = softmax_by_hand([m.layer for m in models], X)
    np.testing.assert_allclose(q.probs, expected, atol=1e-6)
    batches = [
        {
            "values": torch.from_numpy(X[i : i + 20]),
            "mask": 1.0,
            "labels": torch.from_numpy(CODES[i : i + 20]),
        }
        for i in (0, 20, 40)
    ]
    q, y = lw.from_models(models, iter(batches), return_labels=True)
    np.testing.assert_allclose(q.probs, expected, atol=1e-6)
    np.testing.assert_array_equal(y, CODES)
    assert (
        lw.from_models(
            Hugging({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}), {"values": X, "mask": mask}
        ).class_names
        is None
    )
    several = lw.from_models(
        [Hugging({}, "multi_label_classification")], {"values": X, "mask": mask}
    )
    assert isinstance(several, lw.MultiLabelEnsemble)
    with pytest.raises(ValueError, match="must have the same classes in the same order"):
        lw.from_models(
            [models[0], Hugging({0: "bee", 1: "ant", 2: "cat"})], {"values": X, "mask": mask}
        )


def test_segmentation_has_its_classes_on_another_axis():
    torch.manual_seed(0)
    models = [nn.Conv2d(1, 5, 3, padding=1) for _ in range(2)]
    images = RNG.normal(size=(3, 1, 6, 7)).astype(np.float32)
    q = lw.from_models(models, images, class_axis=1)
    assert q.probs.shape == (2, 3, 6, 7, 5)
    with torch.no_grad():
        by_hand = torch.softmax(models[1](torch.from_numpy(images)), 1).permute(0, 2, 3, 1).numpy()
    np.testing.assert_allclose(q.probs[1], by_hand, atol=1e-6)
    with pytest.raises(ValueError, match="`class_axis` must be an axis of the models' output"):
        lw.from_models(models, images, class_axis=0)


def test_half_precision(nets):
    expected = softmax_by_hand(nets, X)
    q = lw.from_models([n.to(torch.bfloat16) for n in nets], X)
    assert q.probs.dtype == np.float32
    np.testing.assert_allclose(q.probs, expected, atol=0.02)
    assert next(nets[0].parameters()).dtype == torch.bfloat16


def test_modes_come_back_after_an_error() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout()).train()
    model[0].eval()
    adapter = torch_adapter([model], False, None, (), 0)
    with adapter.running():
        assert not any(module.training for module in model.modules())
        assert not torch.is_grad_enabled()
    with pytest.raises(KeyError), adapter.running():
        raise KeyError
    assert [module.training for module in model.modules()] == [True, False, True]
    assert torch.is_grad_enabled()


def test_the_global_generator_goes_on_as_before() -> None:
    adapter = torch_adapter([torch.nn.Linear(2, 2)], False, None, (), 5)
    torch.manual_seed(1)
    expected = torch.rand(2)
    torch.manual_seed(1)
    with adapter.running():
        inside = torch.rand(1)
    assert torch.equal(torch.rand(2), expected)
    with adapter.running():
        assert torch.equal(torch.rand(1), inside)
