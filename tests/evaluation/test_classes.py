"""Summaries per class: definitions, robustness to prevalence, intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t as student

import labelwise as lw
from block_cases import check_same_bits, labeled_ensemble, peak_with_small_blocks
from labelwise.evaluation import by_class


@pytest.fixture
def rare():
    """Class "rare" is rare and badly known, "common" is common and well known; what is left goes to
    the others by frequency.
    """
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [700, 280, 20])
    spread = np.array([0.03, 0.04, 0.3])[truth]
    own = np.clip(rng.normal(1 - spread, spread, size=(8, 1000)), 0.001, 0.999)
    frequency = np.broadcast_to(np.array([0.7, 0.28, 0.02]), (1000, 3)) * (
        np.arange(3) != truth[:, None]
    )
    probs = (1 - own)[..., None] * frequency / frequency.sum(-1, keepdims=True)
    probs[:, np.arange(1000), truth] = own
    q = lw.Ensemble(probs, class_names=["common", "medium", "rare"])
    return q, lw.decompose(q), truth


def test_the_raw_mean_misleads_about_a_rare_class(rare):
    _, u, truth = rare
    assert by_class(u).ranking[0] != "rare"
    assert by_class(u, truth).ranking[0] == "rare"


def test_the_own_mean_does_not_move_with_prevalence(rare):
    """Each rare case ten times: its own mean stays as it is, the raw mean follows the number."""
    q, u, truth = rare
    again = np.concatenate([np.arange(1000), np.repeat(np.arange(980, 1000), 9)])
    more = lw.decompose(lw.Ensemble(q.probs[:, again], class_names=q.class_names))
    before, after = by_class(u, truth), by_class(more, truth[again])
    assert after.own.epistemic.value[2] == pytest.approx(before.own.epistemic.value[2], abs=1e-12)
    assert after.everywhere.epistemic.value[2] > 3 * before.everywhere.epistemic.value[2]


def test_definitions(rare):
    _, u, truth = rare
    summary = by_class(u, truth)
    for measure in ("total", "aleatoric", "epistemic"):
        x = getattr(u, measure)
        np.testing.assert_allclose(getattr(summary.everywhere, measure).value, x.mean(0))
        np.testing.assert_allclose(
            getattr(summary.own, measure).value, [x[truth == k, k].mean() for k in range(3)]
        )
    np.testing.assert_allclose(
        summary.everywhere.epistemic_share.value, u.epistemic.sum(0) / u.total.sum(0)
    )
    assert summary.counts.tolist() == [700, 280, 20]
    assert np.isnan(summary.everywhere.epistemic_share.low)
    assert str(summary).splitlines()[2].split()[0] == "rare"


def test_intervals_follow_the_definition(rare):
    """Student's t on the logit scale, with the residuals of a ratio of sums over the groups."""
    _, u, truth = rare
    patient = np.arange(1000) % 120
    summary = by_class(u, truth, groups=patient, intervals=True)
    members = patient == np.arange(120)[:, None]
    eu, tu, ones = u.epistemic, u.total, np.ones((1000, 3))
    own = truth[:, None] == np.arange(3)
    for found, top, bottom in (
        (summary.own.epistemic, eu * own, ones * own),
        (summary.everywhere.epistemic, eu, ones),
        (summary.everywhere.epistemic_share, eu, tu),
    ):
        size, total = members @ bottom, members @ top
        value = total.sum(0) / size.sum(0)
        n = size.sum(0) ** 2 / (size**2).sum(0)
        se = np.sqrt(((total - value * size) ** 2).sum(0) * n / (n - 1)) / size.sum(0)
        half = student.ppf(0.975, n - 1) * se / (value * (1 - value))
        np.testing.assert_allclose(found.value, value)
        np.testing.assert_allclose(found.low, expit(logit(value) - half))
        np.testing.assert_allclose(found.high, expit(logit(value) + half))
        assert "120 groups" in found.method


def test_intervals_are_those_of_the_bootstrap():
    """Standard errors, in a sample that is large enough for percentiles."""
    u, y = of_sizes(np.random.default_rng(11), 300, 300, 300)
    found = by_class(u, y, intervals=True).own.epistemic
    drawn = np.random.default_rng(0).integers(300, size=(2000, 300))
    for k in range(3):
        low, high = np.quantile(u.epistemic[y == k, k][drawn].mean(1), (0.025, 0.975))
        assert found.high[k] - found.low[k] == pytest.approx(high - low, rel=0.1)


