"""What is printed about sources, and their frame."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise._format import percent
from source_cases import crossed, levels, unbalanced


def test_very_unequal_cells_are_said_to_be_tested_roughly() -> None:
    rng = np.random.default_rng(20)
    probs, factors = unbalanced(
        rng, 0.2 + 0.4 * rng.dirichlet([3, 3, 3], size=(12, 10)), np.repeat([1, 4, 16], 4)
    )
    s = lw.decompose(lw.Ensemble(probs, member_axis=0, factors=factors), "squared").sources(rng=0)
    assert "not equally noisy, so that p-values may be somewhat too small." in s.sentence


def test_a_large_share_that_is_not_significant_is_not_called_absent() -> None:
    """Three prompts, of which one is off, for two models: no p-value can fall below 1/6."""
    rng = np.random.default_rng(16)
    z = (
        2 * rng.normal(size=(40, 3))
        + 0.1 * rng.normal(size=(3, 2, 40, 3))
        + np.array([0, 0, 1])[:, None, None, None] * rng.normal(size=(40, 3))
    )
    factors = {
        "prompt": np.repeat(["short", "long", "polite"], 2),
        "model": np.tile(["m1", "m2"], 3),
    }
    s = lw.decompose(lw.Ensemble.from_logits(z.reshape(6, 40, 3), factors=factors)).sources(rng=0)
    assert s.means.sum(axis=1)[0] / s.means.sum() > 0.85
    assert not s.found
    assert s.smallest_p[0] == pytest.approx(1 / 6)
    assert "an effect of prompt (p cannot be below 0.17 here)" in s.sentence
    assert percent(s.estimates[0], 0) in repr(s)
    assert "smallest p" in repr(s)
    assert "0.17" in repr(s)


def test_what_is_not_shown_is_not_ruled_out() -> None:
    rng = np.random.default_rng(17)
    s = lw.decompose(
        lw.Ensemble.from_logits(crossed(rng, (3, 4), {(0, 1): 0.3}), factors=levels(3, 4))
    ).sources(rng=0)
    assert not s.found
    assert "Not shown at the 5 % level, which does not rule out an effect: f0 (p = " in s.sentence
    assert "the smallest possible is 0.0046), f1" in s.sentence


def test_frame(optional) -> None:
    optional("pandas")
    q = lw.Ensemble.from_logits(
        crossed(np.random.default_rng(8), (3, 3), {(0,): 1.0}), factors=levels(3, 3)
    )
    s = lw.decompose(q).sources(rng=0)
    frame = s.to_frame()
    assert list(frame.columns) == ["source", "label", "epistemic", "share", "variance", "p_value"]
    assert frame.groupby("label")["share"].sum().round(12).eq(1).all()
    assert frame["p_value"].isna().sum() == 3
    with pytest.raises(KeyError, match="no source 'f9'; there are f0, f1, interaction"):
        s["f9"]
