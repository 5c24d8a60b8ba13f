"""Costs of decisions: the better one, exactly, per class and by name."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import labelwise as lw
from optional_libraries import optional
from wrong_input import NAMES, PROBS, refused


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
@example(1.0, 3.0)
@example(3.0, 1.0)
def test_the_decision_is_exact_next_to_the_corner(dtype: Any, a: float, b: float) -> None:
    """Acting pays where t > a/(a+b), in exact arithmetic, for the numbers of the dtype closest to
    it.
    """
    loss = lw.CostLoss(false_positive=a, false_negative=b)
    corner = Fraction(a) / (Fraction(a) + Fraction(b))
    for smaller, side in ((corner, "t"), (1 - corner, "c")):
        if smaller > Fraction(1, 2):
            continue
        middle = dtype(float(smaller))
        for x in (np.nextafter(middle, dtype(0)), middle, np.nextafter(middle, dtype(1))):
            t, c = (x, 1 - x) if side == "t" else (1 - x, x)
            act = Fraction(float(x)) > smaller if side == "t" else Fraction(float(x)) < smaller
            if t != c:
                assert bool(loss._should_act(np.array(t), np.array(c))) == act, (x, side)


def test_zero_one_is_the_cost_of_equal_errors() -> None:
    for t in (0.0, 0.2, 0.5, 0.9, 1.0):
        assert lw.ZeroOneLoss().entropy(t) == lw.CostLoss(1, 1).entropy(t) == min(t, 1 - t)
    assert isinstance(lw.ZeroOneLoss(), lw.CostLoss)


def test_cost_is_that_of_the_better_decision() -> None:
    loss = lw.CostLoss(false_positive=2, false_negative=6)
    assert float(loss.entropy(0.1)) == pytest.approx(0.6)  # do not act: 6 · 0.1
    assert float(loss.entropy(0.5)) == pytest.approx(1.0)  # act: 2 · 0.5
    assert loss.entropy(0.25) == 1.5 == loss.maximum
    assert [float(loss.phi(f, y)) for f in (0.2, 0.3) for y in (0, 1)] == [0, 6, 2, 0]
    assert float(loss.divergence(0.1, 0.9)) == pytest.approx(2 * 0.9 - 6 * 0.1)
    assert loss.divergence(0.1, 0.2) == 0


def test_costs_by_name() -> None:
    q = lw.Ensemble(np.array([[[0.2, 0.3, 0.5]], [[0.4, 0.5, 0.1]]]), class_names=["a", "b", "c"])
    u = lw.decompose(q, lw.CostLoss({"c": 3, "a": 1, "b": 2}, 4))
    for i, (name, cost) in enumerate((("a", 1), ("b", 2), ("c", 3))):
        alone = lw.decompose(q, lw.CostLoss(cost, 4))
        for part in ("total", "aleatoric", "epistemic"):
            np.testing.assert_array_equal(getattr(u[name], part), getattr(alone[name], part))
        assert u.maximum[i] == pytest.approx(alone.maximum[i])
    for losses in (
        lw.CostLoss([1, 2, 3], 4),
        lw.CostLoss(np.array([1.0, 2.0, 3.0]), {"a": 4, "b": 4, "c": 4}),
    ):
        np.testing.assert_array_equal(lw.decompose(q, losses).total, u.total)


def test_costs_by_name_of_events() -> None:
    q = lw.Dirichlet(np.array([1.0, 2.0, 3.0]))
    events = {"low": [0], "high": [1, 2]}
    u = lw.decompose(q, lw.CostLoss(1, {"low": 5, "high": 9}), events=events)
    np.testing.assert_array_equal(
        u["high"].total, lw.decompose(q, lw.CostLoss(1, 9), events=events)["high"].total
    )


def test_costs_changed_in_place_do_not_change_the_loss() -> None:
    costs = np.array([1.0, 9.0])
    loss, same = lw.CostLoss(costs, 1.0), lw.CostLoss(costs.copy(), 1.0)
    costs[:] = costs[::-1].copy()
    t, m = np.array([0.3, 0.3]), np.array([0.6, 0.6])
    np.testing.assert_array_equal(loss.entropy(t), same.entropy(t))
    np.testing.assert_array_equal(loss.divergence(t, m), same.divergence(t, m))


@pytest.mark.parametrize("side", ["false_positive", "false_negative"])
def test_costs(side: str) -> None:
    def make(value: Any) -> lw.CostLoss:
        return lw.CostLoss(**{"false_positive": 1, "false_negative": 1, side: value})

    for bad in (-1, math.nan, math.inf):
        with refused(
            ValueError,
            f"`{side}` must be a finite cost, not negative; got {bad}",
            "Express a gain by lowering the alternative's cost",
        ):
            make(bad)
        with refused(
            ValueError, f"`{side}` of 'lung' must be a finite cost, not negative; got {bad}"
        ):
            make({"lung": bad})
    for odd in ("1", None, True, 1j):
        with refused(
            TypeError,
            f"`{side}` must be a number; got {odd!r}",
            "Costs per class are given by name",
        ):
            make(odd)
    q = lw.Ensemble(PROBS, class_names=NAMES)
    with refused(
        ValueError, f"`{side}` names 'lugn', which is not a class or event. Did you mean 'lung'?"
    ):
        lw.decompose(q, make({"lugn": 1, "lymphoma": 1, "melanoma": 1}))
    for measure in ("total", "aleatoric", "epistemic"):  # classes that are not named cost 1
        named, short = (
            getattr(lw.decompose(q, make(costs)), measure)
            for costs in ({**dict.fromkeys(NAMES, 1), "lung": 7}, {"lung": 7})
        )
        assert np.array_equal(named, short)
    with refused(
        ValueError,
        f"`{side}` must give one cost per class, shape (3,); got shape (2,)",
        "by name: {'lung': ..., ...}",
    ):
        lw.decompose(q, make([1, 2]))
    with refused(ValueError, "costs given by name need the names"):
        make({"lung": 1}).entropy(0.5)


@pytest.mark.parametrize("costs", [(1, 1e-20), (1e-20, 1), (3, 3e-9), (0.0, 2.0), (0, 0)])
def test_the_largest_risk_has_all_its_digits(costs: tuple[float, float]) -> None:
    a, b = map(Fraction, costs)
    exact = a * b / (a + b) if a + b else Fraction(0)
    assert math.isclose(lw.CostLoss(*costs).maximum, float(exact), rel_tol=1e-15)
    each = lw.CostLoss([costs[0], 1], [costs[1], 1]).maximum
    np.testing.assert_allclose(each, [float(exact), 0.5], rtol=1e-15)


def test_a_series_of_costs_is_read_by_name() -> None:
    pandas = optional("pandas")
    q = lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(2), (4, 6)), class_names=["a", "b"])
    expected = lw.decompose(q, lw.CostLoss(1, {"a": 5, "b": 2}))
    np.testing.assert_array_equal(
        lw.decompose(q, lw.CostLoss(1, pandas.Series({"b": 2, "a": 5}))).epistemic,
        expected.epistemic,
    )
