"""The style of figures."""

from __future__ import annotations

from labelwise_lab.plotting import ALEATORIC, EPISTEMIC, TOTAL, line, pyplot, tidy


def test_parts_have_fixed_colors_and_curves_differ_in_print() -> None:
    colors = [line(i, name)["color"] for i, name in enumerate(("total", "aleatoric", "epistemic"))]
    assert colors == [TOTAL, ALEATORIC, EPISTEMIC]
    styles = [(x["color"], str(x["linestyle"])) for x in map(line, range(7))]
    assert len(set(styles)) == 7


def test_spines_are_removed() -> None:
    figure, ax = pyplot().subplots()
    tidy(ax)
    assert not ax.spines["top"].get_visible()
    pyplot().close(figure)
