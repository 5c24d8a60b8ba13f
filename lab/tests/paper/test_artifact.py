"""The same images, scaled or not, transposed or not."""

from __future__ import annotations

import pytest

from labelwise_lab.paper import artifact, tables
from labelwise_lab.paper.records import pick
from labelwise_lab.paper.results_folder import Options
from labelwise_lab.paper.settings import Setting


def test_a_single_member_is_refused_before_anything_is_trained(tmp_path):
    with pytest.raises(
        ValueError,
        match="`members` must be at least 2: a single network has no epistemic uncertainty; got 1",
    ):
        artifact.run(Setting("digits", members=1), 1, Options(tmp_path, say=pytest.fail))
    assert not list(tmp_path.iterdir())


def test_every_subset_is_counted_once():
    values = [0.1, 0.9, 0.5, 0.05, 0.95, 0.0, 1.0]
    cell = {"mean": 0.5, "sd": None}
    way = {"set": "digits", "pixels": "scaled", "orientation": "upright"}
    numbers = {
        "auroc": [way | {"measure": "entropy"} | cell],
        "confidence": [way | cell],
        "agreement": [way | cell],
        "accuracy": [{"pixels": "scaled", "orientation": "upright"} | cell],
        "subsets": [
            {"pixels": "scaled", "orientation": "transposed", "members": 2, "auroc": values}
        ],
    }
    (_, _, (row,)) = tables.artifact_tables(numbers, {"setting": {"data": "digits"}, "runs": 1})[1]
    assert row == ["scaled", "transposed", "2", "7", "2", "3", "2"]  # 0.1 and 0.9 are between


def test_four_ways_to_handle_the_images_and_cifar10_2_if_it_is_there(
    tmp_path, available_data, small_setting
):
    available_data("cifar10", "svhn")
    options = Options(tmp_path, n_jobs=1)
    four = artifact.run(small_setting, 1, options)
    way = {"pixels": "scaled", "orientation": "upright"}
    assert pick(four["auroc"], set="cifar10", **way, measure="variance")["mean"] == 0.5
    assert len(four["auroc"]) == 4 * 3
    for quantity in ("confidence", "agreement"):
        assert len(four[quantity]) == 4
        assert all(0 <= cell["mean"] <= 1 for cell in four[quantity])
    assert [(x["pixels"], x["orientation"], x["members"]) for x in four["subsets"]] == [
        ("scaled", "transposed", 2),
        ("not scaled", "upright", 2),
        ("not scaled", "transposed", 2),
    ]
    way = {"pixels": "scaled", "orientation": "transposed"}
    (value,) = pick(four["subsets"], **way)["auroc"]
    assert value == pick(four["auroc"], **way, measure="label-wise entropy")["mean"]
    assert list(four["not run"]) == ["cifar10.2"]
    available_data("cifar10", "svhn", "cifar10.2")
    assert len(artifact.run(small_setting, 1, options)["auroc"]) == 8 * 3
