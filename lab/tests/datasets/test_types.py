from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwise_lab.datasets import Dataset, Examples


def make(y: list[int], classes: int) -> Dataset:
    x = np.arange(len(y), dtype=float)[:, None]
    return Dataset(
        "made", None, Examples(x, np.array(y, dtype=np.int64)), tuple(map(str, range(classes)))
    )


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=60), st.floats(0.01, 0.99), st.integers(0, 5)
)
def test_resplit_keeps_the_share_of_each_class(y: list[int], share: float, seed: int) -> None:
    data = make(y, 5).resplit(test_size=share, rng=seed)
    assert data.train is not None
    assert abs(len(data.test) - len(y) * share) <= 0.5 + 1e-9
    for k in range(5):
        assert abs((data.test.y == k).sum() - y.count(k) * share) <= 1 + 1e-9
    rows = np.concatenate([data.train.x, data.test.x]).ravel()
    assert sorted(rows) == list(range(len(y)))  # each instance in exactly one part
    assert all(
        y[int(row)] == label
        for part in (data.train, data.test)
        for row, label in zip(part.x.ravel(), part.y, strict=True)
    )
    assert np.all(np.diff(data.test.x.ravel()) > 0)  # in the order of the pool


def test_resplit_is_random_and_repeatable() -> None:
    data = make([0, 1, 2] * 100, 3)
    first, again, other = (data.resplit(rng=seed).test.x.ravel() for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_resplit_draws_every_instance_equally_often() -> None:
    data = make([0] * 8 + [1] * 32, 2)
    drawn = np.zeros(40)
    for seed in range(2000):
        drawn[data.resplit(test_size=0.25, rng=seed).test.x.ravel().astype(int)] += 1
    # binomial(2000, 0.25): standard deviation 19.4, five of them
    assert np.abs(drawn - 500).max() < 97


def test_resplit_pools_all_parts() -> None:
    one = make([0, 1], 2).test
    data = Dataset("made", one, one, ("a", "b"), one, ("f",)).resplit(test_size=0.5)
    assert len(data.train) == len(data.test) == 3
    assert (data.val, data.features, data.published_split) == (None, ("f",), False)


@pytest.mark.parametrize("share", [0, 1, -0.5, 2, float("nan")])
def test_resplit_refuses_a_share_that_is_none(share: float) -> None:
    with pytest.raises(ValueError, match="`test_size` must be a share between 0 and 1"):
        make([0, 1], 2).resplit(test_size=share)


def test_labels_must_fit() -> None:
    with pytest.raises(
        ValueError, match=r"`y` must have one label per instance, shape \(3,\); got shape \(2,\)"
    ):
        Examples(np.zeros((3, 1)), np.zeros(2, dtype=np.int64))
    with pytest.raises(
        ValueError, match="`test` of made has labels from 0 to 2; they must be 0 to 1 for 2 classes"
    ):
        make([0, 2], 2)
    with pytest.raises(ValueError, match="labels from -1"):
        make([0, -1], 2)


def test_a_part_of_a_split() -> None:
    split = make([0, 1, 0, 1], 2).test
    assert len(split[split.y == 1]) == 2
    np.testing.assert_array_equal(split[:3].y, [0, 1, 0])
