"""Axes of predictions as they come."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import labelwise as lw
from small_tables import NAMES, PROBS, Y, check


def test_axes_of_columns_on_disk(tmp_path, optional) -> None:
    group = optional("zarr").open_group(str(tmp_path / "p.zarr"), mode="w", zarr_format=3)
    group.create_array("probs", data=PROBS.transpose(1, 2, 0).copy(), chunks=(2, 3, 1))
    p = lw.load_predictions(
        tmp_path / "p.zarr", member_axis=2, class_axis=1, labels=Y, class_names=NAMES
    )
    check(p, (0, 1), ids=None)
    np.testing.assert_array_equal(p[2:4].probs, PROBS[:, 2:4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # sums of 1 are not worth a word
        again = lw.load_predictions(
            tmp_path / "p.zarr", member_axis=2, class_axis=1, normalize=True
        )
    np.testing.assert_allclose(again[2:4].probs, PROBS[:, 2:4])
    with pytest.raises(ValueError, match="the class axis must be one of the 3 axes"):
        lw.load_predictions(tmp_path / "p.zarr", class_axis=3)
    with pytest.raises(ValueError, match="must be different; both are 1"):
        lw.load_predictions(tmp_path / "p.zarr", class_axis=1, member_axis=1)
