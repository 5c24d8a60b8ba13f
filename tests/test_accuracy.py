"""Ensembles against the definitions in 100 digits, on predictions chosen to be hard."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mpf

import labelwise as lw
from oracle import ENTROPY, FALSE_NEGATIVE, FALSE_POSITIVE, ensemble
from pairwise import pairwise
from ways import KERNELS, RANGES, WAYS, choose, predictions

LOSSES: dict[str, lw.Loss] = {
    "log": lw.LogLoss(),
    "squared": lw.SquaredLoss(),
    "spherical": lw.SphericalLoss(),
    "zero_one": lw.ZeroOneLoss(),
    "cost": lw.CostLoss(FALSE_POSITIVE, FALSE_NEGATIVE),
    "boosting": lw.BetaLoss(-0.5, -0.5),
    "one-sided log": lw.BetaLoss(0, 1),
    "custom": lw.CustomLoss(lambda f, y: 4 * (1 - f) ** 2 if y else 4 * f**2),
}
CORNER = {
    "zero_one": Fraction(1, 2),
    "cost": Fraction(FALSE_POSITIVE) / (Fraction(FALSE_POSITIVE) + Fraction(FALSE_NEGATIVE)),
}
DTYPES = [np.float64, np.float32]
ALL_BATCHES = ("log", "squared")  # the other losses: every fifth batch, for exact numbers take long
FEWER = 5


@dataclass(frozen=True)
class Batch:
    """Member vectors of equal length: probs (M, N, K), each of the N·K a case, with weights (M,),
    (M, N) or none.
    """

    probs: np.ndarray
    weights: np.ndarray | None
    truth: dict[str, np.ndarray]
    """Loss name to exact TU, AU, EU: (2, 3, N, K), each the sum of a number and a far smaller one,
    so that differences from it are right to many digits.
    """

    def weights_of(self, n: int) -> Any:
        return (
            None
            if self.weights is None
            else self.weights
            if self.weights.ndim == 1
            else self.weights[:, n]
        )

    def counts(self) -> np.ndarray:
        """Which members have weight: (M, N, 1), or (M, 1, 1) for all instances."""
        if self.weights is None:
            return np.ones((len(self.probs), 1, 1), bool)
        return (self.weights > 0).reshape(len(self.probs), -1, 1)


def batch(probs: np.ndarray, weights: np.ndarray | None, names: Sequence[str]) -> Batch:
    plain = Batch(probs, weights, {})
    entropy = {name: ENTROPY[name] for name in names}
    truth = {name: np.empty((2, 3, *probs.shape[1:])) for name in names}
    for n, k in np.ndindex(probs.shape[1:]):
        for name, values in ensemble(probs[:, n, k], plain.weights_of(n), entropy).items():
            leading = [float(value) for value in values]
            truth[name][0, :, n, k] = leading
            rest = zip(values, leading, strict=True)
            truth[name][1, :, n, k] = [float(value - mpf(lead)) for value, lead in rest]
    return Batch(probs, weights, truth)


def hard_numbers(rng: np.random.Generator, n: int, dtype: Any) -> np.ndarray:
    """Probabilities at all scales, many of them at or next to 0, ½ and 1."""
    info = np.finfo(dtype)
    scale = -np.log10(float(info.smallest_normal))
    eps = float(info.eps)
    special = [
        0,
        0,
        1,
        1,
        info.smallest_normal,
        10 ** (1 - scale),
        eps,
        1 - eps / 2,
        1 - eps,
        0.5 - eps / 4,
        0.5,
        0.5 + eps / 2,
        1 / 3,
        1e-12,
    ]
    u = rng.random(n)
    kinds = [rng.choice(special, n), u, 10 ** (-scale * u), 10 ** (-16 * u), 1 - 10 ** (-16 * u)]
    return np.choose(rng.integers(0, len(kinds), n), kinds).astype(dtype)


def hard_vector(rng: np.random.Generator, m: int, dtype: Any) -> np.ndarray:
    """One label's member vector."""
    eps = float(np.finfo(dtype).eps)
    value = hard_numbers(rng, 1, dtype)[0]
    near_one = (1 - 10.0 ** -rng.integers(1, 16) * rng.random(m)).astype(dtype)
    choices = [
        np.full(m, value),  # all agree
        np.where(
            rng.random(m) < 0.5, value, np.nextafter(value, dtype(rng.integers(2)))
        ),  # differ in the last bit
        value
        * (1 + (1e-12 if eps < 1e-12 else 1e-6) * rng.standard_normal(m)),  # differ by very little
        rng.integers(0, 2, m),  # votes
        rng.choice([0.5, float(CORNER["cost"])])
        * (1 + eps * rng.integers(-3, 4, m)),  # around the corner of a loss
        1 - near_one if rng.random() < 0.5 else near_one,
        hard_numbers(rng, m, dtype),
    ]
    return np.clip(choices[rng.integers(len(choices))], 0, 1).astype(dtype)


