"""evaluate: the library's numbers as JSON and as tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from labelwise.io import save_predictions


def test_evaluate_as_json_and_as_tables(preds, tmp_path) -> None:
    other = tmp_path / "other.npz"
    save_predictions(other, probs=np.random.default_rng(1).dirichlet([0.3, 0.3], (5, 40)))
    result = run("evaluate", preds, "--ood", other, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    q, stored = lw.load_predictions(preds).distribution(), lw.io.load_predictions(preds)
    u = lw.decompose(q).sum()
    correct = q.mean().argmax(-1) == stored.y_true
    assert found["accuracy"] == pytest.approx(correct.mean())
    assert found["rejection"]["total"]["augrc"] == pytest.approx(lw.evaluation.rejection_curve(u.total, correct=correct).augrc)
    outside = lw.decompose(lw.load_predictions(other).distribution()).sum().epistemic
    auroc = lw.evaluation.detection_scores(u.epistemic, outside, n_bootstrap=0).auroc
    assert found["detection"]["epistemic"]["auroc"] == pytest.approx(float(auroc))
    assert {x["class"] for x in found["classes"]} == {"nevus", "[b]mel[/]"}
    tables = run("evaluate", preds, "--ood", other)
    assert tables.exit_code == 0
    assert "[b]mel[/]" in tables.output.replace("\n", "")  # a name is text, not markup
    assert "AUROC" in tables.output


def test_multilabel_risk_is_the_share_of_wrong_labels(tmp_path) -> None:
    probs = np.random.default_rng(0).random((3, 60, 4))
    y = (np.random.default_rng(1).random((60, 4)) < 0.4).astype(int)
    np.savez(tmp_path / "m.npz", probs=probs, y_true=y)
    found = json.loads(run("evaluate", tmp_path / "m.npz", "--multilabel", "--json").stdout)
    u, wrong = lw.decompose(lw.MultiLabelEnsemble(probs)).sum(), ((probs.mean(0) > 0.5) != y).mean(-1)
    assert found["rejection"]["total"]["augrc"] == pytest.approx(lw.evaluation.rejection_curve(u.total, risk=wrong).augrc)
    assert found["rejection"]["total"]["accuracy_at_80"] == pytest.approx(
        lw.evaluation.rejection_curve(u.total, utility=1 - wrong).at_coverage(0.8)
    )
    assert 0 < found["rejection"]["mean certainty"]["augrc"] < 0.5
