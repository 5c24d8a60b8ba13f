"""One pass over the predictions finds what NumPy finds in all of them."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.events import as_events
from labelwise.io import Predictions, predictions
from labelwise.report import collect as module
from labelwise.report.collect import collect
from report_pages import LOSSES, PARTS, ensemble


def small_blocks(monkeypatch) -> None:
    monkeypatch.setattr(predictions, "BLOCK", 140)


def test_columns_are_the_librarys_whatever_the_blocks(monkeypatch) -> None:
    small_blocks(monkeypatch)
    q, y = ensemble(n=50, k=4)
    other, _ = ensemble(n=20, k=4, seed=3)
    sets = {"own": Predictions(q=q, y_true=y), "other": Predictions(q=other)}
    calls = []
    found = collect(sets, None, LOSSES, lambda done, of: calls.append((done, of)))
    mean = np.concatenate([q.mean(), other.mean()])
    order = np.argsort(-mean, axis=-1, kind="stable")
    np.testing.assert_array_equal(found["predicted"], order[:, 0])
    np.testing.assert_array_equal(found["second"], order[:, 1])
    np.testing.assert_array_equal(found["truth"], np.append(y, np.full(20, -1)))
    np.testing.assert_allclose(found["top"], mean.max(-1))
    for loss in LOSSES:
        for part in PARTS:
            expected = [getattr(lw.decompose(x, loss).sum(), part) for x in (q, other)]
            np.testing.assert_allclose(
                found[f"{part}.{loss}"], np.concatenate(expected), atol=1e-12
            )
    choices = np.concatenate([q.probs, other.probs], axis=1).argmax(-1)
    for j in range(5):
        bits = found["agree"] >> j & 1
        np.testing.assert_array_equal(bits, choices[j] == order[:, 0])
        right = found["right"][:50] >> j & 1
        np.testing.assert_array_equal(right, choices[j, :50] == y)
    epistemic = lw.decompose(q).epistemic
    np.testing.assert_allclose(found["epistemic"][:50], epistemic, atol=1e-6)
    assert calls[-1] == (70, 70)
    assert not np.any(found.wrong[50:])


def test_labels_that_occur_together(monkeypatch) -> None:
    small_blocks(monkeypatch)
    rng = np.random.default_rng(0)
    q = lw.MultiLabelEnsemble(rng.random((3, 40, 11)))
    y = rng.integers(0, 2, (40, 11))
    found = collect({"": Predictions(q=q, y_true=y)}, None, ["log"])
    called = q.mean() > 0.5
    for name, expected in (("predicted_labels", called), ("truth_labels", y)):
        bits = np.unpackbits(found[name], axis=-1, count=11, bitorder="little")
        np.testing.assert_array_equal(bits, expected)
    np.testing.assert_array_equal(found["truth"], (called != y).sum(-1))
    np.testing.assert_allclose(found.value, (called == y).mean(-1))


@pytest.mark.parametrize("averaged", [False, True])
def test_events_that_overlap_are_averaged(averaged) -> None:
    q, y = ensemble(n=30, k=4, class_names=list("abcd"))
    events = {"left": ["a", "b"], "right": ["c", "d"]}
    if averaged:
        events["all but d"] = ["a", "b", "c"]
    found = collect({"": Predictions(q=q, y_true=y)}, as_events(events), ["log"])
    assert found.label_weight == (1 / 3 if averaged else 1)
    u = lw.decompose(q, events=events)
    expected = u.total.mean(-1) if averaged else u.total.sum(-1)
    np.testing.assert_allclose(found["total.log"], expected)


def test_of_many_labels_none_is_kept(monkeypatch) -> None:
    q, y = ensemble(n=30, k=6)
    sets = {"": Predictions(q=q, y_true=y)}
    by_label = {"mean", "aleatoric", "epistemic"}
    assert by_label <= set(collect(sets, None, ["log"]).columns)
    monkeypatch.setattr(module, "MAX_LABELWISE", 100)
    assert not by_label & set(collect(sets, None, ["log"]).columns)
