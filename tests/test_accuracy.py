"""Ensembles against the definitions in 100 digits, on predictions chosen to be hard."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
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


@dataclass(frozen=True)
class Batch:
    """Member vectors of equal length: probs (M, N, K), each of the N·K a case, with weights (M,),
    (M, N) or none.
    """

    probs: np.ndarray
    weights: np.ndarray | None
    truth: dict[str, np.ndarray]
    """Loss name to TU, AU, EU: (N, K, 3) exact numbers."""

    def cases(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Instance, label and the probabilities of those members that have weight."""
        for n, k in np.ndindex(self.probs.shape[1:]):
            w = self.weights_of(n)
            yield n, k, self.probs[:, n, k] if w is None else self.probs[w > 0, n, k]

    def weights_of(self, n: int) -> Any:
        return (
            None
            if self.weights is None
            else self.weights
            if self.weights.ndim == 1
            else self.weights[:, n]
        )


def batch(probs: np.ndarray, weights: np.ndarray | None, names: list[str] | None = None) -> Batch:
    plain = Batch(probs, weights, {})
    entropy = {name: ENTROPY[name] for name in names or ENTROPY}
    truth = {name: np.empty((*probs.shape[1:], 3), object) for name in entropy}
    for n, k in np.ndindex(probs.shape[1:]):
        for name, values in ensemble(probs[:, n, k], plain.weights_of(n), entropy).items():
            truth[name][n, k] = values
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
            batches.append(
                batch(probs, None if kind is None else hard_weights(rng, (m, *own), kind, dtype))
            )
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
    for n, k, p in b.cases():
        total, aleatoric, epistemic = (mpf(float(part[n, k])) for part in found)
        exact = b.truth[name][n, k]

        def where(
            n: int = n, p: np.ndarray = p
        ) -> str:  # a function: most of the time would go into sentences that nobody reads
            return f"{name} of {p.tolist()} with weights {b.weights_of(n)}"

        def close(x: Any, y: Any, tolerance: Any, where: Callable[[], str] = where) -> None:
            assert abs(x - y) <= tolerance + leeway, (
                f"{where()}: {float(x)!r} instead of {float(y)!r}"
            )

        steps = (
            16 * eps
            if name in ("log", "squared", "spherical", "zero_one", "cost")
            else max(1e-9, 16 * eps)
        )
        close(total, exact[0], steps * exact[0])
        close(aleatoric, exact[1], steps * exact[1])
        close(
            total,
            aleatoric + epistemic,
            (16 * eps if steps < 1e-9 or eps > 1e-9 else 1e-12) * exact[0] + 2 * leeway,
        )
        if name in ("log", "squared"):
            close(epistemic, exact[2], (1e-12 if eps < 1e-12 else 1e-4) * exact[2])
        elif name in CORNER:
            close(epistemic, exact[2], 1e-12 * exact[2] + 4 * eps * exact[0])
        else:
            close(epistemic, exact[2], (1e-9 + 8 * eps) * exact[0])
        one_side = (
            name in CORNER
            and len(
                {Fraction(float(x)) > CORNER[name] for x in p if Fraction(float(x)) != CORNER[name]}
            )
            < 2
        )
        if one_side or np.all(p == p[0]):
            assert epistemic == 0, where()


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
    for b in hard_batches(dtype)[:: 1 if name in ("log", "squared") else 5]:
        compare(how, lw.MultiLabelEnsemble, b, name, monkeypatch)


@functools.cache
def ranged(values: str, dtype: Any) -> Batch:
    return batch(predictions(values, dtype, (5, 12, 3)), None)


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
        exact = [float(sum(b.truth[name][0, :, i])) for i in range(3)]
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
        for b in hard_batches(dtype)[::5]
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
