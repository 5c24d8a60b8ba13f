"""Sessions of ONNX Runtime as members, by a stand-in for a session; tests/ecosystem asks real
ones.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from labelwise.models._batches import Batch
from labelwise.models.onnx_models import scores_of_session

PROBS = np.array([[0.2, 0.8], [0.6, 0.4]])


class Session:
    def __init__(self, *outputs: Any, inputs: tuple[str, ...] = ("x",)) -> None:
        self.outputs, self.inputs = outputs, inputs

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name=name, type="tensor(float)") for name in self.inputs]

    def run(self, names: None, feed: dict[str, np.ndarray]) -> list[Any]:
        assert set(feed) == set(self.inputs)
        assert all(x.dtype == np.float32 for x in feed.values())
        return list(self.outputs)


def test_scores_are_the_last_output_that_is_no_label() -> None:
    labels = np.array([1, 0])
    zipped = [{0: 0.2, 1: 0.8}, {0: 0.6, 1: 0.4}]
    for session in (Session(labels, PROBS), Session(labels, zipped), Session(PROBS)):
        scores = scores_of_session(session, Batch((np.ones((2, 3)),), {}))
        np.testing.assert_allclose(scores, PROBS)


def test_mistakes_have_their_sentences() -> None:
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match="the session needs the input 'mask'"):
        scores_of_session(Session(PROBS, inputs=("x", "mask")), Batch((x,), {}))
    both = Batch((), {"x": x, "mask": x})
    scores_of_session(Session(PROBS, inputs=("x", "mask")), both)
    with pytest.raises(ValueError, match="only labels; export the model with its probabilities"):
        scores_of_session(Session(np.array([1, 0])), Batch((x,), {}))
