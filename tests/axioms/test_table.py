"""The table of results: entries by axiom and measure, and how they print."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from axiom_cases import table


def test_entries_an_axiom_does_not_speak_about_are_absent():
    t = table("squared")
    with pytest.raises(KeyError, match="axiom A1 is not about TU, only about EU"):
        t["A1", "TU"]
    with pytest.raises(KeyError, match="axiom A4 is not about EU, only about TU and AU"):
        t["A4", "EU"]
    for wrong_key in (("A9", "EU"), ("A1", "XU"), "A1"):
        with pytest.raises(KeyError, match="ask for an axiom"):
            t[wrong_key]


def test_printing():
    assert str(table("log")).splitlines()[5].split() == ["A3", "weak", "-", "strict"]
    assert str(table("log")["A4", "AU"]).startswith(
        "A4 (not lower after a shift toward the center) fails for AU: Q = "
    )
    assert "equality for example at Q = " in str(table("log")["A3", "TU"])
    assert "holds for EU, strictly, in " in str(table("log")["A3", "EU"])
    assert "though Q is not a Dirac measure" in str(table("zero_one")["A1", "EU"])
    many = lw.typing.Counterexample(
        lw.Ensemble(np.full((9, 2), 0.5), member_axis=0), (), 0.0, 0.0, "so"
    )
    assert "… (9 atoms)" in str(many)
