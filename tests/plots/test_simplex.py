"""The simplex: corners, mean and regions are where they should be."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw


def test_simplex_places_corners_and_mean() -> None:
    q = lw.Ensemble(np.array([[[1.0, 0, 0]], [[0, 0, 1.0]]]))
    ax = lw.plots.plot_simplex(q)
    members, mean = ax.collections
    np.testing.assert_allclose(members.get_offsets(), [[0, 0], [0.5, 3**0.5 / 2]])
    np.testing.assert_allclose(mean.get_offsets(), [[0.25, 3**0.5 / 4]])
    assert (
        len(
            lw.plots.plot_simplex(lw.Dirichlet(np.ones(3)), n_samples=50)
            .collections[0]
            .get_offsets()
        )
        == 50
    )


def test_regions_of_a_dirichlet_hold_what_they_say() -> None:
    q = lw.Dirichlet(np.array([6.0, 3.0, 4.0]))
    ax = lw.plots.plot_simplex(q, n_samples=4000)
    regions = ax.collections[0].get_paths()
    sample = ax.collections[1].get_offsets()
    inner = np.mean(regions[1].contains_points(sample))
    both = np.mean(regions[0].contains_points(sample) | regions[1].contains_points(sample))
    assert inner == pytest.approx(0.5, abs=0.04)
    assert both == pytest.approx(0.9, abs=0.03)