def hard_weights(
    rng: np.random.Generator, shape: tuple[int, ...], kind: str, dtype: Any
) -> np.ndarray:
    w = 10 ** rng.uniform(-15, 15, shape) if kind == "wide" else rng.random(shape) + 0.1
    if kind == "zeros":
        w = np.where(rng.random(shape) < 0.5, 0, w)
        w[rng.integers(shape[0])] = 0.7
    return w.astype(dtype)


@functools.cache
def hard_batches(dtype: Any) -> list[Batch]:
    rng = np.random.default_rng(20240701)
    batches, n = [], 15
    for m in (1, 2, 3, 4, 5, 7, 10, 16, 25, 50):
        kinds = [(None, ())] + [
            (kind, own) for kind in ("plain", "zeros", "wide") for own in ((), (n,))
        ]
        for kind, own in kinds:
            probs = np.stack([hard_vector(rng, m, dtype) for _ in range(2 * n)], axis=-1).reshape(
                m, n, 2
            )
            weights = None if kind is None else hard_weights(rng, (m, *own), kind, dtype)
            names = list(ENTROPY) if len(batches) % FEWER == 0 else ALL_BATCHES
            batches.append(batch(probs, weights, names))
    return batches


def test_there_are_enough_cases() -> None:
    for dtype in DTYPES:
        assert sum(b.probs[0].size for b in hard_batches(dtype)) >= 2000


def check(found: tuple[Any, Any, Any], b: Batch, name: str) -> None:
    """TU, AU and EU of one loss for a whole batch, each within the accuracy promised for it."""
    info = np.finfo(b.probs.dtype)
    eps, tiny = float(info.eps), float(info.smallest_normal)
    # what an error below the smallest normal number can do to the result; to a boosting loss, which
    # is like a square root, much
    leeway = float(ENTROPY[name](mpf(tiny), 1 - mpf(tiny))) if name == "boosting" else tiny
    for part in found:
        assert part.dtype == b.probs.dtype
        assert np.all(np.isfinite(part))
        assert np.all(part >= 0)
        assert not np.any(np.signbit(part))
    total, aleatoric, epistemic = parts = np.stack(found).astype(np.longdouble)
    exact, rest = b.truth[name]
    errors = np.abs((parts - exact) - rest)

    def hold(fine: np.ndarray, rule: str) -> None:
        for n, k in np.argwhere(~fine)[:1]:
            members, weights = b.probs[:, n, k].tolist(), b.weights_of(n)
            values = f"{parts[:, n, k]} instead of {exact[:, n, k]}"
            raise AssertionError(f"{rule}, {name} of {members}, weights {weights}: {values}")

    steps = 16 * eps
    if name not in ("log", "squared", "spherical", "zero_one", "cost"):
        steps = max(1e-9, steps)
    hold(errors[0] <= steps * exact[0] + leeway, "TU")
    hold(errors[1] <= steps * exact[1] + leeway, "AU")
    sums = 16 * eps if steps < 1e-9 or eps > 1e-9 else 1e-12
    lost = np.abs((total - aleatoric) - epistemic)
    hold(lost <= sums * exact[0] + 3 * leeway, "TU = AU + EU")
    if name in ("log", "squared"):
        tolerance = (1e-12 if eps < 1e-12 else 1e-4) * exact[2]
    elif name in CORNER:
        tolerance = 1e-12 * exact[2] + 4 * eps * exact[0]
    else:
        tolerance = (1e-9 + 8 * eps) * exact[0]
    hold(errors[2] <= tolerance + leeway, "EU")
    hold((epistemic == 0) | ~undisputed(b, name), "no EU without dispute")


def undisputed(b: Batch, name: str) -> np.ndarray:
    """Where all members with weight say the same, or stand on one side of the loss's corner."""
    counts = b.counts()
    lowest = np.where(counts, b.probs, np.inf).min(axis=0)
    highest = np.where(counts, b.probs, -np.inf).max(axis=0)
    same = lowest == highest
    if name not in CORNER:
        return same
    corner = CORNER[name]
    rounded = float(corner)
    above = (highest > rounded) | ((highest == rounded) & (rounded > corner))
    below = (lowest < rounded) | ((lowest == rounded) & (rounded < corner))
    return same | ~(above & below)


def compare(
    how: str, kind: type, b: Batch, name: str, monkeypatch: pytest.MonkeyPatch
) -> lw.typing.Uncertainty:
    """The uncertainty of a batch, found in one of the `WAYS`, as accurate as promised."""
    with np.errstate(all="raise", under="ignore"):
        u = choose(how, monkeypatch)(kind, b.probs, b.weights, LOSSES[name])
    check((u.total, u.aleatoric, u.epistemic), b, name)
    return u


