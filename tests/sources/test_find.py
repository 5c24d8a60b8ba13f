"""The sources add up: an oracle by loops, replicates, unequal cells, other array libraries."""

from __future__ import annotations

from itertools import product
from math import log2

import numpy as np
import pytest

import labelwise as lw
from source_cases import crossed, levels, unbalanced

ENTROPY = {
    "log": lambda t: -sum(x * log2(x) for x in (t, 1 - t) if x > 0),
    "squared": lambda t: t * (1 - t),
}


@pytest.mark.parametrize("loss", ["log", "squared"])
@pytest.mark.parametrize("weighted", [False, True])
def test_main_effects_are_those_of_the_definition(loss, weighted) -> None:
    rng, sizes = np.random.default_rng(0), (2, 3)
    a, b = ([0.2, 0.8], [0.5, 0.1, 0.4]) if weighted else ([0.5] * 2, [1 / 3] * 3)
    w = np.multiply.outer(a, b).ravel()
    probs = rng.dirichlet([1, 1, 1], size=(6, 4))
    u = lw.decompose(lw.Ensemble(probs, weights=w, factors=levels(*sizes)), loss)
    s = u.sources(rng=0)
    assert s.names == ("f0", "f1", "interaction")
    grid, g = probs.reshape(2, 3, 4, 3), ENTROPY[loss]
    for i, k in product(range(4), range(3)):
        x = grid[:, :, i, k]
        mean = sum(a[p] * b[q] * x[p, q] for p in range(2) for q in range(3))
        first = g(mean) - sum(a[p] * g(sum(b[q] * x[p, q] for q in range(3))) for p in range(2))
        second = g(mean) - sum(b[q] * g(sum(a[p] * x[p, q] for p in range(2))) for q in range(3))
        assert s["f0"][i, k] == pytest.approx(first, abs=1e-13)
        assert s["f1"][i, k] == pytest.approx(second, abs=1e-13)
    np.testing.assert_allclose(s.values.sum(axis=0), u.epistemic, rtol=0, atol=1e-12)
    assert s.values.min() >= 0
    assert s.p_values.min() > 0


@pytest.mark.parametrize(("sizes", "replicates"), [((3,), 2), ((2, 2), 1), ((3, 4), 2)])
@pytest.mark.parametrize("loss", ["log", "squared"])
def test_sources_add_up_and_are_not_negative(sizes, replicates, loss) -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([0.3] * 4, size=(np.prod(sizes) * replicates, 50))
    probs[:, :5] = probs[:1, :5]  # all agree
    probs[:, 5] = np.eye(4)[rng.integers(0, 4, len(probs))]  # certain, and different
    factors = {name: np.repeat(x, replicates) for name, x in levels(*sizes).items()}
    order = rng.permutation(len(probs))
    u = lw.decompose(
        lw.Ensemble(probs[order], factors={name: x[order] for name, x in factors.items()}), loss
    )
    s = u.sources(rng=0, n_permutations=19)
    assert s.names == (
        *factors,
        *(["interaction"] if len(sizes) > 1 else []),
        *(["replicates"] if replicates > 1 else []),
    )
    np.testing.assert_allclose(s.values.sum(axis=0), u.epistemic, rtol=0, atol=1e-12)
    assert s.values.min() >= 0
    assert not s.values[:, :5].any()
    again = lw.decompose(lw.Ensemble(probs, factors=factors), loss).sources(
        rng=0, n_permutations=19
    )
    np.testing.assert_allclose(s.values, again.values, rtol=0, atol=1e-13)
    np.testing.assert_allclose(s.variance, again.variance, rtol=0, atol=1e-13)


