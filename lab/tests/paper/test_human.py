"""Aleatoric uncertainty against made-up votes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from labelwise_lab.datasets.cifar import CLASS_NAMES
from labelwise_lab.paper import human
from labelwise_lab.paper.records import pick
from labelwise_lab.paper.results_folder import Options


def test_correlations_for_each_label(tmp_path, available_data, small_setting, monkeypatch):
    available_data("cifar10", "svhn")
    votes = np.random.default_rng(0).multinomial(50, np.full(10, 0.1), size=40)
    monkeypatch.setattr(human, "load_cifar10h", lambda **_: votes)
    found = human.run(small_setting, 1, Options(tmp_path, n_jobs=1))
    assert [cell["label"] for cell in found["spearman by label"]] == list(CLASS_NAMES)
    assert all(-1 <= cell["mean"] <= 1 for cell in found["spearman"])
    by_label = [cell["mean"] for cell in found["spearman by label"]]
    aleatoric = pick(found["mean over labels"], score="aleatoric")
    assert aleatoric["mean"] == pytest.approx(np.mean(by_label))
    for score in ("predicted probability", "total", "aleatoric", "epistemic"):
        cell = pick(found["spearman of the class means, over classes"], score=score)
        mean = pick(found["spearman of the class means"], score=score)["mean"]
        assert cell["low"] < cell["value"] == mean < cell["high"]


def test_correlations_with_the_errors_of_runs_without_any(
    tmp_path, available_data, small_setting, monkeypatch
):
    """They are not defined, in one run or in several; everything else is."""
    available_data("cifar10", "svhn")
    monkeypatch.setattr(
        human,
        "load_cifar10h",
        lambda **_: np.random.default_rng(0).multinomial(50, np.full(10, 0.1), size=40),
    )
    stored = human.predictions

    def perfect(*args):
        return {
            images: replace(p, y_true=np.argmax(np.mean(p.probs, axis=0), axis=-1))
            for images, p in stored(*args).items()
        }

    monkeypatch.setattr(human, "predictions", perfect)
    for runs in (1, 2):
        found = human.run(small_setting, runs, Options(tmp_path, n_jobs=1))
        assert pick(found["spearman"], part="total", against="error")["mean"] is None
        assert pick(found["spearman"], part="total", against="votes")["mean"] is not None
    assert human.over_classes(None, 10) == {"value": None, "low": None, "high": None}


def test_the_interval_over_classes_covers():
    rng = np.random.default_rng(0)
    pairs = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], (400, 10))
    rho = 6 / np.pi * np.arcsin(0.3)  # Spearman's for normal pairs
    found = [human.over_classes(stats.spearmanr(*x.T).statistic, 10) for x in pairs]
    assert 0.9 < np.mean([cell["low"] <= rho <= cell["high"] for cell in found]) < 0.99


def test_stand_in_votes_favor_the_true_digit():
    votes = human.stand_in_votes()
    assert np.all(votes.sum(axis=1) == human.NEIGHBORS)
    _, test = human.training_data(human.Setting("digits"))[0], human.TestImages("digits").load()
    assert np.mean(votes.argmax(axis=1) == test.y) > 0.9
