"""Stored predictions and numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from labelwise_lab.paper import results_folder
from labelwise_lab.paper.prediction_files import write_predictions
from labelwise_lab.paper.results_folder import Options, predictions, record
from labelwise_lab.paper.settings import Setting, TestImages

ROOT = Path(__file__).parents[2]


def test_the_results_folder_fits_a_checkout():
    assert (
        sum(
            path.stat().st_size
            for path in (ROOT / "results").rglob("*")
            if "training" not in path.parts
        )
        < 19e6
    )


def test_fewer_members_are_the_first_of_five(tmp_path):
    five = Setting("digits", epochs=1)
    three, images = replace(five, members=3), TestImages("digits")
    trained = predictions(three, 0, [images], Options(tmp_path / "a", n_jobs=1))[images]
    all_five = predictions(five, 0, [images], Options(tmp_path / "b", n_jobs=1))[images]
    derived = predictions(three, 0, [images], Options(tmp_path / "b", say=pytest.fail))[
        images
    ]  # nothing is trained
    np.testing.assert_array_equal(derived.probs, all_five.probs[:3])
    np.testing.assert_array_equal(derived.probs, trained.probs)


def test_an_interrupted_run_is_resumed(tmp_path):
    setting, images = Setting("digits", members=2, epochs=1), TestImages("digits")
    whole = predictions(setting, 0, [images], Options(tmp_path / "a", n_jobs=1))
    folder = tmp_path / "b" / setting.name / "run-0"

    def stop(text: str) -> None:  # when all members are trained and one set is predicted
        if "predicting fashion-8x8" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predictions(
            setting, 0, [TestImages("fashion-8x8")], Options(tmp_path / "b", n_jobs=1, say=stop)
        )
    checkpoint = folder / "training" / "member-1.pt"
    before = checkpoint.stat().st_mtime_ns
    parts = predictions(setting, 0, [images], Options(tmp_path / "b", n_jobs=1))
    assert checkpoint.stat().st_mtime_ns == before  # nothing is trained twice
    np.testing.assert_array_equal(parts[images].probs, whole[images].probs)
    one, other = (
        (tmp_path / each / setting.name / "run-0" / "digits.npz").read_bytes() for each in "ab"
    )
    assert one == other


def test_a_longer_training_continues_a_shorter_one(tmp_path):
    images, said = TestImages("digits"), []
    whole = predictions(
        Setting("digits", members=2, epochs=3), 0, [images], Options(tmp_path / "a", n_jobs=1)
    )[images]
    for epochs in (1, 3):
        options = Options(tmp_path / "b", n_jobs=1, say=said.append)
        parts = predictions(Setting("digits", members=2, epochs=epochs), 0, [images], options)[
            images
        ]
    assert any(line.endswith("3 epochs, from epoch 1") for line in said)
    np.testing.assert_array_equal(parts.probs, whole.probs)


def test_own_predictions_must_have_labels(tmp_path):
    setting, images = Setting("digits", members=2), TestImages("digits")
    path = Options(tmp_path).path(setting, 0, images)
    path.parent.mkdir(parents=True)
    write_predictions(path, np.full((2, 3, 4), 0.25), None, list("abcd"))
    with pytest.raises(
        ValueError,
        match="must hold `log_probs`, `class_names`, `y_true`; it holds `log_probs`, `class_names`",
    ):
        predictions(setting, 0, [images], Options(tmp_path))


@pytest.mark.parametrize(
    ("experiment", "noted"),
    [("ood", True), ("losses", True), ("arc", False), ("artifact", False), ("human", False)],
)
def test_what_was_used_of_a_data_set_is_recorded_where_it_was_used(tmp_path, experiment, noted):
    about = json.loads(
        record(Setting("cifar10"), experiment, {}, Options(tmp_path), runs=1).read_text()
    )["about"]
    assert ("svhn" in about["data"]) == noted


def test_statistics_of_unscaled_inputs(optional):
    from labelwise_lab.training.inputs import Inputs

    torch = optional("torch")
    inputs = Inputs((3, 4, 4), True, ((0.4, 0.5, 0.6), (0.2, 0.3, 0.1)))
    x = torch.randint(0, 256, (2, 4, 4, 3), dtype=torch.uint8)
    mean, sd = (torch.tensor(s)[:, None, None] for s in inputs.statistics)
    expected = (x.permute(0, 3, 1, 2).float() - mean) / sd
    torch.testing.assert_close(results_folder._unscaled(inputs)(x), expected, rtol=1e-4, atol=1e-3)