def test_interval_of_the_mean_covers():
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(200):
        alpha = rng.gamma(2, size=(60, 2)) + 0.5
        u = lw.decompose(lw.Dirichlet(alpha), "squared")
        ratio = by_class(u, intervals=True).everywhere.epistemic
        held += ratio.low[0] <= EXPECTED <= ratio.high[0]
    assert 0.88 <= held / 200 <= 0.99


_many = np.random.default_rng(7).gamma(2, size=(400_000, 2)) + 0.5
EXPECTED = float(np.mean(_many.prod(1) / (_many.sum(1) ** 2 * (_many.sum(1) + 1))))


def of_sizes(rng, *sizes):
    """Three classes with so many cases; the members differ most about the third."""
    y = np.repeat([0, 1, 2], sizes)
    logits = (
        2 * np.eye(3)[y] + rng.normal(size=(5, len(y), 3)) * np.array([0.5, 0.5, 1.0])[y][:, None]
    )
    return lw.decompose(lw.Ensemble.from_logits(logits, class_names=["a", "b", "rare"])), y


def test_intervals_end_at_the_largest_possible_uncertainty():
    u, y = of_sizes(np.random.default_rng(0), 60, 40, 2)
    summary = by_class(u, y, intervals=True)
    for found in (summary.own.epistemic, summary.own.total):
        assert 0 < found.low[2] < found.value[2] < found.high[2] < 1
    free = lw.CostLoss(false_positive=[1, 1, 0], false_negative=[1, 2, 0])
    costs = by_class(
        lw.decompose(lw.Ensemble(np.random.default_rng(1).dirichlet([1, 1, 1], (4, 30))), free),
        intervals=True,
    )
    found = costs.everywhere.epistemic
    np.testing.assert_array_equal([found.low[2], found.high[2]], 0)


def test_a_class_of_one_group_has_no_interval():
    one_group = by_class(
        *of_sizes(np.random.default_rng(3), 60, 40, 8),
        groups=np.r_[np.arange(100), [100] * 8],
        intervals=True,
    )
    assert np.isnan(one_group.own.epistemic.high[2])
    absent = by_class(*of_sizes(np.random.default_rng(4), 60, 40, 0), intervals=True)
    assert absent.ranking[-1] == "rare"  # without a value


@pytest.mark.parametrize("n_rare", [1, 3])
def test_classes_at_the_boundary(n_rare):
    """One case of a class says nothing about the spread; members that agree are no certainty."""
    u, y = of_sizes(np.random.default_rng(3), 60, 40, n_rare)
    found = by_class(u, y, intervals=True).own.epistemic
    assert np.isnan(found.low[2]) == np.isnan(found.high[2]) == (n_rare == 1)
    assert np.all(found.low[:2] < found.value[:2])
    agree = lw.decompose(lw.Ensemble(np.full((2, 10, 2), 0.5)))
    found = by_class(agree, [0] * 7 + [1] * 3, intervals=True).own.epistemic
    assert found.low.tolist() == found.value.tolist() == [0, 0]
    np.testing.assert_allclose(found.high, 1 - 0.025 ** (1 / np.array([7, 3])))


@pytest.mark.parametrize("n_rare", [2, 4, 10, "groups", "few groups"])
def test_intervals_of_a_rare_class_cover(n_rare):
    """Of its own cases: few of them, or many in groups of unequal size that are alike inside."""
    rng = np.random.default_rng(8)

    def sample(sizes: np.ndarray) -> tuple[lw.typing.Uncertainty, np.ndarray]:
        away = np.repeat(rng.normal(0, 1, (len(sizes), 3)), sizes, axis=0)
        logits = 1 + away + rng.normal(0, 1, (4, sizes.sum(), 3))
        groups = np.repeat(np.arange(len(sizes)), sizes)
        return lw.decompose(lw.Ensemble.from_logits(logits)), groups

    def sizes() -> np.ndarray:
        if isinstance(n_rare, int):
            return np.ones(n_rare, int)
        return rng.integers(1, 8, 30 if n_rare == "groups" else 6)

    truth = sample(np.ones(100_000, int))[0].epistemic[:, 2].mean()
    held = []
    for _ in range(300):
        u, groups = sample(sizes())
        y = np.full(len(groups), 2)
        found = by_class(u, y, groups=groups, intervals=True)
        held.append(found.own.epistemic.low[2] <= truth <= found.own.epistemic.high[2])
    assert 0.9 <= np.mean(held) < 1  # the standard error is 1.3 %


