"""Made-up images in the shape of CIFAR-10, instead of the files of the data sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from labelwise_lab.datasets import Dataset, Examples
from labelwise_lab.datasets.cifar import CLASS_NAMES
from labelwise_lab.paper import settings
from labelwise_lab.paper.settings import Setting


def images(n: int, seed: int) -> Examples:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 10
    x = rng.integers(0, 80, (n, 32, 32, 3)) + (y * 15)[:, None, None, None]
    return Examples(x.astype(np.uint8), y)


@pytest.fixture
def available_data(monkeypatch) -> Callable[..., None]:
    """Make only the named data sets available, with 60 training and 40 test images."""

    def only(*names: str, n_test: int = 40) -> None:
        def load(
            name: str,
            *,
            data_dir: Path | None = None,
            download: bool = False,
            sha256: object = None,
        ) -> Dataset:
            if name not in names:
                raise FileNotFoundError(f"{name} was not found. Put it somewhere.")
            return Dataset(name, images(60, 1), images(n_test, 2 + len(name)), CLASS_NAMES)

        monkeypatch.setattr(settings, "load", load)

    return only


@pytest.fixture
def small_setting() -> Setting:
    """CIFAR-10 with a small network, trained in a second."""
    return Setting("cifar10", members=2, epochs=1, changes=(("network", "mlp"), ("batch_size", 30)))
