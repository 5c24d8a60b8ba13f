"""What is printed about sources, and their frame."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise._format import percent
from source_cases import crossed, levels


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
    assert "Too few levels or permutations to show an effect of: prompt, model." in s.sentence
    assert percent(s.estimates[0], 0) in repr(s)
    assert "smallest p" in repr(s)
    assert "0.17" in repr(s)


def test_what_is_not_shown_is_not_ruled_out() -> None:
    rng = np.random.default_rng(17)
    s = lw.decompose(
        lw.Ensemble.from_logits(crossed(rng, (3, 4), {(0, 1): 0.3}), factors=levels(3, 4))
    ).sources(rng=0)
    assert not s.found
    assert "More than chance (permutation test, 5 % level): no factor." in s.sentence
    assert "This does not rule out effects of the others." in s.sentence
    assert "0.0046" in repr(s)


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
