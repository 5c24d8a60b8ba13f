"""ONNX Runtime: exports from scikit-learn and torch."""

from __future__ import annotations

import io

import numpy as np
import onnxruntime
import pytest
import torch
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression

import labelwise as lw


def session(model: bytes) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("zipmap", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_classifiers_of_scikit_learn(zipmap, k, data, names):
    x, y = data[0], names[np.minimum(data[1], k - 1)]
    models = [LogisticRegression(C=c).fit(x, y) for c in (0.1, 10)]
    sessions = [
        session(to_onnx(m, x[:1], options={"zipmap": zipmap}).SerializeToString()) for m in models
    ]
    q = lw.from_models(sessions, x.astype(np.float64))
    np.testing.assert_allclose(q.probs, np.stack([m.predict_proba(x) for m in models]), atol=1e-5)


def test_networks_of_torch(data):
    x = data[0]
    torch.manual_seed(0)
    nets = [
        torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
        for _ in range(2)
    ]
    sessions = []
    for net in nets:
        file = io.BytesIO()
        batch = torch.export.Dim("batch")
        torch.onnx.export(
            net, (torch.from_numpy(x),), file, dynamic_shapes=({0: batch},), dynamo=True
        )
        sessions.append(session(file.getvalue()))
    with pytest.raises(ValueError, match="activation='softmax' for logits"):
        lw.from_models(sessions, x)
    q = lw.from_models(sessions, torch.from_numpy(x), activation="softmax", batch_size=64)
    with torch.no_grad():
        expected = torch.stack([torch.softmax(net(torch.from_numpy(x)), -1) for net in nets])
    torch.testing.assert_close(q.probs, expected, atol=1e-5, rtol=0)
