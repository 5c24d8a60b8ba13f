"""One class for arrays that are still in their files: every part is that of the array in memory."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.io.on_disk import (
    OnDisk,
    change_when_read,
    flatten_when_read,
    stack_members,
    transpose_when_read,
)

X = np.random.default_rng(0).random((2, 5, 3, 4))


def on_disk(array: np.ndarray) -> OnDisk:
    return OnDisk(array.shape, array.dtype, lambda key: array[key])


def check(lazy: OnDisk, array: np.ndarray) -> None:
    assert (lazy.shape, lazy.ndim) == (array.shape, array.ndim)
    for key in (
        (slice(None),),
        (slice(None), slice(1, 4)),
        (slice(None), slice(4, 2)),
        (slice(0, 1), slice(2, 9), slice(1, 2)),
        (slice(1, 2), slice(-2, None)),
    ):
        np.testing.assert_array_equal(lazy[key], array[key], strict=True)


def test_slices_and_positions() -> None:
    check(on_disk(X), X)
    np.testing.assert_array_equal(on_disk(X)[1], X[1], strict=True)
    np.testing.assert_array_equal(np.asarray(on_disk(X)), X, strict=True)
    with pytest.raises(IndexError, match="arrays on disk are read in steps of 1"):
        on_disk(X)[::2]


def test_axes_and_values_are_changed_when_they_are_read() -> None:
    check(transpose_when_read(on_disk(X), (1, 2, 3, 0)), X.transpose(1, 2, 3, 0))
    check(change_when_read(on_disk(X), lambda block: block[..., ::-1], X.dtype), X[..., ::-1])
    assert type(change_when_read(X, np.negative, X.dtype)) is np.ndarray


def test_several_files_are_one_array() -> None:
    parts = X[:, :, 0], X[0, :, 1], X[:, :, 2]
    whole = np.concatenate([parts[0], parts[1][None], parts[2]])
    check(stack_members([on_disk(part) for part in parts]), whole)
    assert type(stack_members(parts)) is np.ndarray
    np.testing.assert_array_equal(stack_members(parts), whole)


def test_several_axes_of_instances_are_one() -> None:
    check(flatten_when_read(on_disk(X)), X.reshape(2, 15, 4))
