"""Estimates as text, and the draws of the bootstrap."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from labelwise._resampling import Estimate, Resampling


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (Estimate(0.5), "0.500"),
        (Estimate(0.5, 0.4, 0.6, 0.9), "0.500 (90 % interval 0.400 to 0.600)"),
        (Estimate(0.000321, 0.0003, 0.0004), "0.00032 (95 % interval 0.00030 to 0.00040)"),
        (Estimate(0.0, 0.0, 0.1), "0.000 (95 % interval 0.000 to 0.100)"),
        (Estimate(float("nan")), "nan"),
        (
            Estimate(np.array([0.1, 0.2]), np.array([0.0, 0.1]), np.array([0.2, 0.3])),
            "0.100 (95 % interval 0.000 to 0.200)\n0.200 (95 % interval 0.100 to 0.300)",
        ),
        (Estimate(np.array([0.1, 0.2])), "0.100\n0.200"),
    ],
)
def test_estimates_read_well(estimate, words):
    assert str(estimate) == words


def test_draws_are_whole_groups():
    groups = np.array(["b", "a", "b", "c", "a", "b"])
    resampling = Resampling(6, groups, 200, 0.95, 0)
    counts = np.concatenate(list(resampling.counts()))
    assert counts.shape == (200, 6)
    for members in ([1, 4], [0, 2, 5]):
        assert np.all(counts[:, members] == counts[:, members[:1]])
    assert np.all(counts[:, [1, 0, 3]].sum(axis=1) == 3)  # three groups are drawn
    assert counts[:, 3].mean() == pytest.approx(1, abs=0.25)
    np.testing.assert_allclose(resampling.group_sums(np.arange(6.0)[:, None] * [1, 2]), [[5, 10], [7, 14], [3, 6]])


def test_parts_do_not_change_the_draws(monkeypatch):
    whole = np.concatenate(list(Resampling(50, None, 30, 0.95, 1).counts()))
    monkeypatch.setattr("labelwise._resampling._CELLS", 170)
    parts = list(Resampling(50, None, 30, 0.95, 1).counts())
    assert len(parts) == 10
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_evaluation_and_calibration_import_lightly():
    script = "import sys, labelwise.evaluation, labelwise.calibration; print(*(m for m in ('scipy', 'torch', 'jax', 'matplotlib', 'sklearn') if m in sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
