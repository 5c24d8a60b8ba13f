"""Columns from elsewhere are joined by id, and nothing is matched silently."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.report.columns import PageData
from labelwise.report.metadata import (
    add_column,
    add_metadata,
    as_numbers,
    column_name,
    join_metadata,
)
from optional_libraries import optional

IDS = np.array(["a", "b", "c"])
NAMES = ["nevus", "melanoma"]


def test_rows_are_put_in_the_order_of_the_cases(tmp_path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("age;image;site\n41;c;Köln\n;a;Bonn\n7;x;Bonn\n", encoding="utf-8")
    found = join_metadata(path, IDS, 3, NAMES)
    assert found.columns["age"].tolist() == ["", "", "41"]
    assert found.columns["site"].tolist() == ["Bonn", "", "Köln"]
    assert found.notes == [
        "rows of cases.csv matched by `image`",
        "1 case of 3 not in cases.csv",
        "1 row of cases.csv of no case",
    ]


def test_without_ids_rows_are_matched_by_number_and_it_is_said() -> None:
    found = join_metadata({"site": ["A", "B", "A"]}, None, 3, NAMES)
    assert found.columns["site"].tolist() == ["A", "B", "A"]
    assert found.notes == [
        "rows of `metadata` matched by number: there are no ids in both",
    ]


def test_groups_and_votes_are_taken_out() -> None:
    given = {
        "id": ["c", "b", "a"],
        "group": ["p2", "", "p1"],
        "votes_nevus": [3, 1, ""],
        "Vote melanoma": [0, 2, 1],
        "sex": ["f", "m", "NA"],
    }
    found = join_metadata(given, IDS, 3, NAMES)
    assert list(found.columns) == ["sex"]
    assert found.columns["sex"].tolist() == ["", "m", "f"]
    assert found.groups.tolist() == ["p1", "group missing: 1", "p2"]
    assert found.votes.tolist() == [[0, 1], [1, 2], [3, 0]]


def test_data_frames_bring_their_index() -> None:
    frame = optional("pandas").DataFrame({"age": [1, 2]}, index=["c", "a"])
    found = join_metadata(frame, IDS, 3, NAMES)
    assert found.columns["age"].tolist() == ["2", "", "1"]


def test_a_column_row_numbers_the_cases_from_1_whatever_their_ids() -> None:
    """As a page without ids exports them: here the ids are other numbers."""
    given = {"row": ["3", "1"], "tag": ["blurred", "check"]}
    for ids in (np.array([0, 1, 2]), IDS, None):
        assert join_metadata(given, ids, 3, NAMES).columns["tag"].tolist() == [
            "check",
            "",
            "blurred",
        ]
    found = join_metadata({**given, "id": ["a", "b"]}, IDS, 3, NAMES)
    assert found.columns["tag"].tolist() == ["blurred", "check", ""]


def test_an_apostrophe_against_formulas_is_no_part_of_an_id() -> None:
    found = join_metadata({"id": ["'-a", "'b"], "tag": ["'=x", "'quoted"]}, ["-a", "'b"], 2, NAMES)
    assert found.columns["tag"].tolist() == ["=x", "'quoted"]


@pytest.mark.parametrize(
    ("given", "ids", "message"),
    [
        ({"row": ["0", "1"]}, None, "column 'row' of `metadata` must number the cases from 1"),
        ({"row": ["x"]}, IDS, "has none of the numbers of the cases, such as '1'; it has 'x'"),
        ({"id": ["x", "y"]}, IDS, "has none of the ids of the cases, such as 'a'; it has 'x'"),
        ({"id": ["a", "a"]}, IDS, "has the id 'a' more than once in column 'id'"),
        ({"site": ["A"]}, None, "has 1 row and there are 3 cases"),
        ({"a": [1], "b": [1, 2]}, None, "must have columns of the same length"),
        ({}, None, "must have at least one column"),
        (
            {"id": ["a"], "votes_nevus": ["many"]},
            IDS,
            "column 'votes_nevus' of the metadata must hold whole numbers of votes",
        ),
    ],
)
def test_what_does_not_fit_has_its_sentence(given, ids, message) -> None:
    with pytest.raises(ValueError, match=message):
        join_metadata(given, ids, 3, NAMES)


def test_names_with_a_meaning_on_the_page_are_changed() -> None:
    """A column called ``wrong`` must not hide which predictions are wrong, nor be hidden."""
    page = PageData(3)
    columns = {name: np.array(["x", "y", ""], dtype=object) for name in ("wrong", "total", "site")}
    add_metadata(page, columns, np.arange(3))
    names = [column["name"] for column in page.columns]
    assert names == ["wrong (2)", "total (2)", "site"]


def test_other_objects_are_refused(tmp_path) -> None:
    with pytest.raises(TypeError, match="must be a data frame, a mapping"):
        join_metadata(3, IDS, 3, NAMES)
    (tmp_path / "cases.pdf").write_text("x")
    with pytest.raises(ValueError, match=r"are read from \.csv or \.tsv; got 'cases\.pdf'"):
        join_metadata(tmp_path / "cases.pdf", IDS, 3, NAMES)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "2", "", "10"], "category"),  # few distinct numbers
        ([str(i) for i in range(30)], "number"),
        ([f"text {i}" for i in range(30)], "category"),
        ([f"text {i}" for i in range(6000)], "text"),
        (["", ""], "category"),
    ],
)
def test_a_column_is_what_it_holds(texts, kind) -> None:
    page = PageData(len(texts))
    add_column(page, "x", np.array(texts, dtype=object))
    assert page.columns[0]["kind"] == kind


def test_numbers_that_are_categories_are_in_their_order() -> None:
    page = PageData(3)
    add_column(page, "x", np.array(["10", "2", "1"], dtype=object))
    assert page.columns[0]["names"] == ["1", "2", "10"]


def test_texts_are_numbers_or_not() -> None:
    np.testing.assert_array_equal(as_numbers(np.array(["1.5", ""])), [1.5, np.nan])
    assert as_numbers(np.array(["1", "x"])) is None
    assert as_numbers(np.array(["1", "inf"])) is None


def test_names_are_printable_short_and_their_own() -> None:
    assert column_name("site", {"site", "site (2)"}) == "site (3)"
    assert "\n" not in column_name("a\nb", set())
    assert len(column_name("x" * 1000, set())) <= 100
    assert column_name(" ", set()) == "column"
