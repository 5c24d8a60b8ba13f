"""What models are asked about: loaders, labels, and inputs that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.naive_bayes import GaussianNB
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import labelwise as lw
from model_cases import CODES, X, Y, softmax_by_hand


def test_loaders_that_would_lose_the_order_are_refused(nets):
    data = TensorDataset(torch.from_numpy(X), torch.from_numpy(CODES))
    shuffled = DataLoader(data, batch_size=16, shuffle=True)
    with pytest.raises(ValueError, match=r"the loader shuffles, .*return_labels=True"):
        lw.from_models(nets, shuffled)
    q, y = lw.from_models(nets, shuffled, return_labels=True)
    expected = softmax_by_hand(nets, X)
    for k in range(3):
        np.testing.assert_allclose(
            np.sort(q.probs[0][y == k, 0]), np.sort(expected[0][k == CODES, 0]), atol=1e-6
        )


def test_labels_are_asked_for_where_there_are_some(nets):
    with pytest.raises(ValueError, match="needs a loader that gives labels; `X` has none"):
        lw.from_models(nets, X, return_labels=True)
    with pytest.raises(ValueError, match=r"batches \(inputs, labels\) or mappings"):
        lw.from_models(nets, DataLoader(TensorDataset(torch.from_numpy(X))), return_labels=True)
    assert lw.from_models(nets, (X[i : i + 20] for i in (0, 20, 40))).probs.shape == (3, 60, 3)


def test_several_inputs_come_before_the_labels():
    class Two(nn.Module):
        def forward(self, a, b):
            return torch.stack([a.sum(1), b.sum(1)], 1)

    loader = DataLoader(
        TensorDataset(torch.from_numpy(X), torch.from_numpy(-X), torch.from_numpy(CODES)),
        batch_size=32,
    )
    q, y = lw.from_models([Two()], loader, return_labels=True)
    np.testing.assert_allclose(q.probs[0, :, 0], 1 / (1 + np.exp(-2 * X.sum(1))), atol=1e-6)
    np.testing.assert_array_equal(y, CODES)


def test_inputs_that_cannot_be_used_get_a_sentence(nets):
    with pytest.raises(
        TypeError, match=r"got TensorDataset\. Wrap a torch Dataset in a DataLoader"
    ):
        lw.from_models(nets, TensorDataset(torch.from_numpy(X)))
    with pytest.raises(ValueError, match="at least one instance"):
        lw.from_models(nets, X[:0])
    with pytest.raises(ValueError, match="gave no batch"):
        lw.from_models(nets, iter([]))
    with pytest.raises(TypeError, match="must hold numbers"):
        lw.from_models(nets, np.array([["a", "b", "c", "d"]]))
    with pytest.raises(
        ValueError, match=r"one row of scores per instance; got shape \(3,\) for 60"
    ):
        lw.from_models(lambda x: np.full(3, 1 / 3), X)
    with pytest.raises(ValueError, match=r"outputs of one shape; got \(60, 2\) and \(60, 3\)"):
        lw.from_models([lambda x: np.full((60, 3), 1 / 3), lambda x: np.full((60, 2), 1 / 2)], X)
    with pytest.raises(TypeError, match="floating-point scores; got int"):
        lw.from_models(lambda x: np.zeros((60, 3), int), X)
    with pytest.raises(ValueError, match="different shapes; pad"):
        lw.from_models(lambda x: np.full((len(x), x.shape[1], 2), 0.5), iter([X[:2], X[:2, :3]]))
    with pytest.raises(
        TypeError,
        match="must return a tensor of class scores, or an output with `logits`; got tuple",
    ):
        lw.from_models(type("Pair", (nn.Module,), {"forward": lambda self, x: (x, x)})(), X)
    with pytest.raises(ValueError, match="`n_samples` is for dropout in torch modules; got 3"):
        lw.from_models(GaussianNB().fit(X, Y), X, n_samples=3)
    with pytest.raises(ValueError, match="`n_samples` must be a positive integer"):
        lw.from_models(nets, X, n_samples=0)
