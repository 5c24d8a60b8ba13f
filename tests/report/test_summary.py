"""What is on the page, computed exactly over all instances."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import labelwise as lw
from labelwise.cli import main
from labelwise.io import predictions
from labelwise.report import build_report
from report_pages import PARTS, ensemble


def numbers(data):
    """All numbers of a report in one list, packed ones and text left out."""
    if isinstance(data, dict):
        return [
            x
            for key, part in data.items()
            if key not in ("sample", "images", "version")
            for x in numbers(part)
        ]
    if isinstance(data, list | tuple | np.ndarray):
        return [x for part in data for x in numbers(part)]
    return [] if isinstance(data, str) or data is None else [float(data)]


def test_blocks_do_not_matter(monkeypatch) -> None:
    q, y = ensemble(n=200, k=4)
    outside, _ = ensemble(n=50, k=4, seed=9)
    whole = build_report(q, y_true=y, ood={"other": outside})
    monkeypatch.setattr(predictions, "BLOCK", 4 * 5 * 37)
    seen = []
    blocks = build_report(
        q, y_true=y, ood={"other": outside}, progress=lambda done, all_: seen.append((done, all_))
    )
    np.testing.assert_allclose(
        numbers(blocks.data), numbers(whole.data), rtol=1e-12, equal_nan=True
    )
    assert blocks.data["sample"] == whole.data["sample"]
    assert seen == [(done, 200) for done in (37, 74, 111, 148, 185, 200)]


def test_detection_allows_for_groups() -> None:
    (q, y), (outside, _) = ensemble(n=80, k=4), ensemble(n=60, k=4, seed=9)
    groups, others = np.arange(80) // 10, np.arange(60) // 10 + 100
    grouped = predictions.Predictions(probs=q.probs, y_true=y, groups=groups)
    data = build_report(
        grouped, ood={"other": predictions.Predictions(probs=outside.probs, groups=others)}
    ).data
    eu, other = (lw.decompose(x, "log").sum().epistemic for x in (q, outside))
    told = lw.evaluation.detection_scores(
        eu, other, n_bootstrap=0, groups_in=groups, groups_out=others
    ).auroc
    found = data["detection"][0]["losses"]["log"]["epistemic"]
    assert (found["low"], found["high"]) == pytest.approx((told.low, told.high))
    plain = build_report(grouped, ood={"other": outside}).data["detection"][0]["losses"]["log"][
        "epistemic"
    ]  # one side has none
    assert (plain["low"], plain["high"]) != pytest.approx((told.low, told.high))


def test_numbers_are_the_librarys() -> None:
    q, y = ensemble(n=150, k=4)
    outside, _ = ensemble(n=50, k=4, seed=9)
    data = build_report(q, y_true=y, ood={"other": outside}).data
    correct = q.mean().argmax(-1) == y
    for loss in data["losses"]:
        u = lw.decompose(q, loss["key"])
        by = lw.evaluation.by_class(u, y)
        for part in PARTS:
            where_likely = np.average(getattr(u, part), axis=0, weights=q.mean())
            np.testing.assert_allclose(loss["labels"]["likely"][part], where_likely, rtol=1e-12)
            score = getattr(u.sum(), part)
            for rule in ("own", "everywhere"):
                np.testing.assert_allclose(
                    loss["labels"][rule][part], getattr(getattr(by, rule), part).value, rtol=1e-12
                )
            curve = lw.evaluation.rejection_curve(score, correct=correct)
            number = np.arange(200) * 150 // 200
            np.testing.assert_allclose(loss["rejection"][part]["value"], curve.value[number])
            assert data["rejection"]["n_rejected"].tolist() == number.tolist()
            assert loss["rejection"][part]["augrc"] == pytest.approx(curve.augrc)
            told = lw.evaluation.detection_scores(
                score, getattr(lw.decompose(outside, loss["key"]).sum(), part), n_bootstrap=0
            )
            found = data["detection"][0]["losses"][loss["key"]][part]
            assert found["auroc"] == pytest.approx(float(told.auroc))
            assert found["fpr95"] == pytest.approx(float(told.fpr95))
            assert np.sum(found["outside"]) == pytest.approx(1)
    guess = q.mean().argmax(-1)
    assert data["classes"]["right"] == [int(np.sum((guess == k) & (y == k))) for k in range(4)]
    k, j, times = data["confusions"][0]
    assert times == max(
        np.sum((y == a) & (guess == b)) for a in range(4) for b in range(4) if a != b
    )
    assert times == np.sum((y == k) & (guess == j))
    check = lw.calibration.check_calibration(q, y, rng=0, n_bootstrap=20)
    assert data["calibration"]["ece"] == pytest.approx(check.ece)
    assert data["calibration"]["overconfidence"] == pytest.approx(check.overconfidence.value)
    agreement = lw.evaluation.rank_agreement(
        lw.decompose(q, "log").sum().epistemic, lw.decompose(q, "zero_one").sum().epistemic
    )
    assert data["agreement"]["epistemic"][0][3] == pytest.approx(float(agreement))


def test_several_labels_are_judged_one_by_one() -> None:
    rng = np.random.default_rng(0)
    q = lw.MultiLabelEnsemble(rng.random((3, 50, 4)))
    y = rng.integers(0, 2, (50, 4))
    data = build_report(q, y_true=y).data
    right = (q.mean() > 0.5) == y
    assert data["accuracy"] == pytest.approx(right.mean())
    assert data["exact_match"] == pytest.approx(right.all(-1).mean())
    assert data["classes"]["true"] == y.sum(0).tolist()


def test_page_and_commands_mean_the_same_by_epistemic_share(tmp_path) -> None:
    q, y = ensemble(n=200, k=3)
    path = tmp_path / "preds.npz"
    lw.io.save_predictions(path, probs=q.probs, y_true=y)
    page = build_report(q, y_true=y).data["losses"][0]["labels"]
    done = CliRunner().invoke(main, ["evaluate", str(path), "--json"])
    found = {x["class"]: x["epistemic_share"] for x in json.loads(done.stdout)["classes"]}
    u = lw.decompose(q)
    for k in range(3):
        share = u.epistemic[y == k, k].mean() / u.total[y == k, k].mean()  # a ratio of means
        assert (
            abs(share - (u.epistemic / u.total)[y == k, k].mean()) > 1e-3
        )  # not the mean of ratios
        assert page["own"]["epistemic_share"][k] == pytest.approx(share)
        assert found[str(k)] == pytest.approx(share)
    assert page["everywhere"]["epistemic_share"] == pytest.approx(
        lw.evaluation.by_class(u).everywhere.epistemic_share.value
    )
