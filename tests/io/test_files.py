"""What a user names is opened only if it is a regular file, and damaged text gets one sentence."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelwise_lab.datasets as ds
from labelwise.cli.report import read_events
from labelwise.decisions import Costs
from labelwise.io import load_predictions
from labelwise.io.files import (
    LONGEST_TEXT,
    allowed,
    open_regular,
    read_bytes,
    read_json,
    read_text,
    read_toml,
)
from optional_libraries import optional


def checkpoint(path: Path) -> Any:
    optional("torch")
    from labelwise_lab.training._member import load_checkpoint

    return load_checkpoint(path)


READERS: dict[str, Callable[[Path], Any]] = {
    "costs.toml": Costs.from_toml,
    "events.toml": read_events,
    "p.npz": load_predictions,
    "p.npy": load_predictions,
    "p.parquet": load_predictions,
    "x-idx1-ubyte": ds.read_idx,
    "x.mat": lambda path: ds.read_mat(path, ["X"]),
    "data.npy": ds.read_npy,
    "data.npz": lambda path: ds.read_npz(path, ["x"]),
    "x.arff": ds.load_table,
    "x.csv": ds.load_table,
    "batch": ds.read_cifar10_python,
    "member-0.pt": checkpoint,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device", "link to a pipe", "folder"])
def test_only_regular_files_are_read(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":  # a harmless one: the next might never end
        path.symlink_to("/dev/null")
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
    words = "folder|regular file|directory|missing" if kind == "folder" else "is not a regular file"
    with pytest.raises((ValueError, OSError), match=words):
        READERS[name](path)


def test_sockets_and_what_has_no_length(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match="socket"):
            open_regular(tmp_path / "socket")
    if Path("/proc/self/maps").exists():  # calls itself a regular file of 0 bytes
        with pytest.raises(ValueError, match="is not a regular file, or changed while it was read"):
            read_bytes("/proc/self/maps", 10**6)


def test_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("ä\r\nb\rc\n".encode())
    assert read_text(path) == "ä\nb\nc\n"
    path.write_bytes(b"\xff")
    with pytest.raises(ValueError, match=r"a\.txt: not a text file in UTF-8"):
        read_text(path)
    path.write_bytes(bytes(101))
    with pytest.raises(ValueError, match=r"a\.txt has 101 bytes; more than 100 are refused"):
        read_text(path, 100)
    assert allowed(0) == 2**28
    assert allowed(10**9) == 10**11


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("x = " + "{a=" * 100_000, "nested too deeply|Expected|Invalid"),
        ("a." * 30_000 + "b = 1", "a key has more than 8 words joined by dots"),
        ('[x]\n"a" . ' + "'b'\t." * 30 + "c = 1", "a key has more than 8 words"),
        ("".join(f"  [t{i}]\n" for i in range(5001)), "it has more than 5,000 tables"),
        ("x = ", "Invalid value"),
        ("x = " + "9" * 5000, "limit"),
        ("#" * (LONGEST_TEXT + 1), "are refused"),
    ],
)
def test_hostile_toml(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    for read in (read_toml, Costs.from_toml, read_events):
        with pytest.raises(ValueError, match=words) as caught:
            read(path)
        assert "a.toml" in str(caught.value)


def test_hostile_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for text in ("[" * 100_000, "{", "", "nul"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"a\.json: "):
            read_json(path)


def test_costs_of_hundreds_of_digits(tmp_path: Path) -> None:
    path = tmp_path / "costs.toml"
    many = "1" + "0" * 400
    for text in (
        f"false_positive = 1\nfalse_negative = 1\nabstain = {many}",
        f"false_positive = 1\nfalse_negative = [1, {many}]",
        f"matrix = [[0, 1], [{many}, 0]]",
        f"[matrix.a]\nb = {many}\n[matrix.b]\na = 1",
        "matrix = [[0, 1], [[1], 0]]",
        "false_positive = 1\nfalse_negative = 2020-01-01",
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"costs\.toml: "):
            Costs.from_toml(path)
    path.write_text("false_positive = 1\nfalse_negative = 1\nabstain = 1_000_000")
    assert Costs.from_toml(path).abstain == 10**6
    assert np.isfinite(Costs.from_toml(path).abstain)