def test_events_instances_units_and_labels_that_occur_together() -> None:
    rng = np.random.default_rng(2)
    q = lw.Ensemble(rng.dirichlet([1] * 4, size=(6, 5, 2)), factors=levels(2, 3))
    u = lw.decompose(q, "squared", events=lw.events.ordinal(4))
    s = u.sources(rng=0)
    assert s.values.shape == (3, 5, 2, 3)
    np.testing.assert_allclose(s.values.sum(axis=0), u.epistemic, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(u[1:3].sources(rng=0).values, s.values[:, 1:3])
    np.testing.assert_allclose(u.normalized().sources(rng=0).values, s.values * 4, rtol=1e-14)
    several = lw.MultiLabelEnsemble(rng.random((6, 5, 3)), factors=levels(2, 3))
    u = lw.decompose(several)
    np.testing.assert_allclose(u.sources(rng=0).values.sum(axis=0), u.epistemic, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "counts", [np.repeat([4, 6, 8], 4), np.resize([4, 6, 8, 6, 5], 12)], ids=["by level", "by cell"]
)
@pytest.mark.filterwarnings("ignore:The weight of a cell is not the product")
def test_unbalanced_designs_are_tested_by_their_cells_means(counts) -> None:
    rng = np.random.default_rng(13)
    means = 0.2 + 0.4 * rng.dirichlet([3, 3, 3], size=(12, 10))
    means[:4] = 0.5 * means[:4] + 0.1 + 0.2 * np.eye(3)[0]
    probs, factors = unbalanced(rng, means, counts)
    s = lw.decompose(lw.Ensemble(probs, member_axis=0, factors=factors), "squared").sources(rng=0)
    cells = lw.decompose(
        lw.Ensemble(means, member_axis=0, factors=levels(3, 4)), "squared"
    ).sources(rng=0)
    np.testing.assert_array_equal(s.p_values, cells.p_values)
    np.testing.assert_array_equal(s.label_p_values, cells.label_p_values)
    np.testing.assert_allclose(s.variance[:2], cells.variance[:2])
    assert s.found == ("f0",)
    assert "The cells have 4 to 8 members; tests and estimates use the cells' means" in s.sentence


def test_members_without_weight_do_not_count() -> None:
    probs = np.random.default_rng(15).dirichlet([1, 1, 1], size=(10, 6))
    factors = {name: [*x, x[-1]] for name, x in levels(3, 3).items()}
    s = lw.decompose(lw.Ensemble(probs, factors=factors, weights=[1] * 9 + [0])).sources(rng=0)
    without = lw.decompose(lw.Ensemble(probs[:9], factors=levels(3, 3))).sources(rng=0)
    assert s.names == without.names
    np.testing.assert_allclose(s.values, without.values, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(s.p_values, without.p_values)


def test_one_factor_needs_replicates() -> None:
    rng = np.random.default_rng(6)
    z = crossed(rng, (4, 3), {(0,): 0.6, (0, 1): 0.3})
    s = lw.decompose(lw.Ensemble.from_logits(z, factors={"model": levels(4, 3)["f0"]})).sources(
        rng=0
    )
    assert s.names == ("model", "replicates")
    assert s.found == ("model",)
    alone = lw.decompose(lw.Ensemble.from_logits(z[:4], factors={"model": list("abcd")})).sources(
        rng=0
    )
    assert alone.names == ("model",)
    assert np.isnan(alone.p_values).all()
    assert np.isnan(alone.variance).all()
    assert "cannot be distinguished from noise" in alone.sentence


def test_other_array_libraries(optional) -> None:
    torch = optional("torch")
    probs = np.random.default_rng(10).dirichlet([1, 1, 1], size=(4, 5))
    ours = lw.decompose(lw.Ensemble(probs, factors=levels(2, 2))).sources(rng=0)
    theirs = lw.decompose(lw.Ensemble(torch.from_numpy(probs), factors=levels(2, 2))).sources(rng=0)
    np.testing.assert_array_equal(ours.values, theirs.values)


def test_levels_add_up_to_the_main_effect_of_their_factor() -> None:
    rng = np.random.default_rng(3)
    q = lw.Ensemble.from_logits(
        crossed(rng, (4, 3), {(0,): 0.5, (1,): 0.3, (0, 1): 0.2}), factors=levels(4, 3)
    )
    s = lw.decompose(q, "squared").sources(rng=0)
    cells = q.probs.reshape(4, 3, *q.probs.shape[1:])
    mean = q.mean()
    for factor, axis in (("f0", 1), ("f1", 0)):
        by_level = cells.mean(axis=axis)  # every cell weighs the same
        expected = ((by_level - mean) ** 2).mean(axis=1) / len(by_level)
        np.testing.assert_allclose(s.level_values[factor], expected, rtol=1e-12)
        main = s.means[s.names.index(factor)]
        np.testing.assert_allclose(s.level_values[factor].sum(axis=0), main, rtol=1e-12)
    u = lw.decompose(q).normalized().sources(rng=0)
    np.testing.assert_allclose(u.level_values["f0"].sum(axis=0), u.means[0], rtol=1e-12)


def test_the_level_that_is_off_is_named() -> None:
    rng = np.random.default_rng(4)
    z = 2 * rng.normal(size=(60, 3)) + 0.05 * rng.normal(size=(4, 3, 60, 3))
    z[2] += rng.normal(size=(60, 3))
    factors = {"prompt": np.repeat(list("abcd"), 3), "model": np.tile(["x", "y", "z"], 4)}
    q = lw.Ensemble.from_logits(z.reshape(12, 60, 3), factors=factors)
    s = lw.decompose(q).sources(rng=0)
    shares = s.level_shares("prompt")
    assert next(iter(shares)) == "c"
    assert shares["c"] == pytest.approx(3 / 4, abs=0.05)
    assert "Of prompt, 'c' differs most from the others (7" in s.sentence
    with pytest.raises(KeyError, match="no factor 'seed'; there are prompt, model"):
        s.level_shares("seed")


def test_weights_of_each_instance_that_are_all_the_same() -> None:
    rng = np.random.default_rng(5)
    z = crossed(rng, (3, 2), {(0,): 0.5})
    by_member = np.repeat([0.2, 0.3, 0.5], 2)
    by_instance = np.repeat(by_member[:, None], z.shape[1], axis=1)
    found = []
    for weights in (by_member, by_instance):
        q = lw.Ensemble.from_logits(z, weights=weights, factors=levels(3, 2))
        found.append(lw.decompose(q).sources(rng=0).means)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_crossed_factors_are_tested_once_each(monkeypatch) -> None:
    """Orders of all members, of which there are many, are for a single factor."""
    q = lw.Ensemble.from_logits(
        crossed(np.random.default_rng(0), (3, 3), {(0,): 0.5}), factors=levels(3, 3)
    )
    monkeypatch.setattr("labelwise.sources.find.permute_members", None)
    assert len(lw.decompose(q).sources(rng=0).p_values) == 2
