from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwise_lab.datasets import Dataset, preprocess
from optional_libraries import optional

torch = optional("torch")

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (7, 6, 5, 3), dtype=np.uint8)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("images", [IMAGES, IMAGES[..., 0], torch.from_numpy(IMAGES)])
def test_to_float(images: object) -> None:
    x = preprocess.to_float(images)
    expected = np.asarray(images).reshape(7, 6, 5, -1).transpose(0, 3, 1, 2) / 255
    assert x.dtype == torch.float32
    assert x.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-6)
    assert preprocess.to_float(np.full((1, 1, 1), 255, np.uint8)).item() == 1


@given(st.integers(1, 3), st.integers(0, 100))
def test_channel_statistics(channels: int, seed: int) -> None:
    x = np.random.default_rng(seed).integers(0, 256, (3, 4, 5, channels), dtype=np.uint8)
    mean, std = preprocess.channel_statistics(x)
    np.testing.assert_allclose(mean, (x / 255).mean(axis=(0, 1, 2)), rtol=1e-13)
    np.testing.assert_allclose(std, (x / 255).std(axis=(0, 1, 2)), rtol=1e-12)


def test_channel_statistics_of_many_blocks_and_of_one_value() -> None:
    x = RNG.integers(0, 256, (2500, 2, 2), dtype=np.uint8)
    np.testing.assert_allclose(
        preprocess.channel_statistics(x), [[(x / 255).mean()], [(x / 255).std()]], rtol=1e-12
    )
    assert preprocess.channel_statistics(np.full((5, 3, 3), 77, np.uint8)) == ((77 / 255,), (0.0,))


def test_normalize() -> None:
    x = torch.rand(4, 3, 5, 2, generator=seeded(0))
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.25, 2.0)
    expected = (x - torch.tensor(mean).reshape(3, 1, 1)) / torch.tensor(std).reshape(3, 1, 1)
    for layout in (torch.contiguous_format, torch.channels_last):
        torch.testing.assert_close(
            preprocess.normalize(x.contiguous(memory_format=layout), mean, std),
            expected,
            rtol=0,
            atol=0,
        )
    torch.testing.assert_close(preprocess.normalize(x, (0.5,), (2.0,)), (x - 0.5) / 2)
    mean, std = preprocess.channel_statistics(IMAGES)
    whitened = preprocess.normalize(preprocess.to_float(IMAGES), mean, std)
    torch.testing.assert_close(whitened.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-6, rtol=0)
    torch.testing.assert_close(whitened.std(dim=(0, 2, 3), correction=0), torch.ones(3))
    for wrong in (((0.1, 0.2), (1.0,)), ((0.0,), (0.0,)), ((0.0,), (1.0, 1.0))):
        with pytest.raises(ValueError, match="`mean` and `std` must have 1 or 3 values"):
            preprocess.normalize(x, *wrong)


def candidates(image: np.ndarray, padding: int, flip: bool) -> dict[bytes, tuple[int, int, bool]]:
    """Every image that the augmentation may give, made one by one."""
    h, w = image.shape[:2]
    padded = np.zeros((h + 2 * padding, w + 2 * padding, *image.shape[2:]), np.uint8)
    padded[padding : padding + h, padding : padding + w] = image
    found = {}
    for top in range(2 * padding + 1):
        for left in range(2 * padding + 1):
            crop = padded[top : top + h, left : left + w]
            found[crop.tobytes()] = (top, left, False)
            if flip:
                found[crop[:, ::-1].tobytes()] = (top, left, True)
    return found


@pytest.mark.parametrize("shape", [(6, 5, 3), (6, 5)])
@pytest.mark.parametrize("flip", [True, False])
def test_each_crop_is_one_of_all_possible_ones_and_all_are_equally_likely(
    shape: tuple[int, ...], flip: bool
) -> None:
    image = RNG.integers(1, 256, shape, dtype=np.uint8)
    n = 18_000
    out = preprocess.crop_and_flip(
        np.broadcast_to(image, (n, *shape)), generator=seeded(0), padding=1, flip=flip
    )
    assert out.dtype == torch.uint8
    assert out.shape == (n, *shape)
    possible = candidates(image, 1, flip)
    assert len(possible) == (18 if flip else 9)
    counts = dict.fromkeys(possible.values(), 0)
    for crop in out.numpy():
        counts[possible[crop.tobytes()]] += 1
    p = 1 / len(possible)
    assert max(abs(count - n * p) for count in counts.values()) < 5 * np.sqrt(n * p * (1 - p))


