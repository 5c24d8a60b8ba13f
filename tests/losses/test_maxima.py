"""The largest entropies, by search and in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

import labelwise as lw
from loss_cases import EVERY


@EVERY
def test_maximum(loss: lw.Loss) -> None:
    t = np.linspace(0, 1, 20001)
    entropy = loss.entropy(t)
    assert entropy.max() <= loss.maximum * (1 + 1e-14)
    assert entropy.max() == pytest.approx(loss.maximum, rel=1e-7)


def test_maxima_in_closed_form() -> None:
    assert lw.LogLoss().maximum == pytest.approx(1)
    assert lw.LogLoss(base=math.e).maximum == pytest.approx(math.log(2))
    assert lw.SquaredLoss().maximum == 0.25
    assert lw.SphericalLoss().maximum == pytest.approx(1 - math.sqrt(0.5))
    assert lw.ZeroOneLoss().maximum == 0.5
    assert lw.CostLoss(1, 9).maximum == pytest.approx(0.9)
    assert lw.BetaLoss(-0.5, -0.5).maximum == pytest.approx(2, rel=1e-12)
    assert lw.CostLoss(0, 1).maximum == 0


@EVERY
def test_the_peak_is_where_the_entropy_is_largest(loss: lw.Loss) -> None:
    peak = np.asarray(loss.peak, float)
    assert loss.entropy(peak) == pytest.approx(loss.maximum, rel=1e-12)


def test_peaks_in_closed_form() -> None:
    assert lw.LogLoss().peak == lw.SphericalLoss().peak == 0.5
    assert lw.BetaLoss(-0.5, -0.5).peak == pytest.approx(0.5, rel=1e-7)  # a flat top, searched
    assert lw.CostLoss(1, 9).peak == pytest.approx(0.1)
    assert lw.BetaLoss(0.0, 1.0).peak == pytest.approx(1 / math.e, rel=1e-6)  # −t ln t
