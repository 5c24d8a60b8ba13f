"""Suggestions: the name that was probably meant, else the known ones."""

from __future__ import annotations

import pytest

from labelwise._suggestions import check_choice, suggest


@pytest.mark.parametrize(
    ("word", "end"),
    [
        ("melanma", ". Did you mean 'Melanoma'?"),
        ("MELANOMA", ". Did you mean 'Melanoma'?"),
        ("xyz", ". Known: 'Melanoma', 'nevus'"),
        (7, ". Known: 'Melanoma', 'nevus'"),
    ],
)
def test_the_closest_name_or_all(word: object, end: str) -> None:
    assert suggest(word, ["Melanoma", "nevus"]) == end


def test_long_lists_are_cut() -> None:
    assert suggest("?", [f"class {i}" for i in range(9)]).endswith("'class 7', …")


def test_choices() -> None:
    check_choice("em", "method", ("em", "bbse"))
    with pytest.raises(ValueError, match=r"^`method` must be 'em' or 'bbse'; got 'xyz'$"):
        check_choice("xyz", "method", ("em", "bbse"))
    with pytest.raises(ValueError, match=r"^`statistic` must be 'mean' or 'each'; got 'x'$"):
        check_choice("x", "statistic", ("mean", "each"))
    with pytest.raises(
        ValueError,
        match=r"^`part` must be one of 'train', 'val', 'test'; got 'tset'\. Did you mean 'test'\?$",
    ):
        check_choice("tset", "part", {"train": 0, "val": 1, "test": 2})
