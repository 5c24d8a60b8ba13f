"""Data sets with votes, from files of the user's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelwise_lab.votes.data import load_vote_data

PROBS = np.random.default_rng(0).dirichlet(np.ones(3), (2, 4))
VOTES = np.array([[2, 1, 0], [0, 3, 0], [1, 1, 1], [0, 0, 3]])


def test_published_data_sets_are_found_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "votes").mkdir()
    names = np.array(["entailment", "neutral", "contradiction"])
    np.savez(
        tmp_path / "votes" / "chaosnli_snli.npz",
        logits=np.log(PROBS),
        votes=VOTES,
        class_names=names,
    )
    data = load_vote_data("chaosnli", tmp_path)
    np.testing.assert_allclose(data.q.mean(), PROBS.mean(0))
    assert data.q.class_names == tuple(names)
    with pytest.raises(
        ValueError, match="the data sets with votes are cifar10h, chaosnli, sleep; got 'cifar'"
    ):
        load_vote_data("cifar", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no sleep_dodh\.npz"):
        load_vote_data("sleep", tmp_path)
