"""MC dropout: only dropout is switched, everything is put back, and the samples have the variance
they should.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import labelwise as lw


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3)
    )


def inputs(n: int = 6) -> torch.Tensor:
    return torch.randn(n, 4, generator=torch.Generator().manual_seed(1))


def test_only_dropout_is_in_training_mode_while_it_runs():
    model = network().train()
    seen: dict[str, bool] = {}
    for name, module in model.named_modules():
        module.register_forward_hook(lambda m, i, o, name=name: seen.__setitem__(name, m.training))
    lw.from_models(model, inputs(), n_samples=2)
    assert seen == {"": False, "0": False, "1": False, "2": False, "3": True, "4": False}


def test_batch_norm_statistics_modes_and_gradients_are_untouched():
    model = network().train()
    model[1].eval()  # a mixture of modes, as fine-tuning makes it
    before = {key: value.clone() for key, value in model.state_dict().items()}
    modes = [m.training for m in model.modules()]
    q = lw.from_models(model, inputs(), n_samples=3)
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert [m.training for m in model.modules()] == modes
    assert not q.probs.requires_grad
    assert all(p.grad is None and p.requires_grad for p in model.parameters())


def test_modes_and_random_state_come_back_after_an_error():
    model = network().train()
    state = torch.random.get_rng_state()
    with pytest.raises(RuntimeError):
        lw.from_models(model, torch.zeros(2, 5), n_samples=2)
    assert all(m.training for m in model.modules())
    assert torch.equal(torch.random.get_rng_state(), state)


def test_same_seed_same_samples_and_the_global_generator_is_left_alone():
    model, x = network(), inputs()
    state = torch.random.get_rng_state()
    first = lw.from_models(model, x, n_samples=4, rng=3)
    torch.manual_seed(99)
    again = lw.from_models(model, x, n_samples=4, rng=3)
    other = lw.from_models(model, x, n_samples=4, rng=4)
    assert torch.equal(first.probs, again.probs)
    assert not torch.equal(first.probs, other.probs)
    torch.random.set_rng_state(state)
    lw.from_models(model, x, n_samples=1, rng=0)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_more_samples_continue_the_same_sequence():
    model, x = network(), inputs()
    few, many = (lw.from_models(model, x, n_samples=n, rng=5).probs for n in (3, 7))
    assert torch.equal(few, many[:3])
    assert not torch.equal(many[0], many[1])


def test_mean_and_variance_of_a_linear_model_are_those_of_bernoulli_masks():
    """The log-odds are Σ w_i x_i b_i/(1−p) with Bernoulli masks b: mean Σ w x, variance Σ (w x)²
    p/(1−p).
    """
    p, n, rows = 0.3, 20_000, 100  # each row has its own masks
    model = nn.Sequential(nn.Dropout(p), nn.Linear(5, 2, bias=False)).double()
    x = np.array([[0.5, -1.0, 2.0, 0.3, 1.0]])
    q = lw.from_models(model, np.repeat(x, rows, axis=0), n_samples=n // rows, rng=0)
    probs = q.probs.reshape(n, 2)
    odds = np.log(probs[:, 1]) - np.log(probs[:, 0])
    effect = (model[1].weight[1] - model[1].weight[0]).detach().numpy() * x[0]
    variance = np.sum(effect**2) * p / (1 - p)
    assert abs(odds.mean() - effect.sum()) < 5 * np.sqrt(variance / n)
    assert odds.var() == pytest.approx(
        variance, rel=0.06
    )  # 5 standard errors of a variance are 5 · √(2/n) = 0.05, for near-normal tails


def test_numpy_gives_numpy_and_a_tensor_gives_a_tensor():
    model, x = network(), inputs()
    from_tensor, from_array = (
        lw.from_models(model, x, n_samples=2),
        lw.from_models(model, x.double().numpy(), n_samples=2),
    )
    assert isinstance(from_tensor.probs, torch.Tensor)
    assert isinstance(from_array.probs, np.ndarray)
    assert from_array.probs.dtype == np.float32  # that of the weights
    np.testing.assert_allclose(from_array.probs, from_tensor.probs.numpy(), rtol=1e-6)
    read_only = x.numpy().copy()
    read_only.setflags(write=False)
    assert lw.from_models(model, read_only[::-1], n_samples=2).probs.shape == (2, 6, 3)


def test_more_samples_than_instances_are_still_members():
    assert (
        lw.from_models(network(), inputs(2), n_samples=100, class_names=["a", "b", "c"]).n_members
        == 100
    )


@pytest.mark.parametrize("dropping", ["transformer", "attention", "recurrent"])
def test_layers_that_drop_inside_are_switched_too(dropping):
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = {
                "transformer": lambda: nn.TransformerEncoderLayer(
                    8, 2, 16, dropout=0.5, batch_first=True
                ),
                "attention": lambda: nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True),
                "recurrent": lambda: nn.GRU(8, 8, num_layers=2, dropout=0.5, batch_first=True),
            }[dropping]()
            self.head = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = self.inner(x, x, x)[0] if dropping == "attention" else self.inner(x)
            return self.head((out[0] if isinstance(out, tuple) else out)[:, -1])

    torch.manual_seed(0)
    q = lw.from_models(Net(), torch.randn(2, 5, 8), n_samples=5)
    assert bool((lw.decompose(q).epistemic > 1e-6).all())


def test_functional_dropout_is_switched_when_its_class_is_named():
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.head = nn.BatchNorm1d(4), nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(nn.functional.dropout(self.norm(x), 0.5, training=self.training))

    model = Net()
    with pytest.raises(
        ValueError,
        match=r"needs dropout layers with p > 0 in every module.* its class in `extra_modules`",
    ):
        lw.from_models(model, inputs(), n_samples=2)
    q = lw.from_models(model, inputs(), n_samples=5, extra_modules=[Net])
    assert bool((q.probs.std(0) > 0).all())
    assert int(model.norm.num_batches_tracked) == 0


def test_segmentation_has_its_classes_on_axis_1():
    model = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.Dropout2d(0.5))
    x = torch.randn(2, 1, 5, 4)
    q = lw.from_models(model, x, n_samples=3, class_axis=1)
    assert tuple(q.probs.shape) == (3, 2, 5, 4, 3)
    torch.testing.assert_close(q.probs.sum(-1), torch.ones(3, 2, 5, 4))
    for axis in (0, 4, -4):
        with pytest.raises(ValueError, match="`class_axis` must be an axis of the models' output"):
            lw.from_models(model, x, n_samples=3, class_axis=axis)


def test_probabilities_are_not_taken_for_logits():
    model = nn.Sequential(network(), nn.Softmax(-1))
    with pytest.warns(
        UserWarning, match="taken as probabilities, without a softmax. Pass activation='none'"
    ):
        noticed = lw.from_models(model, inputs(), n_samples=2)
    inside = lw.from_models(model, inputs(), n_samples=2, activation="none")
    torch.testing.assert_close(noticed.probs, inside.probs)
    torch.testing.assert_close(inside.probs, lw.from_models(model[0], inputs(), n_samples=2).probs)


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (
            {"model": "net"},
            ValueError,
            "`n_samples` is for dropout in torch modules; got 2 for str",
        ),
        ({"n_samples": 0}, ValueError, "`n_samples` must be a positive integer; got 0"),
        ({"batch_size": 2.5}, ValueError, "`batch_size` must be a positive integer; got 2.5"),
        ({"rng": "a"}, TypeError, "`rng` must be None, an integer"),
        ({"x": np.zeros((0, 4))}, ValueError, "`X` must hold at least one instance"),
        ({"x": np.array([["a"]])}, TypeError, "`X` must hold numbers"),
        (
            {"model": nn.Sequential(nn.Dropout(0.0), nn.Linear(4, 3))},
            ValueError,
            "needs dropout layers with p > 0",
        ),
        (
            {"model": nn.Sequential(nn.Dropout(), nn.Linear(4, 2), nn.Flatten(0))},
            ValueError,
            "one row of scores per instance",
        ),
        (
            {"model": nn.Sequential(nn.Dropout(), nn.RNN(4, 3))},
            TypeError,
            "must return a tensor of class scores, or an output with `logits`; got tuple",
        ),
        (
            {"class_names": ["a", "b"]},
            ValueError,
            "`class_names` must name each of the K = 3 classes",
        ),
    ],
)
def test_wrong_input_gets_a_sentence(change, error, sentence):
    arguments = {"model": network(), "x": inputs(), "n_samples": 2} | change
    with pytest.raises(error, match=sentence):
        lw.from_models(arguments.pop("model"), arguments.pop("x"), **arguments)
