"""The report: numbers against their definitions, figures with what they should show, and what to do."""

from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest

from optional_libraries import optional

optional("nibabel")
optional("torch")
matplotlib = optional("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

from labelwise import Ensemble, decompose  # noqa: E402
from labelwise.decisions import Costs, decide  # noqa: E402
from labelwise.io import load_predictions, save_predictions  # noqa: E402
from labelwise.petct import plot_slices, what_to_do, write_report  # noqa: E402
from labelwise.petct.figures import OUTLINE  # noqa: E402
from labelwise.petct.report import _actions, _page, find_slices, most_uncertain  # noqa: E402
from labelwise.petct.results import load_results, share, summarize  # noqa: E402
from labelwise.plots._style import ALEATORIC, EPISTEMIC, TRUTH  # noqa: E402

NAMES = ("negative", "lung cancer", "lymphoma", "melanoma")


@pytest.fixture(scope="module")
def results(slices, trained):
    return load_results(slices, trained)


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
    unknown = decompose(Ensemble(results.held_back[1].probs)).sum().epistemic[results.held_back[0].lesion_voxels > 0]
    assert len(known) == held["slices"]["known"]
    assert len(unknown) == held["slices"]["held_back"] < len(results.held_back[0].y)
    auroc = np.mean((unknown[:, None] > known) + 0.5 * (unknown[:, None] == known))
    assert held["slices"]["auroc"]["epistemic"]["value"] == pytest.approx(auroc, abs=1e-6)
    u, v = (decompose(Ensemble(x.probs)).sum().total for x in (results.studies, results.held_back[2]))
    ill = results.studies.y_true > 0
    auroc = np.mean((v[:, None] > u[ill]) + 0.5 * (v[:, None] == u[ill]))
    assert held["studies"]["auroc"]["total"]["value"] == pytest.approx(auroc, abs=1e-6)
    assert held["studies"]["known"] == ill.sum()
    json.dumps(numbers)


def test_intervals_are_over_patients():
    """Ten patients whose slices agree: a hundred slices say no more than ten."""
    hits = np.repeat(np.arange(10) % 2 == 0, 10)
    estimate = share(hits, np.repeat(np.arange(10), 10), rng=0)
    assert float(estimate) == 0.5
    assert estimate.low == pytest.approx(0.2, abs=0.11)
    assert share(hits, np.arange(100), rng=0).low > 0.38
    assert np.isnan(share(hits, np.zeros(100), rng=0).low)


def test_figure_2(results):
    """CT in gray, PET with the outline, bars of all labels in two colors; truth green, prediction underlined."""
    i = int(np.argmax(results.part.lesion_voxels))
    figure = plot_slices(results.prepared, results.part, results.u, [i], y_pred=results.prediction)
    ct, pet, bars = figure.axes
    assert ct.images[0].get_cmap().name == "gray"
    assert pet.images[0].get_cmap().name == "gray_r"
    suv = pet.images[0].get_array()
    mask = results.part.images.lesions(i)
    (outline,) = pet.collections
    assert to_hex(outline.get_edgecolor()[0]) == OUTLINE.lower()
    points = np.concatenate([path.vertices for path in outline.get_paths()])
    inside = suv[np.clip(points[:, 1].round().astype(int), 0, len(suv) - 1), np.clip(points[:, 0].round().astype(int), 0, suv.shape[1] - 1)]
    assert inside.mean() > suv.mean()  # it lies on what is hot
    assert mask.any()
    heights = {to_hex(bar.get_facecolor()): [] for bar in bars.patches}
    for bar in bars.patches:
        heights[to_hex(bar.get_facecolor())].append(bar.get_height())
    np.testing.assert_allclose(heights[EPISTEMIC.lower()], results.u.epistemic[i], rtol=1e-5)
    np.testing.assert_allclose(heights[ALEATORIC.lower()], results.u.aleatoric[i], rtol=1e-5)
    assert bars.get_ylim()[1] >= 0.25  # bits: a slice that is certain looks certain
    labels = bars.get_xticklabels()
    assert [to_hex(label.get_color()) == TRUTH.lower() for label in labels] == [k == results.part.y[i] for k in range(4)]
    assert ["\u0332" in label.get_text() for label in labels] == [k == results.prediction[i] for k in range(4)]
    plt.close(figure)


def test_pages_show_the_most_uncertain_first_and_many_patients(results):
    score = results.u.sum().epistemic
    chosen = most_uncertain(results, "epistemic", 4)
    assert chosen[0] == np.argmax(score)
    n = len(set(results.part.studies))
    assert len(set(results.part.studies[chosen])) == min(4, n)
    everything = most_uncertain(results, "total", len(score))
    assert sorted(everything) == list(range(len(score)))
    with pytest.raises(ValueError, match="at least one slice"):
        plot_slices(results.prepared, results.part, results.u, [], y_pred=results.prediction)


def test_cases_by_patient_study_and_slice(results):
    part = results.part
    assert find_slices(results, part.ids[3]).tolist() == [3]
    (i,) = find_slices(results, part.studies[0])
    of = part.studies == part.studies[0]
    assert part.lesion_voxels[i] == part.lesion_voxels[of].max()
    assert len(find_slices(results, part.patients[0])) == len(set(part.studies[part.patients == part.patients[0]]))
    with pytest.raises(ValueError, match="there is no test patient, study or slice 'nobody'"):
        find_slices(results, "nobody")


def test_what_to_do():
    """As in the paper: annotate lymphoma and lung cancer, melanoma is settled."""
    probs = np.array([[[0.05, 0.75, 0.15, 0.05]], [[0.05, 0.1, 0.8, 0.05]]])
    q = Ensemble(probs, class_names=NAMES)
    costs = Costs(false_positive=1, false_negative=1)
    words = what_to_do(decide(q, costs, task="per_label"), 0)
    assert words == "have lymphoma (worth up to 0.3 per case) and lung cancer (0.25) annotated; negative and melanoma are settled"
    agreed = Ensemble(probs[:1].repeat(2, axis=0), class_names=NAMES)
    assert what_to_do(decide(agreed, costs, task="per_label"), 0).endswith("negative, lung cancer, lymphoma and melanoma are settled")


def test_everything_is_written(slices, trained, tmp_path, results):
    open_before = plt.get_fignums()
    costs = Costs(false_positive=1, false_negative={"negative": 1, "lung cancer": 8, "lymphoma": 8, "melanoma": 8}, ask=0.5)
    case = str(results.part.patients[0])
    numbers = write_report(slices, trained, tmp_path, costs=costs, cases=(case,), show=2)
    names = {path.name for path in tmp_path.iterdir()}
    expected = {"case-1.png", "highest-total.png", "highest-aleatoric.png", "highest-epistemic.png", "rejection.png"}
    assert names == expected | {"summary.json", "index.html", "decisions.csv"}
    assert json.loads((tmp_path / "summary.json").read_text()) == json.loads(json.dumps(numbers))
    page = (tmp_path / "index.html").read_text()
    assert all(f"'{name}'" in page for name in expected)
    rows = list(csv.DictReader((tmp_path / "decisions.csv").read_text().splitlines()))
    assert [row["study"] for row in rows] == list(results.studies.ids)
    assert all(row["annotate"] for row in rows)
    for name in expected:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert plt.get_fignums() == open_before
    matrix = Costs(np.ones((4, 4)) - np.eye(4), class_names=NAMES)
    assert {row["annotate"] for row in _actions(results, matrix, tmp_path / "decisions.csv")} == {""}


def test_names_cannot_break_the_page(slices, trained, tmp_path):
    results = load_results(slices, trained)
    numbers = summarize(results)
    numbers["actions"] = [{"study": "<script>alert(1)</script>/x", "diagnosis": "a&b", "decision": "<b>", "annotate": ""}]
    page = _page(numbers, [("x.png", "<i>\"'")])
    assert "<script" not in page
    assert "<i>" not in page
    assert "a&amp;b" in page


def test_predictions_of_other_slices_are_refused(slices, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "t")
    stored = load_predictions(trained / "slices.npz")
    ids = stored.ids.copy()
    ids[0] = "other"
    save_predictions(tmp_path / "t" / "slices.npz", probs=stored.probs, y_true=stored.y_true, class_names=stored.class_names, ids=ids)
    with pytest.raises(ValueError, match="does not belong to the slices in"):
        write_report(slices, tmp_path / "t", tmp_path / "r")
    with pytest.raises(FileNotFoundError, match="there is no prediction file"):
        write_report(slices, tmp_path, tmp_path / "r")
    assert not (tmp_path / "r").exists()
