"""The same images, scaled or not, transposed or not."""

from __future__ import annotations

import pytest

from labelwise_lab.paper import artifact, tables
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
    numbers = {
        "auroc": {"digits | scaled | upright | entropy": cell},
        "accuracy": {},
        "subsets": {"scaled | transposed | 2": values},
    }
    numbers |= {
        "confidence": {"digits | scaled | upright": cell},
        "agreement": {"digits | scaled | upright": cell},
    }
    (_, _, (row,)) = tables.artifact(numbers, {"setting": {"data": "digits"}, "runs": 1})[1]
    assert row == ["scaled", "transposed", "2", "7", "2", "3", "2"]  # 0.1 and 0.9 are between


def test_four_ways_to_handle_the_images_and_cifar10_2_if_it_is_there(
    tmp_path, available_data, small_setting
):
    available_data("cifar10", "svhn")
    options = Options(tmp_path, n_jobs=1)
    four = artifact.run(small_setting, 1, options)
    assert four["auroc"]["cifar10", "scaled", "upright", "variance"]["mean"] == 0.5
    assert len(four["auroc"]) == 4 * 3
    assert all(
        0 <= four[part]["cifar10", "not scaled", "upright"]["mean"] <= 1
        for part in ("confidence", "agreement")
    )
    assert set(four["subsets"]) == {
        (a, b, "2")
        for a, b in (
            ("scaled", "transposed"),
            ("not scaled", "upright"),
            ("not scaled", "transposed"),
        )
    }
    (value,) = four["subsets"]["scaled", "transposed", "2"]
    assert value == four["auroc"]["cifar10", "scaled", "transposed", "label-wise entropy"]["mean"]
    assert list(four["not run"]) == ["cifar10.2"]
    available_data("cifar10", "svhn", "cifar10.2")
    assert len(artifact.run(small_setting, 1, options)["auroc"]) == 8 * 3
