"""Out-of-distribution detection where the files of one set are missing."""

from __future__ import annotations

from labelwise_lab.paper import ood
from labelwise_lab.paper.records import distinct, pick
from labelwise_lab.paper.results_folder import Options


def test_a_missing_set_is_noted(tmp_path, available_data, small_setting):
    available_data("cifar10", "svhn")
    numbers = ood.run(small_setting, 1, Options(tmp_path, n_jobs=1))
    assert distinct(numbers["auroc"], "set") == ["svhn"]
    assert numbers["not run"] == {"cifar10.2": "cifar10.2 was not found."}
    assert pick(numbers["auroc"], measure="variance", part="total")["sd"] is None
    run = tmp_path / small_setting.name / "run-0"
    mishandled = [
        "cifar10-transposed.npz",
        "cifar10-unscaled-transposed.npz",
        "cifar10-unscaled.npz",
    ]  # for `artifact`
    assert sorted(path.name for path in run.glob("*.npz")) == [
        *mishandled,
        "cifar10.npz",
        "svhn.npz",
    ]


def test_runs_can_be_trained_without_the_first(tmp_path, available_data, small_setting):
    available_data("cifar10", "svhn")
    assert ood.run(small_setting, 2, Options(tmp_path, n_jobs=1), first_run=1) == {}
    folder = tmp_path / small_setting.name
    assert (folder / "run-1" / "svhn.npz").exists()
    assert not (folder / "run-0").exists()
    assert not (folder / "ood.json").exists()
