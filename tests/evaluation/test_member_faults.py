"""Members on some instances, and the words of a finding."""

from __future__ import annotations

import numpy as np

from labelwise.evaluation.member_faults import Members, instances_of


def some_members(n: int = 400) -> Members:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (4, n))
    return Members(probs, (0, 1, 2, 3), np.arange(n), ("a", "b", "c"), None, exclusive=True)


def test_findings_name_the_members_of_the_ensemble() -> None:
    left = some_members().without({1})
    assert (
        left.finding("constant", [1], "predicts the same").sentence == "Member 2 predicts the same"
    )
    found = left.finding("copies", [0, 1, 2], "are identical")
    assert found.members == (0, 2, 3)
    assert found.sentence == "Members 0, 2 and 3 are identical"


def test_parts_are_named_by_their_instances() -> None:
    assert some_members(70).parts() == []
    parts = some_members().parts()
    assert [len(part.rows) for part in parts] == [100] * 4
    assert instances_of(parts, [1]) == "instances 100 to 199"
    assert instances_of(parts, [0, 1, 3]) == "instances 0 to 199 and 300 to 399"


def test_others_are_the_rest() -> None:
    members = some_members()
    np.testing.assert_allclose(members.mean_of_others(1), members.probs[[0, 2, 3]].mean(axis=0))
    assert members.others(1) == "the other members"
    assert members.without({0, 3}).others(1) == "member 1"
