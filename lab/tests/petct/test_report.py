"""The report: pages, what to do, and names that cannot break it."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from optional_libraries import optional

optional("nibabel")
optional("torch")
matplotlib = optional("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

from labelwise import Ensemble  # noqa: E402
from labelwise.decisions import Costs, decide  # noqa: E402
from labelwise_lab.petct import disputed_labels, plot_slices, write_report  # noqa: E402
from labelwise_lab.petct.report import _actions, _page, find_slices, most_uncertain  # noqa: E402
from labelwise_lab.petct.results import load_results, summarize  # noqa: E402

NAMES = ("negative", "lung cancer", "lymphoma", "melanoma")


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
    assert len(find_slices(results, part.patients[0])) == len(
        set(part.studies[part.patients == part.patients[0]])
    )
    with pytest.raises(ValueError, match="there is no test patient, study or slice 'nobody'"):
        find_slices(results, "nobody")


def test_disputed_labels():
    """The paper's example: the members disagree about lymphoma and lung cancer."""
    probs = np.array([[[0.05, 0.75, 0.15, 0.05]], [[0.05, 0.1, 0.8, 0.05]]])
    q = Ensemble(probs, class_names=NAMES)
    costs = Costs(false_alarm=1, missed=1)
    words = disputed_labels(decide(q, costs, task="per_label"), 0)
    assert words == (
        "the members lead to different actions for lymphoma (epistemic 0.3) and lung cancer "
        "(0.25), and to the same for negative and melanoma"
    )
    agreed = Ensemble(probs[:1].repeat(2, axis=0), class_names=NAMES)
    assert (
        disputed_labels(decide(agreed, costs, task="per_label"), 0)
        == "the members lead to the same action for negative, lung cancer, lymphoma and melanoma"
    )


def test_everything_is_written(slices, trained, tmp_path, results):
    open_before = plt.get_fignums()
    costs = Costs(
        false_alarm=1,
        missed={"negative": 1, "lung cancer": 8, "lymphoma": 8, "melanoma": 8},
        ask=0.5,
    )
    case = str(results.part.patients[0])
    numbers = write_report(slices, trained, tmp_path, costs=costs, cases=(case,), show=2)
    names = {path.name for path in tmp_path.iterdir()}
    expected = {
        "case-1.png",
        "highest-total.png",
        "highest-aleatoric.png",
        "highest-epistemic.png",
        "rejection.png",
    }
    assert names == expected | {"summary.json", "index.html", "decisions.csv"}
    assert json.loads((tmp_path / "summary.json").read_text()) == json.loads(json.dumps(numbers))
    page = (tmp_path / "index.html").read_text()
    assert all(f"'{name}'" in page for name in expected)
    rows = list(csv.DictReader((tmp_path / "decisions.csv").read_text().splitlines()))
    assert [row["study"] for row in rows] == list(results.studies.ids)
    assert all(row["disputed"] for row in rows)
    for name in expected:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert plt.get_fignums() == open_before
    matrix = Costs(np.ones((4, 4)) - np.eye(4), class_names=NAMES)
    assert {row["disputed"] for row in _actions(results, matrix, tmp_path / "decisions.csv")} == {
        ""
    }


def test_names_cannot_break_the_page(slices, trained, tmp_path):
    results = load_results(slices, trained)
    numbers = summarize(results)
    numbers["actions"] = [
        {
            "study": "<script>alert(1)</script>/x",
            "diagnosis": "a&b",
            "decision": "<b>",
            "disputed": "",
        }
    ]
    page = _page(numbers, [("x.png", "<i>\"'")])
    assert "<script" not in page
    assert "<i>" not in page
    assert "a&amp;b" in page
