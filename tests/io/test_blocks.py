from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from labelwise.io import Predictions, blocks


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 100)


def members(n: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet([0.5, 1, 2], (4, n)).astype(np.float32)


def test_the_blocks_are_all_instances_in_order(small_blocks: None) -> None:
    p = members(29)
    for q in (lw.Ensemble(p), Predictions(probs=p), Predictions(q=lw.Ensemble(p))):
        places, parts = zip(*blocks.blocks_of(q), strict=True)
        assert [(rows.start, rows.stop) for rows in places] == [(0, 8), (8, 16), (16, 24), (24, 29)]
        np.testing.assert_array_equal(np.concatenate([part.stored for part in parts], 1), p)


def test_what_is_small_or_not_of_numpy_is_one_block(small_blocks: None) -> None:
    import torch

    for q in (
        lw.Ensemble(members(5)),
        lw.Ensemble(torch.from_numpy(members(29))),
        lw.Ensemble(np.full((60, 2), 0.5), member_axis=0),
        Predictions(probs=members(5)),
    ):
        ((rows, _),) = blocks.blocks_of(q)
        assert rows is ...


def test_the_mean_has_the_bits_of_the_whole(small_blocks: None, tmp_path: Path) -> None:
    p = members(29)
    whole = lw.Ensemble(p).mean()
    path = tmp_path / "predictions.npz"
    np.savez(path, probs=p)
    for q in (lw.Ensemble(p), lw.load_predictions(path), lw.Ensemble(p[:, :2])):
        (mean,) = blocks.in_blocks_of(lambda block: (block.mean(),), q)
        assert mean.dtype == np.float32
        np.testing.assert_array_equal(mean, whole[: len(mean)])
    maps = lw.Ensemble(p[:, :28].reshape(4, 7, 4, 3))
    (mean,) = blocks.in_blocks_of(lambda block: (block.mean(),), maps)
    np.testing.assert_array_equal(mean, whole[:28].reshape(7, 4, 3))
