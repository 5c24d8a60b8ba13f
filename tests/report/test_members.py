"""Members in two bytes each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from labelwise.report import build_report, members
from labelwise.report.members import STEPS, quantize
from report_pages import LOSSES, PARTS, embedded, ensemble


def restore_quantized(codes: np.ndarray, *, normalize: bool) -> np.ndarray:
    """Decode as the page does, in float64."""
    table = np.sin(np.arange(STEPS + 1) * (np.pi / (2 * STEPS))) ** 2
    table[[STEPS // 2, STEPS]] = 0.5, 1.0
    probs = table[codes]
    return probs / probs.sum(axis=-1, keepdims=True) if normalize else probs


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_two_bytes_keep_a_probability(values) -> None:
    p = np.array(values)
    back = restore_quantized(quantize(p), normalize=False)
    assert np.all(
        np.abs(back - p)
        <= np.pi / 4 / 65534 * (2 * np.sqrt(p * (1 - p)) + np.pi / 2 / 65534) + 1e-15
    )


def test_sure_and_even_probabilities_stay_exact() -> None:
    p = np.array([0.0, 0.5, 1.0])
    assert np.array_equal(restore_quantized(quantize(p), normalize=False), p)
    even = np.array([[0.5, 0.5], [0.0, 1.0]])
    assert np.array_equal(restore_quantized(quantize(even), normalize=True), even)


def test_uncertainty_of_the_embedded_members_is_almost_that_of_the_members() -> None:
    q, y = ensemble(n=80, k=4)
    report = build_report(q, y_true=y)
    rows = embedded(report, "members.rows")
    probs = restore_quantized(embedded(report, "members"), normalize=True).transpose(1, 0, 2)
    assert rows.tolist() == list(range(80))
    for loss in LOSSES:
        exact, found = lw.decompose(q, loss), lw.decompose(lw.Ensemble(probs), loss)
        for part in PARTS:
            gap = np.abs(getattr(exact, part) - getattr(found, part))
            assert gap.max() < 1e-4, (loss, part)


def test_many_classes_keep_the_most_probable_and_the_truth() -> None:
    q, y = ensemble(n=60, k=90, sharpness=5)
    report = build_report(q, y_true=y)
    labels, rows = embedded(report, "members.labels"), embedded(report, "members.rows")
    assert labels.shape[1] == members.SOME_CLASSES
    mean = q.mean()[rows]
    best = np.argsort(-mean, axis=-1, kind="stable")[:, : members.SOME_CLASSES]
    for i, row in enumerate(rows):
        kept = set(best[i])
        if y[row] not in kept:
            kept = kept - {best[i, -1]} | {y[row]}
        assert set(labels[i]) == kept
    codes = embedded(report, "members")
    expected = quantize(np.take_along_axis(q.probs[:, rows], labels[None].astype(int), axis=-1))
    np.testing.assert_array_equal(codes, expected.transpose(1, 0, 2))


def test_weights_are_one_row_unless_they_differ() -> None:
    q, y = ensemble(n=20, k=3)
    weights = np.array([0.5, 0.2, 0.1, 0.1, 0.1])
    same = build_report(lw.Ensemble(q.probs, weights=weights), y_true=y)
    np.testing.assert_allclose(embedded(same, "members.weights"), weights)
    each = np.random.default_rng(0).random((5, 20))
    other = build_report(lw.Ensemble(q.probs, weights=each), y_true=y)
    found = embedded(other, "members.weights")
    np.testing.assert_allclose(found, (each / each.sum(axis=0)).T)


@pytest.mark.parametrize("k", [3, 5])
def test_draws_stand_for_a_continuous_distribution(k) -> None:
    rng = np.random.default_rng(0)
    q = lw.Dirichlet(rng.gamma(2, 1, (30, k)) + 0.1)
    report = build_report(q)
    assert embedded(report, "members").shape == (30, members.DRAWS, k)
    assert report.data["members"] == ()
