"""All measures on the same cases: the numbers against the functions for one measure, and
simulations of what the intervals promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import multivariate_t, norm, spearmanr

import labelwise as lw
from labelwise.evaluation import comparison
from labelwise.evaluation.comparison import Criterion, compare

Simulated = tuple[comparison.Statistic, dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def fashion() -> lw.demo.fashion.FashionEnsemble:
    return lw.demo.load_fashion_ensemble()


@pytest.fixture(scope="module")
def table(fashion: lw.demo.fashion.FashionEnsemble) -> lw.typing.MeasureComparison:
    return lw.evaluation.compare_measures(fashion.ensemble, fashion.y_true, ood=fashion.ood)


def test_the_numbers_are_those_of_single_measures(table, fashion) -> None:
    scores = lw.evaluation.ranking_scores(fashion.ensemble, "log")
    outside = lw.evaluation.ranking_scores(fashion.ood["kmnist"], "log")
    correct = fashion.ensemble.mean().argmax(-1) == fashion.y_true
    for part in ("total", "aleatoric", "epistemic"):
        row = table.measures.index(f"{part}, log")
        score = getattr(scores, part)
        curve = lw.evaluation.rejection_curve(score, correct=correct)
        assert table.criteria["rejection"].value.value[row] == pytest.approx(curve.area)
        found = lw.evaluation.detection_scores(score, getattr(outside, part)).auroc
        assert table.criteria["kmnist"].value.value[row] == pytest.approx(float(found))


def test_errors_are_those_of_delong(table, fashion) -> None:
    """The jackknife over blocks and DeLong's method agree about one measure, up to the noise of 50
    blocks; simultaneous intervals are wider.
    """
    names = table.measures
    a, b = names.index("total, log"), names.index("epistemic, log")
    inside = lw.evaluation.ranking_scores(fashion.ensemble, "log")
    outside = lw.evaluation.ranking_scores(fashion.ood["kmnist"], "log")
    pairs = [(x.total, x.epistemic) for x in (inside, outside)]
    single = lw.evaluation.compare_detection(pairs[0][0], pairs[1][0], pairs[0][1], pairs[1][1])
    joint = table.criteria["kmnist"].difference
    assert joint.value[a, b] == pytest.approx(float(single))
    ratio = (joint.high[a, b] - joint.low[a, b]) / (single.high - single.low)
    assert 1.1 < ratio < 2.5
    assert table.criteria["kmnist"].real[a, b]


def test_tables(table) -> None:
    frame = table.to_frame()
    assert list(frame["measure"]) == list(table.measures)
    assert {"rejection_low", "kmnist_high", "mnist_beaten_by"} <= set(frame.columns)
    assert (frame["rejection_low"] <= frame["rejection"]).all()
    assert "31 measures of uncertainty on 2,000 cases" in repr(table)
    assert repr(table).count("\n") == 32
    pairs = table.differences("mnist")
    assert len(pairs) == 31 * 30 / 2
    real = pairs["real"]
    assert real.any()
    assert not real.all()
    assert ((pairs["difference_low"] > 0) | (pairs["difference_high"] < 0)).equals(real)
    beaten = table.criteria["mnist"].beaten_by
    wins = [(pairs["first"] == name) & (pairs["difference_high"] < 0) for name in table.measures]
    losses = [(pairs["second"] == name) & (pairs["difference_low"] > 0) for name in table.measures]
    np.testing.assert_array_equal(beaten, np.sum(wins, axis=1) + np.sum(losses, axis=1))


def test_votes_of_labels_that_may_occur_together() -> None:
    ecg = lw.demo.load_ecg_ensemble()
    table = lw.evaluation.compare_measures(ecg.ensemble, ecg.y_true, votes=ecg.votes)
    assert not any(name.startswith("joint") for name in table.measures)
    given = np.where(ecg.votes < 0, np.nan, ecg.votes)
    n = np.sum(~np.isnan(given), axis=0)
    yes = np.nansum(given, axis=0)
    disagree = np.sum(yes * (n - yes) / (n * (n - 1)), axis=-1)
    score = lw.evaluation.ranking_scores(ecg.ensemble, "squared").total
    row = table.measures.index("total, squared")
    found = table.criteria["votes"].value.value[row]
    assert found == pytest.approx(spearmanr(score, disagree).statistic)
    right = np.mean((ecg.ensemble.mean() > 0.5) == ecg.y_true, axis=-1)
    area = lw.evaluation.rejection_curve(score, utility=right).area
    assert table.criteria["rejection"].value.value[row] == pytest.approx(area)


def test_votes_of_classes_and_own_measures() -> None:
    rng = np.random.default_rng(0)
    q = lw.Dirichlet(rng.gamma(2.0, size=(120, 3)))
    votes = rng.multinomial(3, q.mean())
    votes[:7] = [[1, 0, 0]] * 7  # too few to disagree
    table = lw.evaluation.compare_measures(
        q, rng.integers(3, size=120), votes=votes, measures={"mine": lambda q: q.alpha[:, 0]}
    )
    assert table.measures[-1] == "mine"
    assert "vacuity" in table.measures
    yes, n = votes[7:], votes[7:].sum(-1, keepdims=True)
    disagree = np.sum(yes * (n - yes), axis=-1)
    found = table.criteria["votes"].value.value[-1]
    assert found == pytest.approx(spearmanr(q.alpha[7:, 0], disagree).statistic)


def test_groups_stay_together() -> None:
    """Each case ten times: the intervals are those of the tenth as many."""
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([3, 1, 1], (4, 60))
    y = rng.integers(3, size=60)
    once = lw.evaluation.compare_measures(lw.Ensemble(probs), y)
    many = lw.Ensemble(np.repeat(probs, 10, axis=1))
    grouped = lw.evaluation.compare_measures(
        many, np.repeat(y, 10), groups=np.repeat(np.arange(60), 10)
    )
    naive = lw.evaluation.compare_measures(many, np.repeat(y, 10))
    width = [
        np.mean(x.criteria["rejection"].value.high - x.criteria["rejection"].value.low)
        for x in (once, grouped, naive)
    ]
    assert width[1] == pytest.approx(width[0], rel=0.2)
    assert width[2] < width[0] / 2


def test_members_that_agree_are_no_obstacle() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    q = lw.Ensemble(np.stack([probs, probs]))
    y = np.random.default_rng(1).integers(3, size=40)
    votes = np.random.default_rng(2).multinomial(4, probs)
    table = lw.evaluation.compare_measures(q, y, ood=q[:20], votes=votes)
    constant = table.measures.index("epistemic, log")
    assert table.criteria["detection"].value.value[constant] == 0.5
    assert np.isnan(table.criteria["votes"].value.value[constant])
    assert not table.criteria["votes"].real[constant].any()
    assert np.isfinite(table.criteria["votes"].value.low[0])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"ood": lw.Dirichlet(np.ones((3, 3)))}, "predictions of the same model"),
        ({"ood": lw.Ensemble(np.full((2, 4, 2), 0.5))}, "of 3 classes; 'detection'"),
        ({"q": lw.Intervals(np.zeros((9, 3)), np.ones((9, 3)))}, "intervals have only"),
        ({"q": np.ones((2, 9, 3)) / 3}, "must be a distribution"),
        ({"groups": np.zeros(9)}, "at least 2 independent cases"),
        ({"q": lw.Ensemble(np.ones((2, 3, 3, 3)) / 3)}, "one axis of cases"),
        ({"ood": lw.Ensemble(np.ones((2, 3, 3, 3)) / 3)}, "one axis of cases"),
        ({"ood": {"votes": lw.Ensemble(np.ones((2, 4, 3)) / 3)}}, "another name than 'votes'"),
        ({"measures": {"total, log": lambda q: np.ones(9)}}, "another name than 'total, log'"),
        ({"measures": {"x": lambda q: np.ones(3)}}, "`x` must have one value for each of the 9"),
        ({"confidence": 1.5}, "`confidence`"),
    ],
)
def test_what_is_refused(change: dict[str, object], match: str) -> None:
    given = {"q": lw.Ensemble(np.full((2, 9, 3), 1 / 3)), "y_true": np.arange(9) % 3}
    with pytest.raises((ValueError, TypeError), match=match):
        lw.evaluation.compare_measures(**(given | change))


def test_other_classes_are_refused() -> None:
    probs = np.full((2, 9, 3), 1 / 3)
    q = lw.Ensemble(probs, class_names=["a", "b", "c"])
    other = lw.Ensemble(probs, class_names=["a", "c", "b"])
    with pytest.raises(lw.InputError, match="must have the classes of `q`, in this order: 'a'"):
        lw.evaluation.compare_measures(q, np.arange(9) % 3, ood=other)


# Simulations: four measures that see a common signal through more and more noise.
NOISE = np.array([0.3, 0.5, 0.8, 1.2])


def noisy(signal: np.ndarray, noise: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    common = rng.normal(size=(len(signal), 1))  # measures err alike
    own = rng.normal(size=(len(signal), len(noise)))
    seen = signal[:, None] + noise * (common + own) / math.sqrt(2)
    return dict(zip("abcd", seen.T, strict=True))


def detection(noise: np.ndarray, rng: np.random.Generator) -> Simulated:
    is_out = np.arange(300) >= 200
    return comparison.detection(is_out), noisy(is_out + rng.normal(size=300), noise, rng)


def auroc(noise: np.ndarray) -> np.ndarray:
    return norm.cdf(1 / np.sqrt(2 * (1 + noise**2)))


def votes(noise: np.ndarray, rng: np.random.Generator) -> Simulated:
    signal = rng.normal(size=300)
    return comparison.agreement(signal), noisy(signal, noise, rng)


def rank_correlation(noise: np.ndarray) -> np.ndarray:
    return 6 / np.pi * np.arcsin(1 / np.sqrt(1 + noise**2) / 2)


def rejection(noise: np.ndarray, rng: np.random.Generator, n: int = 400) -> Simulated:
    signal = rng.normal(size=n)
    right = rng.random(n) < norm.cdf(0.8 - signal)
    return comparison.rejection(right.astype(float)), noisy(signal, noise, rng)


def area(noise: np.ndarray) -> np.ndarray:
    statistic, scores = rejection(noise, np.random.default_rng(0), 400_000)
    once = np.ones((1, 400_000), np.int64)
    return np.concatenate([statistic(x, once) for x in scores.values()])


KINDS = pytest.mark.parametrize(
    ("simulate", "truth"), [(detection, auroc), (votes, rank_correlation), (rejection, area)]
)
REPETITIONS = 150


def repeated(
    simulate: Callable[[np.ndarray, np.random.Generator], Simulated], noise: np.ndarray
) -> list[Criterion]:
    found = []
    for seed in range(REPETITIONS):
        rng = np.random.default_rng(seed)
        statistic, scores = simulate(noise, rng)
        n = len(scores["a"])
        lowest = -1.0 if simulate is votes else 0.0
        found.append(compare(statistic, scores, rng.permutation(n) % 50, n, 0.95, rng, lowest))
    return found


@KINDS
def test_all_intervals_hold_at_once(simulate, truth) -> None:
    exact = truth(NOISE)
    held, pairs_held, single, told_apart = [], [], [], []
    for found in repeated(simulate, NOISE):
        inside = (found.value.low <= exact) & (exact <= found.value.high)
        held.append(inside.all())
        single.append(inside[0])
        difference = exact[:, None] - exact
        pairs_held.append(
            np.all((found.difference.low <= difference) & (difference <= found.difference.high))
        )
        told_apart.append(found.real[0, 3])
    # the standard error of the shares is 1.8 %; 300 repetitions gave 93 to 96 %
    assert 0.9 <= np.mean(held) < 1
    assert 0.9 <= np.mean(pairs_held) < 1
    assert np.mean(single) > np.mean(held)
    assert np.mean(told_apart) > 0.5


@KINDS
def test_equal_measures_are_rarely_told_apart(simulate, truth) -> None:
    """The family-wise level: any real difference among four measures that are equally good."""
    alarms = [found.real.any() for found in repeated(simulate, np.full(4, 0.8))]
    assert 0.005 < np.mean(alarms) <= 0.1  # 300 repetitions gave 3.3 to 4.7 %


def test_quantiles_of_the_largest_error() -> None:
    """Of jackknife values with a known correlation, against SciPy's multivariate t."""
    rng = np.random.default_rng(0)
    deviations = rng.multivariate_normal(np.zeros(3), [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]], 50)
    deviations -= deviations.mean(axis=0)

    def statistic(score: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """0 of all cases, else a thousandth of the deviation of the case that is left out."""
        return 0.001 * (counts == 0) @ deviations[:, int(score[0])]

    scores = {name: np.full(50, float(j)) for j, name in enumerate("abc")}
    found = compare(statistic, scores, np.arange(50), 50, 0.95, rng, lowest=-np.inf)
    covariance = deviations.T @ deviations * 49 / 50 * 1e-6
    se = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(found.value.high / se, (found.value.high / se)[0])
    width = (found.value.high / se)[0]
    law = multivariate_t(shape=covariance / np.outer(se, se), df=49)
    inside = np.all(np.abs(law.rvs(200_000, random_state=1)) <= width, axis=-1).mean()
    assert inside == pytest.approx(0.95, abs=0.01)


@pytest.fixture
def one_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the probability of the second class."""
    monkeypatch.setattr(comparison, "measure_scores", lambda q: {"second": q.mean()[:, 1]})


def predictions(signal: np.ndarray) -> lw.Ensemble:
    p = norm.cdf(signal)
    return lw.Ensemble(np.stack([1 - p, p], axis=-1)[None])


@pytest.mark.parametrize(("n_groups", "n_out"), [(5, 200), (100, 5)])
def test_few_units_on_one_side_widen_the_interval(n_groups, n_out, one_measure) -> None:
    """A few patients of many slices, or a few cases that are out of distribution."""
    rng = np.random.default_rng(0)
    exact = norm.cdf(1 / np.sqrt(2))
    held = []
    for _ in range(300):
        of_groups = rng.normal(size=n_groups)
        inside = np.repeat(of_groups, 4) + rng.normal(0, 1e-3, 4 * n_groups)
        table = lw.evaluation.compare_measures(
            predictions(inside),
            np.arange(len(inside)) % 2,
            ood=predictions(1 + rng.normal(size=n_out)),
            groups=np.repeat(np.arange(n_groups), 4),
            rng=rng,
        )
        found = table.criteria["detection"].value
        held.append(found.low[0] <= exact <= found.high[0])
    assert 0.91 <= np.mean(held) < 1  # the standard error is 1.3 %


def test_few_groups_without_an_error_are_no_certainty(one_measure) -> None:
    """The exact interval of a share has as many units as there are groups."""
    inside, outside = np.linspace(-2, -1, 40), np.linspace(1, 2, 60)
    table = lw.evaluation.compare_measures(
        predictions(inside),
        np.zeros(40, int),
        ood=predictions(outside),
        votes=np.tile([[2, 0], [1, 1]], (20, 1)),
        groups=np.arange(40) % 4,
    )
    for name in ("rejection", "detection"):
        found = table.criteria[name].value
        assert (found.value[0], found.high[0]) == (1, 1)
        assert found.low[0] == pytest.approx(0.025 ** (1 / 4))
    assert np.isfinite(table.criteria["votes"].value.low[0])
    with pytest.raises(ValueError, match="at least 2 groups"):  # all votes are on one patient
        lw.evaluation.compare_measures(
            predictions(inside),
            np.zeros(40, int),
            votes=np.repeat([[2, 0], [0, 0]], 20, axis=0),
            groups=np.repeat([0, 1, 2, 3], [20, 5, 5, 10]),
        )
