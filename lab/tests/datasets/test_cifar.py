"""CIFAR-10 batches of the binary version."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelwise_lab.datasets import read_cifar10

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
LABELS = RNG.integers(0, 10, 20)


def write_batch(path: Path) -> Path:
    rows = IMAGES.transpose(0, 3, 1, 2).reshape(20, 3072)
    np.concatenate([LABELS.astype(np.uint8)[:, None], rows], axis=1).tofile(path)
    return path


def test_a_batch_is_read(tmp_path: Path) -> None:
    images, labels = read_cifar10(write_batch(tmp_path / "data_batch_1.bin"))
    np.testing.assert_array_equal(images, IMAGES, strict=True)
    np.testing.assert_array_equal(labels, LABELS, strict=True)
    assert images.flags.c_contiguous


def test_damaged_binaries(tmp_path: Path) -> None:
    path = write_batch(tmp_path / "test_batch.bin")
    whole = path.read_bytes()
    for content in (b"", whole[:-1], whole[:3000], whole + b"x"):
        path.write_bytes(content)
        with pytest.raises(
            ValueError,
            match=r"test_batch\.bin: a CIFAR-10 batch has 3073 bytes per image; this file has",
        ):
            read_cifar10(path)
    path.write_bytes(b"\xc8" + whole[1:])
    with pytest.raises(ValueError, match="labels must be 0 to 9; found 200: not a CIFAR-10 batch"):
        read_cifar10(path)
