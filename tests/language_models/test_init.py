"""Which files are outputs of language models."""

from __future__ import annotations

from labelwise.language_models import are_outputs
from language_model_files import batch_line, chat_completion, generated, sample


def test_what_are_outputs() -> None:
    assert are_outputs([sample(0, ["a", "b"], [-1, -2], 0)])
    assert are_outputs([generated(0, "a", "b")])
    assert are_outputs([chat_completion("yes")])
    assert are_outputs([batch_line("x", None)])
    assert not are_outputs([])
    assert not are_outputs([{"id": "x", "cat": 0.5, "dog": 0.5}])
    assert not are_outputs([{"id": "x", "probs": [0.5, 0.5], "response": "cat"}])
