"""Results staged block by block: nothing damaged, changed or made by others is taken for a finished
block.
"""

from __future__ import annotations

import errno
import os
import shutil

import numpy as np
import pytest

import labelwise as lw
from labelwise.io import save_predictions
from labelwise.io.quantify import quantify
from quantify_cases import NAMES, interrupt_after, predictions, write


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
    assert found.attrs["class_names"] == NAMES


def test_a_half_written_block_or_another_job_is_not_believed(tmp_path) -> None:
    np.save(tmp_path / "in.npy", predictions(20_000))
    quantify(tmp_path / "in.npy", tmp_path / "whole.npz", memory="1MB")
    folder = tmp_path / "out.npz.partial"
    folder.mkdir()
    (folder / "labelwise-partial.txt").touch()
    (folder / "job.json").write_text("{}")
    (folder / "done.txt").write_text("0 1\n1 1\n")
    done = quantify(tmp_path / "in.npy", tmp_path / "out.npz", memory="1MB")
    assert done.computed == done.blocks
    assert (tmp_path / "out.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()


@pytest.mark.parametrize(
    "header",
    [b"{'descr': '<f4', (", b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 5), }"],
)
def test_a_part_with_a_damaged_header_is_computed_again(header: bytes, tmp_path) -> None:
    np.save(tmp_path / "in.npy", predictions(20_000))
    quantify(tmp_path / "in.npy", tmp_path / "whole.npz", memory="1MB")
    out = tmp_path / "out.npz"
    with pytest.raises(KeyboardInterrupt):
        quantify(tmp_path / "in.npy", out, memory="1MB", progress=interrupt_after(7000))
    part = tmp_path / "out.npz.partial" / "log_total.npy"
    content = bytearray(part.read_bytes())
    content[10:128] = header.ljust(117) + b"\n"
    part.write_bytes(content)
    done = quantify(tmp_path / "in.npy", out, memory="1MB")
    assert done.computed == done.blocks
    assert out.read_bytes() == (tmp_path / "whole.npz").read_bytes()


def test_a_changed_block_is_forgotten_before_it_is_computed_again(tmp_path) -> None:
    """An interruption there leaves half a new block; with the old predictions back, it must not
    pass for an old one.
    """
    old = predictions(20_000)
    np.save(tmp_path / "in.npy", old)
    out = tmp_path / "out.npz"
    with pytest.raises(KeyboardInterrupt):
        quantify(tmp_path / "in.npy", out, memory="1MB", progress=interrupt_after(1))
    np.save(tmp_path / "in.npy", old[:, ::-1])
    log = tmp_path / "out.npz.partial" / "done.txt"
    assert len(log.read_text().splitlines()) == 1
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "labelwise.io.quantify._parts", lambda *args: seen.append(log.read_text()) or 1 / 0
        )
        with pytest.raises(ZeroDivisionError):
            quantify(tmp_path / "in.npy", out, memory="1MB")
    assert seen == [""]


@pytest.mark.parametrize("what", ["folder", "file", "link"])
def test_what_only_has_the_name_of_our_folder_is_not_touched(what: str, tmp_path) -> None:
    np.save(tmp_path / "in.npy", predictions(10))
    theirs, place = tmp_path / "theirs", tmp_path / "out.npz.partial"
    (place if what == "folder" else theirs).mkdir()
    if what == "file":
        place.write_text("mine")
    elif what == "link":
        place.symlink_to(theirs)
    notes = (place if what == "folder" else theirs) / "notes.txt"
    notes.write_text("mine")
    with pytest.raises(
        FileExistsError, match="was not made by labelwise and is not touched; move it away"
    ):
        quantify(tmp_path / "in.npy", tmp_path / "out.npz")
    assert notes.read_text() == "mine"
    assert place.is_symlink() == (what == "link")
    assert not (tmp_path / "out.npz").exists()


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


def test_a_disk_that_is_too_small_has_its_sentence_and_stays_free(tmp_path, monkeypatch) -> None:
    np.save(tmp_path / "in.npy", predictions(10))

    def full(*args: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(
        OSError, match=r"cannot keep the parts of 'out\.npz' in .*: No space left on device"
    ):
        quantify(tmp_path / "in.npy", tmp_path / "out.npz")
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize(
    "code", [errno.EACCES, errno.EROFS, errno.ENOENT]
)  # the last is what /proc says
def test_a_folder_that_cannot_be_written_has_its_sentence(code: int, tmp_path, monkeypatch) -> None:
    np.save(tmp_path / "in.npy", predictions(10))
    original = os.open

    def read_only(path, flags, *args, **options):  # a folder's mode would not stop root
        if flags & os.O_CREAT:
            raise OSError(code, os.strerror(code), path)
        return original(path, flags, *args, **options)

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(OSError, match=rf"cannot write in '.*': {os.strerror(code)}"):
        quantify(tmp_path / "in.npy", tmp_path / "out.npz")


def test_numbers_are_stored_without_a_dictionary(tmp_path, optional) -> None:
    write(tmp_path / "in.parquet", predictions(), optional)
    quantify(tmp_path / "in.parquet", tmp_path / "out.parquet")
    group = optional("pyarrow.parquet").ParquetFile(tmp_path / "out.parquet").metadata.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    assert {c.path_in_schema for c in columns if "RLE_DICTIONARY" in c.encodings} == {"ids"}
