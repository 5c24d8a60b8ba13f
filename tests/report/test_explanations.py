"""What the page and the demonstration say about the numbers, in whole sentences."""

from __future__ import annotations

import numpy as np

import labelwise as lw
from banned_claims import banned_claims
from labelwise.report import build_report
from labelwise.report.explanations import PARTS_EXPLAINED
from report_pages import ensemble


def findings(page) -> list[str]:
    return [text.replace("\u00a0", " ") for text in page.locator("#findings li").all_inner_texts()]


def test_the_parts_are_explained_without_a_promise(open_page) -> None:
    assert PARTS_EXPLAINED == (
        "Epistemic: between the members, what they disagree about. Aleatoric: within the members, "
        "how unsure each is by itself, on average. "
        "Neither says what more data would do: members can agree because they are alike and "
        "disagree because they are random."
    )
    q, y = ensemble(n=60, k=3)
    assert (
        open_page(build_report(q, y_true=y)).locator("#parts-explained").inner_text()
        == PARTS_EXPLAINED
    )
    alone = lw.Ensemble(q.probs[:1])
    assert open_page(build_report(alone, y_true=y)).locator("#parts-explained").inner_text() == ""


def test_the_page_claims_nothing_that_was_not_shown(clothes, open_page) -> None:
    """Also after a change of every choice that changes its words."""
    page = open_page(clothes[2])
    for task in ("multiclass", "per_label"):
        page.select_option("#task", task)
        assert banned_claims(page.locator("body").inner_text()) == []
    page.fill("#ask", "")
    assert banned_claims(page.locator("body").inner_text()) == []


def test_findings_are_what_the_numbers_are(open_page) -> None:
    """Two members that disagree about a and b, and are unsure about c by themselves; d has 9
    cases.
    """
    p = np.zeros((2, 99, 4))
    p[0, :30], p[1, :30] = [0.9, 0.1, 0, 0], [0.1, 0.9, 0, 0]
    p[:, 30:90] = [0, 0.1, 0.6, 0.3]
    p[:, 90:] = [0, 0, 0, 1]
    y = np.r_[np.arange(30) % 2, np.full(60, 2), np.full(9, 3)]
    found = findings(
        open_page(build_report(lw.Ensemble(p, class_names=["a", "b", "c", "d"]), y_true=y))
    )
    assert found[:3] == [
        "Most uncertain: a, b and c.",
        "The members disagree most about a and b.",
        "There are too few cases (fewer than 10) to judge d.",
    ]


def test_the_page_says_how_far_confidence_is_off(open_page) -> None:
    """86.8 % right where 79.3 % were expected: under-confident, although nothing exceeds a
    tolerance of five points.
    """
    n = 2000
    right = np.arange(n) < 1736
    p = np.tile([0.793, 0.207], (1, n, 1))
    report = build_report(lw.Ensemble(p), y_true=(~right).astype(int))
    assert (
        "Under-confident by 7.5 percentage points (95 % interval 5.9 to 9.0): 86.8 % right, "
        "79.3 % expected, of 2,000 cases."
    ) in report.data["calibration"]["sentence"]
    assert findings(open_page(report))[-1].startswith(
        "Under-confident by 7.5 percentage points (95 % interval 5.9 to 9.0): 86.8 % right, 79.3 % "
        "expected, of 2,000 cases."
    )


def test_groups_count_in_what_is_said_of_calibration() -> None:
    """Ten patients, whose twenty cases are all right or all wrong."""
    groups = np.repeat(np.arange(10), 20)
    right = groups < 5
    probs = np.tile([0.75, 0.25], (1, 200, 1))
    alone, grouped = (
        build_report(lw.io.Predictions(probs=probs, y_true=(~right).astype(int), groups=x)).data[
            "calibration"
        ]
        for x in (None, groups)
    )
    assert alone["sentence"].startswith(
        "Over-confident by 25.0 percentage points (95 % interval 18.0 to 32.0): 50.0 % right, 75.0 "
        "% expected, of 200 cases."
    )
    assert grouped["sentence"].startswith(
        "50.0 % right, 75.0 % expected, of 200 cases: chance can explain the difference (95 % "
        "interval: "
    )
    assert not grouped["bad"]
