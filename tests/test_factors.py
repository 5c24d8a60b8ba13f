"""Where disagreement comes from: sums, an oracle by loops, variance components, permutation tests
and refusals.
"""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import log2, prod

import numpy as np
import pytest

import labelwise as lw
from labelwise._format import percent

ENTROPY = {
    "log": lambda t: -sum(x * log2(x) for x in (t, 1 - t) if x > 0),
    "squared": lambda t: t * (1 - t),
}


def levels(*sizes: int) -> dict[str, list[str]]:
    """A complete crossing, the last factor fastest."""
    cells = list(product(*(range(n) for n in sizes)))
    return {f"f{i}": [f"level {cell[i]}" for cell in cells] for i in range(len(sizes))}


def crossed(
    rng: np.random.Generator,
    sizes: tuple[int, ...],
    effects: dict[tuple[int, ...], float],
    n: int = 30,
) -> np.ndarray:
    """Logits (M, n, 3) with normal effects of these sizes for some subsets of factors."""
    z = 2 * rng.normal(size=(n, 3)) + np.zeros((*sizes, n, 3))
    for subset, size in effects.items():
        z = z + size * rng.normal(
            size=(*(k if i in subset else 1 for i, k in enumerate(sizes)), n, 3)
        )
    return z.reshape(-1, n, 3)


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


@pytest.mark.parametrize(
    ("sizes", "replicates"), [((3,), 2), ((2, 2), 1), ((3, 4), 2), ((2, 3, 2), 1), ((2, 2, 3), 2)]
)
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


def test_variance_components_are_unbiased() -> None:
    """A linear model of two factors and replicates, in which they are known."""
    rng, (a, b, r), n = np.random.default_rng(3), (3, 4, 2), 40_000
    sd = {"f0": 0.02, "f1": 0.04, "interaction": 0.03, "replicates": 0.05}
    shapes = {"f0": (a, 1, 1), "f1": (1, b, 1), "interaction": (a, b, 1), "replicates": (a, b, r)}
    p = 0.5 + sum(
        sd[name] * np.clip(rng.normal(size=(*shape, n)), -3, 3) for name, shape in shapes.items()
    )
    p = np.clip(p, 0, 1).reshape(-1, n)
    factors = {name: np.repeat(x, r) for name, x in levels(a, b).items()}
    s = lw.decompose(
        lw.Ensemble(np.stack([p, 1 - p], axis=-1), factors=factors), "squared"
    ).sources(n_permutations=9, rng=0)
    np.testing.assert_allclose(np.sqrt(s.variance[:, 0]), list(sd.values()), rtol=0.02)


def test_variance_components_of_three_factors_solve_the_expected_mean_squares() -> None:
    rng, sizes, n = np.random.default_rng(4), (2, 3, 4), 20_000
    sd = {(0,): 0.04, (1,): 0.03, (2,): 0.02, (0, 1): 0.03, (0, 1, 2): 0.03}
    p = 0.5 + sum(
        x * rng.normal(size=(*(k if i in t else 1 for i, k in enumerate(sizes)), n))
        for t, x in sd.items()
    )
    p = np.clip(p, 0, 1).reshape(-1, n)
    s = lw.decompose(
        lw.Ensemble(np.stack([p, 1 - p], axis=-1), factors=levels(*sizes)), "squared"
    ).sources(n_permutations=9, rng=0)
    expected = [sd[(0,)] ** 2, sd[(1,)] ** 2, sd[(2,)] ** 2, sd[(0, 1)] ** 2 + sd[(0, 1, 2)] ** 2]
    np.testing.assert_allclose(s.variance[:, 0], expected, rtol=0.05, atol=2e-5)


def test_a_planted_effect_is_found_and_interaction_is_not_taken_for_one() -> None:
    rng = np.random.default_rng(5)
    q = lw.Ensemble.from_logits(
        crossed(rng, (4, 4), {(0,): 0.5, (0, 1): 0.3}), factors=levels(4, 4)
    )
    s = lw.decompose(q).sources(rng=0)
    assert s.found == ("f0",)
    assert s.p_values[0] == 0.001
    assert "More than chance (permutation test, 5 % level): f0." in repr(s)
    alarms = 0
    for i in range(40):
        q = lw.Ensemble.from_logits(crossed(rng, (4, 3), {(0, 1): 0.5}, n=8), factors=levels(4, 3))
        alarms += len(lw.decompose(q).sources(rng=i, n_permutations=99).found)
    assert alarms <= 11  # of 80; binomial with 0.05: P(more) < 0.002


