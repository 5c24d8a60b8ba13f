"""The report: figures of cases, and the library's page about the studies."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from optional_libraries import optional

optional("nibabel")
optional("torch")
matplotlib = optional("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

from labelwise.decisions import Costs  # noqa: E402
from labelwise_lab.petct import write_report  # noqa: E402
from labelwise_lab.petct.report import find_slices, sentences  # noqa: E402


def test_cases_show_the_most_uncertain_plane(results):
    """Not that of the largest lesion, where the model is surest."""
    test = results["test"]
    part, total = test.part, test.u.sum().total
    for study in np.unique(part.studies):
        found, (i,) = find_slices(results, study)
        assert found is test
        assert total[i] == total[part.studies == study].max()
    assert find_slices(results, part.ids[3]) == (test, [3])
    _, planes = find_slices(results, part.patients[0])
    assert len(planes) == len(set(part.studies[part.patients == part.patients[0]]))
    assert next(iter(test.uncertain_planes.values())) == np.argmax(total)
    with pytest.raises(ValueError, match="there is no test or held-back patient, study or slice"):
        find_slices(results, "nobody")


def test_cases_of_held_back_patients(results):
    held = results["held back"]
    found, planes = find_slices(results, held.part.patients[0])
    assert found is held
    assert len(planes) > 0


def test_everything_is_written(slices, trained, tmp_path, results):
    """Rejection curves and decisions are on the library's page, which has no bands over a few
    patients that fill a panel.
    """
    open_before = plt.get_fignums()
    cases = (str(results["test"].part.patients[0]), str(results["held back"].part.patients[0]))
    costs = Costs(default=1, missed={"lymphoma": 8}, ask=0.5)
    numbers = write_report(slices, trained, tmp_path, costs=costs, cases=cases, show=2)
    figures = {"case-1.png", "case-2.png", "most-uncertain.png"}
    assert {path.name for path in tmp_path.iterdir()} == figures | {"summary.json", "studies.html"}
    assert json.loads((tmp_path / "summary.json").read_text()) == numbers
    for name in figures:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert plt.get_fignums() == open_before


def test_sentences():
    share = {"value": 0.96, "low": 0.7, "high": 0.996}
    auroc = {m: {"value": 0.5, "low": 0.0, "high": 1.0} for m in ("total", "aleatoric")}
    numbers = {
        "patients": 3,
        "slices": {"n": 1234, "accuracy": share},
        "studies": {"n": 3, "accuracy": share},
        "held_back": {"studies": {"known": 2, "held_back": 4, **auroc, "epistemic": share}},
    }
    assert sentences(numbers) == [
        "3 test patients",
        "1,234 slices: accuracy 0.960 (95 % interval 0.700 to 0.996)",
        "3 studies: accuracy 0.960 (95 % interval 0.700 to 0.996)",
        "4 held-back studies against 2 of known diseases, AUROC",
        "  by total uncertainty: 0.500 (95 % interval 0.000 to 1.000)",
        "  by aleatoric uncertainty: 0.500 (95 % interval 0.000 to 1.000)",
        "  by epistemic uncertainty: 0.960 (95 % interval 0.700 to 0.996)",
    ]


def test_the_documentation_has_what_the_program_prints():
    docs = Path(__file__).parents[3] / "docs"
    page = (docs / "lab" / "petct.md").read_text()
    stored = sorted((docs / "data").glob("petct-phantoms-seed-*.json"))
    assert stored
    for path in stored:
        printed = sentences(json.loads(path.read_text()))
        assert "\n".join(f"    {line}" for line in printed) in page