WITHOUT_KERNEL = {
    "boosting": (KERNELS[0], "torch general", "accumulated"),
    "one-sided log": (KERNELS[0], "torch general", "accumulated"),
    "custom": (KERNELS[0], "accumulated"),
}
PAIRS = [(name, how) for name in LOSSES for how in WITHOUT_KERNEL.get(name, WAYS)]
"""Each loss in each of the ways; without the kernel most of them are the same code."""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "how"), PAIRS)
def test_hard_member_vectors(
    name: str, how: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for b in hard_batches(dtype)[:: 1 if name in ALL_BATCHES else FEWER]:
        compare(how, lw.MultiLabelEnsemble, b, name, monkeypatch)


@functools.cache
def ranged(values: str, dtype: Any) -> Batch:
    return batch(predictions(values, dtype, (5, 12, 3)), None, list(ENTROPY))


@pytest.mark.parametrize(
    ("pair", "values", "dtype"), pairwise(PAIRS, list(RANGES), list(DTYPES)), ids=str
)
def test_values_of_every_size(
    pair: tuple[str, str], values: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, how = pair
    compare(how, lw.MultiLabelEnsemble, ranged(values, dtype), name, monkeypatch)


@functools.cache
def whole_instances(k: int, dtype: Any) -> Batch:
    rng = np.random.default_rng(k)
    m, n = 5, 4 if k < 1000 else 1
    logits = rng.normal(size=(m, n, k)) * 10 ** rng.uniform(0, 2, (1, n, 1))
    logits[:, 0] = logits[:1, 0] + 1e-9 * logits[:, 0]
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probs = (odds / odds.sum(axis=-1, keepdims=True)).astype(dtype)
    return batch(probs, rng.random(m).astype(dtype), ["log", "squared", "spherical", "zero_one"])


@pytest.mark.parametrize(
    ("k", "dtype", "how"), pairwise([2, 10, 1000], list(DTYPES), list(WAYS)), ids=str
)
def test_whole_instances(k: int, dtype: Any, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Softmax outputs from undecided to saturated, and members that all say nearly the same."""
    b, info = whole_instances(k, dtype), np.finfo(dtype)
    for name in b.truth:
        s = compare(how, lw.Ensemble, b, name, monkeypatch).sum()
        exact = [math.fsum(b.truth[name][0, i, 0]) for i in range(3)]
        found = [s.total[0], s.aleatoric[0], s.epistemic[0]]
        np.testing.assert_allclose(
            found,
            exact,
            rtol=50 * float(info.eps),
            atol=float(info.smallest_normal) + 1e-50 * exact[0],
        )


@functools.cache
def binary_batches(dtype: Any) -> list[Batch]:
    pairs = [
        (np.concatenate([b.probs[..., :1], 1 - b.probs[..., :1]], axis=-1), b.weights)
        for b in hard_batches(dtype)[::FEWER]
    ]
    return [batch(*pair, ["log", "squared", "cost"]) for pair in pairs]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_both_columns_of_a_binary_classifier(
    dtype: Any, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K = 2: the hard vectors beside their complements."""
    for b in binary_batches(dtype):
        for name in b.truth:
            compare(how, lw.Ensemble, b, name, monkeypatch)


@pytest.mark.parametrize(
    "name", ["log", "squared", "spherical", "boosting", "one-sided log", "custom"]
)
def test_jackknife_is_leaving_one_out(name: str) -> None:
    """M · (all) − (M − 1) · (mean of those with one left out), by brute force; what it adds is not
    lost beside TU.
    """
    rng = np.random.default_rng(5)
    for m in (2, 3, 8):
        probs = np.stack(
            [rng.random((m, 6)), 1e-6 * rng.random((m, 6)), 0.4 + 1e-3 * rng.random((m, 6))], axis=1
        )
        plain, corrected = (
            lw.decompose(lw.MultiLabelEnsemble(probs), LOSSES[name], correction=how)
            for how in (None, "jackknife")
        )
        for n, k in np.ndindex(3, 6):
            p = probs[:, n, k]
            entropy = {name: ENTROPY[name]}
            whole = ensemble(p, None, entropy)[name]
            parts = [ensemble(np.delete(p, i), None, entropy)[name] for i in range(m)]
            for i, (before, after) in enumerate(
                [
                    (plain.total, corrected.total),
                    (plain.aleatoric, corrected.aleatoric),
                    (plain.epistemic, corrected.epistemic),
                ]
            ):
                jackknife = m * whole[i] - (m - 1) * sum(part[i] for part in parts) / m
                assert abs(float(after[n, k]) - float(jackknife)) <= 1e-14 * float(whole[0]), (
                    name,
                    m,
                    p,
                )
                if i == 2 and name in ("log", "squared", "spherical"):
                    assert abs(
                        float(after[n, k] - before[n, k]) - float(jackknife - whole[2])
                    ) <= 1e-12 * float(whole[2]), (name, m, p)
