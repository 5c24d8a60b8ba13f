"""evaluate: the library's numbers as JSON and as tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

import labelwise as lw
from block_cases import labeled_ensemble, peak_with_small_blocks
from command_line import run
from labelwise.io import blocks, save_predictions


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
    assert found["rejection"]["total"]["augrc"] == pytest.approx(
        lw.evaluation.rejection_curve(u.total, correct=correct).augrc
    )
    outside = lw.decompose(lw.load_predictions(other).distribution()).sum().epistemic
    auroc = lw.evaluation.detection_scores(u.epistemic, outside, n_bootstrap=0).auroc
    assert found["detection"]["epistemic"]["auroc"] == pytest.approx(float(auroc))
    assert {x["class"] for x in found["classes"]} == {"nevus", "[b]mel[/]"}
    tables = run("evaluate", preds, "--ood", other)
    assert tables.exit_code == 0
    assert "[b]mel[/]" in tables.output.replace("\n", "")  # a name is text, not markup
    assert "auroc" in tables.output


def test_it_says_how_far_confidence_is_off(tmp_path) -> None:
    """64 % right where 48 % were expected."""
    path, groups = tmp_path / "p.npz", np.arange(100) // 10
    probs = np.tile([0.48, 0.26, 0.26], (2, 100, 1))
    y = np.repeat([0, 1], [64, 36])[np.random.default_rng(0).permutation(100)]
    save_predictions(path, probs=probs, y_true=y)
    text = " ".join(run("evaluate", path).output.split())
    assert (
        "Under-confident by 16.0 percentage points (95 % interval 6.1 to 25.6): 64.0 % right, "
        "48.0 % expected, of 100 instances."
    ) in text
    found = json.loads(run("evaluate", path, "--json").output)["calibration"]
    assert found["overconfidence"]["value"] == pytest.approx(-0.16)
    assert found["expected_accuracy"] == pytest.approx(0.48)
    save_predictions(
        path, probs=probs, y_true=np.sort(y), groups=groups
    )  # whole groups are right or wrong
    wide = json.loads(run("evaluate", path, "--json").output)["calibration"]["overconfidence"]
    assert wide["high"] - wide["low"] > 2 * (
        found["overconfidence"]["high"] - found["overconfidence"]["low"]
    )


def clustered(path, seed, shift, *, groups=True, n=10):
    """Ten groups of forty cases; those of a group are alike."""
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(n), 40)
    logits = shift * rng.normal(size=(n, 3))[code] + rng.normal(size=(5, 40 * n, 3))
    more = {"groups": [f"{path.stem}-{i}" for i in code]} if groups else {}
    save_predictions(path, logits=logits, y_true=rng.integers(0, 3, 40 * n), **more)
    return path


def test_groups_of_the_files_widen_the_intervals(tmp_path) -> None:
    inside, outside = (
        clustered(tmp_path / "in.npz", 0, 1.0),
        clustered(tmp_path / "out.npz", 1, 2.0),
    )
    found = json.loads(run("evaluate", inside, "--ood", outside, "--json").stdout)
    stored = [lw.load_predictions(path) for path in (inside, outside)]
    scores = [lw.decompose(x.distribution()).sum().epistemic for x in stored]
    auroc = lw.evaluation.detection_scores(
        *scores, groups_in=stored[0].groups, groups_out=stored[1].groups
    ).auroc
    assert found["groups"] == 20
    assert found["detection"]["epistemic"]["low"] == pytest.approx(auroc.low)
    assert found["detection"]["epistemic"]["high"] == pytest.approx(auroc.high)
    assert "intervals over 20 groups" in " ".join(
        run("evaluate", inside, "--ood", outside).stdout.split()
    )
    plain = clustered(tmp_path / "plain.npz", 1, 2.0, groups=False)
    result = run("evaluate", inside, "--ood", plain, "--json")
    assert (
        "Note: only one of in.npz and plain.npz has `groups`, so the intervals of AUROC take all "
        "instances as independent"
    ) in result.stderr
    independent = json.loads(result.stdout)
    assert independent["groups"] is None
    wide, narrow = (
        x["detection"]["total"]["high"] - x["detection"]["total"]["low"]
        for x in (found, independent)
    )
    assert wide > 1.5 * narrow


def test_one_member_has_no_epistemic_uncertainty_in_json_either(preds, tmp_path) -> None:
    stored = lw.load_predictions(preds)
    single = tmp_path / "single.npz"
    save_predictions(single, probs=stored.probs[:1], y_true=stored.y_true)
    found = json.loads(run("evaluate", single, "--ood", single, "--json").stdout)
    assert set(found["rejection"]["epistemic"].values()) == {None}
    assert set(found["detection"]["epistemic"].values()) == {None}
    assert found["detection"]["total"]["auroc"] == pytest.approx(0.5)
    assert {x["epistemic"] for x in found["classes"]} == {None}


def test_one_instance_and_classes_without_instances(tmp_path) -> None:
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], (5, 1))
    save_predictions(tmp_path / "one.npz", probs=probs, y_true=[2])
    result = run("evaluate", tmp_path / "one.npz", "--ood", tmp_path / "one.npz")
    assert result.exit_code == 0, result.output
    assert "nan" not in result.stdout
    assert "–" in result.stdout
    assert "1 instance, accuracy" in result.stdout


@pytest.mark.parametrize("which", ["predictions", "ood"])
def test_an_empty_file_is_named(preds, tmp_path, which) -> None:
    empty = tmp_path / "empty.npz"
    save_predictions(empty, probs=np.zeros((5, 0, 2)), y_true=np.zeros(0, int))
    result = (
        run("evaluate", empty) if which == "predictions" else run("evaluate", preds, "--ood", empty)
    )
    assert result.exit_code == 2
    assert "Error: empty.npz must have at least one instance; it has none" in result.stderr


def test_labels_that_occur_together_are_not_compared_with_classes(preds, tmp_path) -> None:
    rng = np.random.default_rng(0)
    several = tmp_path / "several.npz"
    np.savez(several, probs=rng.random((3, 60, 2)), y_true=rng.integers(0, 2, (60, 2)))
    result = run("evaluate", preds, "--ood", several)
    assert result.exit_code == 2
    assert (
        f"the labels of several.npz may occur together, and {preds.name} has one class for "
        "each instance"
    ) in result.stderr
    np.savez(tmp_path / "unlabeled.npz", probs=rng.random((3, 60, 2)))
    assert run("evaluate", several, "--ood", tmp_path / "unlabeled.npz").exit_code == 0


def test_multilabel_risk_is_the_share_of_wrong_labels(tmp_path) -> None:
    probs = np.random.default_rng(0).random((3, 60, 4))
    y = (np.random.default_rng(1).random((60, 4)) < 0.4).astype(int)
    np.savez(tmp_path / "m.npz", probs=probs, y_true=y)
    found = json.loads(run("evaluate", tmp_path / "m.npz", "--multilabel", "--json").stdout)
    u, wrong = (
        lw.decompose(lw.MultiLabelEnsemble(probs)).sum(),
        ((probs.mean(0) > 0.5) != y).mean(-1),
    )
    assert found["rejection"]["total"]["augrc"] == pytest.approx(
        lw.evaluation.rejection_curve(u.total, risk=wrong).augrc
    )
    assert found["rejection"]["total"]["accuracy_at_80"] == pytest.approx(
        lw.evaluation.rejection_curve(u.total, utility=1 - wrong).at_coverage(0.8)
    )
    assert 0 < found["rejection"]["mean certainty"]["augrc"] < 0.5


def test_out_of_distribution_predictions_need_as_many_members(preds, tmp_path) -> None:
    stored = lw.load_predictions(preds)
    save_predictions(tmp_path / "other.npz", probs=stored.probs[:3], class_names=stored.class_names)
    words = (
        "other.npz has 3 members and the predictions have 5 members. Epistemic uncertainty grows "
        "with the number of members"
    )
    result = run("evaluate", preds, "--ood", tmp_path / "other.npz")
    assert result.exit_code == 2
    assert words in result.output
    result = run("report", preds, "--ood", tmp_path / "other.npz", "-o", tmp_path / "r.html")
    assert result.exit_code == 2
    assert words.partition(" ")[2] in result.output
    with pytest.raises(ValueError, match="Give both the same members"):
        lw.report.write_report(
            tmp_path / "r.html",
            stored,
            ood=lw.Ensemble(stored.probs[:4], class_names=stored.class_names),
        )


def test_many_classes_are_cut_in_the_table_and_this_is_said(tmp_path) -> None:
    path, k = tmp_path / "many.npz", 60
    probs = np.random.default_rng(0).dirichlet(np.ones(k), (3, 200)).astype(np.float32)
    save_predictions(path, probs=probs, y_true=np.arange(200) % k)
    ranked = [x["class"] for x in json.loads(run("evaluate", path, "--json").stdout)["classes"]]
    assert len(ranked) == k
    text = run("evaluate", path).stdout
    assert "(the first 50 of 60; --json has all)" in " ".join(text.split())
    table = text.partition("epistemic_share\n")[2].splitlines()
    assert [line.split()[0] for line in table[:50]] == ranked[:50]
    assert not table[50].strip()


def test_an_error_far_into_a_file_says_where(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 3 * 50 * 4)
    path = tmp_path / "p.npz"
    probs = np.full((3, 200, 4), 0.25)
    probs[1, 160] = 0.3
    np.savez(path, probs=probs, y_true=np.zeros(200, int))
    result = run("evaluate", path)
    assert result.exit_code == 2
    assert "p.npz, rows 150 to 200: `probs` must sum to 1" in " ".join(result.stderr.split())
    assert "the first at index (1, 10)" in " ".join(result.stderr.split())


def test_files_are_not_read_whole(tmp_path, monkeypatch) -> None:
    """A stored .npz is mapped, and what is held of it are blocks and a few numbers per instance."""
    path = tmp_path / "p.npz"
    q, y = labeled_ensemble(22_000, 40)
    size = q.probs.nbytes
    save_predictions(path, probs=q.probs, y_true=y)
    del q
    run("evaluate", path, "--json")  # what it imports stays

    def evaluate() -> None:
        assert run("evaluate", path, "--ood", path, "--json").exit_code == 0

    assert size > 1 << 24
    assert peak_with_small_blocks(evaluate, monkeypatch) < 0.5 * size
