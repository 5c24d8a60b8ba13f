"""Aleatoric uncertainty against made-up votes."""

from __future__ import annotations

import numpy as np

from labelwise.datasets.cifar import CLASS_NAMES
from labelwise.paper import human
from labelwise.paper.results_folder import Options


def test_correlations_for_each_label(tmp_path, available_data, small_setting, monkeypatch):
    available_data("cifar10", "svhn")
    votes = np.random.default_rng(0).multinomial(50, np.full(10, 0.1), size=40)
    monkeypatch.setattr(human, "load_cifar10h", lambda **_: votes)
    found = human.run(small_setting, 1, Options(tmp_path, n_jobs=1))
    assert set(found["spearman by label"]) == set(CLASS_NAMES)
    assert all(-1 <= cell["mean"] <= 1 for cell in found["spearman"].values())


def test_stand_in_votes_favor_the_true_digit():
    votes = human.stand_in_votes()
    assert np.all(votes.sum(axis=1) == human.NEIGHBORS)
    _, test = human.training_data(human.Setting("digits"))[0], human.TestImages("digits").load()
    assert np.mean(votes.argmax(axis=1) == test.y) > 0.9