def test_a_dominant_group_counts_little_more_than_one():
    """Nearly all cases of the class are of one of its groups: the interval is wider than that of as
    many equal groups.
    """
    u, y = of_sizes(np.random.default_rng(5), 60, 40, 40)
    equal = np.r_[np.arange(100), 100 + np.arange(40) % 4]
    unequal = np.r_[np.arange(100), 100 + np.minimum(np.arange(40), 3)]
    wide, narrow = (
        by_class(u, y, groups=g, intervals=True).own.epistemic for g in (unequal, equal)
    )
    assert wide.high[2] - wide.low[2] > 2 * (narrow.high[2] - narrow.low[2])


def test_multilabel_events_and_batches(rare):
    q, u, truth = rare
    happened = np.eye(3, dtype=bool)[truth]
    np.testing.assert_allclose(
        by_class(u, happened).own.epistemic.value, by_class(u, truth).own.epistemic.value
    )
    events = {"frequent": ["common", "medium"], "rare": ["rare"]}
    grouped = lw.decompose(q, events=events)
    summary = by_class(grouped, np.stack([truth < 2, truth == 2], axis=-1))
    np.testing.assert_allclose(
        summary.own.epistemic.value[1], by_class(u, truth).own.epistemic.value[2]
    )
    image = lw.decompose(lw.Ensemble(q.probs.reshape(8, 10, 100, 3), class_names=q.class_names))
    boxed = by_class(image, truth.reshape(10, 100))
    np.testing.assert_allclose(boxed.own.total.value, by_class(u, truth).own.total.value)


def test_all_libraries(lib):
    probs = np.random.default_rng(8).dirichlet([1, 1, 1], size=(4, 30))
    u = lw.decompose(lw.Ensemble(probs))
    parts = (lib.array(x) for x in (u.total, u.aleatoric, u.epistemic))
    summary = by_class(lw.typing.Uncertainty(*parts, class_names=u.class_names, loss=u.loss))
    np.testing.assert_allclose(
        summary.everywhere.epistemic.value, by_class(u).everywhere.epistemic.value
    )


def test_no_doubt_no_ratio():
    summary = by_class(lw.decompose(lw.Ensemble(np.array([[[1.0, 0.0]]]))))
    assert np.isnan(summary.everywhere.epistemic_share.value).all()
    assert summary.ranking == ("0", "1")


def test_friendly_errors(rare):
    q, u, truth = rare
    for args, options, words in [
        ((u.total,), {}, "lw.decompose"),
        ((u, truth[:3]), {}, "`y_true` must have one class"),
        ((u, q.mean()), {}, "must be one-hot"),
        ((u,), {"groups": truth}, "intervals=True"),
        ((lw.decompose(lw.Ensemble(np.zeros((2, 0, 3)))),), {}, "at least one instance"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            by_class(*args, **options)


@pytest.mark.parametrize(("intervals", "most"), [(False, 0.3), (True, 0.6)])
def test_means_by_class_make_no_table_in_double_precision(intervals, most, monkeypatch) -> None:
    q, y = labeled_ensemble()
    u = lw.decompose(q)

    def summarize() -> None:
        by_class(u, y, intervals=intervals)

    assert peak_with_small_blocks(summarize, monkeypatch) < most * q.probs.nbytes


def test_means_by_class_are_bit_identical_for_blocks_of_any_size(monkeypatch) -> None:
    q, y = labeled_ensemble(600, 6, "float64")
    u = lw.decompose(q)
    check_same_bits(lambda: by_class(u, y), monkeypatch)


def test_the_order_is_that_of_the_ranking() -> None:
    q, y = labeled_ensemble(200, 6)
    found = by_class(lw.decompose(q), y)
    assert tuple(found.class_names[k] for k in found.order) == found.ranking
    own = found.own.epistemic.value[found.order]
    assert np.all(np.diff(own) <= 0)
