"""The results on the pages of votes and of critics are those of the stored runs."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

STUDIES = Path(__file__).parents[2] / "studies"
sys.path.insert(0, str(STUDIES))

votes_page, votes_simulation = (
    importlib.import_module(name) for name in ("votes_page", "votes_simulation")
)


def stored():
    return json.loads((STUDIES / "votes.json").read_text())


def test_the_pages_show_the_stored_results():
    for (file, name), text in votes_page.sections(stored()).items():
        page = (votes_page.DOCS / file).read_text(encoding="utf-8")
        assert votes_page.with_section(page, name, text) == page, (
            "run: python lab/studies/votes.py --pages"
        )


def test_the_simulation_page_shows_the_stored_results():
    simulation = json.loads((STUDIES / "votes_simulation.json").read_text())
    assert (STUDIES / "votes_simulation.md").read_text() == votes_simulation.page(simulation)


def test_the_verdict_follows_the_numbers():
    results = stored()
    for shift, words in ((-1e-3, "**better** than"), (1e-3, "no better than")):
        for name in ("cifar10h", "chaosnli"):
            for claim in votes_page.REPAIRED:
                results["benchmark"][name]["scores"][claim]["difference"] = [
                    shift,
                    shift - 1e-5,
                    shift + 1e-5,
                ]
        assert words in votes_page.verdict(results)


def test_the_simulations_stored_show_what_is_claimed():
    simulation = json.loads((STUDIES / "votes_simulation.json").read_text())
    assert [row["votes"] for row in simulation["unbiased"]] == [2, 3, 5, 50]
    assert max(row["largest z of 12"] for row in simulation["unbiased"]) < 3.5
    assert max(row["largest TU − AU − EU"] for row in simulation["unbiased"]) < 1e-12
    covered = [
        value
        for row in simulation["coverage"]
        for key, value in row.items()
        if key not in ("cases", "votes", "cases per group")
    ]
    assert min(covered) > 0.88
    level = [row["rejected"] for row in simulation["rejections"] if row["logits ×"] == 1.0]
    assert max(level) < 0.1
