"""Small 2.5-D U-Nets on Hippocampus, and test volumes of which half are blurred, ghosted or noisy.

A network sees a slice with its two neighbors and predicts the slice. The five members of a seed
share the split and differ in initialization and in the order of the slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from torch import nn
from torch.nn import functional

N_TRAIN, N_TEST = 140, 120
SHIFTS = ("blur", "ghost", "noise")
CHANNELS = (12, 24, 48)
CLASSES = 3
SIZE = (48, 64)  # every slice fits, and two poolings divide it
BATCH, STEPS, RATE = 16, 600, 4e-3


class Volume(NamedTuple):
    """One standardized image with its labels 0, 1 (anterior) and 2 (posterior)."""

    name: str
    image: np.ndarray
    labels: np.ndarray


def load(folder: Path) -> list[Volume]:
    """All volumes below ``folder``/images that have labels, by name."""
    import nibabel as nib

    volumes = []
    for path in sorted((folder / "images").glob("*.nii.gz")):
        image = np.asarray(nib.load(path).dataobj, dtype=np.float32)
        labels = np.asarray(nib.load(folder / "labels" / path.name).dataobj).astype(np.uint8)
        image = (image - image.mean()) / image.std()
        volumes.append(Volume(path.name.removesuffix(".nii.gz"), image, labels))
    return volumes


def split(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Training volumes, test volumes and the shift of each test volume."""
    order = np.random.default_rng([seed, 0]).permutation(n)
    each = N_TEST // 2 // len(SHIFTS)
    shifts = ["clean"] * (N_TEST // 2) + [shift for shift in SHIFTS for _ in range(each)]
    return order[:N_TRAIN], order[N_TRAIN : N_TRAIN + N_TEST], shifts


def shifted(image: np.ndarray, shift: str, rng: np.random.Generator) -> np.ndarray:
    """A standardized image as a worse scanner, or a restless patient, would have given it."""
    if shift == "clean":
        return image
    if shift == "blur":
        image = gaussian_filter(image, rng.uniform(1.2, 2.0))
    elif shift == "noise":
        image = image + rng.normal(0, rng.uniform(0.4, 0.8), image.shape)
    else:
        # Every third line of k-space is weaker: copies of the image a third of it apart.
        frequencies = np.fft.fft(image, axis=1)
        frequencies[:, ::3] *= 1 - rng.uniform(0.5, 0.9)
        image = np.fft.ifft(frequencies, axis=1).real
    image = image.astype(np.float32)
    return (image - image.mean()) / image.std()


def _pad(slices: np.ndarray) -> np.ndarray:
    missing = [size - have for size, have in zip(SIZE, slices.shape[-2:], strict=True)]
    return np.pad(slices, [(0, 0)] * (slices.ndim - 2) + [(0, n) for n in missing])


def slabs(image: np.ndarray) -> np.ndarray:
    """(z, 3, x, y): each slice with its neighbors; the outermost are their own neighbors."""
    slices = np.moveaxis(image, 2, 0)
    neighbors = np.pad(slices, ((1, 1), (0, 0), (0, 0)), mode="edge")
    return _pad(np.stack([neighbors[:-2], neighbors[1:-1], neighbors[2:]], axis=1))


def _block(before: int, after: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (before, after):
        layers += [nn.Conv2d(channels, after, 3, padding=1, bias=False)]
        layers += [nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Two poolings, two skips."""

    def __init__(self) -> None:
        super().__init__()
        a, b, c = CHANNELS
        self.down = nn.ModuleList([_block(3, a), _block(a, b), _block(b, c)])
        self.up = nn.ModuleList([_block(c + b, b), _block(b + a, a)])
        self.head = nn.Conv2d(a, CLASSES, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.down[0](x)
        second = self.down[1](functional.max_pool2d(first, 2))
        x = self.down[2](functional.max_pool2d(second, 2))
        x = self.up[0](torch.cat([functional.interpolate(x, scale_factor=2), second], dim=1))
        x = self.up[1](torch.cat([functional.interpolate(x, scale_factor=2), first], dim=1))
        return self.head(x)


def _loss(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Cross-entropy and soft Dice, as nnU-Net does."""
    probs = logits.softmax(dim=1)[:, 1:]
    truth = functional.one_hot(y, CLASSES).movedim(-1, 1)[:, 1:]
    both = (probs * truth).sum(dim=(0, 2, 3))
    dice = (2 * both + 1) / ((probs + truth).sum(dim=(0, 2, 3)) + 1)
    return functional.cross_entropy(logits, y) + 1 - dice.mean()


def batches(n: int, seed: int, member: int) -> Iterator[np.ndarray]:
    """Slices of each step, all of them once before any comes again."""
    rng = np.random.default_rng([seed, 1, member])
    waiting = np.empty(0, dtype=int)
    while True:
        if len(waiting) < BATCH:
            waiting = np.concatenate([waiting, rng.permutation(n)])
        yield waiting[:BATCH]
        waiting = waiting[BATCH:]


def train(volumes: list[Volume], seed: int, member: int, steps: int = STEPS) -> UNet:
    """One member."""
    torch.manual_seed(1000 * seed + member)
    x = torch.from_numpy(np.concatenate([slabs(volume.image) for volume in volumes]))
    labels = [_pad(np.moveaxis(volume.labels, 2, 0)) for volume in volumes]
    y = torch.from_numpy(np.concatenate(labels).astype(np.int64))
    network = UNet().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    augment = np.random.default_rng([seed, 2, member])
    order = batches(len(x), seed, member)
    for _ in range(steps):
        rows = next(order)
        # Contrast and brightness of scanners differ.
        scale = torch.from_numpy(augment.uniform(0.8, 1.2, (BATCH, 1, 1, 1)).astype(np.float32))
        added = torch.from_numpy(augment.uniform(-0.2, 0.2, (BATCH, 1, 1, 1)).astype(np.float32))
        loss = _loss(network(x[rows] * scale + added), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return network.eval()


@torch.no_grad()
def predict(network: UNet, image: np.ndarray) -> np.ndarray:
    """(x, y, z, class): probabilities in the grid of the image."""
    logits = network(torch.from_numpy(slabs(image)))
    probs: Any = logits.softmax(dim=1).permute(2, 3, 0, 1)
    return probs[: image.shape[0], : image.shape[1]].double().numpy()
