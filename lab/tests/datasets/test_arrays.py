"""Arrays of numbers from .npz files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwise_lab.datasets.arrays import read_numbers


def test_the_arrays_that_are_asked_for(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", a=np.arange(5), other=np.array(["text"]))
    found = read_numbers(tmp_path / "a.npz", ["a"])
    assert list(found) == ["a"]
    np.testing.assert_array_equal(found["a"], np.arange(5))


class Evil:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


def test_pickled_objects_are_refused_and_not_run(tmp_path: Path) -> None:
    marker, path = tmp_path / "was-run", tmp_path / "evil.npz"
    np.savez(path, images=np.array([Evil(marker)], dtype=object))
    with pytest.raises(ValueError, match=r"evil\.npz is not a readable .* \(Object arrays cannot"):
        read_numbers(path, ["images"])
    assert not marker.exists()
    with np.load(path, allow_pickle=True) as file:
        _ = file["images"]  # the bait is real
    assert marker.exists()


def test_other_files_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, labels=np.array(["cat"]))
    with pytest.raises(ValueError, match=r"a\.npz: `labels` holds <U3 instead of numbers"):
        read_numbers(path, ["labels"])
    with pytest.raises(ValueError, match=r"a\.npz: no array 'images' in the file"):
        read_numbers(path, ["images"])
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"a\.npz is not a readable \.npz file"):
        read_numbers(path, ["labels"])
