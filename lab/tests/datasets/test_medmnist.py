from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwise_lab.datasets import load, load_medmnist

RNG = np.random.default_rng(0)
GOOD: dict[str, Any] = {
    f"{part}_{kind}": RNG.integers(
        0, 256 if kind == "images" else 5, (n, 28, 28, 3) if kind == "images" else (n, 1)
    ).astype(np.uint8)
    for part, n in (("train", 20), ("val", 5), ("test", 8))
    for kind in ("images", "labels")
}


def test_parts_and_names(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "retinamnist_64.npz", **GOOD)
    data = load_medmnist(tmp_path / "retinamnist_64.npz")
    assert data.val is not None
    np.testing.assert_array_equal(data.val.x, GOOD["val_images"], strict=True)
    np.testing.assert_array_equal(
        data.test.y, GOOD["test_labels"][:, 0].astype(np.int64), strict=True
    )
    assert data.class_names == ("no retinopathy", "mild", "moderate", "severe", "proliferative")
    gray = {key: value[..., :1] if key.endswith("images") else value for key, value in GOOD.items()}
    np.savez(tmp_path / "other.npz", **gray)
    data = load_medmnist(tmp_path / "other.npz")
    assert data.test.x.shape == (8, 28, 28)
    assert data.class_names == tuple("01234")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"test_labels": np.zeros((8, 14), np.uint8)},
            r"test_labels has shape \(8, 14\): a multi-label set",
        ),
        (
            {"val_images": np.zeros((5, 28, 28, 28), np.uint8)},
            r"val_images is uint8 of shape \(5, 28, 28, 28\)",
        ),
        (
            {"val_images": np.zeros((5, 28, 28), np.float32)},
            r"is float32 of shape \(5, 28, 28\); expected uint8",
        ),
        ({"train_labels": np.zeros((19, 1), np.uint8)}, "train has 20 images but 19 labels"),
        ({"train_labels": np.full((20, 1), -1)}, "train_labels must be class numbers 0 to 255"),
        ({"train_labels": np.full((20, 1), 10**12)}, "train_labels must be class numbers 0 to 255"),
        (
            {"train_labels": np.zeros((20, 1), np.float64)},
            "train_labels must be class numbers 0 to 255",
        ),
        (
            {"train_labels": np.full((20, 1), 7, np.uint8)},
            "`train` of retinamnist has labels from 7 to 7",
        ),
        ({"test_images": None}, "no array 'test_images' in the file"),
    ],
)
def test_wrong_content(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    np.savez(
        tmp_path / "retinamnist.npz",
        **{key: value for key, value in (GOOD | change).items() if value is not None},
    )
    with pytest.raises(ValueError, match=sentence):
        load_medmnist(tmp_path / "retinamnist.npz")


def test_published_file(real: Path) -> None:
    data = load("retinamnist", data_dir=real)
    assert data.train is not None
    assert data.val is not None
    assert (len(data.train), len(data.val), len(data.test)) == (1080, 120, 400)
    assert data.train.x.shape[1:] == (28, 28, 3)
    np.testing.assert_array_equal(np.bincount(data.test.y), [174, 46, 92, 68, 20])
    with np.load(real / "medical" / "retinamnist.npz") as file:
        np.testing.assert_array_equal(data.val.x, file["val_images"])
