"""docs/explanation/learned.md: one sentence a point, and at most one number, which is on the page
that it links to.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "explanation" / "learned.md"
POINTS = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)[^)]*\)")


@pytest.mark.parametrize("point", POINTS)
def test_a_point_has_one_number_and_its_evidence(point):
    (target,) = LINK.findall(point)
    words = LINK.sub("", point).removeprefix("- ")
    assert words.count(". ") == 0
    without_interval = re.sub(r"\[[^\]]*\]", "", words)
    numbers = re.findall(r"(?<![\w-])\d+(?:\.\d+)?(?: %)?", without_interval)
    assert len(numbers) <= 1
    evidence = (PAGE.parent / target).read_text(encoding="utf-8")
    assert all(number in evidence for number in numbers)


def test_it_fits_on_a_screen():
    assert 12 <= len(POINTS) <= 20
