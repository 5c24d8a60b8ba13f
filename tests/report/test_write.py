"""Reports of every kind of input, and a sentence for each that cannot be one."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.report import build_report, write_report
from optional_libraries import optional
from report_pages import ensemble


def test_out_of_distribution_predictions_need_no_name() -> None:
    q, y = ensemble(n=40, k=3)
    other, _ = ensemble(n=30, k=3, seed=5)
    report = build_report(q, y_true=y, ood=other)
    assert list(report.data["exact"]["detection"]) == ["out of distribution"]
    again = build_report(q, y_true=y, ood=lw.io.Predictions(probs=other.probs))
    assert again.data["exact"]["detection"] == report.data["exact"]["detection"]
    with pytest.raises(
        TypeError, match=r"`ood` must be a distribution, Predictions, or a mapping.*got list"
    ):
        build_report(q, y_true=y, ood=[other])


def test_a_report_prints_short() -> None:
    q, y = ensemble(n=100, k=3)
    report = build_report(q, y_true=y, title="<b>Pets</b>")
    assert len(repr(report)) < 200
    assert "100 cases" in repr(report)
    assert "<b>" not in report._repr_html_()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"ids": np.arange(3)}, "`ids` must have one entry for each of the N = 20"),
        ({"images": np.zeros((3, 4, 4))}, "3 `images` for 20 instances"),
        (
            {"images": np.zeros((3, 4, 4)), "image_index": [0, 1, 99]},
            "`image_index` must be a position from 0 to 19",
        ),
        ({"images": np.zeros((20, 4))}, "`images` must have shape"),
        ({"y_true": np.full(20, 7)}, "between 0 and 3"),
        ({"events": {"bad": ["nothing"]}}, "has no class names"),
        (
            {"ood": {"other": lw.Ensemble(np.full((2, 3, 2), 0.5))}},
            "has other classes than the predictions",
        ),
    ],
)
def test_wrong_use_has_its_sentence(change, sentence) -> None:
    q, y = ensemble(n=20, k=4)
    with pytest.raises(ValueError, match=sentence):
        build_report(q, **{"y_true": y, **change})


def test_other_wrong_use_has_its_sentence(tmp_path) -> None:
    q, _ = ensemble(n=20, k=4)
    with pytest.raises(ValueError, match=r"an \.html file; got '.*page\.pdf'"):
        write_report(tmp_path / "page.pdf", q)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_report(tmp_path / "nowhere" / "page.html", q)
    with pytest.raises(TypeError, match="`q` must be a distribution"):
        build_report(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="instances on one axis"):
        build_report(lw.Ensemble(np.full((2, 3, 4, 5), 0.2)))
    with pytest.raises(ValueError, match="no instances"):
        build_report(lw.Ensemble(np.zeros((2, 0, 4))))


def test_other_array_libraries(lib) -> None:
    q, y = ensemble(n=20, k=3)
    expected = build_report(q, y_true=y).data["exact"]["mean"]["total.log"]
    found = build_report(lw.Ensemble(lib.array(q.probs)), y_true=lib.array(y, "int64")).data
    assert found["exact"]["mean"]["total.log"] == pytest.approx(expected)


def test_labels_are_matched_to_the_index_of_the_predictions():
    pandas = optional("pandas")
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (3, 30))
    ids, names = [f"case {i}" for i in range(30)], ["a", "b", "c"]
    y = pandas.Series(np.array(names)[probs.mean(axis=0).argmax(axis=-1)], index=ids)
    q = lw.Ensemble([pandas.DataFrame(member, index=ids, columns=names) for member in probs])
    report = build_report(q, y_true=y.iloc[::-1])
    assert report.data["exact"]["accuracy"]["value"] == 1
    assert "id" in report.arrays


def test_intervals_have_a_report() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), (4, 40))
    q = lw.Intervals.from_members(probs)
    data = build_report(q, y_true=rng.integers(3, size=40)).data
    assert data["members"] == ()
    total = lw.decompose(q).sum().total.mean()
    assert data["exact"]["mean"]["total.log"] == pytest.approx(total)
