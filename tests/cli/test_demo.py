"""demo: tables, a page to open, and nobody's file overwritten."""

from __future__ import annotations

import json

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from labelwise.report.explanations import PARTS_EXPLAINED


def test_demo_shows_tables_and_says_what_to_open(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").resolve().as_uri() in result.output.replace("\n", "")
    assert "sandal" in result.output
    text = " ".join(result.output.split())
    assert (
        "Five networks, 10,000 test images: accuracy 93.1 %. Over-confident by 0.6 percentage "
        "points (95 % interval 0.2 to 1.1): "
        "93.1 % right, 93.7 % expected, of 10,000 cases." in text
    )
    assert PARTS_EXPLAINED in text
    assert "98.63 %" in text  # 98.625 % exactly, as on the page
    found = json.loads(run("demo", "--json").output)  # its own page may be replaced
    fashion = lw.demo.load_fashion_ensemble()
    assert found["accuracy"] == pytest.approx(
        np.mean(fashion.ensemble.mean().argmax(-1) == fashion.y_true)
    )
    shirt = next(x for x in found["classes"] if x["class"] == "shirt")
    u = lw.decompose(fashion.ensemble)
    own = fashion.y_true == fashion.class_names.index("shirt")
    assert shirt["epistemic"] == pytest.approx(
        u["shirt"].epistemic[own].mean(dtype=float), rel=1e-6
    )
    (tmp_path / "report.html").write_text("somebody's work")
    result = run("demo")
    assert result.exit_code == 2
    assert (tmp_path / "report.html").read_text() == "somebody's work"
