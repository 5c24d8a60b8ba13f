"""Numbers that need votes or the authors' arrays, checked with made-up ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from labelwise_lab.paper import human
from labelwise_lab.paper.audit import audit
from labelwise_lab.paper.audit.from_others import _spearman, find
from labelwise_lab.paper.holdout_numbers import published
from labelwise_lab.paper.prediction_files import read_predictions, write_predictions
from labelwise_lab.paper.records import select
from labelwise_lab.paper.results_folder import Options, record
from labelwise_lab.paper.settings import Setting

ROOT = Path(__file__).parents[3]


def test_files_are_found_in_folders(tmp_path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.npy").touch()
    assert find("a.npy", [tmp_path / "none", tmp_path]) == tmp_path / "deep" / "a.npy"
    assert find("b.npy", [tmp_path]) is None
    (tmp_path / "deep" / "data").mkdir()
    (tmp_path / "deep" / "data" / "b.npy").touch()  # as in a clone of the published repository
    assert find("b.npy", [tmp_path]) == tmp_path / "deep" / "data" / "b.npy"


def test_votes(tmp_path, monkeypatch) -> None:
    name = "cifar10-paper-10-epochs"
    results, data = tmp_path / "results", tmp_path / "data" / "cifar-10h"
    data.mkdir(parents=True)
    (results / name / "run-0").mkdir(parents=True)
    n = 1500  # of 10,000 images
    run = read_predictions(ROOT / "results" / name / "run-0" / "cifar10.npz")
    first = run.probs[:, :n], run.y_true[:n], run.class_names
    write_predictions(results / name / "run-0" / "cifar10.npz", *first)
    votes = np.random.default_rng(0).multinomial(
        50, np.random.default_rng(1).dirichlet([0.1] * 10, n)
    )
    np.save(data / "cifar10h-counts.npy", votes)
    monkeypatch.setattr(human, "load_cifar10h", lambda **_: votes)
    human.run(Setting("cifar10", epochs=10), 1, Options(results))
    found = audit(results, data_dirs=[tmp_path / "data"])
    assert found.count > 70
    assert found.passed
    path = results / name / "human.json"
    stored = json.loads(path.read_text())
    (cell,) = select(stored["numbers"]["mean over labels"], score="aleatoric")
    cell["mean"] += 1e-4
    path.write_text(json.dumps(stored))
    (wrong,) = audit(results, data_dirs=[tmp_path / "data"]).different
    assert wrong[0] == f"{name}/human: mean over labels, aleatoric, mean"


def test_correlations_of_constants_are_not_defined() -> None:
    assert np.isnan(_spearman(np.arange(5), np.zeros(5, bool)))
    assert _spearman(np.arange(5), np.arange(5) ** 2) == pytest.approx(1)


@pytest.mark.parametrize(
    ("runs", "numbers_found"), [(1, 16), (3, 20), (6, 20)]
)  # no interval, all resamples, random ones
def test_the_authors_arrays(tmp_path, runs, numbers_found) -> None:
    rng = np.random.default_rng(0)
    before = rng.exponential([0.01, 0.02, 0.03, 0.05], (runs, 40, 4))
    np.savez(
        tmp_path / "label_uq_holdout_made.npz",
        eus_before=before,
        eus_after=before * rng.uniform(0.2, 1.1, (runs, 1, 4)),
    )
    numbers, _ = published(tmp_path / "label_uq_holdout_made.npz")
    record("published", "made", numbers, Options(tmp_path / "results"), runs=runs)
    said: list[str] = []
    assert audit(tmp_path / "results", said.append).count == 0
    assert said == [
        (
            "published/made.json: not recomputed, the authors' label_uq_holdout_made.npz is in no "
            "data directory"
        )
    ]
    found = audit(tmp_path / "results", data_dirs=[tmp_path])
    assert found.count == numbers_found
    assert found.passed
    (tmp_path / "label_uq_holdout_made.npz").write_text("x")
    unreadable = audit(tmp_path / "results", data_dirs=[tmp_path]).unreadable
    assert unreadable["published/made.json"].endswith(
        "label_uq_holdout_made.npz: it is not a .npz file"
    )
