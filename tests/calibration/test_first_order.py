"""Recalibration of labels and members by temperature and isotonic maps."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from block_cases import check_same_bits, labeled_ensemble, peak_with_small_blocks
from labelwise.calibration import fit_calibration
from labelwise.calibration.first_order import METHODS
from labelwise.evaluation import log_loss


def labels(rng, n=3000, members=3, bend=(0.4, 2.5)):
    """Multi-label predictions whose logits are off by a shift and a factor; outcomes follow the
    mean of the true members.
    """
    z = rng.normal(0, 1.5, size=(1, n, 2)) + 0.5 * rng.normal(size=(members, n, 2))
    p = (1 / (1 + np.exp(-z))).mean(axis=0)
    return lw.MultiLabelEnsemble.from_logits(
        bend[0] + bend[1] * z, class_names=["cough", "fever"]
    ), (rng.random(p.shape) < p).astype(int)


@pytest.mark.parametrize("method", METHODS)
def test_labels_that_may_occur_together_become_calibrated(method):
    rng = np.random.default_rng(0)
    q, y = labels(rng)
    new, y_new = labels(rng)
    calibration = fit_calibration(q, y, method=method)
    better = calibration(new)
    assert type(better) is lw.MultiLabelEnsemble
    assert better.class_names == q.class_names
    assert float(log_loss(better, y_new)) < 0.9 * float(log_loss(new, y_new))
    gap = np.abs(better.mean().mean(axis=0) - y_new.mean(axis=0))
    assert np.all(
        gap < (0.12 if method == "temperature" else 0.03)
    )  # a temperature cannot undo the shift


@pytest.mark.parametrize("method", METHODS)
def test_classes_that_exclude_each_other(lib, method):
    rng = np.random.default_rng(1)
    z = 1.5 * rng.normal(size=(500, 3))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    q = lw.Ensemble.from_logits(
        lib.array(3 * z + 0.3 * rng.normal(size=(2, 500, 3))),
        weights=lib.array([1, 3]),
        class_names=["a", "b", "c"],
    )
    calibration = fit_calibration(q, np.array(["a", "b", "c"])[y], method=method)
    better = calibration(q)
    assert type(better.probs) is type(q.probs)
    np.testing.assert_allclose(lib.numpy(better.probs).sum(-1), 1)
    np.testing.assert_allclose(lib.numpy(better.weights), [0.25, 0.75])
    assert float(log_loss(better, y)) < 0.8 * float(log_loss(q, y))
    assert calibration.to_records()[1]["label"] == "b"
    assert repr(calibration).startswith("Calibration by ")
    assert np.isfinite(
        float(log_loss(calibration(lw.Ensemble(np.eye(3)[None])), [1, 2, 0]))
    )  # sure and wrong


def test_temperatures_of_labels_are_found_by_a_grid():
    rng = np.random.default_rng(2)
    q, y = labels(rng, 400, members=2, bend=(0.0, 3.0))
    found = fit_calibration(q, y)
    grid = np.exp(np.linspace(-0.5, 2.5, 3001))
    logit = np.log(q.probs) - np.log1p(-q.probs)
    p = (1 / (1 + np.exp(-logit / grid[:, None, None, None]))).mean(axis=1)
    loss = -np.where(y == 1, np.log(p), np.log1p(-p)).sum(axis=1)
    loss += np.log(grid)[:, None] ** 2 / 2  # the prior
    np.testing.assert_allclose(found.temperature, grid[loss.argmin(axis=0)], rtol=2e-3)
    mean = (1 / (1 + np.exp(-logit / found.temperature))).mean(axis=0)
    np.testing.assert_allclose(found(q).mean(), mean)


def test_a_perfect_small_set_stays_finite():
    q = lw.MultiLabelEnsemble(np.array([[[0.9], [0.1], [1.0], [0.0]]]))
    for method in METHODS:
        p = fit_calibration(q, [[1], [0], [1], [0]], method=method)(q).probs
        assert np.all((p >= 0) & (p <= 1))
        assert np.all(np.diff(p[0, [3, 1, 0, 2], 0]) >= 0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda q, y: fit_calibration(q, y, method="spline"),
            "`method` must be 'temperature' or 'isotonic'; got 'spline'",
        ),
        (lambda q, y: fit_calibration(q.probs, y), r"Pass lw\.Ensemble"),
        (
            lambda q, y: fit_calibration(lw.Dirichlet(np.ones((4, 3))), y),
            "Dirichlet, which has no members",
        ),
        (
            lambda q, y: fit_calibration(q, y, method="isotonic")(
                lw.Ensemble(np.full((2, 4, 2), 0.5))
            ),
            "3 classes it was fitted for",
        ),
    ],
)
def test_friendly_errors(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call(lw.Ensemble(np.full((2, 4, 3), 1 / 3)), [0, 1, 2, 0])


def test_maps_are_for_the_classes_they_were_fitted_to():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), (2, 60))
    calibration = fit_calibration(
        lw.Ensemble(probs, class_names=["a", "b", "c"]), rng.integers(3, size=60), method="isotonic"
    )
    with pytest.raises(ValueError) as error:  # noqa: PT011
        calibration(lw.Ensemble(probs, class_names=["c", "b", "a"]))
    assert str(error.value) == (
        "`q` must have the 3 classes it was fitted for, in their order; class 0 is 'c' instead of "
        "'a'"
    )
    calibration(lw.Ensemble(probs))


def test_a_label_that_no_temperature_fits_is_named():
    rng = np.random.default_rng(0)
    q, y = labels(rng, n=20_000)
    y[:, 1] = 1 - y[:, 1]
    with pytest.raises(ValueError, match=r"^label 'fever': no finite temperature .* same order\?$"):
        fit_calibration(q, y)


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_holds_at_most_the_logits(method, monkeypatch) -> None:
    q, y = labeled_ensemble(2000)
    size = q.probs.nbytes

    def fit() -> None:
        fit_calibration(q, y, method=method)

    assert peak_with_small_blocks(fit, monkeypatch) < 2 * size
    fitted = fit_calibration(q, y, method=method)
    assert peak_with_small_blocks(lambda: fitted(q), monkeypatch) < 1.5 * size


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_a_fit_is_bit_identical_for_blocks_of_any_size(method, multilabel, monkeypatch) -> None:
    q, y = labeled_ensemble(300, 3, "float64")
    if multilabel:
        q, y = lw.MultiLabelEnsemble(q.probs), np.eye(3, dtype=np.int8)[y]
    check_same_bits(lambda: fit_calibration(q, y, method=method), monkeypatch)
