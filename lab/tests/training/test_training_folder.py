"""The folder of a training: not touched without resume, and damage gets one sentence."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest
import torch

from labelwise_lab.datasets import Examples
from labelwise_lab.training import load_ensemble
from labelwise_lab.training._training_folder import reserved
from small_trainings import DATA, RECIPE, X, Y, fit, same, weights


def test_a_folder_with_a_training_is_not_touched_without_resume(tmp_path):
    fitted = fit(tmp_path)
    before = weights(fitted)
    with pytest.raises(ValueError, match="already holds a training; resume it with resume=True"):
        fit(tmp_path, rng=8)
    for change, words in (
        ({"rng": 8}, "`seed` changed: it was 7, now 8"),
        ({"recipe": replace(RECIPE, batch_size=16)}, "`recipe` changed"),
        ({"make_model": "cnn", "data": (np.zeros((4, 20, 20), np.uint8), Y[:4])}, "changed"),
        ({"data": replace(DATA, train=Examples(X[::-1].copy(), Y))}, "the training data changed"),
    ):
        with pytest.raises(ValueError, match=words):
            fit(tmp_path, **({"resume": True} | change))
    assert same(before, weights(fitted))
    with (
        reserved(tmp_path),
        pytest.raises(
            ValueError,
            match=(rf"another process is training in .* \(process {os.getpid()}, since .*\); wait"),
        ),
    ):
        fit(tmp_path, resume=True)


def test_damaged_folders_get_one_sentence(tmp_path):
    fitted = fit(tmp_path)
    good = torch.load(fitted.checkpoints[0], weights_only=True)
    for state in ([], {"epoch": 1}, {"epoch": "1", "model": {}}, {"epoch": 1, "model": []}):
        torch.save(state, fitted.checkpoints[0])
        with pytest.raises(ValueError, match=r"member-0\.pt' is not a checkpoint"):
            fitted.model(0)
    for state in ({**good, "model": {}}, {**good, "model": {"layers.0.weight": 3}}):
        torch.save(state, fitted.checkpoints[0])
        with pytest.raises(ValueError, match=r"member-0\.pt' cannot be read; delete it"):
            fitted.model(0)
    torch.save(good, fitted.checkpoints[0])
    load_ensemble(tmp_path).model(0)
    settings = tmp_path / "ensemble.json"
    stored = json.loads(settings.read_text())
    for content in (
        "[",
        "[]",
        "[" * 10**5,
        *(
            {key: value for key, value in stored.items() if key != lost}
            for lost in ("network", "n_classes", "inputs", "recipe")
        ),
        {**stored, "inputs": {}},
        {**stored, "inputs": 3},
        {**stored, "recipe": {"nonsense": 1}},
        {**stored, "n_classes": "three"},
        {**stored, "class_names": ["a"]},
        {**stored, "inputs": {**stored["inputs"], "shape": [4 * 10**9]}, "network": "mlp"},
        {**stored, "n_classes": 10**12, "class_names": None},
        {**stored, "n_classes": 10**30, "class_names": None},
    ):
        settings.write_text(content if isinstance(content, str) else json.dumps(content))
        with pytest.raises(ValueError, match=r"ensemble|member-0\.pt' cannot be read"):
            load_ensemble(tmp_path).model(0)
    settings.write_text(json.dumps(stored))
    fitted._job.metrics(1).write_text("[]\n{")
    with pytest.raises(ValueError, match=r"cannot be read"):
        _ = fitted.metrics
