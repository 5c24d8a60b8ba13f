"""A metric over batches and processes is the mean over all instances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from labelwise.metrics import LabelwiseMetric

PARTS = ("total", "aleatoric", "epistemic")
NAMES = ["a", "b", "c"]


def predictions(n: int = 40, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(3), (4, n))


@given(st.lists(st.integers(0, 40), max_size=5), st.sampled_from(["log", "squared", "zero_one"]))
def test_batches_and_processes_do_not_matter(cuts, loss):
    probs = predictions()
    one, two = LabelwiseMetric(loss, NAMES), LabelwiseMetric(loss, NAMES)
    for i, batch in enumerate(np.split(probs, sorted(cuts), axis=1)):
        (one, two)[i % 2].update(batch)
    u = lw.decompose(lw.Ensemble(probs, class_names=NAMES), loss)
    added = LabelwiseMetric(loss, NAMES).load_state(one.state + two.state)
    assert added.n_instances == 40
    for part in PARTS:
        np.testing.assert_allclose(
            getattr(added.compute(), part), getattr(u, part).mean(axis=0), rtol=1e-12
        )
    assert one.state.shape == (3 * 3 + 1,)
    assert added.compute().to_dict() == pytest.approx(u.to_dict())


def test_libraries_and_images(lib):
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (4, 2, 5, 6))
    found = LabelwiseMetric().update(lib.array(probs)).compute()
    assert isinstance(found.total, np.ndarray)
    np.testing.assert_allclose(
        found.epistemic, lw.decompose(lw.Ensemble(probs)).epistemic.mean(axis=(0, 1, 2))
    )


def test_gradients_do_not_stay_alive(optional):
    torch = optional("torch")
    logits = torch.randn(3, 8, 2, requires_grad=True)
    found = LabelwiseMetric().update(torch.softmax(logits, -1)).compute()
    assert found.total.shape == (2,)


def test_reset_state_and_other_distributions():
    metric = LabelwiseMetric("log", NAMES)
    assert (
        metric.state.tolist() == [0.0] * 10
    )  # every process can take part before it has seen a batch
    with pytest.raises(ValueError, match="nothing to compute"):
        metric.compute()
    q = lw.Dirichlet(np.full((5, 3), 2.0))
    np.testing.assert_allclose(metric.update(q).compute().total, lw.decompose(q).total[0])
    assert metric.reset().n_instances == 0
    with pytest.raises(ValueError, match="nothing to compute"):
        metric.load_state(np.zeros(10)).compute()


def test_labels_that_may_occur_together_and_a_loss_for_each_class():
    probs = np.random.default_rng(0).random((3, 20, 2))
    found = LabelwiseMetric("squared", ["x", "y"], multilabel=True).update(probs).compute()
    np.testing.assert_allclose(
        found.total, lw.decompose(lw.MultiLabelEnsemble(probs), "squared").total.mean(axis=0)
    )
    loss = lw.CostLoss(1, {"a": 1, "b": 2, "c": 30})
    found = LabelwiseMetric(loss, NAMES).update(predictions()).compute()
    np.testing.assert_allclose(
        found.total,
        lw.decompose(lw.Ensemble(predictions(), class_names=NAMES), loss).total.mean(axis=0),
    )


def test_a_single_member_has_no_epistemic_part():
    metric = LabelwiseMetric().update(predictions()[:1])
    assert "epistemic" not in metric.compute().to_dict()
    assert "epistemic" in metric.update(predictions()).compute().to_dict()


def test_wrong_use_has_its_sentence():
    metric = LabelwiseMetric("log").update(predictions())
    with pytest.raises(ValueError, match="has 3 labels; got 2"):
        metric.update(np.full((2, 4, 2), 0.5))
    with pytest.raises(ValueError, match="has 3 labels; got 2"):
        metric.load_state(np.zeros(7))
    with pytest.raises(ValueError, match=r"3K \+ 1"):
        metric.load_state(np.zeros(9))


def test_batches_are_matched_by_class_name() -> None:
    probs = predictions()
    names = NAMES[::-1]
    metric = LabelwiseMetric("log", NAMES).update(lw.Ensemble(probs, class_names=NAMES))
    metric.update(lw.Ensemble(probs[..., ::-1], class_names=names))
    np.testing.assert_allclose(
        metric.compute().epistemic, lw.decompose(lw.Ensemble(probs)).epistemic.mean(axis=0)
    )
    unnamed = LabelwiseMetric("log").update(lw.Ensemble(probs, class_names=NAMES))
    unnamed.update(lw.Ensemble(probs[..., ::-1], class_names=names))
    np.testing.assert_allclose(unnamed.compute().epistemic, metric.compute().epistemic)
    with pytest.raises(ValueError, match="`probs` names 'other', which is not among"):
        metric.update(lw.Ensemble(probs, class_names=["other", *NAMES[1:]]))
