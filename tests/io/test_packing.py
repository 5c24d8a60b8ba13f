"""Results packed into files of every format."""

from __future__ import annotations

import errno
import os
import shutil

import numpy as np
import pytest

import labelwise as lw
from labelwise.io import save_predictions
from labelwise.io.quantify import quantify
from quantify_cases import NAMES, predictions, write


@pytest.mark.parametrize("ids", [np.arange(500), np.array([f"case {i}" for i in range(500)])])
def test_zarr_for_xarray(ids: np.ndarray, tmp_path, optional) -> None:
    xarray = optional("xarray")
    probs = predictions()
    save_predictions(tmp_path / "in.npz", probs=probs, class_names=NAMES, ids=ids)
    quantify(tmp_path / "in.npz", tmp_path / "u.zarr")
    found = xarray.open_zarr(tmp_path / "u.zarr", consolidated=False)
    expected = lw.decompose(lw.Ensemble(probs, class_names=NAMES)).to_xarray()
    for part in ("total", "aleatoric", "epistemic"):
        assert found[f"log_{part}"].dims == ("instance", "label")
        assert found[f"log_sum_{part}"].dims == ("instance",)
        assert np.array_equal(
            found[f"log_{part}"].sel(label=NAMES[1]), expected[part].sel(label=NAMES[1])
        )
    assert found["ids"].dims == ("instance",)
    assert found["ids"].values.tolist() == ids.tolist()


def test_only_a_zarr_group_is_replaced_by_one(tmp_path, optional) -> None:
    optional("zarr")
    np.save(tmp_path / "in.npy", predictions(10))
    out = tmp_path / "out.zarr"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="not a Zarr group and is not replaced"):
        quantify(tmp_path / "in.npy", out)
    assert (out / "notes.txt").read_text() == "mine"
    shutil.rmtree(out)
    for loss in ("log", "squared"):
        quantify(tmp_path / "in.npy", out, losses=[loss])
    assert f"{loss}_total" in optional("zarr").open_group(str(out), mode="r")
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.zarr"]


@pytest.mark.parametrize("finished", [0, 2])
def test_a_full_disk_has_its_sentence_and_keeps_what_is_finished(
    finished: int, tmp_path, monkeypatch
) -> None:
    np.save(tmp_path / "in.npy", predictions(20_000))
    written = []

    def full(handle: int) -> None:
        written.append(handle)
        if len(written) > finished:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(
            OSError,
            match="No space left on device",
        ):
            quantify(tmp_path / "in.npy", tmp_path / "out.npz", memory="1MB")
    assert len(os.listdir(tmp_path)) == (2 if finished else 1)
    done = quantify(tmp_path / "in.npy", tmp_path / "out.npz", memory="1MB")
    assert done.computed == done.blocks - finished
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npz"]


def test_numbers_are_stored_without_a_dictionary(tmp_path, optional) -> None:
    write(tmp_path / "in.parquet", predictions(), optional)
    quantify(tmp_path / "in.parquet", tmp_path / "out.parquet")
    group = optional("pyarrow.parquet").ParquetFile(tmp_path / "out.parquet").metadata.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    assert {c.path_in_schema for c in columns if "RLE_DICTIONARY" in c.encodings} == {"id"}
