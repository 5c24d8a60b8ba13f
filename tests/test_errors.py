"""Errors about input carry their fix and their place, and each front end words the fix."""

from __future__ import annotations

import pickle

from labelwise._errors import InputError

ERROR = InputError("`probs` must sum to 1; got 0.9", fix="normalize", where="model2.csv", name="probs")


def test_an_error_of_input_is_a_value_error_with_its_parts() -> None:
    assert isinstance(ERROR, ValueError)
    assert (ERROR.sentence, ERROR.fix, ERROR.where) == ("`probs` must sum to 1; got 0.9", "normalize", "model2.csv")


def test_the_library_words_the_fix_in_python() -> None:
    assert str(ERROR) == (
        "model2.csv: `probs` must sum to 1; got 0.9. If that is rounding, divide by the sums: probs / probs.sum(-1)[..., None]"
    )
    assert str(InputError("`x` must be small; got 3")) == "`x` must be small; got 3"


def test_another_front_end_words_it_otherwise() -> None:
    assert ERROR.worded({"normalize": "Use --normalize"}) == "model2.csv: `probs` must sum to 1; got 0.9. Use --normalize"


def test_it_comes_back_whole_from_another_process() -> None:
    again = pickle.loads(pickle.dumps(ERROR))
    assert str(again) == str(ERROR)
    assert again.values == {"name": "probs"}