def test_each_image_is_cropped_by_itself() -> None:
    out = preprocess.crop_and_flip(IMAGES, generator=seeded(3))
    moves = [
        candidates(image, 4, True)[crop.tobytes()]
        for image, crop in zip(IMAGES, out.numpy(), strict=True)
    ]
    assert len(set(moves)) > 1


def test_same_generator_same_crops() -> None:
    first, again, other = (
        preprocess.crop_and_flip(IMAGES, generator=seeded(seed)) for seed in (1, 1, 2)
    )
    torch.testing.assert_close(first, again)
    assert not torch.equal(first, other)
    state = torch.get_rng_state()
    preprocess.crop_and_flip(IMAGES, generator=seeded(1))
    assert torch.equal(torch.get_rng_state(), state)  # nothing drawn elsewhere
    torch.testing.assert_close(
        preprocess.crop_and_flip(IMAGES, generator=seeded(1), padding=0, flip=False),
        torch.from_numpy(IMAGES),
    )


def test_batches() -> None:
    y = np.arange(7)
    plain = list(preprocess.batches(IMAGES, y, batch_size=3))
    assert [len(labels) for _, labels in plain] == [3, 3, 1]
    torch.testing.assert_close(torch.cat([x for x, _ in plain]), preprocess.to_float(IMAGES))
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
    shuffled = list(
        preprocess.batches(IMAGES, y, batch_size=3, generator=seeded(0), mean=mean, std=std)
    )
    labels = torch.cat([labels for _, labels in shuffled])
    assert sorted(labels.tolist()) == list(range(7))
    assert labels.tolist() != list(range(7))
    torch.testing.assert_close(
        torch.cat([x for x, _ in shuffled]),
        preprocess.normalize(preprocess.to_float(IMAGES), mean, std)[labels],
    )
    augmented = list(preprocess.batches(IMAGES, y, batch_size=3, generator=seeded(0), augment=True))
    for x, labels in augmented:
        pixels = (x * 255).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy()
        assert all(
            crop.tobytes() in candidates(IMAGES[k], 4, True)
            for crop, k in zip(pixels, labels, strict=True)
        )


def test_wrong_calls() -> None:
    with pytest.raises(
        ValueError,
        match=r"`images` must be uint8 of shape \(N, H, W\) or \(N, H, W, C\); got torch.float64",
    ):
        preprocess.to_float(np.zeros((2, 3, 3)))
    with pytest.raises(ValueError, match="`images` must be uint8"):
        preprocess.channel_statistics(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="`augment` is random, so it needs a `generator`"):
        next(preprocess.batches(IMAGES, np.arange(7), augment=True))
    with pytest.raises(ValueError, match="`batch_size` must be at least 1; got 0"):
        next(preprocess.batches(IMAGES, np.arange(7), batch_size=0))
    with pytest.raises(ValueError, match="`x` and `y` must have the same length; got 7 and 6"):
        next(preprocess.batches(IMAGES, np.arange(6)))
    with pytest.raises(ValueError, match="`padding` must not be negative; got -1"):
        preprocess.crop_and_flip(IMAGES, generator=seeded(0), padding=-1)


def test_constants_of_cifar10(cifar10: Dataset) -> None:
    data = cifar10
    assert data.train is not None
    mean, std = preprocess.channel_statistics(data.train.x)
    np.testing.assert_allclose(mean, preprocess.CIFAR10_MEAN, atol=1e-4)
    np.testing.assert_allclose(std, (0.2470, 0.2435, 0.2616), atol=1e-4)
    # the deviations that everybody uses are the means of each image's own
    blocks = torch.from_numpy(data.train.x).reshape(10, 5000, 1024, 3)
    per_image = np.mean(
        [(block.float() / 255).std(dim=1).mean(dim=0).numpy() for block in blocks], axis=0
    )
    np.testing.assert_allclose(per_image, preprocess.CIFAR10_STD, atol=5e-5)
