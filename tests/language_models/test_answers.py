"""Answers as probabilities of labels."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.language_models.answers import Answer, LabelReader, Token, readings_of_answers


def test_what_is_filled_in_bounds_what_was_not_listed() -> None:
    """Of random distributions over 30 tokens, of which 6 are labels, the likeliest are listed."""
    rng = np.random.default_rng(0)
    labels = [f"t{i}" for i in range(6)]
    for _ in range(200):
        truth = rng.dirichlet(np.full(30, 0.2))
        listed = np.argsort(-truth)[: rng.integers(1, 12)]
        likeliest = {f"t{i}": float(truth[i]) for i in listed}
        reader = LabelReader(labels)
        probs = reader.read(Answer({}, "x", "", tokens=[Token("t0", likeliest)]))
        assert probs is not None
        assert probs.sum() == pytest.approx(1)
        absent = [i for i in range(6) if i not in listed]
        there = [i for i in range(6) if i in listed]
        if absent and there:
            scale = truth[there[0]] / probs[there[0]]
            assert truth[absent].mean() <= probs[absent[0]] * scale + 1e-12
            assert probs[absent[0]] * scale <= truth[listed].min() + 1e-12
            assert probs[absent].sum() * scale <= 1 - truth[listed].sum() + 1e-12
        np.testing.assert_allclose(probs[there] * truth[there[:1]], probs[there[:1]] * truth[there])


@pytest.mark.parametrize(
    ("text", "position"),
    [(" Yes", 0), ("yes.", 0), ("**No**", 1), ("maybe", None), ("", None), ("ye", None)],
)
def test_labels_are_compared_without_case_and_punctuation(text: str, position: int | None) -> None:
    assert LabelReader(["yes", "no"]).position(text) == position


def test_a_token_may_begin_one_label() -> None:
    reader = LabelReader(["positive", "polite", "negative"])
    positions = [reader.position(token, token=True) for token in ("pos", "po", "n", "neg")]
    assert positions == [0, None, None, 2]
    assert reader.first_tokens == {"pos": "positive", "neg": "negative"}


def test_true_labels_are_called_like_the_classes() -> None:
    answers = [Answer({"file": "f"}, "x", "YES", "Yes"), Answer({"file": "f"}, "y", "no", "other")]
    readings, names = readings_of_answers(answers, ["yes", "no"], [])
    assert [(x.case, x.label) for x in readings] == [("x", "yes"), ("y", "other")]
    assert list(names) == ["yes", "no"]