def test_an_interaction_is_not_a_main_effect_when_a_third_factor_is_named() -> None:
    """Each would be reported in most draws if levels were permuted within each combination of the
    other factors.
    """
    rng = np.random.default_rng(11)
    for effects, n in (
        ({(0, 1): 0.4, (0, 1, 2): 0.4}, 8),
        ({(0, 1): 0.2, (0, 2): 0.2, (0, 1, 2): 0.4}, 60),
    ):
        alarms = label_alarms = 0
        for i in range(40):
            q = lw.Ensemble.from_logits(
                crossed(rng, (3, 4, 3), effects, n), member_axis=0, factors=levels(3, 4, 3)
            )
            s = lw.decompose(q).sources(rng=i, n_permutations=99)
            alarms += "f0" in s.found
            label_alarms += s.label_p_values[0].min() <= 0.05
        assert alarms <= 6  # of 40; binomial with 0.05: P(more) < 0.004
        assert label_alarms <= 6


def mean_squares(y: np.ndarray) -> dict[tuple[int, ...], tuple[float, int]]:
    """Mean square and degrees of freedom of each effect on values (*sizes, X), from differences of
    marginal means.
    """
    axes = range(y.ndim - 1)
    squares = {}
    for term in (t for k in axes for t in combinations(axes, k + 1)):
        effect = np.zeros_like(y)
        for part in (t for k in range(len(term) + 1) for t in combinations(term, k)):
            mean = y.mean(axis=tuple(j for j in axes if j not in part), keepdims=True)
            effect = effect + (-1) ** (len(term) - len(part)) * mean
        freedom = prod(y.shape[j] - 1 for j in term)
        squares[term] = float((effect**2).sum()) / freedom, freedom
    return squares


def statistic(y: np.ndarray) -> float:
    """Estimated variance of the first factor's main effect in standard errors."""
    squares = mean_squares(y)
    main, freedom = squares[(0,)]
    interactions = [
        (square, df, len(term))
        for term, (square, df) in squares.items()
        if 0 in term and len(term) > 1
    ]
    expected = sum((-1) ** size * square for square, _, size in interactions)
    variance = max(expected, 0) ** 2 / freedom + sum(
        square**2 / df for square, df, _ in interactions
    )
    return float((main - expected) / variance**0.5)


@pytest.mark.parametrize("sizes", [(3, 3), (2, 3, 2), (3, 2, 2), (2, 2, 2, 2)])
def test_p_values_are_those_of_all_permutations_of_whole_blocks(sizes) -> None:
    probs = np.random.default_rng(12).dirichlet([1, 1, 1], size=(*sizes, 4))
    q = lw.Ensemble(probs.reshape(-1, 4, 3), member_axis=0, factors=levels(*sizes))
    s = lw.decompose(q, "squared").sources()  # few enough to need no seed
    for factor in range(len(sizes)):
        largest = 0.0
        for other in set(range(len(sizes))) - {factor}:
            y = np.moveaxis(probs.reshape(*sizes, -1), (factor, other), (0, 1))
            orders = product(permutations(range(len(y))), repeat=y.shape[1])
            values = [
                statistic(np.stack([y[list(order), b] for b, order in enumerate(chosen)], axis=1))
                for chosen in orders
            ]
            largest = max(largest, np.mean(np.array(values) >= statistic(y) - 1e-7))
        assert s.p_values[factor] == pytest.approx(largest)
        assert s.smallest_p[factor] == max(
            1 / prod(range(1, sizes[factor] + 1)) ** (n - 1)
            for j, n in enumerate(sizes)
            if j != factor
        )


