"""Prediction files, written: the same bytes for the same content, and one sentence for what cannot
be saved.
"""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from full_predictions import FULL, PROBS
from labelwise.io import Predictions, load_predictions, save_predictions


def test_same_content_same_bytes(tmp_path):
    one, two = (save_predictions(tmp_path / f"{i}.npz", **FULL).read_bytes() for i in (1, 2))
    assert one == two


def test_torch_arrays_are_accepted(tmp_path, optional):
    torch = optional("torch")
    p = load_predictions(
        save_predictions(tmp_path / "p.npz", probs=torch.tensor(PROBS, requires_grad=True))
    )
    np.testing.assert_array_equal(p.probs, PROBS)


def test_wrong_paths(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.npz or \.npy; got 'p\.pkl'"):
        save_predictions(tmp_path / "p.pkl", probs=PROBS)
    with pytest.raises(ValueError, match=r"\.npy file holds `probs` alone; got probs, y_true"):
        save_predictions(tmp_path / "p.npy", probs=PROBS, y_true=np.zeros(7, int))
    with pytest.raises(FileNotFoundError, match="no folder"):
        save_predictions(tmp_path / "no" / "p.npz", probs=PROBS)
    with pytest.raises(FileNotFoundError, match="there is no prediction file"):
        load_predictions(tmp_path / "p.npz")
    with pytest.raises(TypeError, match="not both"):
        save_predictions(tmp_path / "p.npz", Predictions(probs=PROBS), y_true=np.zeros(7, int))


def test_an_ensemble_is_given_by_its_fields(tmp_path) -> None:
    q = lw.Ensemble(np.full((2, 3, 2), 0.5))
    with pytest.raises(TypeError, match="must be Predictions; got Ensemble"):
        save_predictions(tmp_path / "p.npz", q)


def test_names_and_factors_of_the_members_come_back(tmp_path) -> None:
    names = [f"net {i}" for i in range(len(PROBS))]
    factors = {"model": tuple(f"m{i % 2}" for i in range(len(PROBS)))}
    path = save_predictions(tmp_path / "p.npz", probs=PROBS, member_names=names, factors=factors)
    p = load_predictions(path)
    assert p.member_names == tuple(names)
    assert p.factors == factors
    q = p.distribution()
    assert (q.member_names, q.factors) == (tuple(names), factors)
    again = load_predictions(save_predictions(tmp_path / "again.npz", p))
    assert (again.member_names, again.factors) == (tuple(names), factors)
    assert Predictions(q=q).member_names == tuple(names)
