"""The same images, scaled or not, transposed or not."""

from __future__ import annotations

from labelwise.paper import artifact
from labelwise.paper.results_folder import Options


def test_four_ways_to_handle_the_images_and_cifar10_2_if_it_is_there(tmp_path, available_data, small_setting):
    available_data("cifar10", "svhn")
    options = Options(tmp_path, n_jobs=1)
    four = artifact.run(small_setting, 1, options)
    assert four["auroc"]["cifar10", "scaled", "upright", "variance"]["mean"] == 0.5
    assert len(four["auroc"]) == 4 * 3
    assert all(0 <= four[part]["cifar10", "not scaled", "upright"]["mean"] <= 1 for part in ("confidence", "agreement"))
    assert set(four["subsets"]) == {
        (a, b, "2") for a, b in (("scaled", "transposed"), ("not scaled", "upright"), ("not scaled", "transposed"))
    }
    (value,) = four["subsets"]["scaled", "transposed", "2"]
    assert value == four["auroc"]["cifar10", "scaled", "transposed", "label-wise entropy"]["mean"]
    assert list(four["not run"]) == ["cifar10.2"]
    available_data("cifar10", "svhn", "cifar10.2")
    assert len(artifact.run(small_setting, 1, options)["auroc"]) == 8 * 3
