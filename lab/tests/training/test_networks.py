"""The networks: sizes, names and shapes as published, and the same numbers as their textbook
form.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn

from labelwise_lab.training.networks import CNN, MLP, build, resnet18, resnet50


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    ("model", "parameters", "entries"),
    [
        (resnet18(10), 11_181_642, 122),
        (resnet18(1000), 11_689_512, 122),
        (resnet50(1000), 25_557_032, 320),
        (CNN(10), 32 * 25 + 32 + 64 * 32 * 25 + 64 + 1024 * 512 + 512 + 5130, 8),
        (MLP(3, 8, hidden=(16,)), 8 * 16 + 16 + 16 * 3 + 3, 4),
    ],
)
def test_parameter_counts(model, parameters, entries):
    assert count(model) == parameters
    assert len(model.state_dict()) == entries


def torchvision_shapes(blocks: list[int], bottleneck: bool) -> dict[str, tuple[int, ...]]:
    """Names and shapes of torchvision's residual networks, from their description."""
    shapes: dict[str, tuple[int, ...]] = {"conv1.weight": (64, 3, 7, 7)}

    def norm(name: str, n: int) -> None:
        shapes.update(
            {f"{name}.{key}": (n,) for key in ("weight", "bias", "running_mean", "running_var")}
        )
        shapes[f"{name}.num_batches_tracked"] = ()

    norm("bn1", 64)
    inputs = 64
    for i, depth in enumerate(blocks, 1):
        width = 32 * 2**i
        outputs = width * (4 if bottleneck else 1)
        for j in range(depth):
            name = f"layer{i}.{j}"
            sizes = (
                [(width, inputs, 1), (width, width, 3), (outputs, width, 1)]
                if bottleneck
                else [(width, inputs, 3), (width, width, 3)]
            )
            for k, (a, b, side) in enumerate(sizes, 1):
                shapes[f"{name}.conv{k}.weight"] = (a, b, side, side)
                norm(f"{name}.bn{k}", a)
            if j == 0 and (i > 1 or bottleneck):
                shapes[f"{name}.downsample.0.weight"] = (outputs, inputs, 1, 1)
                norm(f"{name}.downsample.1", outputs)
            inputs = outputs
    return shapes | {"fc.weight": (10, inputs), "fc.bias": (10,)}


@pytest.mark.parametrize(
    ("make", "blocks", "bottleneck"),
    [(resnet18, [2, 2, 2, 2], False), (resnet50, [3, 4, 6, 3], True)],
)
def test_names_and_shapes_are_torchvisions(make, blocks, bottleneck):
    assert {
        name: tuple(value.shape) for name, value in make(10).state_dict().items()
    } == torchvision_shapes(blocks, bottleneck)


def test_sizes_inside_the_residual_networks():
    sizes = {}
    model = resnet50(4)
    for name in ("layer1", "layer2", "layer3", "layer4"):
        getattr(model, name).register_forward_hook(
            lambda module, x, y, name=name: sizes.update({name: tuple(y.shape[1:])})
        )
    with torch.inference_mode():
        assert model.eval()(torch.zeros(1, 3, 224, 224)).shape == (1, 4)
    assert sizes == {
        "layer1": (256, 56, 56),
        "layer2": (512, 28, 28),
        "layer3": (1024, 14, 14),
        "layer4": (2048, 7, 7),
    }
    # In ResNet-50 as torchvision publishes it, the 3 × 3 convolution carries the stride.
    assert model.layer2[0].conv1.stride == (1, 1)
    assert model.layer2[0].conv2.stride == (2, 2)


def test_cnn_equals_its_textbook_form():
    torch.manual_seed(0)
    model = CNN(10)
    layers = [model.conv1, nn.ReLU(), nn.MaxPool2d(2), model.conv2, nn.ReLU(), nn.MaxPool2d(2)]
    textbook = nn.Sequential(*layers, nn.Flatten(), model.fc1, nn.ReLU(), model.fc2)
    x = torch.randn(4, 1, 28, 28)
    y = torch.tensor([0, 1, 2, 3])
    gradients = []
    for net in (model, textbook):
        model.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
    torch.testing.assert_close(model(x), textbook(x), rtol=0, atol=0)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0, atol=0)


def test_block_is_a_residual():
    torch.manual_seed(0)
    block = resnet18(2).layer1[0].eval()
    x = torch.randn(1, 64, 5, 5)
    out = block.bn2(block.conv2(torch.relu(block.bn1(block.conv1(x)))))
    torch.testing.assert_close(block(x), torch.relu(out + x))
    nn.init.zeros_(block.bn2.weight)
    torch.testing.assert_close(block(x), torch.relu(x))


def test_build_chooses_by_name_and_shape():
    assert build("cnn", 5, (3, 28, 28)).conv1.in_channels == 3
    assert build("cnn", 5, (1, 40, 32)).fc1.in_features == 64 * 7 * 5
    assert build("resnet18", 5, (1, 32, 32)).conv1.in_channels == 1
    assert build("mlp", 5, (1, 8, 8)).layers[0].in_features == 64
    with pytest.raises(
        ValueError, match=r"`network` must be one of .* got 'resnet81'. Did you mean 'resnet18'"
    ):
        build("resnet81", 5, (1, 28, 28))
    with pytest.raises(ValueError, match="needs images"):
        build("cnn", 5, (34,))
    with pytest.raises(ValueError, match="at least 16 × 16 pixels; got 8 × 8"):
        build("cnn", 5, (1, 8, 8))
