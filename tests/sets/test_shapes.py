"""Sets without gaps on a scale, and of few nodes of a tree."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.sets import fit_sets
from set_cases import NAMES, cases, ensemble


def test_ordinal_sets_have_no_gaps_and_grow_with_the_level() -> None:
    p, y = cases()
    scale = lw.events.ordinal(["angioma", "nevus", "lentigo", "melanoma"])
    order = [NAMES.index(name) for name in ("angioma", "nevus", "lentigo", "melanoma")]
    before = np.zeros((len(p), 4), bool)
    for coverage in (0.5, 0.7, 0.9, 0.95):
        plain = fit_sets(ensemble(p), y, coverage=coverage)
        member = (
            fit_sets(ensemble(p), y, coverage=coverage, shape=scale).predict(ensemble(p)).member
        )
        assert (plain.predict(ensemble(p)).member <= member).all()
        for row in member[:, order]:
            where = np.flatnonzero(row)
            assert len(where) == 0 or len(where) == where[-1] - where[0] + 1
        assert (before <= member).all()
        before = member


@pytest.mark.parametrize("max_nodes", [1, 2, 3])
def test_trees_give_few_nodes_and_grow_with_the_level(max_nodes: int) -> None:
    rng = np.random.default_rng(0)
    names = list("abcdefgh")
    tree = lw.events.tree(
        {
            "left": {"ab": ["a", "b"], "cd": ["c", "d"]},
            "right": {"ef": ["e", "f"], "gh": ["g", "h"]},
        }
    )
    y = rng.integers(8, size=800)
    p = rng.dirichlet(np.full(8, 0.5), 800) + 0.4 * np.eye(8)[y]
    q = lw.Ensemble(p[None] / p.sum(axis=1, keepdims=True), class_names=names)
    before = np.zeros((800, 8), bool)
    for coverage in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95):
        plain = fit_sets(q, y, coverage=coverage).predict(q)
        sets = fit_sets(q, y, coverage=coverage, shape=tree, max_nodes=max_nodes).predict(q)
        assert (plain.member <= sets.member).all()
        assert (before <= sets.member).all()
        assert sets.nodes is not None
        assert max(map(len, sets.nodes)) <= max_nodes
        small = plain.size <= max_nodes
        assert (sets.member[small] == plain.member[small]).all()
        before = sets.member
    leaves = {
        "left": "abcd",
        "right": "efgh",
        "ab": "ab",
        "cd": "cd",
        "ef": "ef",
        "gh": "gh",
        "any class": "abcdefgh",
    }
    for i in range(100):
        assert set(sets[i]) == set("".join(leaves.get(node, node) for node in sets.nodes[i]))
