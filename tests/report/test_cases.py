"""The rows of the page and what is said about each."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest

import labelwise as lw
from labelwise.io import Predictions
from labelwise.report import build_report, cases
from report_pages import embedded, ensemble


def column(report, name: str):
    """What the page reads of a column: codes, and its description."""
    (about,) = [x for x in report.data["columns"] if x["name"] == name]
    data = zlib.decompress(base64.b64decode(report.arrays[name]))
    if about["kind"] == "text":
        return json.loads(data), about
    return np.frombuffer(data, f"<{about['dtype']}"), about


def test_more_cases_than_fit_are_a_sample_with_weights(monkeypatch) -> None:
    monkeypatch.setattr(cases, "MAX_ROWS", 120)
    q, y = ensemble(n=600, k=3)
    report = build_report(q, y_true=y)
    assert report.data["rows"] <= 120
    weight = embedded(report, "weight")
    predicted, _ = column(report, "predicted")
    truth, _ = column(report, "truth")
    assert weight.sum() == pytest.approx(600, rel=1e-6)
    guess = q.mean().argmax(-1)
    for k in range(3):
        assert weight[(truth == k) & (predicted == k)].sum() == pytest.approx(
            np.sum((y == k) & (guess == k)), rel=1e-6
        )
    assert report.data["exact"]["accuracy"]["value"] == np.mean(guess == y)
    number = np.array([int(name.removeprefix("#")) - 1 for name in column(report, "id")[0]])
    np.testing.assert_array_equal(truth, y[number])
    np.testing.assert_array_equal(predicted, guess[number])


def test_sets_are_columns() -> None:
    q, y = ensemble(n=400, k=4)
    fitted = lw.sets.fit_sets(q[:200], y[:200], coverage=0.8)
    other, _ = ensemble(n=10, k=4, seed=2)
    report = build_report(q[200:], y_true=y[200:], sets=fitted, ood=other)
    found = fitted.predict(q[200:])
    size, about = column(report, "set_size")
    np.testing.assert_array_equal(size[:200], found.size)
    assert about["names"] == [str(i) for i in range(found.size.max() + 1)]
    covered, _ = column(report, "covered")
    np.testing.assert_array_equal(covered[:200], found.member[np.arange(200), y[200:]])
    assert set(covered[200:]) == {255}


def test_groups_are_a_column_also_of_metadata() -> None:
    q, y = ensemble(n=6, k=2)
    groups = ["b", "a", "b", "c", "a", "b"]
    for report in (
        build_report(Predictions(q=q, y_true=y, groups=np.array(groups))),
        build_report(q, y_true=y, metadata={"group": groups}),
    ):
        codes, about = column(report, "group")
        assert [about["names"][code] for code in codes] == groups
        assert "groups" in report.data["exact"]["accuracy"]["method"]
    codes, about = column(build_report(q, ids=False, metadata={"group": groups}), "group")
    assert about["names"] == ["1", "2", "3"]
    assert codes.tolist() == [0, 1, 0, 2, 1, 0]


def test_votes_for_labels_that_may_occur_together_need_the_number_of_readers() -> None:
    q = lw.MultiLabelEnsemble(np.random.default_rng(0).random((3, 4, 2)), class_names=["AF", "ST"])
    votes = {"votes_AF": [5, 0, 1, 2], "votes_ST": [5, 1, 0, 0]}
    report = build_report(q, metadata=votes)
    names = [about["name"] for about in report.data["columns"]]
    assert "votes_AF" in names  # numbers, not shares of readers
    assert "reader_disagreement" not in names


def test_no_other_cases_are_called_in_distribution() -> None:
    q, _ = ensemble(n=6, k=2)
    with pytest.raises(ValueError, match="`ood` must not be called 'in distribution'"):
        build_report(q, ood={"in distribution": q})


def test_votes_are_columns() -> None:
    q, y = ensemble(n=30, k=3)
    votes = np.random.default_rng(0).integers(0, 4, (30, 3))
    votes[0] = 0
    report = build_report(q, y_true=y, votes=votes)
    total = votes.sum(1)
    np.testing.assert_array_equal(embedded(report, "votes"), votes)
    np.testing.assert_array_equal(embedded(report, "votes.total"), total)
    codes, about = column(report, "reader_disagreement")
    assert codes[0] == 255
    expected = (1 - votes.max(1) / np.maximum(total, 1))[total > 0]
    np.testing.assert_allclose(np.array(about["centers"])[codes[total > 0]], expected, atol=1e-4)


def test_ids_and_groups_can_stay_in_the_house() -> None:
    q, y = ensemble(n=20, k=3)
    ids = np.array([f"scan-{i}" for i in range(20)])
    groups = np.array([f"patient-{i % 7}" for i in range(20)])
    given = Predictions(q=q, y_true=y, ids=ids, groups=groups)
    metadata = {"scan id": ids, "mrn": [f"mrn-{i}" for i in range(20)], "site": ["A", "B"] * 10}
    report = build_report(given, metadata=metadata)
    assert column(report, "id")[0] == ids.tolist()
    codes, about = column(report, "group")
    assert np.array(about["names"])[codes].tolist() == groups.tolist()
    assert report.data["id_note"] == (
        "This file contains the ids of its cases and the names of its groups."
    )
    without = build_report(given, metadata=metadata, ids=False)
    everything = without.html + "".join(
        str(zlib.decompress(base64.b64decode(text))) for text in without.arrays.values()
    )
    for secret in ("scan-", "patient-", "mrn-"):
        assert secret not in everything
    assert "B" in column(without, "site")[1]["names"]
    assert column(without, "group")[1]["names"][0] == "1"
    assert without.data["id_note"] == "Ids were left out, and groups are numbered."
