"""axioms: a table of verdicts, and the counterexamples."""

from __future__ import annotations

import labelwise as lw
from command_line import run


def test_axioms() -> None:
    result = run("axioms", "--loss", "squared")
    assert result.exit_code == 0, result.output
    table = lw.axioms.check("squared", rng=0)
    assert result.output.startswith(str(table))
    assert f"A2 EU: {table['A2', 'EU'].counterexample}" in result.output
