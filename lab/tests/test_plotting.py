"""Panels and error bars of the lab's figures."""

from __future__ import annotations

from labelwise_lab.plotting import line, panels, pyplot, reach


def test_panels_side_by_side() -> None:
    figure, axes = panels(3, width=2, height=1.5, grid="x", sharey=True)
    assert len(axes) == 3
    assert figure.get_size_inches().tolist() == [6, 1.5]
    assert not any(ax.spines["top"].get_visible() for ax in axes)
    pyplot().close(figure)


def test_an_interval_reaches_below_and_above_its_value() -> None:
    assert reach(2.0, 1.5, 3.0) == [[0.5], [1.0]]
    assert reach(2.0, None, None) is None


def test_parts_have_their_own_colors() -> None:
    assert line(0, "epistemic")["color"] != line(0, "aleatoric")["color"]
    assert line(0)["linestyle"] != line(1)["linestyle"]
