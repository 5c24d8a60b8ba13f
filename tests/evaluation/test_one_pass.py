"""One pass over blocks of predictions: the numbers of the whole, for blocks of any size."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise._engine import blocks as tables
from labelwise.evaluation._one_pass import summarize_instances, uncertainty_scores
from labelwise.io import Predictions, blocks


def predictions(*, multilabel: bool, weighted: bool = False) -> Predictions:
    rng = np.random.default_rng(0)
    if multilabel:
        probs, y = rng.random((4, 300, 3)), rng.integers(0, 2, (300, 3))
    else:
        probs, y = rng.dirichlet([1, 1, 1], (4, 300)), rng.integers(0, 3, 300)
    weights = rng.random((4, 300)) if weighted else None
    return Predictions(probs=probs.astype(np.float32), y_true=y, weights=weights)


@pytest.mark.parametrize("loss", ["log", "zero_one"])
@pytest.mark.parametrize("multilabel", [False, True])
def test_the_numbers_are_those_of_the_functions(multilabel: bool, loss: str) -> None:
    given = predictions(multilabel=multilabel)
    found = summarize_instances(given, loss)
    q, y = given.distribution(), np.asarray(given.y_true)
    u, mean = lw.decompose(q, loss), q.mean()
    scores = u.sum() if loss == "log" else lw.evaluation.ranking_scores(q, loss)
    for part, score in found.scores.items():
        np.testing.assert_array_equal(score, getattr(scores, part))
    if multilabel:
        np.testing.assert_allclose(found.right, np.mean((mean > 0.5) == y, axis=-1))
        np.testing.assert_allclose(found.confidence, np.mean(np.abs(mean - 0.5) + 0.5, -1), 1e-6)
    else:
        np.testing.assert_array_equal(found.right, mean.argmax(-1) == y)
        np.testing.assert_array_equal(found.confidence, mean.max(-1))
    expected = lw.evaluation.by_class(u, y)
    assert found.classes.ranking == expected.ranking
    np.testing.assert_array_equal(found.classes.counts, expected.counts)
    for part in ("total", "aleatoric", "epistemic", "epistemic_share"):
        for means in ("own", "everywhere"):
            one, other = (getattr(getattr(x, means), part) for x in (found.classes, expected))
            np.testing.assert_array_equal(one.value, other.value)


@pytest.mark.parametrize("loss", ["log", "zero_one"])
@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("n_threads", ["1", "2"])
def test_blocks_of_any_size_and_any_number_of_threads_give_the_same_bits(
    n_threads: str, multilabel: bool, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = predictions(multilabel=multilabel, weighted=True)
    whole = summarize_instances(given, loss)
    monkeypatch.setenv("LABELWISE_THREADS", n_threads)
    for size in (12, 12 * 7, 12 * 100):  # 1, 7 and 100 instances at a time
        monkeypatch.setattr(blocks, "BLOCK", size)
        monkeypatch.setattr(tables, "TABLE_BLOCK", size)
        assert sum(1 for _ in blocks.blocks_of(given)) > 1
        found = summarize_instances(given, loss)
        for part, score in uncertainty_scores(given, loss).items():
            np.testing.assert_array_equal(score, whole.scores[part])
            np.testing.assert_array_equal(found.scores[part], whole.scores[part])
        np.testing.assert_array_equal(found.right, whole.right)
        np.testing.assert_array_equal(found.confidence, whole.confidence)
        for part in ("total", "aleatoric", "epistemic", "epistemic_share"):
            for means in ("own", "everywhere"):
                one, other = (
                    getattr(getattr(x, means), part) for x in (found.classes, whole.classes)
                )
                np.testing.assert_array_equal(one.value, other.value)
