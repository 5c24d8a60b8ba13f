"""Coverage and size on labeled cases, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.sets import fit_sets
from set_cases import cases, ensemble


def test_evaluation_tells_coverage_size_and_what_to_expect() -> None:
    p, y = cases(800)
    sets = fit_sets(ensemble(p[:400]), y[:400])
    evaluation = sets.evaluate(ensemble(p[400:]), y[400:])
    member = sets.predict(p[400:]).member
    row = evaluation["melanoma"]
    mine = y[400:] == 1
    assert row.n == mine.sum()
    assert row.coverage == pytest.approx(member[mine, 1].mean())
    assert row.size == pytest.approx(member[mine].sum(axis=1).mean())
    assert row.low < row.coverage < row.high
    assert row.expected is not None
    assert row.expected[0] < 0.9 < row.expected[1]
    assert evaluation.size_counts.sum() == 400
    assert "melanoma" in repr(evaluation)
    assert evaluation.to_frame().shape[0] == 5
    frame = sets.predict(ensemble(p[400:])).to_frame(y_true=y[400:])
    assert frame["covered"].mean() == pytest.approx(evaluation["all classes"].coverage)
    code = np.arange(400) // 8
    grouped = fit_sets(p[:400], y[:400], groups=code, per="marginal")
    shares = [grouped.predict(p[400:]).member[np.arange(400), y[400:]][code == g].mean() for g in range(50)]
    assert grouped.evaluate(p[400:], y[400:], groups=code)["all classes"].coverage == pytest.approx(np.mean(shares))
    whole = fit_sets(p[:400], y[:400], groups=code, per="marginal", cover="group", coverage=0.8)
    assert whole.evaluate(p[400:], y[400:], groups=code).unit == "group"
