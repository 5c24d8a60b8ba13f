"""Stored slices: any of them come back, also after pickling, and damage is noticed."""

from __future__ import annotations

import json
import pickle
import shutil

import numpy as np
import pytest

from optional_libraries import optional

optional("nibabel")
zarr = optional("zarr")

from labelwise_lab.petct import open_prepared, store  # noqa: E402


def test_the_source_reads_what_is_stored(prepared):
    images = prepared.part("test").images
    everything = images[:]
    assert everything.shape == images.shape
    assert images.nbytes == everything.nbytes
    index = np.random.default_rng(0).permutation(len(images))[:7]
    np.testing.assert_array_equal(images[index], everything[index])
    np.testing.assert_array_equal(images[3], everything[3])
    np.testing.assert_array_equal(images[-2:], everything[-2:])
    again = pickle.loads(pickle.dumps(images))
    np.testing.assert_array_equal(again[index], everything[index])
    assert again.fingerprint == images.fingerprint != prepared.part("train").images.fingerprint


def test_a_damaged_chunk_is_noticed(prepared, tmp_path):
    shutil.copytree(prepared.folder, tmp_path / "out")
    part = open_prepared(tmp_path / "out").part("test")
    chunk = tmp_path / "out" / store.GROUP / part.images.keys[0] / "images" / "c.3.0.0.0"
    raw = bytearray(chunk.read_bytes())
    raw[len(raw) // 2] ^= 1
    chunk.write_bytes(raw)
    with pytest.raises(ValueError, match="checksum"):
        part.images[:]


def test_slices_of_another_shape_or_cut_short(prepared, tmp_path):
    shutil.copytree(prepared.folder, tmp_path / "out")
    part = open_prepared(tmp_path / "out").part("test")
    folder = tmp_path / "out" / store.GROUP / part.images.keys[0]
    (folder / "images" / "c.0.0.0.0").write_bytes(
        (folder / "images" / "c.0.0.0.0").read_bytes()[:40]
    )
    with pytest.raises(ValueError, match=r"`images` is damaged in chunk 0\.0\.0\.0"):
        part.images[:]
    metadata = json.loads((folder / "lesions" / "zarr.json").read_text())
    (folder / "lesions" / "zarr.json").write_text(json.dumps(metadata | {"shape": [1, 2, 3]}))
    with pytest.raises(ValueError, match="run `labelwise-lab petct prepare` again"):
        part.images.lesions(0)
    (folder / "lesions" / "zarr.json").write_text("{}")
    with pytest.raises(ValueError, match=r"`lesions` cannot be read"):
        part.images.lesions(0)
