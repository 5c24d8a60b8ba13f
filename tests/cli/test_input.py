"""What the commands are given: one sentence and exit code 2 for what cannot be used."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from command_line import run
from labelwise.io import load, save_predictions


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("quantify", "missing.npz", "-o", "u.npz"), "no prediction file"),
        (("quantify", "{preds}", "-o", "u.txt"), "results are written to"),
        (("evaluate", "{unlabeled}"), "no `y_true`"),
        (("evaluate", "{preds}", "--ood", "{unlabeled}"), "classes"),
        (("decide", "{preds}", "--costs", "missing.toml"), "missing.toml"),
        (("quantify", "{broken}", "-o", "u.npz"), "must sum to 1"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    preds, tmp_path, monkeypatch, args, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    save_predictions(tmp_path / "unlabeled.npz", probs=np.full((2, 3, 4), 0.25))
    save_predictions(tmp_path / "broken.npz", probs=np.full((2, 3, 4), 0.4))
    places = {
        "preds": preds,
        "unlabeled": tmp_path / "unlabeled.npz",
        "broken": tmp_path / "broken.npz",
    }
    result = run(*(str(a).format(**places) for a in args))
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "u.npz").exists()


def test_files_that_make_a_library_stumble_are_named(preds, tmp_path, monkeypatch) -> None:
    for error in (
        KeyError("shape"),
        RuntimeError("codec"),
        RecursionError(),
        OverflowError("too large"),
        EOFError(),
        zlib.error("-3"),
    ):

        def stumble(path, error=error):
            raise error

        monkeypatch.setitem(load.READERS, ".npz", stumble)
        for args in (
            ["evaluate"],
            ["quantify", "-o", tmp_path / "u.npz"],
            ["report", "-o", tmp_path / "r.html"],
        ):
            result = run(args[0], preds, *args[1:])
            assert result.exit_code == 2, result.output
            assert result.output.startswith("Error: preds.npz is damaged")
            assert result.output.count("\n") == 1


def test_a_block_that_cannot_be_read_is_the_files_fault(preds, tmp_path, monkeypatch) -> None:
    class Chunks:
        shape, dtype = (5, 80, 3), np.dtype(float)

        def __getitem__(self, key):
            raise RuntimeError("error during blosc decompression: -1")

    monkeypatch.setitem(load.READERS, ".npz", lambda path, largest: {"probs": Chunks()})
    for args in (
        ["evaluate"],
        ["quantify", "-o", tmp_path / "u.npz"],
        ["report", "-o", tmp_path / "r.html"],
    ):
        result = run(args[0], preds, *args[1:])
        assert result.exit_code == 2
        assert "preds.npz" in result.output


def test_deep_nesting_in_costs_and_events(preds, tmp_path) -> None:
    deep = tmp_path / "deep.toml"
    deep.write_text("a = " + "[" * 3000 + "]" * 3000 + "\n")
    for args in (
        ["decide", preds, "--costs", deep],
        ["report", preds, "-o", tmp_path / "r.html", "--events", deep],
    ):
        result = run(*args)
        assert result.exit_code == 2
        assert result.output.splitlines()[-1].startswith("Error: ")
        assert "deep.toml" in result.output
        assert len(result.output) < 3000
