"""What predictions and images become in few bytes."""

from __future__ import annotations

import base64
import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from labelwise.report import build_report, embed
from labelwise.report.embed import png, quantize, restore_quantized, thumbnails
from report_pages import ensemble


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_two_bytes_keep_a_probability(values) -> None:
    p = np.array(values)
    back = restore_quantized(quantize(p), normalize=False)
    assert np.all(
        np.abs(back - p)
        <= np.pi / 4 / 65534 * (2 * np.sqrt(p * (1 - p)) + np.pi / 2 / 65534) + 1e-15
    )


def test_sure_and_even_probabilities_stay_exact() -> None:
    p = np.array([0.0, 0.5, 1.0])
    assert np.array_equal(restore_quantized(quantize(p), normalize=False), p)
    assert np.array_equal(
        restore_quantized(quantize(np.array([[0.5, 0.5], [0.0, 1.0]])), normalize=True),
        [[0.5, 0.5], [0.0, 1.0]],
    )


@pytest.mark.parametrize(
    "shape", [(5, 9, 9), (5, 7, 12, 3), (5, 200, 150), (5, 6, 6, 1), (5, 8, 8, 4)]
)
def test_thumbnails_are_the_images(shape, optional) -> None:
    image = optional("PIL.Image")
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    for i, text in enumerate(thumbnails(images, np.arange(5))):
        with image.open(io.BytesIO(base64.b64decode(text))) as opened:
            pixels = np.asarray(opened)
        if max(shape[1:3]) <= 64:
            expected = (
                images[i][..., :3]
                if len(shape) == 4 and shape[3] >= 3
                else images[i].reshape(shape[1:3])
            )
            assert np.array_equal(pixels, expected)
        else:
            assert max(pixels.shape) <= 64
            assert abs(pixels.mean() - images[i].mean()) < 2


def test_float_images_are_scaled_and_png_is_png() -> None:
    for images in (
        np.random.default_rng(0).normal(size=(3, 4, 4)),
        np.zeros((2, 3, 3)),
        np.full((2, 3, 3), np.nan),
    ):
        assert all(
            base64.b64decode(text).startswith(b"\x89PNG")
            for text in thumbnails(images, np.arange(2))
        )
    assert png(np.zeros((2, 3, 1), np.uint8)).endswith(b"IEND\xaeB`\x82")


def test_many_large_images_are_made_smaller_and_the_most_uncertain_come_first(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    noise = np.broadcast_to(rng.integers(0, 256, (1, 64, 64), dtype=np.uint8), (300, 64, 64))
    assert len(thumbnails(noise, np.arange(300))) == 300
    monkeypatch.setattr(embed, "IMAGE_BYTES", 300_000)
    found = thumbnails(noise, np.arange(300))
    assert struct.unpack(">II", base64.b64decode(found[0])[16:24]) == (32, 32)
    assert 300 > len(found) > 200
    q, _ = ensemble(n=300, k=3)
    images = build_report(q, images=noise).data["images"]
    score = lw.decompose(q).sum().total
    assert images["at"].tolist() == np.argsort(-score, kind="stable")[: len(found)].tolist()


@pytest.mark.parametrize("channels", [1, 3])
def test_channel_first_images_are_drawn_right(channels) -> None:
    q, _ = ensemble(n=20, k=3)
    images = np.random.default_rng(0).random((20, channels, 8, 12))
    first = build_report(q, images=images).data["images"]
    header = base64.b64decode(first["png"][0])[16:26]
    assert struct.unpack(">IIBB", header) == (12, 8, 8, {1: 0, 3: 2}[channels])
    assert first["png"] == build_report(q, images=np.moveaxis(images, 1, -1)).data["images"]["png"]
