"""Summaries that are short and harmless as text and HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise._tables import LONGEST, Summary, Tabular, counted, first_names, json_ready


def test_summaries_are_aligned_and_harmless() -> None:
    summary = Summary(
        "3 labels\x1b", ["label", "total"], [["<b>", 0.123456], ["x" * 99, 12.0]], note="a & b"
    )
    title, header, first, long, note = summary.text().splitlines()
    assert title == "3 labels\N{REPLACEMENT CHARACTER}"
    assert header.split() == ["label", "total"]
    assert first.split() == ["<b>", "0.1235"]
    assert len({len(header), len(first)}) == 1
    assert long.split()[0] == "x" * (LONGEST - 1) + "…"
    assert note == "  a & b"
    html = summary.html()
    assert "<td>&lt;b&gt;</td>" in html
    assert "<p>a &amp; b</p>" in html
    assert Summary("empty").text() == "empty"


def test_words() -> None:
    assert [counted(n, "class", "classes") for n in (0, 1, 2000)] == [
        "0 classes",
        "1 class",
        "2,000 classes",
    ]
    assert first_names(["a", "b"]) == "a, b"
    assert first_names(list("abcdef"), 2) == "a, b, …"


def test_rows_as_plain_data() -> None:
    @dataclass(frozen=True, eq=False, repr=False)
    class Counts(Tabular):
        names: tuple[str, ...]
        n: np.ndarray

        def _title(self) -> str:
            return "Counts"

        def _columns(self) -> dict[str, Any]:
            return {"name": self.names, "n": self.n}

    counts = Counts(("cat", "dog"), np.array([3, 4]))
    assert counts.to_records() == [{"name": "cat", "n": 3}, {"name": "dog", "n": 4}]
    assert json_ready({"counts": counts}) == {"counts": {"names": ["cat", "dog"], "n": [3, 4]}}
