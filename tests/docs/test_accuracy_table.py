"""The tables of accuracy beside other packages are the stored numbers, and claim nothing else."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_accuracy", ROOT / "docs/make_accuracy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_show_the_stored_numbers(maker) -> None:
    tables = maker.tables()
    for name, kind in maker.PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert maker.page(text, tables[kind]) == text, "run: python docs/make_accuracy.py"


def test_what_the_pages_say_below_the_table_holds(maker) -> None:
    stored = json.loads(maker.RESULTS.read_text(encoding="utf-8"))
    assert stored["versions"]["digits"] == 60
    ours = [row for row in stored["rows"] if row["package"] == "labelwise"]
    assert len(ours) == 8  # two inputs, two precisions, two measures
    assert all(row["negative"] == 0 for row in ours)
    assert max(row["median error"] for row in ours if row["dtype"] == "float32") < 1e-6


def test_a_page_without_a_place_is_refused(maker) -> None:
    with pytest.raises(ValueError, match="no place"):
        maker.page("# A page", "table")


@pytest.mark.parametrize(
    ("share", "expected"), [(0, "0"), (1e-4, "< 0.1 %"), (0.02, "2.0 %"), (0.41, "41 %")]
)
def test_shares_in_words(maker, share, expected) -> None:
    assert maker.percent(share) == expected
