"""Five networks on FashionMNIST that come with the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import labelwise as lw


def test_what_is_there():
    fashion = lw.demo.load_fashion_ensemble()
    assert fashion.ensemble.probs.shape == (5, 2000, 10)
    assert fashion.ensemble.probs.dtype == np.float32
    assert fashion.ensemble.class_names == fashion.class_names
    assert fashion.class_names[:3] == ("T-shirt/top", "trouser", "pullover")
    np.testing.assert_array_equal(np.bincount(fashion.y_true), np.full(10, 200))
    assert set(fashion.ood) == {"mnist", "kmnist"}
    assert all(q.probs.shape == (5, 500, 10) for q in fashion.ood.values())
    assert fashion.images.dtype == np.uint8
    assert fashion.images.shape == (len(fashion.image_index), 28, 28)
    assert len(fashion.images) == 400
    assert np.all(np.diff(fashion.image_index) > 0)
    assert np.all(fashion.images.std(axis=(1, 2)) > 0)


def test_it_is_a_good_ensemble():
    fashion = lw.demo.load_fashion_ensemble()
    correct = fashion.ensemble.mean().argmax(-1) == fashion.y_true
    assert 0.92 < correct.mean() < 0.95
    u = lw.decompose(fashion.ensemble).sum()
    assert np.argmax(u.total) in fashion.image_index
    assert np.argmax(u.epistemic) in fashion.image_index
    for name, least in (("mnist", 0.75), ("kmnist", 0.9)):
        outside = lw.decompose(fashion.ood[name]).sum().epistemic
        assert float(lw.evaluation.detection_scores(u.epistemic, outside).auroc) > least


def test_the_images_are_those_of_the_labels():
    fashion = lw.demo.load_fashion_ensemble()
    y = fashion.y_true[fashion.image_index]
    means = np.stack([fashion.images[y == k].mean(0) for k in range(10)])
    nearest = ((fashion.images[:, None] - means[None]) ** 2).sum((2, 3)).argmin(1)
    assert np.mean(nearest == y) > 0.5  # 0.1 if they were not


def test_all_that_is_bundled_is_small():
    folder = Path(lw.demo.__file__).parent
    assert sum(path.stat().st_size for path in folder.glob("*.npz")) < 600_000
