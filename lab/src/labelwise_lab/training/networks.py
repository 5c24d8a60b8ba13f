"""The paper's networks, and a small one for tables.

The residual networks have torchvision's parameter names and shapes, so that its published weights
load: ``resnet18(1000).load_state_dict(torch.load("resnet18-f37072fd.pth", weights_only=True))``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.nn import functional as F

from ..validation import check_choice


class CNN(nn.Module):  # type: ignore[misc]
    """Two convolutions (32 and 64 filters, 5 × 5), each followed by pooling, and two dense layers
    (512 and K).

    ``channels`` is 1 for gray, 3 for color; ``size`` height and width of the images, at least 16
    each.

    >>> import torch
    >>> CNN(10)(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(self, n_classes: int, channels: int = 1, size: tuple[int, int] = (28, 28)) -> None:
        super().__init__()
        height, width = (((side - 4) // 2 - 4) // 2 for side in size)
        if min(height, width) < 1:
            raise ValueError(
                f"the CNN needs images of at least 16 × 16 pixels; got {size[0]} × {size[1]}. Use "
                "the network 'mlp' for them"
            )
        self.conv1 = nn.Conv2d(channels, 32, 5)
        self.conv2 = nn.Conv2d(32, 64, 5)
        self.fc1 = nn.Linear(64 * height * width, 512)
        self.fc2 = nn.Linear(512, n_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits, (N, K), of images (N, C, H, W)."""
        # Rectifying after pooling instead of before gives the same numbers (and gradients) for a
        # quarter of the work.
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        return self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))


class MLP(nn.Module):  # type: ignore[misc]
    """Dense layers with rectifiers between them; inputs of more than two axes are flattened.

    >>> import torch
    >>> MLP(3, 8, hidden=(32,))(torch.zeros(5, 8)).shape
    torch.Size([5, 3])
    """

    def __init__(self, n_classes: int, n_features: int, hidden: Sequence[int] = (128, 128)) -> None:
        super().__init__()
        sizes = [n_features, *hidden, n_classes]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits, (N, K), of inputs (N, ...)."""
        x = torch.flatten(x, 1)
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


def _convolution(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    """A convolution without bias that keeps the size of an image, divided by ``stride``."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class _Block(nn.Module):  # type: ignore[misc]
    """Convolutions ``conv1``, ``conv2`` …, each normalized, with rectifiers between them, and a
    shortcut past them.
    """

    expansion = 1

    def __init__(self, inputs: int, convolutions: Sequence[nn.Conv2d], stride: int) -> None:
        super().__init__()
        self.n = len(convolutions)
        for i, convolution in enumerate(convolutions, start=1):
            self.add_module(f"conv{i}", convolution)
            self.add_module(f"bn{i}", nn.BatchNorm2d(convolution.out_channels))
        outputs = convolutions[-1].out_channels
        plain = stride == 1 and inputs == outputs
        self.downsample = (
            None
            if plain
            else nn.Sequential(_convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Features of the next size."""
        out = x
        for i in range(1, self.n + 1):
            out = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(F.relu(out) if i > 1 else out))
        return F.relu(out + (x if self.downsample is None else self.downsample(x)))


class BasicBlock(_Block):
    """Two 3 × 3 convolutions and a shortcut (ResNet-18 and -34)."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__(
            inputs, [_convolution(inputs, width, 3, stride), _convolution(width, width, 3)], stride
        )


class Bottleneck(_Block):
    """1 × 1, 3 × 3 (which carries the stride) and 1 × 1 convolution and a shortcut (ResNet-50 and
    deeper).
    """

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        narrow = _convolution(inputs, width, 1)
        middle = _convolution(width, width, 3, stride)
        wide = _convolution(width, 4 * width, 1)
        super().__init__(inputs, [narrow, middle, wide], stride)


class ResNet(nn.Module):  # type: ignore[misc]
    """Residual network with the ImageNet stem (7 × 7 convolution with stride 2, pooling), as the
    paper uses it on 32 × 32 pixels too.
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        depths: Sequence[int],
        n_classes: int,
        channels: int = 3,
    ) -> None:
        super().__init__()
        self.conv1 = _convolution(channels, 64, 7, 2)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for i, depth in enumerate(depths):
            width = 64 * 2**i
            blocks = []
            for j in range(depth):
                blocks.append(block(inputs, width, 2 if i > 0 and j == 0 else 1))
                inputs = width * block.expansion
            self.add_module(f"layer{i + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(inputs, n_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits, (N, K), of images (N, C, H, W)."""
        x = F.relu(
            F.max_pool2d(self.bn1(self.conv1(x)), 3, 2, padding=1)
        )  # after pooling, as in the CNN
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def resnet18(n_classes: int, channels: int = 3) -> ResNet:
    """ResNet-18: 11,181,642 parameters for 10 classes.

    >>> sum(p.numel() for p in resnet18(10).parameters())
    11181642
    """
    return ResNet(BasicBlock, (2, 2, 2, 2), n_classes, channels)


def resnet50(n_classes: int, channels: int = 3) -> ResNet:
    """ResNet-50: 25,557,032 parameters for 1000 classes."""
    return ResNet(Bottleneck, (3, 4, 6, 3), n_classes, channels)


# From the number of classes and the shape (C, H, W) of an image to the network.
IMAGE_NETWORKS: dict[str, Callable[[int, tuple[int, ...]], nn.Module]] = {
    "cnn": lambda n_classes, shape: CNN(n_classes, shape[0], (shape[1], shape[2])),
    "resnet18": lambda n_classes, shape: resnet18(n_classes, shape[0]),
    "resnet50": lambda n_classes, shape: resnet50(n_classes, shape[0]),
}
NETWORKS = (*IMAGE_NETWORKS, "mlp")


def build(name: str, n_classes: int, shape: Sequence[int]) -> nn.Module:
    """The network ``name`` for inputs of ``shape``: (C, H, W) for images, (D,) for tables.

    >>> build("mlp", 3, (34,)).layers[-1]
    Linear(in_features=128, out_features=3, bias=True)
    """
    shape = tuple(int(n) for n in shape)
    check_choice(name, "network", NETWORKS)
    if name == "mlp":
        return MLP(n_classes, torch.Size(shape).numel())
    if len(shape) != 3:
        raise ValueError(
            f"the network {name!r} needs images (channels, height, width); got inputs of shape "
            f"{shape}. Use 'mlp' for tables"
        )
    return IMAGE_NETWORKS[name](n_classes, shape)