def unbalanced(
    rng: np.random.Generator, means: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Members whose mean in each cell is one of ``means`` (C, N, K), and their factors in a 3 × 4
    design.
    """
    members = []
    for mean, count in zip(means, counts, strict=True):
        noise = 0.02 * rng.normal(size=(count, *mean.shape))
        noise -= noise.mean(axis=0)
        members.append(mean + noise - noise.mean(axis=-1, keepdims=True))
    return np.concatenate(members), {name: np.repeat(x, counts) for name, x in levels(3, 4).items()}


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
    assert "The cells have 4 to 8 members; tests and estimates use the cells' means." in s.sentence
    assert "not equally noisy" not in s.sentence
    assert s.farthest[0][0] == "level 0"
    assert "Without 'level 0', the variance between levels of f0 would be" in s.sentence


def test_very_unequal_cells_are_said_to_be_tested_roughly() -> None:
    rng = np.random.default_rng(20)
    probs, factors = unbalanced(
        rng, 0.2 + 0.4 * rng.dirichlet([3, 3, 3], size=(12, 10)), np.repeat([1, 4, 16], 4)
    )
    s = lw.decompose(lw.Ensemble(probs, member_axis=0, factors=factors), "squared").sources(rng=0)
    assert "not equally noisy, so that p-values may be somewhat too small." in s.sentence


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
    assert s.sentence.endswith(
        "The sources are those of an ensemble in which each cell weighs the same."
    )
    assert "product" not in s.sentence  # the warning has said why
    same = lw.decompose(lw.Ensemble(probs, factors=factors, weights=[2, 2, 2, 1, 1]))
    np.testing.assert_allclose(s.values.sum(axis=0), same.epistemic, rtol=0, atol=1e-12)
    np.testing.assert_allclose(s.values, same.sources(rng=0).values, rtol=0, atol=1e-12)
    assert not same.sources(rng=0).reweighted


def test_members_without_weight_do_not_count() -> None:
    probs = np.random.default_rng(15).dirichlet([1, 1, 1], size=(10, 6))
    factors = {name: [*x, x[-1]] for name, x in levels(3, 3).items()}
    s = lw.decompose(lw.Ensemble(probs, factors=factors, weights=[1] * 9 + [0])).sources(rng=0)
    without = lw.decompose(lw.Ensemble(probs[:9], factors=levels(3, 3))).sources(rng=0)
    assert s.names == without.names
    np.testing.assert_allclose(s.values, without.values, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(s.p_values, without.p_values)


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
    low, high = s.intervals[0]
    assert 0 <= low < s.estimates[0] < high <= 1
    assert (
        f"prompt {percent(s.estimates[0], 0)} ({percent(low, 0)} to {percent(high, 0)})"
        in s.sentence
    )
    name, smaller = s.farthest[0]
    assert (name, s.farthest[1]) == ("polite", None)
    assert (
        "Without 'polite', the variance between levels of prompt would be "
        f"{percent(smaller, 0)} smaller (described, not tested)."
    ) in s.sentence
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
    np.testing.assert_array_equal(s.intervals[:, 0].round(6), 0)


def test_intervals_cover_the_share_of_the_variance() -> None:
    """Effects that are the same in all instances, so that a factor of four levels has three degrees
    of freedom.
    """
    rng, covered = np.random.default_rng(18), 0
    for _ in range(60):
        effects = (
            0.02 * rng.normal(size=(4, 1, 1))
            + 0.01 * rng.normal(size=(1, 4, 1))
            + 0.02 * rng.normal(size=(4, 4, 1))
        )
        p = np.broadcast_to(0.5 + effects, (4, 4, 5)).reshape(16, 5)
        q = lw.Ensemble(np.stack([p, 1 - p], axis=-1), member_axis=0, factors=levels(4, 4))
        low, high = lw.decompose(q, "squared").sources(n_permutations=1, rng=0).intervals[0]
        covered += low <= 4 / 9 <= high
    assert covered >= 51  # binomial with 0.95: P(fewer) < 0.002


def test_few_members_of_one_factor_are_enumerated() -> None:
    probs = np.random.default_rng(19).dirichlet([1, 1, 1], size=(4, 5))
    s = lw.decompose(lw.Ensemble(probs, factors={"a": [0, 1, 0, 1]}), "squared").sources()
    assert s.smallest_p.tolist() == [1 / 3]
    x = probs.reshape(4, -1)
    splits = [((0, 2), (1, 3)), ((0, 1), (2, 3)), ((0, 3), (1, 2))]
    between = [((x[list(a)].mean(axis=0) - x[list(b)].mean(axis=0)) ** 2).sum() for a, b in splits]
    assert s.p_values[0] == pytest.approx(np.mean(np.array(between) >= between[0]))


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


def test_two_by_two_is_too_small_to_find_anything() -> None:
    q = lw.Ensemble.from_logits(
        crossed(np.random.default_rng(7), (2, 2), {(0,): 2.0}), factors=levels(2, 2)
    )
    s = lw.decompose(q).sources(rng=0)
    assert s.smallest_p.tolist() == [0.5, 0.5]
    assert s.p_values.min() >= 0.4
    expected = (
        "Too few levels or permutations to show an effect of f0 (p cannot be below 0.5 here) or f1 "
        "(p cannot be below 0.5 here)."
    )
    assert s.sentence.startswith(expected)
    assert "chance" not in s.sentence


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
        ValueError, match="completely crossed: 2 cells of 6 have no member, such as a '0', b '2'"
    ):
        sources({"a": [0, 0, 1, 1], "b": [0, 1, 0, 2]})
    with pytest.raises(ValueError, match="only one level"):
        sources({"a": [0, 0, 0, 0]})
    with pytest.raises(ValueError, match="same member weights for all instances"):
        sources(levels(2, 2), weights=np.ones((4, 3)))
    with pytest.raises(
        ValueError,
        match="log or squared loss, where interactions cannot be negative; got ZeroOneLoss",
    ):
        sources(levels(2, 2), "zero_one")
    with pytest.raises(ValueError, match="`sources` needs named factors"):
        lw.decompose(lw.Ensemble(probs)).sources()
    with pytest.raises(ValueError, match="without `correction`"):
        lw.decompose(lw.Ensemble(probs, factors=levels(2, 2)), correction="jackknife").sources()


def test_other_array_libraries(optional) -> None:
    torch = optional("torch")
    probs = np.random.default_rng(10).dirichlet([1, 1, 1], size=(4, 5))
    ours = lw.decompose(lw.Ensemble(probs, factors=levels(2, 2))).sources(rng=0)
    theirs = lw.decompose(lw.Ensemble(torch.from_numpy(probs), factors=levels(2, 2))).sources(rng=0)
    np.testing.assert_array_equal(ours.values, theirs.values)
