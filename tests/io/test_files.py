"""What a user names is opened only if it is a regular file, and damaged text gets one sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwise.cli.report import read_events
from labelwise.decisions import Costs
from labelwise.io import load_predictions
from labelwise.io.files import read_json, read_text, read_toml, reading

READERS: dict[str, Callable[[Path], Any]] = {
    "costs.toml": Costs.from_toml,
    "events.toml": read_events,
    "p.npz": load_predictions,
    "p.npy": load_predictions,
    "p.parquet": load_predictions,
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


def test_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("ä\r\nb\rc\n".encode())
    assert read_text(path) == "ä\nb\nc\n"
    path.write_bytes(b"\xff")
    with pytest.raises(ValueError, match=r"a\.txt: not a text file in UTF-8"):
        read_text(path)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = " + "[" * 100_000, "a.toml is damaged, .* recursion"),
        ("x = " + "{a=" * 100_000, "recursion|Expected|Invalid"),
        ("x = ", "Invalid value"),
        ("x = " + "9" * 5000, "limit"),
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
        with pytest.raises(ValueError, match=r"^a\.json"):
            read_json(path)


def test_costs_of_hundreds_of_digits(tmp_path: Path) -> None:
    path = tmp_path / "costs.toml"
    many = "1" + "0" * 400
    for text in (
        f"false_alarm = 1\nmissed = 1\nabstain = {many}",
        f"false_alarm = 1\nmissed = {{a = {many}}}",
        f"matrix = [[0, 1], [{many}, 0]]",
        f"[matrix.a]\nb = {many}\n[matrix.b]\na = 1",
        "matrix = [[0, 1], [[1], 0]]",
        "false_alarm = 1\nmissed = 2020-01-01",
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"costs\.toml: "):
            Costs.from_toml(path)
    path.write_text("false_alarm = 1\nmissed = 1\nabstain = 1_000_000")
    assert Costs.from_toml(path).abstain == 10**6
    assert np.isfinite(Costs.from_toml(path).abstain)


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (ValueError("it is short\nin line 3"), ValueError, "a.npz: it is short"),
        (ValueError("a.npz is short"), ValueError, "a.npz is short"),
        (TypeError("no text"), TypeError, "a.npz: no text"),
        (PermissionError("no"), OSError, "a.npz: no"),
        (OSError("bad bytes"), ValueError, "a.npz is damaged, or not .* says (bad bytes)"),
        (KeyError("x"), ValueError, "a.npz is damaged, or not .* says ('x')"),
        (RecursionError(), ValueError, "a.npz is damaged, .* (RecursionError)"),
    ],
)
def test_what_libraries_raise_is_one_sentence_with_the_file(error, kind, sentence) -> None:
    pattern = sentence.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(kind, match=f"^{pattern}$"), reading("folder/a.npz"):
        raise error
