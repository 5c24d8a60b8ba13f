"""Sets of new cases: sizes, names, and a table."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.typing import PredictionSets

SETS = PredictionSets(
    np.array([[True, False, True], [False, False, False]]), ("a", "b", "c"), "Covers."
)


def test_sizes_and_names() -> None:
    assert SETS.size.tolist() == [2, 0]
    assert SETS.empty.tolist() == [False, True]
    assert (SETS[0], SETS[1], len(SETS)) == (("a", "c"), (), 2)
    with pytest.raises(IndexError, match="index one case"):
        SETS[[0, 1]]
    assert "Covers." in repr(SETS)


def test_a_row_for_each_case(optional) -> None:
    optional("pandas")
    table = SETS.to_frame(ids=["x", "y"])
    assert table["set"].tolist() == ["a; c", ""]
    assert table["in_c"].tolist() == [True, False]
    assert table["id"].tolist() == ["x", "y"]
