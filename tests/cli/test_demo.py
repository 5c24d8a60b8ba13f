"""demo: the tables of `evaluate`, a page to open, and nobody's file overwritten."""

from __future__ import annotations

import json

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from labelwise._format import number
from labelwise.io import save_predictions


def test_demo_shows_what_evaluate_shows_and_says_what_to_open(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").resolve().as_uri() in result.output.replace("\n", "")
    fashion = lw.demo.load_fashion_ensemble()
    save_predictions(
        tmp_path / "preds.npz",
        probs=fashion.ensemble.probs,
        y_true=fashion.y_true,
        class_names=fashion.class_names,
    )
    tables = run("evaluate", "preds.npz").stdout  # of the same predictions
    assert "sandal" in tables
    assert result.stdout.startswith(tables)
    for name in ("mnist", "kmnist"):
        assert f"Out-of-distribution detection: 500 instances of {name}" in result.output
    assert run("demo").exit_code == 0  # its own page may be replaced
    found = json.loads(run("evaluate", "preds.npz", "--json").output)
    assert found["accuracy"] == pytest.approx(
        np.mean(fashion.ensemble.mean().argmax(-1) == fashion.y_true)
    )
    shirt = next(x for x in found["classes"] if x["class"] == "shirt")
    u = lw.decompose(fashion.ensemble)
    own = fashion.y_true == fashion.class_names.index("shirt")
    expected = u["shirt"].epistemic[own].mean(dtype=float)
    assert shirt["epistemic_own"] == pytest.approx(expected, rel=1e-6)
    (tmp_path / "report.html").write_text("somebody's work")
    result = run("demo")
    assert result.exit_code == 2
    assert (tmp_path / "report.html").read_text() == "somebody's work"


def test_labels_that_occur_together_with_votes_of_readers(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("demo", "ecg", "-o", "ecg.html")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "827 instances, share of labels right 98.8 %" in text
    assert "Claimed ÷ observed over 827 cases" in text
    assert "The votes contradict the claims" in text
    assert (tmp_path / "ecg.html").is_file()
    ecg = lw.demo.load_ecg_ensemble()
    claims = lw.calibration.vote_reliability(ecg.ensemble, ecg.votes, annotators=ecg.readers)
    for ratio in claims.aleatoric.labels.ratio.value:
        assert f"{number(ratio, 4)} [" in text


def test_a_mistyped_name(tmp_path) -> None:
    result = run("demo", "egc", "-o", tmp_path / "x.html")
    assert result.exit_code == 2
    assert "'egc' is not one of 'fashion', 'ecg'." in result.stderr
