"""Tables, numbers and sections of a page."""

from __future__ import annotations

import pytest

from labelwise_lab.pages import between, fill, interval, spread, table


def test_a_table_has_a_row_for_each_and_an_empty_line_below() -> None:
    assert (
        table(["a", ""], [["1", ""], ["2", "x"]]) == "| a |  |\n|---|---|\n| 1 |   |\n| 2 | x |\n"
    )


def test_numbers_with_their_spread_or_interval() -> None:
    cell = {"mean": -0.12345, "sd": 0.01, "low": -0.2, "high": 0.00004}
    assert spread(cell) == "−0.123 ± 0.010"
    assert spread({**cell, "sd": None}, 1) == "−0.1"
    assert interval(cell) == "−0.123 [−0.200, 0.000]"
    assert interval({"value": 2.0, "low": None}, 1) == "2.0"


def test_sections_take_the_place_of_their_names() -> None:
    sections = {"one": ["a", "", "b\n"], "two": []}
    assert fill("x {one} y {two} {three}", sections) == "x a\nb y  {three}"


def test_text_between_two_marks() -> None:
    assert between("a <b> old <e> c", "<b>", "<e>", "new") == "a <b>new<e> c"
    with pytest.raises(ValueError, match="not enough values"):
        between("a", "<b>", "<e>", "new")
