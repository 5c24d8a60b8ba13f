"""Ensembles drawn from the members of all runs."""

from __future__ import annotations

import numpy as np

import labelwise as lw
from labelwise.paper.ensemble_sizes import SHUFFLES, _disjoint, by_members
from labelwise.paper.settings import TestImages


def test_groups_share_no_member_and_leave_out_as_few_as_possible() -> None:
    for total, size in ((25, 10), (25, 5), (4, 3)):
        dealt = list(_disjoint(total, size))
        assert len(dealt) == SHUFFLES
        for groups in dealt:
            assert [len(group) for group in groups] == [size] * (total // size)
            assert len(np.unique(np.concatenate(groups))) == size * (total // size)
    (groups,) = _disjoint(4, 4)
    assert groups[0].tolist() == [0, 1, 2, 3]


def test_more_members_detect_better_and_all_of_them_as_the_detector_says() -> None:
    rng = np.random.default_rng(0)
    inside, outside = TestImages("digits"), TestImages("shuffled-digits")
    known = rng.dirichlet(np.ones(4), 300)
    members = {
        inside: np.stack([known] * 12) * 0.9 + 0.1 * rng.dirichlet(np.ones(4), (12, 300)),
        outside: rng.dirichlet(np.ones(4), (12, 300)),
    }
    found = by_members(members, inside, [outside])
    assert {key[2] for key in found} == {"2", "3", "5", "10", "12"}
    eu = {images: lw.decompose(lw.Ensemble(p), "squared").sum().epistemic for images, p in members.items()}
    expected = lw.evaluation.detection_scores(eu[inside], eu[outside]).auroc.value
    assert found["shuffled-digits", "variance", "12"] == {"mean": expected, "sd": None}
    means = [found["shuffled-digits", "variance", size]["mean"] for size in ("2", "3", "5", "12")]
    assert means == sorted(means)
    assert found["shuffled-digits", "variance", "2"]["sd"] > 0
