"""Sources: the bars are the means, stacked."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw


def test_sources(optional) -> None:
    optional("matplotlib")
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4, 1, 50, 3)) + 0.2 * rng.normal(size=(4, 4, 50, 3))
    factors = {"prompt": np.repeat(list("abcd"), 4), "model": np.tile(list("wxyz"), 4)}
    s = lw.decompose(lw.Ensemble.from_logits(z.reshape(16, 50, 3), factors=factors)).sources(rng=0)
    ax = lw.plots.plot_sources(s)
    order = np.argsort(-s.means.sum(axis=0))
    for bars, mean in zip(ax.containers, s.means, strict=True):
        np.testing.assert_allclose([bar.get_height() for bar in bars], mean[order])
    np.testing.assert_allclose(
        [bar.get_y() for bar in ax.containers[2]], s.means[:2, order].sum(axis=0)
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "prompt *",
        "model",
        "interaction",
    ]
    with pytest.raises(TypeError, match=r"what u\.sources"):
        lw.plots.plot_sources(s.values)


def test_names_are_no_formulas(optional) -> None:
    optional("matplotlib")
    probs = np.random.default_rng(0).dirichlet(np.ones(2), (4, 9))
    factors = {"$a_$": ["x", "x", "y", "y"], "seed": ["1", "2", "1", "2"]}
    q = lw.Ensemble(probs, class_names=["$x_$", "no"], factors=factors)
    ax = lw.plots.plot_sources(lw.decompose(q).sources(rng=0))
    ax.figure.canvas.draw()  # x_ is no formula, and would be refused
    assert r"\$x_\$" in [tick.get_text() for tick in ax.get_xticklabels()]
