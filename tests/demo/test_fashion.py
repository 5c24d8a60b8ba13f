"""The predictions that come with the package."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import labelwise as lw
import labelwise_lab
from labelwise.demo import fashion as bundled


def test_what_is_there():
    fashion = lw.demo.load_fashion_ensemble()
    assert fashion.ensemble.probs.shape == (5, 10_000, 10)
    assert fashion.ensemble.probs.dtype == np.float32
    assert (
        fashion.ensemble.class_names
        == fashion.class_names
        == labelwise_lab.datasets.catalogue.IDX["fashion-mnist"].class_names
    )
    np.testing.assert_array_equal(np.bincount(fashion.y_true), np.full(10, 1000))
    assert set(fashion.ood) == {"mnist", "kmnist"}
    assert all(q.probs.shape == (5, 10_000, 10) for q in fashion.ood.values())
    assert fashion.images.dtype == np.uint8
    assert fashion.images.shape == (len(fashion.image_index), 28, 28)
    assert 200 <= len(fashion.images) <= 1000
    assert np.all(np.diff(fashion.image_index) > 0)
    assert np.all(fashion.images.std(axis=(1, 2)) > 0)
    assert bundled.FILE.stat().st_size <= 2_100_000  # so that the wheel stays below 3.5 MB


def test_it_is_a_good_ensemble():
    fashion = lw.demo.load_fashion_ensemble()
    correct = fashion.ensemble.mean().argmax(-1) == fashion.y_true
    assert 0.92 < correct.mean() < 0.94
    u = lw.decompose(fashion.ensemble).sum()
    assert np.argmax(u.total) in fashion.image_index
    assert np.argmax(u.epistemic) in fashion.image_index
    for name, least in (("mnist", 0.75), ("kmnist", 0.9)):
        assert (
            float(
                lw.evaluation.detection_scores(
                    u.epistemic, lw.decompose(fashion.ood[name]).sum().epistemic
                ).auroc
            )
            > least
        )


def test_the_images_are_those_of_the_labels():
    fashion = lw.demo.load_fashion_ensemble()
    y = fashion.y_true[fashion.image_index]
    means = np.stack([fashion.images[y == k].mean(0) for k in range(10)])
    nearest = ((fashion.images[:, None] - means[None]) ** 2).sum((2, 3)).argmin(1)
    assert np.mean(nearest == y) > 0.5  # 0.1 if they were not


def test_packing_keeps_small_probabilities():
    p = np.random.default_rng(0).dirichlet(np.full(10, 0.05), size=(5, 1000)).astype(np.float32)
    again = bundled.unpacked(bundled.packed(p))
    assert again.dtype == np.float32
    np.testing.assert_allclose(again.sum(-1), 1, atol=1e-6)
    for least, rtol in (
        (1e-40, 0.37),
        (1.3e-7, 0.036),
        (3.4e-4, 0.005),
    ):  # half of 1/2 and of 1/16; half of 1/16; float16 near -8
        np.testing.assert_allclose(again[p > least], p[p > least], rtol=rtol)
    large = p > 0.01
    np.testing.assert_allclose(again[large], p[large], rtol=2.5e-3)
    plain = p.astype(np.float16).astype(np.float32)
    assert np.abs(again - p)[p > 0.9995].max() < 2e-5 < 1e-4 < np.abs(plain - p)[p > 0.9995].max()


def test_planes_are_lossless_and_smaller():
    rng = np.random.default_rng(0)
    log_probs = bundled.packed(rng.dirichlet(np.full(10, 0.05), size=(3, 2000)))
    log_probs[0, 0, :2] = -np.inf, 0
    planes = bundled.to_planes(log_probs)
    assert (planes.dtype, planes.shape) == (np.uint8, (2, 10, 2000, 3))
    again = bundled.from_planes(planes)
    assert again.flags.c_contiguous
    np.testing.assert_array_equal(again.view(np.uint16), log_probs.view(np.uint16))
    assert len(zlib.compress(planes.tobytes())) < 0.9 * len(zlib.compress(log_probs.tobytes()))
    other = rng.integers(0, 2**16, (2, 30, 4), dtype=np.uint16).view(np.float16)  # any bits at all
    np.testing.assert_array_equal(
        bundled.from_planes(bundled.to_planes(other)).view(np.uint16), other.view(np.uint16)
    )


def test_a_missing_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(bundled, "FILE", tmp_path / "fashion_ensemble.npz")
    with pytest.raises(
        FileNotFoundError, match=r"fashion_ensemble\.npz is missing from the installed package"
    ):
        lw.demo.load_fashion_ensemble()
