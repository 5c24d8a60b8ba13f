"""Yes, no or unsure for each label."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.sets import fit_labels


def test_label_answers_and_cuts_without_doubt() -> None:
    p = np.linspace(0.001, 0.999, 200)[:, None]
    perfect = p[:, 0] > 0.5
    q = lw.MultiLabelEnsemble(np.concatenate([p, p], axis=1)[None], class_names=["edema", "mass"])
    y = np.stack([perfect, np.arange(200) % 2 == 0], axis=-1)
    labels = fit_labels(q, y)
    assert labels.lower[0] == labels.upper[0]  # no doubt is left
    assert labels.lower[1] < 0.15 < 0.85 < labels.upper[1]
    answers = labels.predict(q)
    assert set(answers.answer[:, 0]) == {0, 1}
    assert list(answers.to_frame()["mass"].iloc[[0, 100, 199]]) == ["no", "unsure", "yes"]
    strict = fit_labels(q, y, method="learn_then_test", confidence=0.9)
    many = fit_labels(q, y, method="learn_then_test", confidence=0.9, family_wise=True)
    assert many.lower[1] < strict.lower[1] < labels.lower[1]
    assert "90 %" in many.guarantee
    assert "for all labels at once" in many.guarantee
    family = fit_labels(q, y, family_wise=True)
    assert family.lower[1] < labels.lower[1]
    assert "any present label" in family.guarantee
    evaluation = labels.evaluate(q, y)
    missed = (answers.answer[:, 1] == 0) & y[:, 1]
    assert evaluation.missed.value[1] == pytest.approx(missed.sum() / y[:, 1].sum())
    assert evaluation.missed.low[1] < evaluation.missed.value[1] < evaluation.missed.high[1] < 0.2
    assert evaluation.to_frame().shape == (2, 10)
    assert "mass" in repr(evaluation)
    by_patient = fit_labels(q, y, groups=np.arange(200))
    np.testing.assert_array_equal(by_patient.lower, labels.lower)  # a group for each case
