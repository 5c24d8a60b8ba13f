"""axioms: the verdicts for programs."""

from __future__ import annotations

import json

from command_line import run


def test_axioms() -> None:
    result = run("axioms", "--loss", "squared", "--json")
    assert result.exit_code == 0, result.output
    verdicts = {(r["axiom"], r["measure"]): r["verdict"] for r in json.loads(result.output)}
    assert verdicts["A5", "EU"] == "holds"
    assert verdicts["A2", "EU"] == "fails"
