"""One set of colors for the plots and the report page."""

from __future__ import annotations


def test_the_page_of_the_report_has_the_same_colors() -> None:
    from labelwise.plots import _style
    from labelwise.report.page import asset

    style = asset("style.css").lower()
    for name, color in (
        ("au", _style.ALEATORIC),
        ("eu", _style.EPISTEMIC),
        ("act", _style.ACT),
        ("ask", _style.ASK),
    ):
        assert f"--{name}: {color.lower()};" in style
    for name, color in (("abstain", _style.ABSTAIN), ("predict", _style.PREDICT)):
        assert f"--{name}: {color.lower()};" in style
