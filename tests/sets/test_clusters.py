"""Clusters of classes share thresholds."""

from __future__ import annotations

import numpy as np

from labelwise.sets import cluster_classes, fit_sets
from set_cases import cases, ensemble


def test_clusters_share_thresholds_and_rare_classes_use_all_cases() -> None:
    p, y = cases(600)
    p[:, 0] += 3 * (y == 0)
    p /= p.sum(axis=1, keepdims=True)
    kept = (y != 3) | (np.arange(600) % 30 == 0)
    p, y = p[kept], y[kept]
    first = np.arange(len(y)) % 2 == 0
    clusters = cluster_classes(ensemble(p[first]), y[first], n_clusters=2, coverage=0.9)
    assert clusters.rare == ("angioma",)
    assert ("nevus",) in clusters.clusters
    sets = fit_sets(ensemble(p[~first]), y[~first], per=clusters)
    assert sets.thresholds[1] == sets.thresholds[2] != sets.thresholds[0]
    assert sets.thresholds[3] == fit_sets(p[~first], y[~first], per="marginal").thresholds[0]
    assert "nothing is guaranteed for angioma" in sets.guarantee
