"""What the commands print: no name controls a terminal, no cell is a formula."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from command_line import run
from labelwise.cli import _output, main
from labelwise.io import save_predictions

EVIL = "\x1b]0;owned\x07\x9b31m\u202e"


@pytest.fixture
def evil(tmp_path):
    names = [f"=HYPERLINK({EVIL})", "@SUM(A1)", "x" * 10_000]
    ids = np.array(["+1+cmd|calc", "-2", "\tcase", "plain", f"nevus{EVIL}"])
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (4, 5))
    save_predictions(
        tmp_path / "evil.npz", probs=probs, y_true=np.arange(5) % 3, class_names=names, ids=ids
    )
    (tmp_path / "one.toml").write_text("matrix = [[0, 1, 1], [2, 0, 1], [9, 3, 0]]\n")
    (tmp_path / "each.toml").write_text("false_alarm = 1\nmissed = 5\n")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "as_json"),
    [
        ("evaluate", True),
        ("decide", True),
        ("decide", False),
        ("quantify", False),
        ("report", False),
    ],
)
def test_names_and_ids_cannot_control_the_terminal(evil, command: str, as_json: bool) -> None:
    more = {
        "evaluate": ["--ood", evil / f"b{EVIL}.npz"],
        "decide": ["--costs", evil / "one.toml"],
        "quantify": ["-o", evil / f"a{EVIL}.npz"],
        "report": ["-o", evil / f"a{EVIL}.html"],
    }
    (evil / f"b{EVIL}.npz").write_bytes((evil / "evil.npz").read_bytes())
    result = run(command, evil / "evil.npz", *more[command], *(["--json"] if as_json else []))
    assert result.exit_code == 0, result.output
    assert not set("\x1b\x07\x9b\u202e") & set(result.output)
    if as_json:
        text = json.dumps(json.loads(result.output), ensure_ascii=False)
        assert command == "decide" or "\x9b" in text
    else:
        assert len(result.output) < 20_000


@pytest.mark.parametrize("task", ["multiclass", "per_label"])
@pytest.mark.parametrize("pipe", [False, True])
def test_csv_holds_no_formula(evil, task: str, pipe: bool) -> None:
    out = evil / "plan.csv"
    costs = evil / ("one.toml" if task == "multiclass" else "each.toml")
    result = run(
        "decide", evil / "evil.npz", "--costs", costs, "--task", task, "-o", "-" if pipe else out
    )
    assert result.exit_code == 0, result.output
    text = result.stdout_bytes.decode() if pipe else out.read_bytes().decode()
    rows = list(csv.DictReader(text.splitlines()))
    ids = ["'+1+cmd|calc", "-2", "'\tcase", "plain", f"nevus{EVIL}"]
    if task == "multiclass":
        assert [row["id"] for row in rows] == ids
        assert any("=HYP" in row["y_true"] for row in rows)
    else:
        assert list(dict.fromkeys(row["id"] for row in rows)) == ids
        assert any("=HYP" in row["label"] for row in rows)
    for row in rows:
        texts = [
            row[name]
            for name in (
                "y_true",
                "label",
                "most_probable",
                "action",
                "reason",
            )
            if row.get(name)
        ]
        assert not any(text.startswith(("=", "+", "-", "@", "\t")) for text in [*texts, *row])
        assert float(row["expected_cost"]) >= 0


def test_a_terminal_gets_the_csv_without_controls(evil, monkeypatch) -> None:
    shown = []
    monkeypatch.setattr(_output.click, "echo", lambda text, **_: shown.append(text))
    monkeypatch.setattr(
        _output.sys, "stdout", type("Terminal", (), {"isatty": lambda self: True})()
    )
    _output.echo_data(f"a,{EVIL}\r\n")
    assert shown == ["a,\\x1b]0;owned\\x07\\x9b31m\\u202e\n"]


def test_halves_of_surrogate_pairs_do_not_stop_anything(tmp_path) -> None:
    path = tmp_path / "a\udcff.npz"
    probs = np.random.default_rng(0).dirichlet(np.ones(2), (4, 5))
    for names, ids in (
        (["\ud800", "b"], ["a", "b", "c", "d", "e"]),
        (["a", "b"], ["\udfff", "a", "b", "c", "d"]),
    ):
        truth = np.arange(5) % 2
        save_predictions(path, probs=probs, y_true=truth, class_names=names, ids=np.array(ids))
        for args in (["evaluate", path], ["report", path, "-o", tmp_path / "r.html"]):
            assert run(*args).exit_code == 0, args
    save_predictions(path, probs=probs, y_true=np.arange(5) % 2, class_names=["a", "b"])
    costs = tmp_path / "costs.toml"
    costs.write_text("matrix = [[0, 1], [2, 0]]\n")
    for args in (
        ["evaluate", path],
        ["evaluate", path, "--json"],
        ["decide", path, "--costs", costs],
        ["decide", path, "--costs", costs, "-o", "-"],
        ["decide", path, "--costs", costs, "-o", tmp_path / "plan.csv"],
        ["report", path, "-o", tmp_path / "r.html"],
        ["quantify", path, "-o", tmp_path / "u.npz"],
    ):
        result = run(*args)
        assert result.exit_code == 0, (args, result.output)


@pytest.fixture
def accents(tmp_path, monkeypatch):
    """Predictions whose names are in few encodings."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), (4, 40))
    ids = np.array([f"Fall № {i}" for i in range(40)])
    save_predictions(
        "p.npz",
        probs=probs,
        y_true=np.arange(40) % 3,
        class_names=["naevus", "mélanome", "黒色腫"],
        ids=ids,
    )
    Path("costs.toml").write_text("default = 1\nask = 0.3\n")
    Path("events.toml").write_text('"≥ 2" = ["mélanome", "黒色腫"]\n', encoding="utf-8")
    return tmp_path


