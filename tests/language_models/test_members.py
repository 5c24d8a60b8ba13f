"""Members that did not all answer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import labelwise as lw
from labelwise.language_models.members import Reading, fields_of_readings

YES, NO = np.array([0.1, 0.9]), np.array([0.8, 0.2])


def member(answers: Mapping[str, np.ndarray | None], **factors: str) -> list[Reading]:
    return [Reading({**factors, "file": "f"}, case, probs) for case, probs in answers.items()]


def test_a_missing_answer_has_no_weight() -> None:
    notes: list[str] = []
    members = [
        *member({"a": YES, "b": NO, "c": YES, "d": None}, model="x"),
        *member({"c": NO, "a": NO, "b": None, "d": None}, model="y"),
    ]
    fields = fields_of_readings(members, ["no", "yes"], notes)
    assert fields["ids"].tolist() == ["a", "b", "c"]
    assert notes == [
        "left out, because no member names a class: 'd'",
        "1 of 6 answers are missing: no weight",
    ]
    q = lw.Ensemble(fields["probs"], weights=fields["weights"])
    alone = lw.Ensemble(np.array([[NO]]))
    for part in ("total", "aleatoric", "epistemic"):  # as if the other member were not there
        expected = getattr(lw.decompose(alone), part)[0]
        np.testing.assert_allclose(getattr(lw.decompose(q), part)[1], expected, atol=1e-12)


def test_names_and_factors() -> None:
    def named(*factors: Mapping[str, str]) -> dict[str, object]:
        members = [Reading(given, "a", YES) for given in factors]
        fields = fields_of_readings(members, None, [])
        return {key: fields.get(key) for key in ("member_names", "factors")}

    assert named({"model": "x", "file": "f"}, {"model": "y", "file": "f"}) == {
        "member_names": ("x", "y"),
        "factors": {"model": ("x", "y")},
    }
    assert named({"model": "x", "file": "f"}, {"model": "x", "file": "g"}) == {
        "member_names": ("f", "g"),
        "factors": {},
    }


def test_members_without_common_cases() -> None:
    members = [x for name in "abc" for x in member({name: YES}, model=name)]
    with pytest.raises(lw.InputError, match="3 members have 3 answers to 3 cases"):
        fields_of_readings(members, None, [])
