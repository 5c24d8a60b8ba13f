"""Tables as data sets: targets, features, standardization, and the published ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelwise_lab.datasets import Dataset, Examples, load, load_table, standardize
from whole_tables import whole


def test_unknown_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,diagnosis\n1,a\n2,b\n")
    with pytest.raises(
        ValueError,
        match=r"`target` must be a column of .*a\.csv; got 'diagnoses'. Did you mean 'diagnosis'\?",
    ):
        load_table(path, target="diagnoses")
    with pytest.raises(ValueError, match=r"`target` must be a column of .*, 0 to 1; got 2"):
        load_table(path, target=2)
    with pytest.raises(ValueError, match=r"`drop` must be a column of .*; got 'id'"):
        load_table(path, drop=["id"])


def test_standardize() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(5, 3, (50, 4))
    x[:, 2] = 0.1  # constant
    x[:, 3] = np.nan  # never measured in training
    x[::7, 0] = np.nan
    train, test = (
        Examples(x, rng.integers(0, 2, 50)),
        Examples(np.full((1, 4), np.nan), np.array([0])),
    )
    data = standardize(Dataset("made", train, test, ("a", "b"), test, ("p", "q", "r", "s")))
    assert data.train is not None
    assert data.val is not None
    assert np.isfinite(data.train.x).all()
    np.testing.assert_allclose(data.train.x.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.train.x[:, :2].std(axis=0), 1)
    np.testing.assert_allclose(data.train.x[:, 2:], 0, atol=1e-15)
    # what is missing becomes the median of what was seen in training
    filled = np.where(np.isnan(x[:, 0]), np.nanmedian(x[:, 0]), x[:, 0])
    np.testing.assert_allclose(
        data.test.x[0, 0], (np.nanmedian(x[:, 0]) - filled.mean()) / filled.std()
    )
    np.testing.assert_array_equal(data.val.x, data.test.x)
    assert data.features == ("p", "q", "r", "s")


def test_standardize_needs_a_table_with_a_training_set() -> None:
    split = Examples(np.zeros((2, 3)), np.array([0, 1]))
    images = Examples(np.zeros((2, 3, 3), np.uint8), np.array([0, 1]))
    for data in (
        Dataset("one", None, split, ("a", "b")),
        Dataset("one", images, images, ("a", "b")),
    ):
        with pytest.raises(
            ValueError, match="`data` must be a table with a training set; one is not"
        ):
            standardize(data)


SIZES = {
    "dermatology": (366, 34, 6),
    "arrhythmia": (452, 262, 13),
    "hypothyroid": (3772, 31, 4),
    "column3c": (310, 6, 3),
    "cardiotocography": (2126, 21, 10),
}


@pytest.mark.parametrize("name", SIZES)
def test_published_tables(real: Path, name: str) -> None:
    data = load(name, data_dir=real)
    x, y = whole(data)
    assert (*x.shape, len(data.class_names)) == SIZES[name]
    assert data.features is not None
    assert len(data.features) == x.shape[1]
    assert np.isfinite(whole(standardize(data))[0]).all()
    assert data.train is not None
    np.testing.assert_allclose(
        np.bincount(data.test.y, minlength=len(data.class_names)), 0.3 * np.bincount(y), atol=1
    )


def test_no_feature_of_cardiotocography_is_the_class_itself(real: Path) -> None:
    """The published file has the ten classes as columns V26 to V35; a model that sees them only
    copies.
    """
    x, y = whole(load("cardiotocography", data_dir=real))
    for column in x.T:
        for k in range(10):
            assert not np.array_equal(column == column.max(), y == k)
    leaky, labels = whole(load_table(real / "medical" / "cardiotocography.csv"))
    np.testing.assert_array_equal(leaky[:, 25:35].argmax(axis=1), labels)
