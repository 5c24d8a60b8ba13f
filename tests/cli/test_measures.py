"""quantify, evaluate, decide and axioms: exit codes, output, and numbers equal to the library's."""

from __future__ import annotations

import csv
import json
import zlib

import numpy as np
import pytest
from click.testing import CliRunner

import labelwise as lw
from labelwise.cli import main
from labelwise.io import load, save_predictions

NAMES = ["nevus", "[b]mel[/]"]
COSTS = """
class_names = ["nevus", "[b]mel[/]"]
matrix = [[0, 1], [20, 0]]
abstain = 0.8
ask = 0.5
expert_error = 0.02
"""


@pytest.fixture
def preds(tmp_path):
    rng = np.random.default_rng(0)
    theta = rng.dirichlet([1.0, 1.0], 80)
    probs = np.stack([rng.dirichlet(1 + 30 * t, 5) for t in theta], axis=1)
    y = (rng.random(80) < theta[:, 1]).astype(int)
    path = tmp_path / "preds.npz"
    save_predictions(path, probs=probs, y_true=y, class_names=NAMES, ids=np.array([f"case {i}" for i in range(80)]))
    return path


def run(*args: object) -> object:
    return CliRunner().invoke(main, [str(a) for a in args])


def ensemble(path):
    return lw.io.load_predictions(path).distribution()


def test_quantify_writes_what_decompose_gives(preds, tmp_path) -> None:
    out = tmp_path / "u.npz"
    result = run("quantify", preds, "-o", out, "--loss", "log", "--loss", "squared")
    assert result.exit_code == 0, result.output
    with np.load(out, allow_pickle=False) as file:
        written = dict(file)
    for loss in ("log", "squared"):
        u = lw.decompose(ensemble(preds), loss)
        assert np.array_equal(written[f"{loss}_epistemic"], u.epistemic)
        assert np.array_equal(written[f"{loss}_sum_total"], u.sum().total)
    assert written["class_names"].tolist() == NAMES
    assert written["ids"][3] == "case 3"


def test_evaluate_as_json_and_as_tables(preds, tmp_path) -> None:
    other = tmp_path / "other.npz"
    save_predictions(other, probs=np.random.default_rng(1).dirichlet([0.3, 0.3], (5, 40)))
    result = run("evaluate", preds, "--ood", other, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    q, stored = ensemble(preds), lw.io.load_predictions(preds)
    u = lw.decompose(q).sum()
    correct = q.mean().argmax(-1) == stored.y_true
    assert found["accuracy"] == pytest.approx(correct.mean())
    assert found["rejection"]["total"]["augrc"] == pytest.approx(lw.evaluation.rejection_curve(u.total, correct=correct).augrc)
    outside = lw.decompose(ensemble(other)).sum().epistemic
    auroc = lw.evaluation.detection_scores(u.epistemic, outside, n_bootstrap=0).auroc
    assert found["detection"]["epistemic"]["auroc"] == pytest.approx(float(auroc))
    assert {x["class"] for x in found["classes"]} == set(NAMES)
    tables = run("evaluate", preds, "--ood", other)
    assert tables.exit_code == 0
    assert "[b]mel[/]" in tables.output.replace("\n", "")  # a name is text, not markup
    assert "AUROC" in tables.output


def test_decide_per_label(preds, tmp_path) -> None:
    costs = tmp_path / "costs.toml"
    costs.write_text("false_positive = 1\nfalse_negative = 5\n")
    out = tmp_path / "plan.csv"
    result = run("decide", preds, "--costs", costs, "--task", "per_label", "-o", out)
    assert result.exit_code == 0, result.output
    with out.open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 80


def test_axioms() -> None:
    result = run("axioms", "--loss", "squared", "--json")
    assert result.exit_code == 0, result.output
    verdicts = {(r["axiom"], r["measure"]): r["verdict"] for r in json.loads(result.output)}
    assert verdicts["A5", "EU"] == "holds"
    assert verdicts["A2", "EU"] == "fails"


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
def test_bad_input_is_one_sentence_and_exit_code_2(preds, tmp_path, monkeypatch, args, sentence: str) -> None:
    monkeypatch.chdir(tmp_path)
    save_predictions(tmp_path / "unlabeled.npz", probs=np.full((2, 3, 4), 0.25))
    save_predictions(tmp_path / "broken.npz", probs=np.full((2, 3, 4), 0.4))
    places = {"preds": preds, "unlabeled": tmp_path / "unlabeled.npz", "broken": tmp_path / "broken.npz"}
    result = run(*(str(a).format(**places) for a in args))
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "u.npz").exists()


def test_every_command_has_help_with_an_example() -> None:
    for name in ("quantify", "evaluate", "decide", "acquire", "axioms"):
        result = run(name, "--help")
        assert result.exit_code == 0
        assert "Example" in result.output


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
    from labelwise.cli import _output

    shown = []
    monkeypatch.setattr(_output.click, "echo", lambda text, **_: shown.append(text))
    monkeypatch.setattr(_output.sys, "stdout", type("Terminal", (), {"isatty": lambda self: True})())
    _output.echo_data(f"a,{EVIL}\r\n")
    assert shown == ["a,\\x1b]0;owned\\x07\\x9b31m\\u202e\n"]


def test_files_that_make_a_library_stumble_are_named(preds, tmp_path, monkeypatch) -> None:
    for error in (KeyError("shape"), RuntimeError("codec"), RecursionError(), OverflowError("too large"), EOFError(), zlib.error("-3")):

        def stumble(path, largest, error=error):
            raise error

        monkeypatch.setitem(load.READERS, ".npz", stumble)
        for args in (["evaluate"], ["quantify", "-o", tmp_path / "u.npz"], ["report", "-o", tmp_path / "r.html"]):
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
    for args in (["evaluate"], ["quantify", "-o", tmp_path / "u.npz"], ["report", "-o", tmp_path / "r.html"]):
        result = run(args[0], preds, *args[1:])
        assert result.exit_code == 2
        assert "preds.npz" in result.output


def test_deep_nesting_in_costs_and_events(preds, tmp_path) -> None:
    deep = tmp_path / "deep.toml"
    deep.write_text("a = " + "[" * 3000 + "]" * 3000 + "\n")
    for args in (["decide", preds, "--costs", deep], ["report", preds, "-o", tmp_path / "r.html", "--events", deep]):
        result = run(*args)
        assert result.exit_code == 2
        assert result.output.splitlines()[-1].startswith("Error: ")
        assert "deep.toml" in result.output
        assert len(result.output) < 3000


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
