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


# Winograd's minimal filtering F(4, 3): four results of a filter of length three from six products
# instead of twelve (Lavin & Gray, 2016).
_INPUT = (
    (4, 0, -5, 0, 1, 0),
    (0, -4, -4, 1, 1, 0),
    (0, 4, -4, -1, 1, 0),
    (0, -2, -1, 2, 1, 0),
    (0, 2, -1, -2, 1, 0),
    (0, 4, 0, -5, 0, 1),
)
_FILTER = (
    (1 / 4, 0, 0),
    (-1 / 6, -1 / 6, -1 / 6),
    (-1 / 6, 1 / 6, -1 / 6),
    (1 / 24, 1 / 12, 1 / 6),
    (1 / 24, -1 / 12, 1 / 6),
    (0, 0, 1),
)
_OUTPUT = ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1))


class Conv3x3(nn.Conv2d):  # type: ignore[misc]
    """A 3 × 3 convolution with padding that needs fewer products for small images.

    A residual network makes images of 8 × 8 down to 1 × 1 of 32 × 32 pixels. On 8 × 8 and 4 × 4,
    Winograd's filtering takes a quarter of the products. On 2 × 2 and less, up to eight of nine
    products are with the zeros of the padding: each position of the result has its own part of the
    kernel there, and a dense layer of those parts gives the same sums.
    """

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__(inputs, outputs, 3, stride, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Same as that of ``nn.Conv2d``, up to rounding."""
        height, width = x.shape[2:]
        # not where a GPU has its own, nor in half precision, which it would lose
        if (
            height == width
            and height in (4, 8)
            and self.stride == (1, 1)
            and x.device.type == "cpu"
            and x.dtype.itemsize >= 4
        ):
            return self._winograd(x, height)
        if (height, width, *self.stride) == (4, 4, 2, 2):
            return self._patches(x)
        if max(height, width) > 2:
            return super().forward(x)
        tops, lefts = range(0, height, self.stride[0]), range(0, width, self.stride[1])
        weight = self.weight.permute(0, 2, 3, 1)  # channels last, as it lies in memory
        parts = [
            weight[:, 1 - i : 1 - i + height, 1 - j : 1 - j + width].flatten(1)
            for i in tops
            for j in lefts
        ]
        out = F.linear(x.permute(0, 2, 3, 1).flatten(1), torch.cat(parts))
        return out.view(len(x), len(tops), len(lefts), self.out_channels).permute(0, 3, 1, 2)

    def _patches(self, x: torch.Tensor) -> torch.Tensor:
        """Every second position of 4 × 4 images: the patches around them, chosen by a matrix of
        zeros and ones, and one product.
        """
        chosen = torch.arange(36, device=x.device).view(6, 6).unfold(0, 3, 2).unfold(
            1, 3, 2
        ).reshape(36, 1) == torch.arange(36, device=x.device)
        inside = (
            chosen.view(36, 6, 6)[:, 1:5, 1:5].reshape(36, 16).to(x.dtype)
        )  # without the padding
        patches = (inside @ x.permute(0, 2, 3, 1).reshape(len(x), 16, self.in_channels)).view(
            len(x) * 4, 9 * self.in_channels
        )
        out = patches @ self.weight.permute(2, 3, 1, 0).reshape(
            9 * self.in_channels, self.out_channels
        )
        return out.view(len(x), 2, 2, self.out_channels).permute(0, 3, 1, 2)

    def _winograd(self, x: torch.Tensor, side: int) -> torch.Tensor:
        """For images of ``side`` × ``side``, a multiple of 4: the axis of each is cut into tiles of
        four pixels, with one more at each end.
        """
        n, (outputs, inputs), tiles = len(x), self.weight.shape[:2], side // 4
        to_input, to_filter, to_output = (
            torch.tensor(rows, dtype=x.dtype, device=x.device)
            for rows in (_INPUT, _FILTER, _OUTPUT)
        )
        padded = to_input.new_zeros(tiles, 6, side + 2)
        for tile in range(tiles):
            padded[tile, :, 4 * tile : 4 * tile + 6] = to_input
        analysis, synthesis = (
            padded[:, :, 1:-1].reshape(6 * tiles, side),
            torch.block_diag(*[to_output] * tiles),
        )

        images = analysis @ x.permute(0, 2, 3, 1).reshape(
            n, side, side * inputs
        )  # rows, then columns
        images = analysis @ images.view(n * 6 * tiles, side, inputs)
        filters = torch.kron(to_filter, to_filter) @ self.weight.permute(2, 3, 1, 0).reshape(
            9, inputs * outputs
        )
        filters = (
            filters.view(6, 1, 6, inputs, outputs)
            .expand(6, tiles, 6, inputs, outputs)
            .reshape(36 * tiles, inputs, outputs)
        )
        products = torch.bmm(
            images.view(n * tiles, 36 * tiles, inputs).transpose(0, 1), filters
        ).transpose(0, 1)
        out = synthesis @ products.reshape(n * 6 * tiles, 6 * tiles, outputs)
        out = synthesis @ out.view(n, 6 * tiles, side * outputs)
        return out.view(n, side, side, outputs).permute(0, 3, 1, 2)


class Conv1x1(nn.Conv2d):  # type: ignore[misc]
    """A 1 × 1 convolution: a dense layer of the channels of every pixel, or of every second one."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Same as that of ``nn.Conv2d``, up to rounding; half of its time for small images."""
        chosen = x[:, :, :: self.stride[0], :: self.stride[1]].permute(0, 2, 3, 1)
        return F.linear(chosen, self.weight.flatten(1)).permute(0, 3, 1, 2)


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
            else nn.Sequential(Conv1x1(inputs, outputs, stride), nn.BatchNorm2d(outputs))
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
        super().__init__(inputs, [Conv3x3(inputs, width, stride), Conv3x3(width, width)], stride)


class Bottleneck(_Block):
    """1 × 1, 3 × 3 (which carries the stride) and 1 × 1 convolution and a shortcut (ResNet-50 and
    deeper).
    """

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        narrow = nn.Conv2d(inputs, width, 1, bias=False)
        super().__init__(
            inputs,
            [narrow, Conv3x3(width, width, stride), nn.Conv2d(width, 4 * width, 1, bias=False)],
            stride,
        )


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
        self.conv1 = nn.Conv2d(channels, 64, 7, 2, padding=3, bias=False)
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
