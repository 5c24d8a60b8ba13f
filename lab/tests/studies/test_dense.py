"""The study of radiologists: its page shows the stored numbers, and ties count as they should."""

from __future__ import annotations

import json
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture(scope="module", autouse=True)
def studies():
    """Studies import from each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(STUDIES)
        yield
    for name in ("dense_claims", "dense_raters_claims", "dense_raters_page"):
        sys.modules.pop(name, None)


def test_the_page_shows_the_stored_numbers():
    from dense_raters_page import page

    stored = json.loads((STUDIES / "dense_raters.json").read_text(encoding="utf-8"))
    assert page(stored) == (STUDIES / "dense_raters.md").read_text(encoding="utf-8")


def test_rows_of_equal_score_are_in_random_order():
    from dense_claims import aurc as aurc_in_order
    from dense_raters_claims import aurc

    score, risk = np.array([0.1, 0.2, 0.2, 0.2, 0.5]), np.array([0.0, 1, 0, 0.5, 1])
    ones = np.ones(5, dtype=int)
    orders = [[0, *order, 4] for order in permutations([1, 2, 3])]
    expected = np.mean([aurc_in_order(score, risk[order], ones) for order in orders])
    assert aurc(score, risk, ones) == pytest.approx(expected)
    twice = np.array([1, 2, 0, 1, 0])
    rows = np.repeat(np.arange(5), twice)
    assert aurc(score, risk, twice) == pytest.approx(
        aurc(score[rows], risk[rows], np.ones(4, dtype=int))
    )
