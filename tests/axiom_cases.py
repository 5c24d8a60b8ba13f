"""Losses and the verdict that each axiom must get for them, with their entropies in mpmath."""

from __future__ import annotations

from functools import cache

import mpmath as mp
import numpy as np

import labelwise as lw
from labelwise.axioms import check

# Every axiom and measure; what is not said below holds (in its strict version, if it has one) for
# every loss.
ENTRIES = [
    *[("A0", m) for m in ("TU", "AU", "EU")],
    *[("A1", "EU"), ("A2", "TU"), ("A2", "EU"), ("A3", "TU"), ("A3", "EU")],
    *[("A4", "TU"), ("A4", "AU"), ("A5", "EU"), ("A6", "AU")],
    *[("A7", m) for m in ("TU", "AU", "EU")],
]
STRICT = {("A3", "TU"), ("A3", "EU"), ("A4", "TU"), ("A4", "AU")}


# One quadratic G: the only smooth losses with A4-AU and A5 (why: docs/explanation/axioms.md).
QUADRATIC = {"A2-EU": "fails", "A3-TU": "weak"}
# One strictly concave G, not quadratic.
CURVED = QUADRATIC | {"A4-AU": "fails", "A5-EU": "fails"}
# One G made of straight lines.
COSTS = CURVED | {"A1-EU": "fails", "A3-EU": "weak", "A4-TU": "weak"}
BY_CLASS = {"healthy": 1.0, "benign": 1.0, "malignant": 9.0}


def sqrt_odds(f, y):
    return np.sqrt((1 - f) / f) if y else np.sqrt(f / (1 - f))


def cubic(f, y):  # BetaLoss(1, 2) in closed form
    return (1 - f) ** 3 / 3 if y else f**2 / 2 - f**3 / 3


def mostly_squared(f, y):
    return ((1 - f) ** 2 if y else f**2) - 0.1 * (np.log(f) if y else np.log1p(-f))


def squared_and_a_fee(f, y):
    return (1 - f) ** 2 + 0.3 if y else f**2


def mp_log(t):
    return mp.mpf(0) if t <= 0 else -t * mp.log(t, 2)


def binary(g):
    """The entropy G(t, 1 − t) of a label for every class."""
    return lambda t, k: g(t, max(1 - t, mp.mpf(0)))  # a mean may round to a little more than 1


def risk(a, b):
    return lambda t, c: min(b * t, a * c)


# name: (what is checked, the entropy g_k(t) of class k in mpmath so that TU = Σ_k g_k(E Θ_k) and AU
# = E Σ_k g_k(Θ_k), exceptions)
CASES = {
    "log": ("log", binary(lambda t, c: mp_log(t) + mp_log(c)), CURVED),
    "squared": ("squared", binary(lambda t, c: t * c), QUADRATIC),
    "spherical": ("spherical", binary(lambda t, c: 1 - mp.sqrt(t * t + c * c)), CURVED),
    "zero_one": ("zero_one", binary(risk(1, 1)), COSTS),
    "cost": (lw.CostLoss(false_positive=1, false_negative=9), binary(risk(1, 9)), COSTS),
    "cost by class": (
        lw.CostLoss(false_positive=1, false_negative=BY_CLASS),
        lambda t, k: min(list(BY_CLASS.values())[k] * t, 1 - t),
        COSTS | {"A2-TU": "fails", "A4-TU": "fails"},
    ),
    # by class, and yet the center is best: while no class is acted on, Σ 2 t_k = 2 whatever the
    # mean
    "cost by class, same below": (
        lw.CostLoss(false_positive={"a": 1.0, "b": 2.0, "c": 3.0}, false_negative=1),
        lambda t, k: min(t, (k + 1) * (1 - t)),
        COSTS,
    ),
    "boosting": (lw.BetaLoss(-0.5, -0.5), binary(lambda t, c: 4 * mp.sqrt(t * c)), CURVED),
    "asymmetric beta": (
        lw.BetaLoss(0.5, 2),
        binary(lambda t, c: (16 * t - 20 * t**1.5 + 4 * t**2.5) / 15),
        CURVED,
    ),
    # G(t) + G(1 − t) is quadratic, so that A4-AU and A5 fail from three classes on only
    "cubic": (lw.CustomLoss(cubic), binary(lambda t, c: t * c * (1 + c) / 6), CURVED),
    "custom": (lw.CustomLoss(sqrt_odds), binary(lambda t, c: 2 * mp.sqrt(t * c)), CURVED),
    # the failure of A4-AU shrinks with the share of the log loss: here it needs a mean near the
    # center
    "custom, nearly quadratic": (
        lw.CustomLoss(mostly_squared),
        binary(lambda t, c: t * c + (mp_log(t) + mp_log(c)) * mp.log(2) / 10),
        CURVED,
    ),
    "custom, G(1) > 0": (
        lw.CustomLoss(squared_and_a_fee),
        binary(lambda t, c: t * c + mp.mpf(0.3) * t),
        QUADRATIC | {"A6-AU": "fails"},
    ),
    "joint": ("joint", lambda t, k: mp_log(t), CURVED),
    "no costs": (
        lw.CostLoss(0, 0),
        binary(lambda t, c: mp.mpf(0)),
        {"A1-EU": "fails"} | dict.fromkeys(["A3-TU", "A3-EU", "A4-TU", "A4-AU"], "weak"),
    ),
}


@cache
def table(name, seed=0):
    return check(CASES[name][0], rng=seed)


def squared(q):
    return lw.decompose(q, "squared").sum()


def changed(measure):
    """The verdicts of a measure that differ from those of squared loss."""
    plain = {(r.axiom, r.measure): r.verdict for r in table("squared")}
    return {
        f"{r.axiom}-{r.measure}": r.verdict
        for r in check(measure)
        if r.verdict != plain[r.axiom, r.measure]
    }
