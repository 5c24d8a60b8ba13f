"""Yes, no or unsure for each label."""

from __future__ import annotations

import dataclasses

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
    evaluation = labels.evaluate(q, y)
    missed = (answers.answer[:, 1] == 0) & y[:, 1]
    assert evaluation.missed.value[1] == pytest.approx(missed.sum() / y[:, 1].sum())
    assert evaluation.missed.low[1] < evaluation.missed.value[1] < evaluation.missed.high[1] < 0.2
    assert evaluation.to_frame().shape == (2, 10)
    assert "mass" in repr(evaluation)
    by_patient = fit_labels(q, y, groups=np.arange(200))
    np.testing.assert_array_equal(by_patient.lower, labels.lower)  # a group for each case


def test_shares_of_thresholds_that_were_fitted_by_group_are_those_of_a_random_group() -> None:
    """Patients of 1 or 20 cases; in the large ones nothing is missed. The interval of all cases
    covers what is guaranteed in few samples.
    """
    rng = np.random.default_rng(0)
    hits: dict[str, list[bool]] = {"groups": [], "cases": []}

    def draw(n_groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = np.where(rng.random(n_groups) < 0.5, 1, 20)
        groups = np.repeat(np.arange(n_groups), size)
        y = np.ones(len(groups), bool)
        p = np.where(size[groups] == 20, 0.9, rng.random(len(groups)))
        y[::2], p[::2] = False, 0.1 * rng.random(len(p[::2]))  # every other case lacks the label
        return np.stack([p, p], axis=-1), np.stack([y, y], axis=-1), groups

    p, y, groups = draw(200)
    labels = fit_labels(lw.MultiLabelEnsemble(p[None]), y, groups=groups)
    limit = labels.lower[0]
    for _ in range(200):
        p, y, groups = draw(100)
        q = lw.MultiLabelEnsemble(p[None])
        present = y[:, 0]
        size = np.bincount(groups)[groups]
        truth = limit * np.mean(np.bincount(groups, size == 1)[np.unique(groups[present])])
        found = labels.evaluate(q, y, groups=groups)
        by_group = [
            np.mean(p[(groups == g) & present, 0] < limit) for g in np.unique(groups[present])
        ]
        assert found.missed.value[0] == pytest.approx(np.mean(by_group))
        by_case = dataclasses.replace(labels, grouped=False).evaluate(q, y).missed
        for name, x in (("groups", found.missed), ("cases", by_case)):
            hits[name].append(bool(x.low[0] <= truth <= x.high[0]))
    assert np.mean(hits["groups"]) >= 0.93
    assert np.mean(hits["cases"]) < 0.3
    assert "random group" in repr(found)
    with pytest.raises(ValueError, match="Pass the group of each case, `groups`"):
        labels.evaluate(q, y)


def test_no_errors_in_few_groups_and_no_cases_at_all() -> None:
    p = np.repeat([[0.9], [0.1]], 20, axis=0)
    y = p > 0.5
    labels = fit_labels(
        lw.MultiLabelEnsemble(np.concatenate([p, p], axis=1)[None]), np.concatenate([y, y], axis=1)
    )
    q = lw.MultiLabelEnsemble(np.full((1, 12, 2), 0.9))
    groups = np.arange(12) // 3
    found = labels.evaluate(q, np.ones((12, 2), bool), groups=groups)
    assert found.missed.high == pytest.approx([1 - 0.025 ** (1 / 4)] * 2)
    assert np.isnan(found.false_alarms.value).all()  # nothing was absent
    assert "–" in repr(found)
