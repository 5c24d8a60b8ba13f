"""quantify, evaluate, decide and axioms: exit codes, output, and numbers equal to the library's."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

import labelwise as lw
from labelwise.cli import main
from labelwise.io import save_predictions

NAMES = ["nevus", "[b]mel[/]"]
COSTS = """
classes = ["nevus", "[b]mel[/]"]
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


def test_decide_explains_compares_and_writes(preds, tmp_path) -> None:
    costs = tmp_path / "costs.toml"
    costs.write_text(COSTS)
    out = tmp_path / "plan.csv"
    result = run("decide", preds, "--costs", costs, "-o", out, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output[result.output.index("{") :])
    plan = lw.decisions.decide(ensemble(preds), lw.decisions.Costs.from_toml(costs), task="one_class")
    assert found["expected_cost"] == pytest.approx(plan.expected_cost.mean())
    assert sum(found["actions"].values()) == 80
    assert set(found["realised"]) >= {"decide", "argmax", "oracle"}
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["action"] for row in rows] == plan.words.tolist()
    assert rows[5]["id"] == "case 5"
    words = run("decide", preds, "--costs", costs)
    assert words.exit_code == 0
    assert "ask" in words.output


def test_decide_per_label(preds, tmp_path) -> None:
    costs = tmp_path / "costs.toml"
    costs.write_text("false_positive = 1\nfalse_negative = 5\n")
    out = tmp_path / "plan.csv"
    result = run("decide", preds, "--costs", costs, "--task", "per_label", "-o", out)
    assert result.exit_code == 0, result.output
    with out.open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 160


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
        (("evaluate", "{unlabelled}"), "no `y_true`"),
        (("evaluate", "{preds}", "--ood", "{unlabelled}"), "classes"),
        (("decide", "{preds}", "--costs", "missing.toml"), "missing.toml"),
        (("quantify", "{broken}", "-o", "u.npz"), "must sum to 1"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(preds, tmp_path, monkeypatch, args, sentence: str) -> None:
    monkeypatch.chdir(tmp_path)
    save_predictions(tmp_path / "unlabelled.npz", probs=np.full((2, 3, 4), 0.25))
    save_predictions(tmp_path / "broken.npz", probs=np.full((2, 3, 4), 0.4))
    places = {"preds": preds, "unlabelled": tmp_path / "unlabelled.npz", "broken": tmp_path / "broken.npz"}
    result = run(*(str(a).format(**places) for a in args))
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "u.npz").exists()


def test_every_command_has_help_with_an_example() -> None:
    for name in ("quantify", "evaluate", "decide", "axioms"):
        result = run(name, "--help")
        assert result.exit_code == 0
        assert "Example" in result.output
