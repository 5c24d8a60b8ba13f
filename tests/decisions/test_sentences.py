"""Decisions explained in a sentence."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.decisions import Costs, decide


def test_sentences():
    names = ["nevus", "melanoma", "lentigo"]
    q = lw.Ensemble(
        np.array([[[0.90, 0.05, 0.05], [0.5, 0.3, 0.2]], [[0.80, 0.15, 0.05], [0.3, 0.5, 0.2]]]),
        class_names=names,
    )
    matrix = Costs([[0, 2, 1], [20, 0, 20], [1, 2, 0]], ask=1.5, abstain=3, class_names=names)
    one = decide(q, matrix, task="multiclass")
    assert one.explain(0) == (
        "ask an expert for the class of this case: the expert's answer saves 1.8 on average and "
        "costs 1.5; "
        "knowing the exact probabilities would save at most 0.425 if no expert is asked and the "
        "predicted spread is right"
    )
    assert one.explain(1) == (
        "predict melanoma, which costs 1.2 on average; the expert's answer saves 1.2 on average "
        "and costs 1.5; "
        "knowing the exact probabilities would save at most 0 if no expert is asked and the "
        "predicted spread is right"
    )
    missed = {"melanoma": 20, "lentigo": 2}
    costs = Costs(false_alarm={"melanoma": 2}, missed=missed, ask=1.5, abstain=3)
    label = decide(q, costs, task="per_label")
    assert label.explain(0, label="melanoma") == (
        "ask an expert about melanoma: the expert's answer saves 1.8 on average and costs 1.5; "
        "knowing the exact probabilities would save at most 0.45 if no expert is asked and the "
        "predicted spread is right"
    )
    assert label.explain(0) == label.explain(0, label="melanoma") + (
        "; act on nevus (expected cost 0.15); do not act on lentigo (expected cost 0.1)"
    )
    erring = decide(
        q,
        Costs([[0, 2, 1], [20, 0, 20], [1, 2, 0]], abstain=0.1, expert_error=0.25),
        task="multiclass",
    )
    assert erring.explain(0) == (
        "abstain on this case, which costs 0.1; the expert's answer saves "
        "0 on average; "
        "knowing the exact probabilities would save at most 0 if the predicted spread is right"
    )
    many = decide(
        lw.MultiLabelEnsemble(np.full((1, 1, 9), 0.9)),
        Costs(false_alarm={"0": 9}, abstain=0.2, class_names=list("012345678")),
        task="per_label",
    )
    assert (
        many.explain(0)
        == "act on 1, 2, 3, 4, 5, … (expected cost 0.8); abstain on 0 (expected cost 0.2)"
    )


def test_cases_are_picked_by_position_and_labels_by_label():
    plan = decide(
        lw.Ensemble(np.full((2, 3, 2), 0.5), class_names=["cat", "dog"]), Costs(default=1)
    )
    with pytest.raises(ValueError, match=r"must be the position of a case; got 'cat'\. Pick a"):
        plan.explain("cat")
    with pytest.raises(ValueError, match="this decision is about the whole case"):
        plan.explain(0, label="cat")
