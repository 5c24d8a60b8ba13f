"""The mistakes that people make with files, each with how it ends: accepted with a note, or one
sentence with fault and remedy.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import labelwise as lw
from command_line import run
from labelwise.cli import main

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(4), (3, 100))
Y = np.concatenate([np.arange(4), RNG.integers(0, 4, 96)])
NAMES = ["cat", "dog", "eel", "fox"]


def npz(**arrays: Any) -> Callable[[Path], list[str]]:
    """A file p.npz with these arrays, and `probs` and `y_true` unless they are given."""

    def make(folder: Path) -> list[str]:
        content = {"probs": PROBS, "y_true": Y} | arrays
        np.savez(folder / "p.npz", **{key: x for key, x in content.items() if x is not None})
        return ["p.npz"]

    return make


def raw(name: str, content: bytes) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        (folder / name).write_bytes(content)
        return [name]

    return make


def npy(array: np.ndarray) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        np.save(folder / "p.npy", array)
        return ["p.npy"]

    return make


def mistyped(name: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        np.savez(folder / "good.npz", probs=PROBS, y_true=Y)
        return [name]

    return make


def truncated(folder: Path) -> list[str]:
    npz()(folder)
    (folder / "p.npz").write_bytes((folder / "p.npz").read_bytes()[:500])
    return ["p.npz"]


def csvs(*texts: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        for i, text in enumerate(texts):
            (folder / f"m{i}.csv").write_text(text)
        return [f"m{i}.csv" for i in range(len(texts))]

    return make


def with_nan() -> np.ndarray:
    bad = PROBS.copy()
    bad[1, 7, 2] = np.nan
    return bad


LOG, HOT = np.log(PROBS), np.eye(4, dtype=int)[Y]
# Number in the list of mistakes; what is done; further arguments of `evaluate`; exit code; words of
# the message.
MISTAKES: list[tuple[str, Callable[[Path], list[str]], list[str], int, str]] = [
    ("1 missing", mistyped("nothing-like-it.npz"), [], 2, "there is no prediction file"),
    ("2 mistyped", mistyped("goood.npz"), [], 2, "Did you mean 'good.npz'?"),
    ("3 truncated", truncated, [], 2, "p.npz is damaged"),
    ("4 empty", raw("p.npz", b""), [], 2, "p.npz is empty (0 bytes)"),
    ("5 text as .npz", raw("p.npz", b"hello"), [], 2, "not in the format that its name says"),
    (
        "6 text as .npy",
        raw("p.npy", b"hello, this is text"),
        [],
        2,
        "p.npy: the magic string is not correct",
    ),
    ("6 empty .csv", raw("p.csv", b""), [], 2, "p.csv is empty (0 bytes)"),
    ("7 pickle", raw("p.pkl", b"x"), [], 2, "predictions are read from .npz, .npy"),
    (
        "8 (N, M, K)",
        npz(probs=PROBS.transpose(1, 0, 2)),
        [],
        2,
        "axis 0 has 100, like `y_true`. Saved as (N, M, K)? Use --member-axis 1",
    ),
    (
        "8 remedy",
        npz(probs=PROBS.transpose(1, 0, 2)),
        ["--member-axis", "1"],
        0,
        "3 members × 100 cases × 4 classes",
    ),
    (
        "9 (M, K, N)",
        npz(probs=PROBS.transpose(0, 2, 1)),
        [],
        2,
        "`y_true` must have one entry for each of the N = 4 instances",
    ),
    (
        "9 remedy",
        npz(probs=PROBS.transpose(0, 2, 1)),
        ["--class-axis", "1"],
        0,
        "3 members × 100 cases × 4 classes",
    ),
    (
        "11 remedy",
        npz(probs=PROBS.transpose(1, 2, 0)),
        ["--member-axis", "2", "--class-axis", "1"],
        0,
        "3 members × 100 cases",
    ),
    (
        "12 NaN",
        npz(probs=with_nan()),
        [],
        2,
        "got NaN at index (1, 7, 2) (1 of 1200 values are not finite)",
    ),
    ("13 NaN, remedy", npz(probs=with_nan()), [], 2, "start from the logits: use --logits"),
    (
        "14 label out of range",
        npz(y_true=np.where(Y == 3, 9, Y)),
        [],
        2,
        "must lie between 0 and 3 (K = 4 classes); got 9",
    ),
    (
        "15 labels from 1",
        npz(y_true=Y + 1),
        [],
        2,
        "`y_true` must lie between 0 and 3 (K = 4 classes); got 4 in row",
    ),
    ("15 remedy", npz(y_true=Y + 1), ["--class-names", "1,2,3,4"], 0, "accuracy"),
    (
        "16 label -1",
        npz(y_true=np.where(Y == 0, -1, Y)),
        [],
        2,
        "must lie between 0 and 3 (K = 4 classes); got -1",
    ),
    ("17 wrong length", npz(y_true=Y[:50]), [], 2, "one entry for each of the N = 100 instances"),
    ("18 whole floats", npz(y_true=Y.astype(float)), [], 0, "accuracy"),
    (
        "18 halves",
        npz(y_true=Y + 0.5),
        [],
        2,
        "`y_true` must be whole numbers or class names, none missing; got 0.5 in row",
    ),
    (
        "19 one-hot",
        npz(y_true=HOT),
        [],
        0,
        "Note: `y_true` (N, K) is one-hot and is read as one class for each instance",
    ),
    ("20 (N, 1)", npz(y_true=Y[:, None]), [], 0, "accuracy"),
    (
        "21 names short",
        npz(class_names=NAMES[:2]),
        [],
        2,
        "must name each of the K = 4 classes; got 2 names",
    ),
    (
        "22 names objects",
        npz(class_names=np.array(NAMES, object)),
        [],
        2,
        "Object arrays cannot be loaded",
    ),
    ("23 names twice", npz(class_names=["cat"] * 4), [], 2, "got 'cat' twice"),
    (
        "24 percentages",
        npz(probs=PROBS * 100),
        [],
        2,
        "They sum to 100. Percentages? Divide by 100",
    ),
    (
        "24 remedy",
        npz(probs=PROBS * 100),
        ["--normalize"],
        0,
        "Note: `probs` summed to between 100 and 100 in the first 100 instances; each row",
    ),
    ("25 one member", npz(probs=PROBS[:1]), [], 0, "one member has no epistemic uncertainty"),
    ("26 one member, 2 axes", npz(probs=PROBS[0]), [], 0, "1 member × 100 cases × 4 classes"),
    (
        "27 wrong key",
        npz(probs=None, predictions=PROBS),
        [],
        0,
        "Note: p.npz: `predictions` is the only array and is taken for `probs`",
    ),
    (
        "27 two wrong keys",
        npz(probs=None, a=PROBS, b=PROBS),
        [],
        2,
        "must hold `probs` (M, N, K) or `alpha` (N, K); it holds y_true, a, b",
    ),
    (
        "28 arr_0",
        npz(probs=None, arr_0=PROBS),
        [],
        0,
        "`arr_0` is the only array and is taken for `probs`",
    ),
    (
        "29 uint8",
        npz(probs=(PROBS * 255).astype(np.uint8)),
        [],
        2,
        "`probs` must be floating point; got uint8",
    ),
    (
        "29 remedy",
        npz(probs=(PROBS * 255).astype(np.uint8)),
        ["--normalize"],
        0,
        "each row was divided by its sum",
    ),
    ("30 float16", npz(probs=PROBS.astype(np.float16)), [], 0, "accuracy"),
    ("31 no cases", npz(probs=PROBS[:, :0], y_true=Y[:0]), [], 2, "at least one"),
    ("32 one class", npz(probs=np.ones((3, 100, 1)), y_true=0 * Y), [], 2, "at least 2 classes"),
    (
        "33 (M, N) binary",
        npz(probs=PROBS[:, :, 0], y_true=Y % 2),
        [],
        2,
        "`y_true` must have one entry for each of the N = 3 instances",
    ),
    (
        "33 (M, N, 1) binary",
        npz(probs=PROBS[:, :, :1], y_true=Y % 2),
        [],
        0,
        "3 members × 100 cases × 2 classes",
    ),
    (
        "33 (M, N) not clear",
        npy(PROBS[:, :, 0]),
        [],
        2,
        "1 member × 3 cases × 100 classes",
    ),
    (
        "33 (M, N, 1) logits",
        npz(probs=LOG[:, :, :1], y_true=Y % 2),
        ["--logits"],
        0,
        "`logits` has one number for each case",
    ),
    (
        "33 (N, K) of labels that may occur together",
        npz(probs=PROBS[0] / 2, y_true=HOT),
        ["--multilabel"],
        0,
        "1 member × 100 cases × 4 classes",
    ),
    ("34 sums off", npz(probs=PROBS * 1.01), [], 2, "If that is rounding, use --normalize"),
    ("34 remedy", npz(probs=PROBS * 1.01), ["--normalize"], 0, "summed to between 1.01 and 1.01"),
    ("35 logarithms", npz(probs=LOG), [], 2, "If these are logits, use --logits"),
    ("35 remedy", npz(probs=LOG), ["--logits"], 0, "accuracy"),
    ("35 key log_probs", npz(probs=None, log_probs=LOG), [], 0, "accuracy"),
    (
        "36 no labels",
        npz(y_true=None),
        [],
        2,
        "has no `y_true`; evaluation needs true labels (--labels FILE)",
    ),
    (
        "36 key label",
        npz(y_true=None, label=Y),
        [],
        2,
        "`label` is not read",
    ),
    (
        "39 key classnames",
        npz(classnames=NAMES),
        [],
        0,
        "`classnames` is not read. Did you mean 'class_names'?",
    ),
    (
        "69 (N, M, K) without labels",
        npz(probs=PROBS.transpose(1, 0, 2), y_true=None),
        [],
        2,
        "100 members × 3 cases × 4 classes. If it was saved",
    ),
    ("73 keys names, y", npz(names=NAMES, y=Y), [], 0, "`y` is not read"),
    (
        "csv: other cases",
        csvs("id,a,b\n1,.5,.5\n2,.5,.5\n", "id,a,b\n1,.5,.5\n3,.5,.5\n"),
        [],
        2,
        "the first to differ is '2', only in m0.csv",
    ),
    (
        "csv: fewer cases",
        csvs("a,b\n.5,.5\n.5,.5\n", "a,b\n.5,.5\n"),
        [],
        2,
        "m0.csv has 2 cases × 2 classes and m1.csv 1 × 2",
    ),
    (
        "csv: other classes",
        csvs("a,b\n.5,.5\n", "a,c\n.5,.5\n"),
        [],
        2,
        "m1.csv names 'c', which is not among 'a', 'b'",
    ),
    (
        "csv: cut short",
        csvs("id,a,b\n1,.5,.5\n2,.5\n"),
        [],
        2,
        "row 2 has 2 cells where the header has 3; cut short?",
    ),
    (
        "csv: not a number",
        csvs("id,a,b\n1,.5,.5\n2,.5,much\n"),
        [],
        2,
        "row 2 of column 'b' must be a number; got 'much'",
    ),
    ("csv: a column twice", csvs("a,a\n.5,.5\n"), [], 2, "two columns called 'a'"),
    (
        "csv: labels differ",
        csvs("id,a,b,label\n1,.5,.5,a\n", "id,a,b,label\n1,.5,.5,b\n"),
        [],
        2,
        "disagrees with others about `y_true` of case '1'",
    ),
    (
        "csv: one column",
        csvs("id,sick,label\n1,.5,not sick\n2,.9,sick\n"),
        [],
        0,
        "second of two classes ('not sick', 'sick')",
    ),
    (
        "csv: only text",
        csvs("id,comment\n1,fine\n"),
        [],
        2,
        "must have a column of numbers for each class",
    ),
]


@pytest.mark.parametrize(
    ("number", "make", "more", "code", "words"), MISTAKES, ids=[row[0] for row in MISTAKES]
)
def test_mistakes_with_files(
    number: str,
    make: Callable[[Path], list[str]],
    more: list[str],
    code: int,
    words: str,
    tmp_path,
    monkeypatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["evaluate", *make(tmp_path), *more])
    assert result.exit_code == code, result.output
    said = " ".join(result.output.split())
    assert words in said
    if code:
        assert result.stderr.strip().splitlines()[-1].startswith("Error: ")
        assert "Traceback" not in said


OTHERS: list[tuple[str, list[str], int, str]] = [
    (
        "43 mistyped command",
        ["evalaute", "p.npz"],
        2,
        "No such command 'evalaute'. Did you mean 'evaluate'?",
    ),
    (
        "37 ood of other classes",
        ["report", "p.npz", "-o", "r.html", "--ood", "three.npz"],
        2,
        "`ood` 'three' has other classes than the predictions, or in another order; both must come",
    ),
    (
        "37 ood of other class names",
        ["report", "p.npz", "-o", "r.html", "--ood", "others.npz"],
        2,
        "`ood` 'others' has other classes than the predictions, or in another order; both must",
    ),
    (
        "37 the same in evaluate",
        ["evaluate", "p.npz", "--ood", "others.npz"],
        2,
        "others.npz has other classes than the predictions, or in another order",
    ),
    (
        "37 ood in another order",
        ["evaluate", "p.npz", "--ood", "order.npz"],
        2,
        "order.npz has other classes than the predictions, or in another order",
    ),
    (
        "37 ood without class names",
        ["evaluate", "p.npz", "--ood", "nameless.npz"],
        0,
        "Out-of-distribution detection",
    ),
    (
        "38 images of other length",
        ["report", "images.npz", "-o", "r.html"],
        2,
        (
            "`images` must have one entry for each of the N = 100 instances of `probs`; got shape "
            "(7, 8, 8)"
        ),
    ),
    (
        "40 ood mistyped",
        ["report", "p.npz", "-o", "r.html", "--ood", "thre.npz"],
        2,
        "Did you mean 'three.npz'?",
    ),
    ("41 missing -o", ["quantify", "p.npz"], 0, "written to p-uncertainty.npz"),
    ("41 missing -o, table", ["quantify", "p.csv"], 0, "written to p-uncertainty.csv"),
    ("41 missing -o, report", ["report", "p.npz"], 0, "Open p-report.html in a browser"),
    ("42 missing argument", ["evaluate"], 2, "Missing argument 'PREDICTIONS...'"),
    ("44 mistyped option", ["evaluate", "p.npz", "--logit"], 2, "--logits"),
    (
        "45 folder absent",
        ["quantify", "p.npz", "-o", "nowhere/u.npz"],
        2,
        "there is no folder 'nowhere'",
    ),
    (
        "46 .pdf",
        ["quantify", "p.npz", "-o", "u.pdf"],
        2,
        "results are written to .npz, .zarr, .parquet, .csv; got 'u.pdf'",
    ),
    (
        "47 .pdf of a report",
        ["report", "p.npz", "-o", "r.pdf"],
        2,
        "a report is an .html file; got 'r.pdf'",
    ),
    (
        "48 -o . of a report",
        ["report", "p.npz", "-o", "."],
        2,
        "a report is an .html file; got '.'",
    ),
    (
        "48 -o .",
        ["quantify", "p.npz", "-o", "."],
        2,
        "results are written to .npz, .zarr, .parquet, .csv; got '.'",
    ),
    (
        "49 memory",
        ["quantify", "p.npz", "-o", "u.npz", "--memory", "lots"],
        2,
        "`memory` must be a number of bytes",
    ),
    (
        "50 bad loss",
        ["quantify", "p.npz", "-o", "u.npz", "--loss", "logg"],
        2,
        "'logg' is not one of 'log', 'squared', 'brier', 'spherical', 'zero_one'.",
    ),
    (
        "50 bad task",
        ["decide", "p.npz", "--costs", "c.toml", "--task", "perlabel"],
        2,
        "`task` must be 'multiclass' (choose one class) or 'per_label' (decide about each label by "
        "itself); got 'perlabel'",
    ),
    (
        "50 bad choice unlike any",
        ["acquire", "p.npz", "--budget", "1", "--batch", "xyz"],
        2,
        "'xyz' is not one of 'top', 'balanced'.",
    ),
    (
        "52 too little memory",
        ["quantify", "p.npz", "-o", "u.npz", "--memory", "1KB"],
        2,
        "`memory` must be at least 1 MB; got '1KB'",
    ),
    (
        "51 output = input",
        ["quantify", "p.npz", "-o", "p.npz"],
        2,
        "'p.npz' is read and would be overwritten; choose another output",
    ),
    (
        "63 unknown class in events",
        ["report", "p.npz", "-o", "r.html", "--events", "wolf.toml"],
        2,
        "`events`: 'g' names the unknown class 'wolf'. Known: 'cat', 'dog', 'eel', 'fox'",
    ),
    (
        "64 empty event",
        ["report", "p.npz", "-o", "r.html", "--events", "none.toml"],
        2,
        "'g' has no classes; an event that never occurs has no uncertainty",
    ),
    (
        "65 no file of events",
        ["report", "p.npz", "-o", "r.html", "--events", "wolff.toml"],
        2,
        "there is no events file 'wolff.toml'. Did you mean 'wolf.toml'?",
    ),
    (
        "66 no metadata",
        ["report", "p.npz", "-o", "r.html", "--metadata", "none.csv"],
        2,
        "none.csv",
    ),
    (
        "68 petct folder without studies",
        ["petct", "prepare", "empty", "-o", "slices"],
        2,
        "'empty' must hold one .csv file with the diagnoses; found 0. Choose one with --table",
    ),
    (
        "68 petct folder absent",
        ["petct", "prepare", "studies", "-o", "slices"],
        2,
        "there is no folder 'studies' with studies",
    ),
    (
        "68 petct not prepared",
        ["petct", "train", "empty", "-o", "trained"],
        2,
        "manifest.json is missing; run `labelwise-lab petct prepare` first",
    ),
    (
        "71 data set not there",
        ["train", "mnist", "-o", "t.npz", "--data-dir", "empty"],
        2,
        "--download",
    ),
    ("71 data set mistyped", ["train", "mnsit", "-o", "t.npz"], 2, "Did you mean 'mnist'?"),
    (
        "72 folder absent",
        ["train", "./photo", "-o", "t.npz"],
        2,
        "there is no folder or table './photo'",
    ),
    ("72 folder absent: what there is", ["train", "./photo", "-o", "t.npz"], 2, "digits"),
    (
        "72 folder without images",
        ["train", "./empty", "-o", "t.npz"],
        2,
        "no images in empty; expected FOLDER/CLASS/IMAGE.png for two classes or more",
    ),
    ("empty folder of predictions", ["evaluate", "empty"], 2, "holds no prediction files"),
    ("53 costs missing", ["decide", "p.npz"], 2, "Missing option '--costs'"),
    (
        "no file of class names",
        ["evaluate", "p.npz", "--class-names", "names.txt"],
        2,
        "Error: there is no class names file 'names.txt'",
    ),
    *[
        (
            f"a folder that takes no files: {words[0]}",
            [*words, "-o", "/proc/d.csv"],
            2,
            (
                "Error: cannot write '/proc/d.csv': its folder takes no new files (No such file or "
                "directory)"
            ),
        )
        for words in (["decide", "p.npz", "--costs", "c.toml"], ["quantify", "p.npz"])
    ]
    * sys.platform.startswith("linux"),
    (
        "a folder as costs",
        ["decide", "p.npz", "--costs", "empty"],
        2,
        "empty is a folder; expected a file",
    ),
    (
        "an address without a port",
        ["quantify", "p.npz", "-o", "u.npz", "--scheduler", "here"],
        2,
        "Error: `scheduler` must be an address such as 'tcp://127.0.0.1:8786'; got 'here'",
    ),
    (
        "labels of a missing file",
        ["evaluate", "p.npz", "--labels", "three.npy"],
        2,
        "there is no labels file 'three.npy'",
    ),
]


@pytest.mark.parametrize(
    ("number", "args", "code", "words"), OTHERS, ids=[row[0] for row in OTHERS]
)
def test_mistakes_with_commands(
    number: str, args: list[str], code: int, words: str, tmp_path, monkeypatch, optional
) -> None:
    if args[0] in ("train", "petct"):
        optional({"train": "torch", "petct": "nibabel"}[args[0]])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LABELWISE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    npz(class_names=NAMES)(tmp_path)
    np.savez(tmp_path / "three.npz", probs=RNG.dirichlet(np.ones(3), (3, 20)))
    for name, classes in {"others": ["cat", "dog", "gnu", "fox"], "order": NAMES[::-1]}.items():
        np.savez(tmp_path / f"{name}.npz", probs=PROBS, class_names=classes)
    np.savez(tmp_path / "nameless.npz", probs=PROBS)
    np.savez(tmp_path / "images.npz", probs=PROBS, images=np.zeros((7, 8, 8)))
    (tmp_path / "p.csv").write_text("cat,dog\n.5,.5\n.25,.75\n")
    (tmp_path / "wolf.toml").write_text('g = ["cat", "wolf"]\n')
    (tmp_path / "none.toml").write_text("g = []\n")
    (tmp_path / "c.toml").write_text("default = 1\n")
    (tmp_path / "empty").mkdir()
    result = run(*args)
    assert result.exit_code == code, result.output
    said = " ".join(result.output.split())
    assert words in said
    assert "Traceback" not in said
    assert "[Errno" not in said


# What costs.toml holds (None: there is no such file), exit code, words of the message.
COSTS: list[tuple[str, str | None, int, str]] = [
    ("54 no file", None, 2, "there is no costs file 'costs.toml'. Did you mean 'cost.toml'?"),
    (
        "55 syntax",
        "ask = 2\ndefault = = 1\n",
        2,
        "costs.toml: Invalid value (at line 2, column 11)",
    ),
    ("55 syntax, cut short", "ask = 2\ndefault = [\n", 2, "costs.toml: "),
    (
        "56 negative",
        "default = -1\n",
        2,
        "`default` must be finite and not negative; got -1. Express a gain by lowering",
    ),
    (
        "56 negative exception",
        "[missed]\ncat = -20\n",
        2,
        "`missed` of 'cat' must be finite and not negative",
    ),
    (
        "57 shape",
        "matrix = [[0, 1], [1, 0]]\n",
        2,
        "`matrix` is 2 × 2; the prediction has K = 4 classes",
    ),
    (
        "58 unknown entry",
        "default = 1\naks = 2\n",
        2,
        "unknown entry 'aks' in the costs. Did you mean 'ask'?",
    ),
    (
        "59 unknown class",
        "[missed]\ncatt = 20\n",
        2,
        "`missed` names 'catt', which is not among 'cat', 'dog', 'eel', 'fox'. Did you mean 'cat'?",
    ),
    (
        "60 diagonal",
        "matrix = [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 3, 1], [1, 1, 1, 0]]\n",
        0,
        (
            "Note: costs.toml: right predictions cost something; the diagonal of the matrix is "
            "usually 0"
        ),
    ),
    ("61 empty", "", 2, "costs.toml: there are no costs. The shortest are: default = 1"),
    ("62 string", 'default = "1"\n', 2, "costs.toml: `default` must be a number; got '1'"),
    ("62 string in a matrix", 'matrix = [["0", 1], [1, 0]]\n', 2, "`matrix` must be numbers"),
]


@pytest.mark.parametrize(
    ("number", "content", "code", "words"), COSTS, ids=[row[0] for row in COSTS]
)
def test_mistakes_with_costs(
    number: str, content: str | None, code: int, words: str, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    npz(class_names=NAMES)(tmp_path)
    (tmp_path / ("cost.toml" if content is None else "costs.toml")).write_text(content or "")
    result = CliRunner().invoke(main, ["decide", "p.npz", "--costs", "costs.toml"])
    assert result.exit_code == code, result.output
    assert words in " ".join(result.output.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize("suffix", [".parquet", ".zarr"])
def test_70_a_plain_install_names_the_extra(suffix: str, tmp_path, monkeypatch) -> None:
    npz()(tmp_path)
    for name in ("pyarrow", "zarr"):
        monkeypatch.setitem(sys.modules, name, None)
    result = CliRunner().invoke(
        main, ["quantify", str(tmp_path / "p.npz"), "-o", str(tmp_path / f"u{suffix}")]
    )
    assert result.exit_code == 2
    assert 'install it with: pip install "labelwise[dask]"' in result.output


@pytest.mark.parametrize("listening", [False, True])
def test_67_a_scheduler_that_is_not_there_or_does_not_answer(
    listening, tmp_path, optional, monkeypatch
) -> None:
    optional("distributed")
    da = optional("dask.array")
    npz()(tmp_path)
    monkeypatch.setattr("labelwise.io.quantify.CONNECT_SECONDS", 0.5)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        if listening:
            other.listen()
        result = CliRunner().invoke(
            main,
            [
                "quantify",
                str(tmp_path / "p.npz"),
                "-o",
                str(tmp_path / "u.npz"),
                "--scheduler",
                address,
            ],
        )
    assert result.exit_code == 2
    first, *_, last = result.stderr.splitlines()
    assert first == f"Connecting to the scheduler at {address} …"
    assert last == (
        f"Error: no Dask scheduler answers at {address} within 0.5 s; start one with: dask "
        "scheduler"
    )
    assert da.ones(3).sum().compute() == 3  # the caller's own arrays still have a scheduler


def test_75_nested_parquet(tmp_path, optional) -> None:
    pa, pq = optional("pyarrow"), optional("pyarrow.parquet")
    nested, one, flat = (
        PROBS.transpose(1, 0, 2).tolist(),
        PROBS[0].tolist(),
        dict(zip(NAMES, PROBS[0].T, strict=True)),
    )
    said = []
    for columns in ({"probs": nested}, {"probs": one}, flat):
        pq.write_table(pa.table({**columns, "y_true": Y}), tmp_path / "p.parquet")
        said.append(CliRunner().invoke(main, ["evaluate", str(tmp_path / "p.parquet")]))
    assert [result.exit_code for result in said] == [2, 0, 0]
    assert "column `probs` must hold floating-point numbers" in said[0].output
    assert all("1 member × 100 cases × 4 classes" in result.output for result in said[1:])


def test_76_to_79_in_python(tmp_path, optional) -> None:
    pd, torch = optional("pandas"), optional("torch")
    q = lw.Ensemble(PROBS, class_names=NAMES)
    y = pd.Series(NAMES)[Y].reset_index(drop=True)
    report = lw.report.write_report(tmp_path / "r.html", q, y_true=y, ood=q)  # 76, 79
    assert report.data["exact"]["accuracy"]["value"] == pytest.approx(
        np.mean(PROBS.mean(0).argmax(-1) == Y)
    )
    optional("matplotlib")
    assert lw.plots.plot_by_class(lw.decompose(q)).patches  # 77
    models, loader = [torch.nn.Linear(4, 3) for _ in range(2)], [torch.zeros(5, 4)]
    with pytest.raises(TypeError, match=r"use lw\.from_models\(models, X_or_loader\)"):  # 78
        optional("labelwise_lab").training.predict_ensemble(models, loader)


def test_74_decisions_about_labels_that_occur_together(tmp_path) -> None:
    np.savez(
        tmp_path / "p.npz",
        probs=RNG.random((3, 20, 2)),
        y_true=RNG.integers(0, 2, (20, 2)),
        class_names=["edema", "mass"],
    )
    (tmp_path / "costs.toml").write_text("false_alarm = 1\nmissed = 5\n")
    result = CliRunner().invoke(
        main, ["decide", str(tmp_path / "p.npz"), "--costs", str(tmp_path / "costs.toml")]
    )
    assert result.exit_code == 0, result.output
    assert "Decisions (per_label)" in result.output
    (tmp_path / "costs.toml").write_text("matrix = [[0, 1], [1, 0]]\n")
    result = CliRunner().invoke(
        main, ["decide", str(tmp_path / "p.npz"), "--costs", str(tmp_path / "costs.toml")]
    )
    assert result.exit_code == 2
    assert "these costs have only a `matrix`, which is for choosing one class" in result.output


def test_costs_by_name_for_predictions_without_names(tmp_path) -> None:
    npz()(tmp_path)
    (tmp_path / "costs.toml").write_text("[missed]\ncat = 20\n")
    arguments = ["decide", str(tmp_path / "p.npz"), "--costs", str(tmp_path / "costs.toml")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "the prediction has no class names. Use --class-names" in result.output
    result = CliRunner().invoke(main, [*arguments, "--class-names", ",".join(NAMES)])
    assert result.exit_code == 0, result.output
