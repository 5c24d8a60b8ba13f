"""Numbers of the report against their definitions."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from optional_libraries import optional

optional("nibabel")
optional("torch")

from labelwise import Ensemble, decompose  # noqa: E402
from labelwise.io import load_predictions, save_predictions  # noqa: E402
from labelwise_lab.petct import write_report  # noqa: E402
from labelwise_lab.petct.results import mean_over_patients, summarize  # noqa: E402


def test_numbers(results):
    numbers = summarize(results)
    test, held = results["test"], results["held back"]
    y = test.part.y
    correct = test.slices.probs.mean(axis=0).argmax(axis=1) == y
    assert numbers["slices"]["n"] == len(y)
    accuracy = numbers["slices"]["accuracy"]
    assert accuracy["value"] == pytest.approx(correct.mean())
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]
    rows = {(row["diagnosis"], row["unit"]): row for row in numbers["diagnoses"]}
    for k, name in enumerate(test.slices.class_names):
        row = rows[name, "slices"]
        assert (row["n"], row["found"]) == ((y == k).sum(), correct[y == k].sum())
        assert row["recall"]["value"] == pytest.approx(correct[y == k].mean())
    u, v = (decompose(Ensemble(x.slices.probs)).sum().epistemic for x in (test, held))
    known, unknown = u[test.part.lesion_voxels > 0], v[held.part.lesion_voxels > 0]
    found = numbers["held_back"]["slices with lesions"]
    assert (found["known"], found["held_back"]) == (len(known), len(unknown))
    assert len(unknown) < len(held.part.y)
    auroc = np.mean((unknown[:, None] > known) + 0.5 * (unknown[:, None] == known))
    assert found["epistemic"]["value"] == pytest.approx(auroc, abs=1e-6)
    u, v = (decompose(Ensemble(x.studies.probs)).sum().total for x in (test, held))
    ill = test.studies.y_true > 0
    auroc = np.mean((v[:, None] > u[ill]) + 0.5 * (v[:, None] == u[ill]))
    found = numbers["held_back"]["studies"]
    assert found["total"]["value"] == pytest.approx(auroc, abs=1e-6)
    assert found["known"] == ill.sum()
    json.dumps(numbers)


def test_intervals_are_over_patients():
    """Ten patients whose slices agree: a hundred slices say no more than ten."""
    hits = np.repeat(np.arange(10) % 2 == 0, 10)
    share = mean_over_patients(hits, np.repeat(np.arange(10), 10))
    assert share["value"] == 0.5
    assert share["low"] == pytest.approx(0.2, abs=0.11)
    assert mean_over_patients(hits, np.arange(100))["low"] > 0.38
    one = mean_over_patients(hits, np.zeros(100))  # one patient says nothing about the others
    assert (one["low"], one["high"]) == (0, 1)


def test_intervals_of_shares_are_shares():
    """A recall of 96 % in three patients, all missed slices in one: not [33.1 %, 158.9 %]."""
    hits, patients = np.ones(75, dtype=bool), np.repeat(np.arange(3), 25)
    hits[:3] = False
    recall = mean_over_patients(hits, patients)
    assert recall["value"] == 0.96
    assert 0 < recall["low"] < 0.96 < recall["high"] < 1
    nothing_missed = mean_over_patients(np.ones(75, dtype=bool), patients)
    assert nothing_missed["low"] == pytest.approx(0.025 ** (1 / 3))
    assert nothing_missed["high"] == 1


def test_predictions_of_other_slices_are_refused(slices, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "t")
    stored = load_predictions(trained / "slices.npz")
    ids = stored.ids.copy()
    ids[0] = "other"
    save_predictions(tmp_path / "t" / "slices.npz", probs=stored.probs, ids=ids)
    with pytest.raises(ValueError, match="does not belong to the slices in"):
        write_report(slices, tmp_path / "t", tmp_path / "r")
    with pytest.raises(FileNotFoundError, match="there is no prediction file"):
        write_report(slices, tmp_path, tmp_path / "r")
    assert not (tmp_path / "r").exists()
