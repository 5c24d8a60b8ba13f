"""Networks for tests of training, in a module that worker processes can import."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


class Dropped(nn.Module):
    """Draws random numbers in its forward pass and keeps running statistics; slow on request, so
    that it can be killed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(36)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(36, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time.sleep(float(os.environ.get("LABELWISE_TEST_SLEEP", "0")))
        return self.fc(self.drop(self.norm(x.flatten(1))))


class Suicidal(nn.Linear):
    """Its process is killed in the first training step, as by a system short of memory."""

    def __init__(self) -> None:
        super().__init__(36, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(x.flatten(1))


class Failing(nn.Linear):
    def __init__(self) -> None:
        super().__init__(36, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            raise ArithmeticError("no gradient today")
        return super().forward(x.flatten(1))


@dataclass(frozen=True)
class EvenOrOdd:
    """Even rows for even members in even epochs, and so on: which member sees what depends on
    both.
    """

    n: int
    turn: int = 0

    def __call__(self, member: int, epoch: int) -> np.ndarray:
        return np.arange((member + epoch + self.turn) % 2, self.n, 2)


class OnDisk:
    """Images in a .npy file of which nothing is kept."""

    dtype, ndim = np.dtype(np.uint8), 3

    def __init__(self, path, images):
        np.save(path, images)
        self.path, self.shape, self.fingerprint = path, images.shape, str(images.sum())

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        return np.array(np.load(self.path, mmap_mode="r")[index])
