"""Factors and weights that fit no crossed design."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from source_cases import levels


def test_cells_weigh_the_same_where_their_weights_are_no_products() -> None:
    rng = np.random.default_rng(14)
    probs = rng.dirichlet([1, 1, 1], size=(5, 6))
    factors = {name: [*x, x[-1]] for name, x in levels(2, 2).items()}
    with pytest.warns(
        UserWarning,
        match="not the product of its levels' weights, so each cell weighs the same here",
    ):
        s = lw.decompose(lw.Ensemble(probs, factors=factors)).sources(rng=0)
    assert s.reweighted
    assert s.sentence.endswith("Each cell weighs the same here.")
    same = lw.decompose(lw.Ensemble(probs, factors=factors, weights=[2, 2, 2, 1, 1]))
    np.testing.assert_allclose(s.values.sum(axis=0), same.epistemic, rtol=0, atol=1e-12)
    np.testing.assert_allclose(s.values, same.sources(rng=0).values, rtol=0, atol=1e-12)
    assert not same.sources(rng=0).reweighted


def test_refusals() -> None:
    probs = np.random.default_rng(9).dirichlet([1, 1], size=(4, 3))
    with pytest.raises(
        ValueError, match="'a' must give one level for each of the 4 members; got 2"
    ):
        lw.Ensemble(probs, factors={"a": [1, 2]})
    with pytest.raises(TypeError, match="`factors` must map"):
        lw.Ensemble(probs, factors=["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="name other than 'interaction'"):
        lw.Ensemble(probs, factors={"interaction": [1, 2, 3, 4]})

    def sources(factors, loss="log", **options):
        return lw.decompose(lw.Ensemble(probs, factors=factors, **options), loss).sources(rng=0)

    with pytest.raises(
        ValueError, match="completely crossed: no member is in 2 of 6 cells, such as 0 / 2"
    ):
        sources({"a": [0, 0, 1, 1], "b": [0, 1, 0, 2]})
    three = (
        r"`sources` compares one or two factors; got 3 \(a, b, c\). Leave out the others: members "
        "that differ only in these are then replicates$"
    )
    with pytest.raises(ValueError, match=three):
        sources({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": [0, 1, 1, 0]})
    with pytest.raises(ValueError, match="only one level"):
        sources({"a": [0, 0, 0, 0]})
    with pytest.raises(ValueError, match="same member weights for all instances"):
        sources(levels(2, 2), weights=1 + np.arange(12).reshape(4, 3))
    with pytest.raises(
        ValueError,
        match="log or squared loss, where interactions cannot be negative; got ZeroOneLoss",
    ):
        sources(levels(2, 2), "zero_one")
    with pytest.raises(ValueError, match="`sources` needs named factors"):
        lw.decompose(lw.Ensemble(probs)).sources()
    with pytest.raises(ValueError, match="without `correction`"):
        lw.decompose(lw.Ensemble(probs, factors=levels(2, 2)), correction="jackknife").sources()
