"""What the commands print: no name controls a terminal, no cell is a formula."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from command_line import run
from labelwise.cli import _output
from labelwise.io import save_predictions

EVIL = "\x1b]0;owned\x07\x9b31m\u202e"


@pytest.fixture
def evil(tmp_path):
    names = [f"=HYPERLINK({EVIL})", "@SUM(A1)", "x" * 10_000]
    ids = np.array(["+1+cmd|calc", "-2", "\tcase", "plain", f"nevus{EVIL}"])
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (4, 5))
    save_predictions(tmp_path / "evil.npz", probs=probs, y_true=np.arange(5) % 3, class_names=names, ids=ids)
    (tmp_path / "one.toml").write_text("matrix = [[0, 1, 1], [2, 0, 1], [9, 3, 0]]\n")
    (tmp_path / "each.toml").write_text("false_positive = 1\nfalse_negative = 5\n")
    return tmp_path


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("command", ["evaluate", "decide", "quantify", "report"])
def test_names_and_ids_cannot_control_the_terminal(evil, command: str, as_json: bool) -> None:
    more = {"evaluate": ["--ood", evil / f"b{EVIL}.npz"], "decide": ["--costs", evil / "one.toml"], "quantify": ["-o", evil / f"a{EVIL}.npz"], "report": ["-o", evil / f"a{EVIL}.html"]}  # fmt: skip
    (evil / f"b{EVIL}.npz").write_bytes((evil / "evil.npz").read_bytes())
    result = run(command, evil / "evil.npz", *more[command], *(["--json"] if as_json else []))
    assert result.exit_code == 0, result.output
    assert not set("\x1b\x07\x9b\u202e") & set(result.output)
    if as_json:
        text = json.dumps(json.loads(result.output), ensure_ascii=False)
        assert command == "decide" or "\x9b" in text or command == "quantify"
    else:
        assert len(result.output) < 20_000


@pytest.mark.parametrize("task", ["multiclass", "per_label"])
@pytest.mark.parametrize("pipe", [False, True])
def test_csv_holds_no_formula(evil, task: str, pipe: bool) -> None:
    out = evil / "plan.csv"
    costs = evil / ("one.toml" if task == "multiclass" else "each.toml")
    result = run("decide", evil / "evil.npz", "--costs", costs, "--task", task, "-o", "-" if pipe else out)
    assert result.exit_code == 0, result.output
    text = result.stdout_bytes.decode() if pipe else out.read_bytes().decode()
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["id"] for row in rows] == ["'+1+cmd|calc", "-2", "'\tcase", "plain", f"nevus{EVIL}"]
    assert any("=HYP" in row["y_true"] for row in rows)
    for row in rows:
        texts = [
            row[name] for name in ("y_true", "most_probable", "above_half", "action", "act", "abstain", "ask", "reason") if row.get(name)
        ]
        assert not any(text.startswith(("=", "+", "-", "@", "\t")) for text in [*texts, *row])
        assert float(row["expected_cost"]) >= 0


def test_a_terminal_gets_the_csv_without_controls(evil, monkeypatch) -> None:
    shown = []
    monkeypatch.setattr(_output.click, "echo", lambda text, **_: shown.append(text))
    monkeypatch.setattr(_output.sys, "stdout", type("Terminal", (), {"isatty": lambda self: True})())
    _output.echo_data(f"a,{EVIL}\r\n")
    assert shown == ["a,\\x1b]0;owned\\x07\\x9b31m\\u202e\n"]


def test_halves_of_surrogate_pairs_do_not_stop_anything(tmp_path) -> None:
    path = tmp_path / "a\udcff.npz"
    probs = np.random.default_rng(0).dirichlet(np.ones(2), (4, 5))
    for names, ids in ((["\ud800", "b"], ["a", "b", "c", "d", "e"]), (["a", "b"], ["\udfff", "a", "b", "c", "d"])):
        save_predictions(path, probs=probs, class_names=names, ids=np.array(ids))
        result = run("evaluate", path)
        assert result.exit_code == 2, result.output
        assert "is damaged: it holds text with" in result.output
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