LINES = [
    "evaluate p.npz",
    "evaluate p.npz --ood p.npz --json",
    "decide p.npz --costs costs.toml",
    "decide p.npz --costs costs.toml --json",
    "acquire p.npz --budget 3",
    "quantify p.npz -o u.npz",
    "report p.npz -o r.html --events events.toml",
    "sets fit p.npz -o sets.npz --coverage .5",
    "axioms --loss log",
    "demo",
    "decide 黒.npz --costs costs.toml",
    "sets fit --help",
    "--help",
]


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
@pytest.mark.parametrize("line", LINES)
def test_every_command_prints_on_any_terminal(line: str, encoding: str, accents) -> None:
    result = CliRunner(charset=encoding).invoke(main, line.split())
    assert result.exit_code == (2 if "黒" in line else 0), result.output
    said = (result.stdout_bytes + result.stderr_bytes).decode(
        encoding
    )  # all of it is in the encoding
    assert "�" not in said
    if "--json" in line:
        assert "mélanome" in json.dumps(
            json.loads(result.stdout_bytes.decode(encoding)), ensure_ascii=False
        )


def test_what_an_encoding_lacks_is_escaped(accents) -> None:
    result = CliRunner(charset="ascii").invoke(main, ["evaluate", "p.npz"])
    assert result.stderr_bytes.startswith(b"p.npz: 4 members \\xd7 40 cases \\xd7 3 classes\n")
    assert b"m\\xe9lanome" in result.stdout_bytes
    result = CliRunner(charset="latin-1").invoke(main, ["evaluate", "p.npz"])
    assert result.stderr_bytes.startswith(
        "p.npz: 4 members × 40 cases × 3 classes\n".encode("latin-1")
    )
    assert "mélanome".encode("latin-1") in result.stdout_bytes
    assert b"\\u9ed2" in result.stdout_bytes


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_files_are_utf8_on_any_terminal(encoding: str, accents) -> None:
    pipe = CliRunner(charset=encoding).invoke(
        main, ["decide", "p.npz", "--costs", "costs.toml", "-o", "-"]
    )
    file = CliRunner(charset=encoding).invoke(
        main, ["decide", "p.npz", "--costs", "costs.toml", "-o", "d.csv"]
    )
    assert (pipe.exit_code, file.exit_code) == (0, 0)
    assert pipe.stdout_bytes == Path("d.csv").read_bytes()
    assert "黒色腫" in pipe.stdout_bytes.decode("utf-8")


def test_a_real_process_on_a_terminal_of_another_encoding(accents) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    run = [sys.executable, "-m", "labelwise", "decide", "p.npz", "--costs", "costs.toml"]
    done = subprocess.run(run, capture_output=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stdout.decode("ascii")
