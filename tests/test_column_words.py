"""Names of columns that are no classes."""

from __future__ import annotations

import pytest

from labelwise._column_words import may_be_no_class


@pytest.mark.parametrize(
    ("name", "whole", "expected"),
    [
        ("id", False, True),
        (" ID ", True, True),
        ("index", True, True),
        ("image_id", True, True),
        ("confidence", False, True),
        ("fold", True, True),
        ("target", True, True),
        ("target", False, False),
        ("cat", True, False),
        ("file cabinet", True, False),
    ],
)
def test_columns_that_may_be_no_class(name: str, whole: bool, expected: bool) -> None:
    assert may_be_no_class(name, whole=whole) is expected
