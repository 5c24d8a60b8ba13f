"""The search finds rare and narrow violations, with any random seed, and is reproducible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import labelwise as lw
from axiom_cases import squared, table
from labelwise.axioms import check, search


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "name", ["log", "spherical", "joint", "cost by class", "custom, nearly quadratic"]
)
def test_rare_failures_are_found_with_any_seed(name, seed):
    assert [r.verdict for r in table(name, seed)] == [r.verdict for r in table(name)]


def test_the_same_seed_gives_the_same_table():
    first, second, other = check("log", rng=5), check("log", rng=5), check("log", rng=6)
    assert [r.trials for r in first] == [r.trials for r in second]
    assert [str(r) for r in first] == [str(r) for r in second]
    a, b, c = (t["A4", "AU"].counterexample for t in (first, second, other))
    np.testing.assert_array_equal(a.atoms, b.atoms)
    np.testing.assert_array_equal(a.others[0].probs, b.others[0].probs)
    assert str(a) != str(c)


def negative_near(place):
    """TU < 0 only where the mean of two classes is within 1e-5 of (place, 1 − place)."""

    def measure(q):
        u = squared(q)
        total = u.total if q.n_classes > 2 else np.abs(q.mean()[..., 0] - place) - 1e-5
        return lw.Components(total, u.aleatoric, u.epistemic)

    return measure


def falling_near(place):
    """AU falls on the way to the center only where two members differ by ``place`` ± 1e-5 in two
    classes.
    """

    def measure(q):
        u = squared(q)
        if q.n_classes > 2 or isinstance(q, lw.Dirichlet):
            return u
        range_of_members = np.ptp(q.probs[..., 0], axis=0)
        return lw.Components(
            u.total,
            1 - np.abs(q.mean()[..., 0] - 0.5) * (np.abs(range_of_members - place) - 1e-5),
            u.epistemic,
        )

    return measure


def negative_near_beside_a_plateau(place):
    """The same, and almost 0 where all members are certain of class 0, from where no small step
    leads away.
    """

    def measure(q):
        u = negative_near(place)(q)
        certain = (q.mean()[..., 0] == 1) & (q.n_classes == 2)
        return lw.Components(np.where(certain, 1e-6, u.total), u.aleatoric, u.epistemic)

    return measure


def test_evolution_finds_what_chance_does_not():
    result = check(negative_near(0.3712))["A0", "TU"]
    assert not result.holds
    assert result.counterexample.value < 0
    assert abs((result.counterexample.weights @ result.counterexample.atoms)[0] - 0.3712) < 1e-5
    assert result.trials > 1000  # not among the first random ones


@pytest.mark.parametrize(
    ("planted", "axiom", "measure"),
    [
        (negative_near, "A0", "TU"),
        (negative_near_beside_a_plateau, "A0", "TU"),
        (falling_near, "A4", "AU"),
    ],
)
def test_evolution_finds_a_narrow_violation_wherever_it_is(planted, axiom, measure, monkeypatch):
    """benchmarks/planted_violations.py does the same for more axioms and seeds."""
    others_left_out = tuple(
        rule if rule.axiom == axiom else replace(rule, measures=()) for rule in search.RULES
    )
    monkeypatch.setattr(
        search, "RULES", others_left_out
    )  # which changes nothing for the axiom itself
    places = np.random.default_rng(0).uniform(0.02, 0.98, 15)
    results = [check(planted(place), rng=seed)[axiom, measure] for seed, place in enumerate(places)]
    assert [seed for seed, result in enumerate(results) if result.holds] == []
    assert np.median([result.trials for result in results]) > 1000
