"""Prediction files: what is written is read back as it was, nearly, and what else is there is
refused.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from labelwise_lab.paper.prediction_files import (
    effect_of_rounding,
    read_predictions,
    write_predictions,
)
from labelwise_lab.paper.results_folder import Options
from labelwise_lab.paper.settings import Setting, TestImages

ROOT = Path(__file__).parents[2]


def test_stored_predictions_are_small_and_close(tmp_path):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(10, 0.02), (5, 2000)).astype(np.float32)
    probs[0, 0] = np.eye(10)[3]
    y = rng.integers(0, 10, 2000)
    for name in ("a.npz", "b.npz"):
        write_predictions(tmp_path / name, probs, y, list("abcdefghij"))
    stored = read_predictions(tmp_path / "a.npz")
    assert stored.probs.dtype == np.float32
    np.testing.assert_allclose(stored.probs.sum(-1, dtype=float), 1, atol=1e-6)
    np.testing.assert_allclose(stored.probs, probs, atol=3e-4)
    small = (probs > 1.3e-7) & (probs < 3e-4)
    np.testing.assert_allclose(
        stored.probs[small], probs[small], rtol=0.037
    )  # half of 1/16, and float16
    np.testing.assert_array_equal(stored.probs[0, 0], probs[0, 0])  # 0 and 1 stay what they are
    np.testing.assert_array_equal(stored.y_true, y)
    assert stored.class_names == tuple("abcdefghij")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert (tmp_path / "a.npz").stat().st_size < probs.nbytes / 3
    with np.load(tmp_path / "a.npz") as plain_numpy:  # an auditor needs nothing but NumPy
        assert (plain_numpy["log_probs"].dtype, plain_numpy["log_probs"].shape) == (
            np.float16,
            probs.shape,
        )
    np.testing.assert_array_equal(read_predictions(tmp_path / "a.npz", 2).probs, stored.probs[:2])


def test_rounding_moves_no_auroc_in_its_fourth_digit(tmp_path):
    stored = [
        ROOT / "results" / "fashion-mnist-paper" / "run-0" / f"{name}.npz"
        for name in ("fashion-mnist", "mnist")
    ]
    exact = [
        np.asarray(read_predictions(path, redraw=0).probs) for path in stored
    ]  # the unrounded ones are not kept
    rounded = []
    for i, probs in enumerate(exact):
        write_predictions(tmp_path / f"{i}.npz", probs, None, list("abcdefghij"))
        rounded.append(read_predictions(tmp_path / f"{i}.npz").probs)
    a, b = (
        float(
            lw.evaluation.detection_scores(
                *(lw.decompose(lw.Ensemble(p)).sum().epistemic for p in pair)
            ).auroc
        )
        for pair in (exact, rounded)
    )
    assert a != b
    assert a == pytest.approx(b, abs=5e-5)


def test_redrawn_predictions_round_to_the_stored_ones(tmp_path):
    probs = np.random.default_rng(0).dirichlet(np.full(10, 0.1), (2, 300))
    write_predictions(tmp_path / "a.npz", probs, None, list("abcdefghij"))
    stored, redrawn = (
        np.log(read_predictions(tmp_path / "a.npz", redraw=seed).probs) for seed in (None, 1)
    )
    assert not np.array_equal(stored, redrawn)
    fine, coarse = stored > -7.9, (stored < -8.1) & (stored > -15.9)
    np.testing.assert_allclose(redrawn[fine], stored[fine], atol=4e-3)
    assert 0.02 < np.abs(redrawn[coarse] - stored[coarse]).max() < 0.04  # half of a step of 1/16
    images, setting = TestImages("digits"), Setting("digits", members=2)
    path = Options(tmp_path).path(setting, 0, images)
    path.parent.mkdir(parents=True)
    (tmp_path / "a.npz").rename(path)
    assert (
        0
        < effect_of_rounding(
            setting, [images], Options(tmp_path), lambda p: [p.probs[0, :, 0].mean()]
        )
        < 1e-4
    )


RNG = np.random.default_rng(0)
LOG_PROBS = np.log(RNG.dirichlet(np.ones(3), (5, 40))).astype(np.float16)
RIGHT = {
    "log_probs": LOG_PROBS,
    "class_names": np.array(["a", "b", "c"]),
    "y_true": RNG.integers(0, 3, 40),
}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"log_probs": None},
            "must hold `log_probs`, `class_names`, `y_true`; it holds `class_names`, `y_true`",
        ),
        (
            {"y_true": None},
            "must hold `log_probs`, `class_names`, `y_true`; it holds `log_probs`, `class_names`",
        ),
        (dict.fromkeys(RIGHT), "it holds none of them"),
        ({"log_probs": LOG_PROBS[:3]}, "must hold the predictions of 5 members; it holds 3"),
        (
            {"y_true": RIGHT["y_true"][:30]},
            r"one label for each of the 40 instances of `log_probs`; got `y_true` of shape \(30,\)",
        ),
        ({"y_true": RIGHT["y_true"] + 1}, "must hold labels from 0 to 2; got `y_true` from 1 to 3"),
        (
            {"log_probs": LOG_PROBS + 100},
            "logarithms of probabilities that sum to 1; `log_probs` gives sums from .* to inf",
        ),
        ({"log_probs": LOG_PROBS * np.float16(np.nan)}, "gives sums from nan to nan"),
    ],
)
def test_what_else_is_there_is_refused(tmp_path, changed, message):
    path = tmp_path / "run-0" / "digits.npz"
    path.parent.mkdir()
    np.savez(path, **{key: x for key, x in (RIGHT | changed).items() if x is not None})
    with pytest.raises(ValueError, match=message) as refused:
        read_predictions(path, 5, labeled=True)
    assert str(refused.value).startswith(f"{str(path)!r} must hold")
    assert str(refused.value).endswith(
        "Delete it and run the command again: what is missing is trained and predicted"
    )


def test_labels_are_needed_only_where_they_are_asked_for(tmp_path):
    np.savez(tmp_path / "p.npz", log_probs=LOG_PROBS, class_names=RIGHT["class_names"])
    assert read_predictions(tmp_path / "p.npz", 5).y_true is None


@pytest.mark.parametrize(
    "damage", [lambda content: content[: len(content) // 2], lambda content: b"x"]
)
def test_a_damaged_file_is_named_with_its_folder(tmp_path, damage):
    path = tmp_path / "p.npz"
    np.savez(path, **RIGHT)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"p\.npz is not a readable \.npz file") as refused:
        read_predictions(path)
    assert str(refused.value).startswith(str(path))
