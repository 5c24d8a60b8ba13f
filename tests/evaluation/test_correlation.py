"""Rank correlations against scipy, and what they should find."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.evaluation import agreement, rank_agreement


@pytest.mark.parametrize("levels", [3, 10**9])
def test_equals_scipy_with_and_without_ties(levels):
    from scipy import stats

    rng = np.random.default_rng(0)
    x, noise = rng.random((2, 80))
    a, b = np.floor(levels * x), np.floor(levels * (x + noise))
    result = rank_agreement(a, b)
    assert float(result.spearman) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-13)
    assert float(result.kendall) == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-13)
    assert np.isnan(result.spearman.low)


def test_bootstrap_replicates_follow_the_definition():
    from scipy import stats

    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 12, 100), rng.integers(0, 12, 100)
    result = rank_agreement(a, b, n_bootstrap=50, rng=2)
    drawn = np.random.default_rng(2).integers(100, size=(50, 100))
    rho = [stats.spearmanr(a[i], b[i]).statistic for i in drawn]
    tau = [stats.kendalltau(a[i], b[i]).statistic for i in drawn]
    np.testing.assert_allclose(
        (result.spearman.low, result.spearman.high), np.quantile(rho, (0.025, 0.975))
    )
    np.testing.assert_allclose(
        (result.kendall.low, result.kendall.high), np.quantile(tau, (0.025, 0.975))
    )


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(30), 10)
    x, y = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=30)[patient].T
    noise = rng.normal(0, 0.05, (2, 300))
    alone = rank_agreement(x + noise[0], y + noise[1], n_bootstrap=200, rng=1).spearman
    grouped = rank_agreement(
        x + noise[0], y + noise[1], groups=patient, n_bootstrap=200, rng=1
    ).spearman
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)


def test_spearman_interval_covers():
    """Bivariate normal: ρ_S = (6/π) arcsin(ρ/2)."""
    rng = np.random.default_rng(4)
    truth = 6 / np.pi * np.arcsin(0.3)
    held = 0
    for _ in range(60):
        x, y = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=60).T
        interval = rank_agreement(x, y, n_bootstrap=60, rng=rng).spearman
        held += interval.low <= truth <= interval.high
    assert 0.83 <= held / 60 <= 0.99


def test_constant_has_no_rank():
    result = rank_agreement([1, 1, 1], [1, 2, 3], n_bootstrap=5, rng=0)
    for estimate in (result.spearman, result.kendall):
        assert np.isnan([float(estimate), estimate.low, estimate.high]).all()


@pytest.fixture
def crowd():
    """People vote by the true probabilities; members see these plus noise of their own that grows
    where there is little data.
    """
    rng = np.random.default_rng(5)
    truth = rng.dirichlet([0.4, 0.4, 0.4], size=1500)
    votes = rng.multinomial(50, truth)
    little = rng.random((1500, 1)) * 2
    probs = np.exp(np.log(truth + 1e-3) + little * rng.normal(size=(6, 1500, 3)))
    q = lw.Ensemble(probs / probs.sum(-1, keepdims=True), class_names=["a", "b", "c"])
    return q, votes, truth


def test_aleatoric_follows_votes_and_epistemic_what_is_not_known(crowd):
    q, votes, truth = crowd
    excess = np.abs(q.mean() - truth).sum(-1)  # error that more data would remove
    result = agreement(lw.decompose(q), votes=votes, error=excess)
    assert (
        float(result["aleatoric", "votes"].spearman)
        > float(result["epistemic", "votes"].spearman) + 0.1
    )
    assert (
        float(result["epistemic", "error"].spearman)
        > float(result["aleatoric", "error"].spearman) + 0.1
    )
    assert set(result.by_class) == {"a", "b", "c"}
    assert all(0.3 < float(r.kendall) < 1 for r in result.by_class.values())
    assert result["total", "votes"].n == 1500


def test_spread_of_votes_is_the_entropy_of_the_loss(crowd):
    from labelwise.evaluation.correlation import vote_spread

    q, votes, _ = crowd
    share = votes / 50
    np.testing.assert_allclose(
        vote_spread(votes, lw.decompose(q, "squared")), share * (1 - share), atol=1e-15
    )
    log = vote_spread(votes, lw.decompose(q))
    k = (votes[:, 0] > 0) & (votes[:, 0] < 50)
    np.testing.assert_allclose(
        log[k, 0],
        -(share * np.log2(share.clip(1e-300)) + (1 - share) * np.log2((1 - share).clip(1e-300)))[
            k, 0
        ],
    )
    assert np.all(log[votes[:, 0] == 0, 0] == 0)


def test_all_libraries(lib, crowd):
    q, votes, _ = crowd
    plain = lw.decompose(lw.Ensemble(q.probs[:, :100]))
    u = lw.Uncertainty(
        *(lib.array(x) for x in (plain.total, plain.aleatoric, plain.epistemic)),
        class_names=plain.class_names,
        loss=plain.loss,
    )
    reference = agreement(plain, votes=votes[:100])["aleatoric", "votes"].spearman
    result = agreement(u, votes=lib.array(votes[:100], "int64"))["aleatoric", "votes"].spearman
    assert float(result) == pytest.approx(float(reference), abs=1e-6)


def test_friendly_errors(crowd):
    q, votes, _ = crowd
    u = lw.decompose(q)
    for options, words in [
        ({}, "to compare the uncertainty with"),
        ({"votes": votes[:, :2]}, "`votes` must count"),
        ({"votes": votes - 30}, "not be negative"),
        ({"votes": votes * (np.arange(1500) != 3)[:, None]}, "instance 3 has none"),
        ({"error": np.zeros(4)}, "`error` must have one value"),
    ]:
        with pytest.raises(ValueError, match=words):
            agreement(u, **options)
    with pytest.raises(KeyError, match="There are"):
        agreement(u, votes=votes)["epistemic", "error"]
    with pytest.raises(ValueError, match=r"\(N, K\)"):
        agreement(lw.decompose(lw.Ensemble(q.probs[:, 0], member_axis=0)), error=[1.0])
    with pytest.raises(ValueError, match="`b`"):
        rank_agreement([1, 2], [1, 2, 3])


def test_two_instances_agree_or_not() -> None:
    assert float(rank_agreement([1.0, 2.0], [3.0, 7.0]).kendall) == 1
    assert float(rank_agreement([1.0, 2.0], [7.0, 3.0]).kendall) == -1
