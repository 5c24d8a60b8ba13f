"""Errors about input carry their fix and their place, and each front end words the fix."""

from __future__ import annotations

import pickle
import warnings

import pytest

from labelwise._errors import InputError, InputNote, kind_of, suggest

ERROR = InputError(
    "`probs` must sum to 1; got 0.9", fix="normalize", where="model2.csv", name="probs"
)


def test_an_error_of_input_is_a_value_error_with_its_parts() -> None:
    assert isinstance(ERROR, ValueError)
    assert (ERROR.sentence, ERROR.fix, ERROR.where) == (
        "`probs` must sum to 1; got 0.9",
        "normalize",
        "model2.csv",
    )


def test_the_library_words_the_fix_in_python() -> None:
    assert str(ERROR) == (
        "model2.csv: `probs` must sum to 1; got 0.9. If that is rounding, divide by the sums: "
        "probs / probs.sum(-1)[..., None]; "
        "if a class is left out, add it"
    )
    assert str(InputError("`x` must be small; got 3")) == "`x` must be small; got 3"


def test_another_front_end_words_it_otherwise() -> None:
    assert (
        ERROR.worded({"normalize": "Use --normalize"})
        == "model2.csv: `probs` must sum to 1; got 0.9. Use --normalize"
    )


def test_it_comes_back_whole_from_another_process() -> None:
    again = pickle.loads(pickle.dumps(ERROR))
    assert str(again) == str(ERROR)
    assert again.values == {"name": "probs"}


def test_a_place_comes_before_the_places_inside_it() -> None:
    rows = InputError("`probs` must be finite", where="rows 0 to 9")
    assert str(rows.found_in("model2.csv")) == "model2.csv, rows 0 to 9: `probs` must be finite"
    assert (
        str(InputError("`probs` must be finite").found_in("model2.csv"))
        == "model2.csv: `probs` must be finite"
    )
    assert ERROR.found_in("study").values == ERROR.values


def test_a_note_is_a_warning_of_users_with_the_same_parts() -> None:
    with pytest.warns(
        UserWarning, match=r"^`probs` is read as 9 members\. They do over axis 1: if"
    ) as caught:
        warnings.warn(
            InputNote("`probs` is read as 9 members", fix="class_axis", axis=1), stacklevel=1
        )
    assert isinstance(caught[0].message, InputNote)
    assert (
        caught[0].message.worded({"class_axis": "Use --class-axis {axis}"})
        == "`probs` is read as 9 members. Use --class-axis 1"
    )


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


def test_what_came_instead() -> None:
    assert (kind_of(3), kind_of(int)) == ("int", "the class int")
