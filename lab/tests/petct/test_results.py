"""Numbers of the report against their definitions."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from optional_libraries import optional

optional("nibabel")
optional("torch")
matplotlib = optional("matplotlib")
matplotlib.use("Agg")

from labelwise import Ensemble, decompose  # noqa: E402
from labelwise.io import load_predictions, save_predictions  # noqa: E402
from labelwise_lab.petct import write_report  # noqa: E402
from labelwise_lab.petct.results import share, summarize  # noqa: E402


def test_numbers(results):
    numbers = summarize(results)
    y, mean = results.part.y, results.slices.probs.mean(axis=0)
    correct = mean.argmax(axis=1) == y
    assert numbers["slices"] == len(y)
    assert numbers["accuracy"]["value"] == pytest.approx(correct.mean())
    assert numbers["accuracy"]["low"] <= correct.mean() <= numbers["accuracy"]["high"]
    most = np.bincount(y).max() / len(y)
    assert numbers["majority_class_accuracy"] == pytest.approx(most)
    assert numbers["gain_over_majority_class"]["value"] == pytest.approx(correct.mean() - most)
    u = decompose(Ensemble(results.slices.probs))
    for k, row in enumerate(numbers["diagnoses"]):
        assert row["slices"] == (y == k).sum()
        if row["slices"]:
            assert row["recall"]["value"] == pytest.approx(correct[y == k].mean())
            assert row["epistemic"] == pytest.approx(u.epistemic[y == k, k].mean(), rel=1e-5)
    held = numbers["held_back"]
    known = u.sum().epistemic[results.part.lesion_voxels > 0]
    unknown = (
        decompose(Ensemble(results.held_back[1].probs))
        .sum()
        .epistemic[results.held_back[0].lesion_voxels > 0]
    )
    assert len(known) == held["slices"]["known"]
    assert len(unknown) == held["slices"]["held_back"] < len(results.held_back[0].y)
    auroc = np.mean((unknown[:, None] > known) + 0.5 * (unknown[:, None] == known))
    assert held["slices"]["auroc"]["epistemic"]["value"] == pytest.approx(auroc, abs=1e-6)
    u, v = (
        decompose(Ensemble(x.probs)).sum().total for x in (results.studies, results.held_back[2])
    )
    ill = results.studies.y_true > 0
    auroc = np.mean((v[:, None] > u[ill]) + 0.5 * (v[:, None] == u[ill]))
    assert held["studies"]["auroc"]["total"]["value"] == pytest.approx(auroc, abs=1e-6)
    assert held["studies"]["known"] == ill.sum()
    json.dumps(numbers)


def test_intervals_are_over_patients():
    """Ten patients whose slices agree: a hundred slices say no more than ten."""
    hits = np.repeat(np.arange(10) % 2 == 0, 10)
    estimate = share(hits, np.repeat(np.arange(10), 10))
    assert float(estimate) == 0.5
    assert estimate.low == pytest.approx(0.2, abs=0.11)
    assert share(hits, np.arange(100)).low > 0.38
    one = share(hits, np.zeros(100))  # one patient says nothing about the others
    assert (one.low, one.high) == (0, 1)


def test_predictions_of_other_slices_are_refused(slices, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "t")
    stored = load_predictions(trained / "slices.npz")
    ids = stored.ids.copy()
    ids[0] = "other"
    save_predictions(
        tmp_path / "t" / "slices.npz",
        probs=stored.probs,
        y_true=stored.y_true,
        class_names=stored.class_names,
        ids=ids,
    )
    with pytest.raises(ValueError, match="does not belong to the slices in"):
        write_report(slices, tmp_path / "t", tmp_path / "r")
    with pytest.raises(FileNotFoundError, match="there is no prediction file"):
        write_report(slices, tmp_path, tmp_path / "r")
    assert not (tmp_path / "r").exists()
