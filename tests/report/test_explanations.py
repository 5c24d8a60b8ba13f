"""The sentence about each class follows from its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.report import build_report
from labelwise.report.explanations import HELP, SENTENCES, SHORT, verdict
from report_pages import ensemble


@pytest.mark.parametrize(
    ("total", "share", "members", "cases", "word"),
    [
        (0.5, 0.8, 5, 10, "epistemic"),
        (0.5, 0.4, 5, 10, "mixed"),
        (0.5, 0.2, 5, 10, "aleatoric"),
        (0.01, 1.0, 5, 10, "none"),
        (0.5, 0.0, 1, 10, "unknown"),
        (0.5, 0.8, 5, 9, "few"),
        (0.01, 0.8, 5, 1, "few"),
        (np.nan, np.nan, 5, 0, "absent"),
        (0.5, 0.8, None, 10, "epistemic"),
    ],
)
def test_verdicts(total, share, members, cases, word) -> None:
    assert verdict(total, share, 1.0, members, cases) == word
    assert set(SENTENCES) == set(SHORT) == set(HELP)


def test_a_class_of_few_cases_is_not_judged() -> None:
    q, _ = ensemble(n=100, k=3)
    y = np.array([0] * 9 + [1] * 91)
    verdicts = build_report(q, y_true=y).data["losses"][0]["verdicts"]["own"]
    assert [verdicts[0], verdicts[2]] == ["few", "absent"]
    assert verdicts[1] not in ("few", "absent")
