"""DeLong's variance, and that of clustered cases, against their definitions and simulation."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from labelwise.evaluation import detection_scores


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=8),
    st.lists(st.integers(0, 4), min_size=2, max_size=8),
)
@settings(max_examples=100, deadline=None)
def test_delong_variance_equals_its_definition(low, high):
    a, b = np.array(low), np.array(high)
    kernel = (b[:, None] > a) + 0.5 * (b[:, None] == a)
    auroc = kernel.mean()
    variance = kernel.mean(1).var(ddof=1) / len(b) + kernel.mean(0).var(ddof=1) / len(a)
    estimate = detection_scores(a, b).auroc
    assert float(estimate) == pytest.approx(auroc, abs=1e-14)
    if 0 < auroc < 1 and variance > 0:
        logits = [np.log(x / (1 - x)) for x in (estimate.low, auroc, estimate.high)]
        if not np.isfinite(logits).all() or np.abs(logits).max() > 15:
            return  # rounds to 0 or 1
        sides = [
            (kernel.mean(1).var(ddof=1) / len(b), len(b) - 1),
            (kernel.mean(0).var(ddof=1) / len(a), len(a) - 1),
        ]
        quantile = student.ppf(
            0.975, variance**2 / sum(v**2 / f for v, f in sides)
        )  # Satterthwaite
        np.testing.assert_allclose(
            np.diff(logits), quantile * np.sqrt(variance) / (auroc * (1 - auroc)), rtol=1e-6
        )


def test_delong_interval_covers():
    """2,000 sets of 200 and 200 with AUROC .8: between 93 and 97 % of the intervals hold it."""
    rng = np.random.default_rng(0)
    shift = NormalDist().inv_cdf(0.8) * 2**0.5
    held = 0
    for _ in range(2000):
        auroc = detection_scores(rng.normal(size=200), rng.normal(shift, 1, 200)).auroc
        held += auroc.low <= 0.8 <= auroc.high
    assert 0.93 <= held / 2000 <= 0.97


def test_clustered_variance_reduces_to_delong_and_covers():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=40), rng.normal(1, 1, 30)
    alone = detection_scores(a, b).auroc
    singles = detection_scores(a, b, groups_in=np.arange(40), groups_out=np.arange(100, 130)).auroc
    assert singles.low == pytest.approx(alone.low, abs=1e-12)
    assert singles.high == pytest.approx(alone.high, abs=1e-12)
    shift = NormalDist().inv_cdf(0.8) * 2**0.5
    held, naive = 0, 0
    for _ in range(400):
        groups = np.repeat(np.arange(160), 4)
        score = 0.9 * rng.normal(size=160)[groups] + 0.19**0.5 * rng.normal(size=640)
        familiar, unfamiliar = score[:320], score[320:] + shift
        grouped = detection_scores(
            familiar, unfamiliar, groups_in=groups[:320], groups_out=groups[320:]
        ).auroc
        plain = detection_scores(familiar, unfamiliar).auroc
        held += grouped.low <= 0.8 <= grouped.high
        naive += plain.low <= 0.8 <= plain.high
    assert 0.92 <= held / 400 <= 0.98
    assert naive / 400 < 0.85
    # the same patients on both sides: what they share cancels, and the interval is the narrower
    patient = rng.normal(size=80)[groups[:320]]
    s, t = patient + 0.3 * rng.normal(size=320), patient + 0.3 * rng.normal(size=320) + shift
    shared = detection_scores(s, t, groups_in=groups[:320], groups_out=groups[:320]).auroc
    apart = detection_scores(s, t, groups_in=groups[:320], groups_out=groups[320:]).auroc
    assert shared.high - shared.low < apart.high - apart.low


def test_clustered_variance_is_obuchowskis():
    """Patients of different sizes, on one side or on both: Eqs. of Obuchowski (1997), written with
    loops over patients and pairs.
    """
    rng = np.random.default_rng(4)
    groups_in, groups_out = (
        np.array([0, 0, 0, 1, 1, 2, 3, 3, 4, 4]),
        np.array([1, 2, 2, 3, 3, 3, 5, 5]),
    )
    patient = np.array([0.0, 1.5, -1.0, 0.8, -0.6, 0.2])
    a, b = (
        patient[groups_in] + 0.3 * rng.normal(size=10),
        patient[groups_out] + 0.3 * rng.normal(size=8) + 0.4,
    )
    wins = (b[None, :] > a[:, None]).astype(float)
    v_in, v_out, auroc = wins.mean(axis=1), wins.mean(axis=0), wins.mean()
    of_in = {g: v_in[groups_in == g].sum() - np.sum(groups_in == g) * auroc for g in range(6)}
    of_out = {g: v_out[groups_out == g].sum() - np.sum(groups_out == g) * auroc for g in range(6)}
    s10 = 5 / 4 / 10 * sum(x**2 for x in of_in.values())  # 5 of the 6 patients are "in"
    s01 = 4 / 3 / 8 * sum(x**2 for x in of_out.values())  # 4 are "out"
    s11 = 6 / 5 * sum(of_in[g] * of_out[g] for g in range(6))
    variance = s10 / 10 + s01 / 8 + 2 * s11 / (10 * 8)
    assert abs(2 * s11 / 80) > 0.2 * variance
    found = detection_scores(a, b, groups_in=groups_in, groups_out=groups_out).auroc
    low, high = (np.log(x / (1 - x)) for x in (found.low, found.high))
    freedom = (s10 / 10 + s01 / 8) ** 2 / (
        (s10 / 10) ** 2 / 4 + (s01 / 8) ** 2 / 3
    )  # Satterthwaite
    half = student.ppf(0.975, min(freedom, 5)) * variance**0.5 / (auroc * (1 - auroc))
    assert (high - low) / 2 == pytest.approx(half, rel=1e-10)
