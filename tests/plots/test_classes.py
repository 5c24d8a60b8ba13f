"""Classes: what is on the axes is what was given."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw


def test_classes(case) -> None:
    _, u, y = case
    by = lw.evaluation.by_class(u, y, intervals=True)
    ax = lw.plots.plot_by_class(by)
    order = [by.class_names.index(name) for name in by.ranking]
    np.testing.assert_allclose(
        [bar.get_height() for bar in ax.containers[0]], np.asarray(by.own.epistemic.value)[order]
    )


def test_classes_of_an_uncertainty_are_summarized_first(case) -> None:
    _, u, _ = case
    by = lw.evaluation.by_class(u)
    draw = lw.plots.plot_by_class
    ours, expected = draw(u), draw(by)
    assert [x.get_text() for x in ours.get_xticklabels()] == [
        x.get_text() for x in expected.get_xticklabels()
    ]
    assert [bar.get_height() for bar in ours.patches] == [
        bar.get_height() for bar in expected.patches
    ]
    with pytest.raises(TypeError, match="`by` must be"):
        draw(u.total)
