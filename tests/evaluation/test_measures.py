"""Every row of the table of measures, recomputed from its formula in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.evaluation.measures import measure_scores

M, N, K = 5, 40, 4
PROBS = np.random.default_rng(0).dirichlet(np.full(K, 0.6), (M, N))


def xlog2(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x * np.log2(y)


# The entropy of one label, and its divergence
ENTROPY = {
    "log": lambda t: -xlog2(t, t) - xlog2(1 - t, 1 - t),
    "squared": lambda t: t * (1 - t),
    "spherical": lambda t: 1 - np.sqrt(t**2 + (1 - t) ** 2),
    "zero_one": lambda t: np.minimum(t, 1 - t),
}
# The same of all classes
JOINT_ENTROPY = {
    "log": lambda p: -xlog2(p, p).sum(-1),
    "spherical": lambda p: 1 - np.sqrt((p**2).sum(-1)),
    "zero_one": lambda p: 1 - p.max(-1),
}


def binary_kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return xlog2(p, p / q) + xlog2(1 - p, (1 - p) / (1 - q))


def kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return xlog2(p, p / q).sum(-1)


def from_formulas(p: np.ndarray, exclusive: bool = True) -> dict[str, np.ndarray]:
    """All measures of members (M, N, K)."""
    mean = p.mean(0)
    found = {}
    for loss, entropy in ENTROPY.items():
        found[f"total, {loss}"] = entropy(mean).sum(-1)
        found[f"aleatoric, {loss}"] = entropy(p).mean(0).sum(-1)
        found[f"epistemic, {loss}"] = (entropy(mean) - entropy(p).mean(0)).sum(-1)
    found["reverse, log"] = binary_kl(mean, p).mean(0).sum(-1)
    found["pairwise, log"] = binary_kl(p[:, None], p).mean((0, 1)).sum(-1)
    found["median deviation"] = np.abs(p - np.median(p, axis=0)).mean(0).sum(-1)
    low, high = p.min(0), p.max(0)
    least, most = low, high
    if exclusive:  # the bounds of a label that probabilities between the extremes attain
        least = np.maximum(low, 1 - (high.sum(-1, keepdims=True) - high))
        most = np.minimum(high, 1 - (low.sum(-1, keepdims=True) - low))
    entropy = ENTROPY["log"]
    ends = np.stack([entropy(least), entropy(most)])
    largest = entropy(np.clip(0.5, least, most))
    slope = (ends[1] - ends[0]) / (most - least)  # of the chord
    f = 1 / (1 + 2**slope)  # where the entropy is as steep: log2((1 − f)/f) = slope
    found["total of extremes, log"] = largest.sum(-1)
    found["aleatoric of extremes, log"] = ends.min(0).sum(-1)
    found["epistemic of extremes, log"] = (largest - ends.min(0)).sum(-1)
    found["regret of extremes, log"] = (entropy(f) - ends[0] - slope * (f - least)).sum(-1)
    if not exclusive:
        return found
    found["second-order share"] = (p.var(0) / (2 * mean)).sum(-1) / np.log(2)
    for loss, joint_entropy in JOINT_ENTROPY.items():
        found[f"joint total, {loss}"] = joint_entropy(mean)
        found[f"joint aleatoric, {loss}"] = joint_entropy(p).mean(0)
        found[f"joint epistemic, {loss}"] = joint_entropy(mean) - joint_entropy(p).mean(0)
    found["joint reverse, log"] = kl(mean, p).mean(0)
    found["joint pairwise, log"] = kl(p[:, None], p).mean((0, 1))
    return found


def test_every_measure_of_an_ensemble() -> None:
    expected = from_formulas(PROBS)
    found = measure_scores(lw.Ensemble(PROBS))
    assert list(found) == list(expected)
    for name, score in found.items():
        np.testing.assert_allclose(score, expected[name], rtol=1e-8, atol=1e-11, err_msg=name)


def test_labels_that_may_occur_together() -> None:
    probs = np.random.default_rng(1).uniform(0.01, 0.99, (M, N, K))
    found = measure_scores(lw.MultiLabelEnsemble(probs))
    expected = from_formulas(probs, exclusive=False)
    assert list(found) == list(expected)
    for name, score in found.items():
        np.testing.assert_allclose(score, expected[name], rtol=1e-8, atol=1e-11, err_msg=name)


def test_without_members() -> None:
    alpha = np.random.default_rng(2).gamma(2.0, size=(N, K))
    found = measure_scores(lw.Dirichlet(alpha))
    np.testing.assert_allclose(found["vacuity"], K / alpha.sum(-1), rtol=1e-8)
    s = alpha.sum(-1, keepdims=True)
    variance = alpha * (s - alpha) / (s**2 * (s + 1))
    np.testing.assert_allclose(found["epistemic, squared"], variance.sum(-1), rtol=1e-8)
    assert not [name for name in found if "pairwise" in name or "extremes" in name]


def test_infinite_scores_rank_highest_and_tie() -> None:
    probs = np.array([[[1.0, 0.0], [0.6, 0.4], [0.0, 1.0]], [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]])
    found = measure_scores(lw.Ensemble(probs))["reverse, log"]
    assert found[0] == found[2] > found[1]
    assert np.all(np.isfinite(found))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_ties_exactly_ties_here(dtype: type) -> None:
    """The order of the classes changes no score."""
    probs = PROBS.astype(dtype)
    found = measure_scores(lw.Ensemble(probs))
    for name, score in measure_scores(lw.Ensemble(probs[..., ::-1])).items():
        np.testing.assert_array_equal(score, found[name], err_msg=name)
