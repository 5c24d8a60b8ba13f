"""Thumbnails: what they show, and of which cases."""

from __future__ import annotations

import base64
import io
import struct

import numpy as np
import pytest

import labelwise as lw
from labelwise.report import build_report, images
from labelwise.report.images import png, thumbnails
from labelwise.report.strata import Chosen
from report_pages import embedded, ensemble


def first_of(n: int):
    return lambda most: Chosen(np.arange(min(n, most)), np.ones(min(n, most)))


def made(pictures: np.ndarray) -> list[str]:
    n = len(pictures)
    return thumbnails(pictures, np.arange(n), first_of(n))[1]


@pytest.mark.parametrize(
    "shape", [(5, 9, 9), (5, 7, 12, 3), (5, 200, 150), (5, 6, 6, 1), (5, 8, 8, 4)]
)
def test_thumbnails_are_the_images(shape, optional) -> None:
    image = optional("PIL.Image")
    pictures = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    for i, text in enumerate(made(pictures)):
        with image.open(io.BytesIO(base64.b64decode(text))) as opened:
            pixels = np.asarray(opened)
        if max(shape[1:3]) <= images.LARGEST_SIDE:
            expected = pictures[i].reshape(shape[1:3]) if shape[3:] in ((), (1,)) else pictures[i]
            assert np.array_equal(pixels, expected[..., :3] if expected.ndim == 3 else expected)
        else:
            assert max(pixels.shape) <= images.LARGEST_SIDE
            assert abs(pixels.mean() - pictures[i].mean()) < 2


def test_float_images_are_scaled_and_png_is_png() -> None:
    for pictures in (
        np.random.default_rng(0).normal(size=(3, 4, 4)),
        np.zeros((2, 3, 3)),
        np.full((2, 3, 3), np.nan),
    ):
        assert all(base64.b64decode(text).startswith(b"\x89PNG") for text in made(pictures))
    assert png(np.zeros((2, 3, 1), np.uint8)).endswith(b"IEND\xaeB`\x82")


def test_images_are_spread_over_truth_and_prediction_and_the_count_is_stated(monkeypatch) -> None:
    monkeypatch.setattr(images, "IMAGE_BYTES", 60_000)
    q, y = ensemble(n=400, k=3)
    noise = np.random.default_rng(0).integers(0, 256, (400, 32, 32), dtype=np.uint8)
    report = build_report(q, y_true=y, images=noise)
    about = report.data["images"]
    assert about["of"] == 400
    assert 10 < about["count"] < 100
    assert len(report.arrays["images"].split("\n")) == about["count"]
    rows = embedded(report, "images.rows")
    predicted, top = q.mean().argmax(-1), q.mean().max(-1)
    cells = set(zip(y.tolist(), predicted.tolist(), strict=True))
    assert set(zip(y[rows].tolist(), predicted[rows].tolist(), strict=True)) == cells
    wrong = predicted != y
    assert np.argmax(np.where(wrong, top, -1)) in rows  # the most confident error


@pytest.mark.parametrize("channels", [1, 3])
def test_channel_first_images_are_drawn_right(channels) -> None:
    q, _ = ensemble(n=20, k=3)
    pictures = np.random.default_rng(0).random((20, channels, 8, 12))
    first = build_report(q, images=pictures).arrays["images"]
    header = base64.b64decode(first.split("\n")[0])[16:26]
    assert struct.unpack(">IIBB", header) == (12, 8, 8, {1: 0, 3: 2}[channels])
    assert first == build_report(q, images=np.moveaxis(pictures, 1, -1)).arrays["images"]


def test_images_need_their_cases() -> None:
    q = lw.Ensemble(np.full((2, 6, 3), 1 / 3))
    with pytest.raises(ValueError, match="say which they belong to with `image_index`"):
        build_report(q, images=np.zeros((3, 4, 4)))
