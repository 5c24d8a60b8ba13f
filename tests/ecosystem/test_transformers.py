"""Hugging Face: small models with random weights, nothing is downloaded."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    ViTConfig,
    ViTForImageClassification,
)

import labelwise as lw

SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}
NAMES = {0: "ant", 1: "bee", 2: "cat"}
TOKENS = np.random.default_rng(0).integers(5, 90, (12, 7))
MASK = np.ones_like(TOKENS)


def berts(kind=BertForSequenceClassification, n: int = 2, **options):
    config = BertConfig(vocab_size=100, **SMALL, **options)
    return [kind(config) for _ in range(n)]


def by_hand(model, **inputs) -> torch.Tensor:
    with torch.no_grad():
        return model.eval()(**{key: torch.as_tensor(value) for key, value in inputs.items()}).logits


def test_sequence_classification_from_arrays_and_from_a_loader():
    models = berts(id2label=NAMES)
    q = lw.from_models(models, {"input_ids": TOKENS, "attention_mask": MASK}, batch_size=5)
    expected = np.stack(
        [torch.softmax(by_hand(m, input_ids=TOKENS, attention_mask=MASK), -1) for m in models]
    )
    np.testing.assert_allclose(q.probs, expected, atol=1e-6)
    assert q.class_names == ("ant", "bee", "cat")
    rows = [
        {
            "input_ids": torch.tensor(t),
            "attention_mask": torch.ones(7, dtype=torch.long),
            "labels": i % 3,
        }
        for i, t in enumerate(TOKENS)
    ]
    q, y = lw.from_models(models, DataLoader(rows, batch_size=5), return_labels=True)
    np.testing.assert_allclose(q.probs, expected, atol=1e-6)
    assert y.tolist() == [i % 3 for i in range(12)]


def test_dropout_of_one_model():
    (model,) = berts(n=1, num_labels=3)
    q = lw.from_models(model, {"input_ids": TOKENS, "attention_mask": MASK}, n_samples=6)
    assert q.probs.shape == (6, 12, 3)
    assert lw.decompose(q).epistemic.max() > 0
    assert q.class_names is None  # LABEL_0 … are no names


def test_multi_label_tokens_and_images():
    q = lw.from_models(
        berts(problem_type="multi_label_classification", id2label=NAMES),
        {"input_ids": TOKENS, "attention_mask": MASK},
    )
    assert isinstance(q, lw.MultiLabelEnsemble)
    q = lw.from_models(
        berts(BertForTokenClassification, id2label=NAMES),
        {"input_ids": TOKENS, "attention_mask": MASK},
    )
    assert q.probs.shape == (2, 12, 7, 3)
    vision = [
        ViTForImageClassification(ViTConfig(image_size=8, patch_size=4, id2label=NAMES, **SMALL))
        for _ in range(2)
    ]
    images = np.random.default_rng(0).normal(size=(4, 3, 8, 8)).astype(np.float32)
    np.testing.assert_allclose(
        lw.from_models(vision, images).probs[1],
        torch.softmax(by_hand(vision[1], pixel_values=images), -1),
        atol=1e-6,
    )


def test_one_label_is_two_classes():
    (model,) = berts(n=1, num_labels=1)
    q = lw.from_models([model], {"input_ids": TOKENS, "attention_mask": MASK}, activation="sigmoid")
    assert q.probs.shape == (1, 12, 2)
    with pytest.raises(ValueError, match="a softmax of one output is always 1"):
        lw.from_models([model], {"input_ids": TOKENS, "attention_mask": MASK}, activation="softmax")
