"""One set of colors for the plots and the report page."""

from __future__ import annotations


def test_the_page_of_the_report_has_the_same_colors() -> None:
    from labelwise.plots import _style
    from labelwise.report.page import asset

    style = asset("style.css").lower()
    colors = {"au": _style.ALEATORIC, "eu": _style.EPISTEMIC}
    for name, color in colors.items():
        assert f"--{name}: {color.lower()};" in style
