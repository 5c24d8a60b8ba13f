"""Wrong losses and their parameters get a sentence each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from wrong_input import NAMES, PROBS, refused


@pytest.mark.parametrize(
    ("loss", "hint"),
    [
        ("breir", "'brier'"),
        ("Log", "'log'"),
        ("zero-one", "'zero_one'"),
        ("sqared", "'squared'"),
        ("entropy", "'log'"),
        ("variance", "'squared'"),
        ("cost", "lw.CostLoss(false_positive=..., false_negative=...)"),
        ("cost_matrix", "lw.joint.CostMatrix(costs) with lw.joint.decompose"),
    ],
)
def test_unknown_loss(loss: str, hint: str) -> None:
    rule = "`loss` must be one of 'log', 'squared', 'spherical', 'zero_one' or a Loss"
    with pytest.raises(ValueError, match="`loss`") as caught:
        lw.decompose(lw.Ensemble(PROBS), loss)
    assert str(caught.value) == f"{rule}; got {loss!r}. Did you mean {hint}?"


def test_unknown_loss_without_a_suggestion() -> None:
    with refused(ValueError, "got 'xyzzy'. Known: 'log', 'squared', 'brier', 'spherical', 'zero_one'"):
        lw.decompose(lw.Ensemble(PROBS), "xyzzy")


def test_function_class_or_nothing_as_loss() -> None:
    def absolute(forecast: Any, y: int) -> Any:
        return abs(forecast - y)

    with refused(TypeError, "`loss` must be one of", "got the function 'absolute'", "Wrap your own φ(forecast, y): lw.CustomLoss(phi)"):
        lw.decompose(lw.Ensemble(PROBS), absolute)  # type: ignore[arg-type]
    with refused(TypeError, "`loss` must be one of", "got the class LogLoss", "lw.LogLoss(...)"):
        lw.decompose(lw.Ensemble(PROBS), lw.LogLoss)  # type: ignore[arg-type]
    with refused(TypeError, "`loss` must be one of", "got None"):
        lw.decompose(lw.Ensemble(PROBS), None)  # type: ignore[arg-type]


def test_cost_matrix_as_the_loss_of_a_label() -> None:
    matrix = np.ones((3, 3)) - np.eye(3)
    with refused(TypeError, "got CostMatrix, a joint loss for all classes. Use it with lw.joint.decompose(q, loss)"):
        lw.decompose(lw.Ensemble(PROBS), lw.joint.CostMatrix(matrix))  # type: ignore[arg-type]
    with refused(TypeError, "got CostMatrix", "Instantiate it: lw.joint.CostMatrix(...)"):
        lw.joint.decompose(lw.Ensemble(PROBS), lw.joint.CostMatrix)  # type: ignore[arg-type]
    for costs in (matrix, matrix.tolist()):
        for decompose in (lw.decompose, lw.joint.decompose):
            with refused(TypeError, "got a matrix", "lw.joint.decompose(q, lw.joint.CostMatrix(costs))", "lw.CostLoss("):
                decompose(lw.Ensemble(PROBS), costs)


@pytest.mark.parametrize("base", [1, 0, -2, 0.5, math.nan, math.inf])
def test_base_of_the_log_loss(base: float) -> None:
    with refused(ValueError, "`base` must be finite and greater than 1, or entropies are negative", f"got {base!r}"):
        lw.LogLoss(base=base)


@pytest.mark.parametrize("base", ["2", None])
def test_base_that_is_no_number(base: Any) -> None:
    with refused(TypeError, "`base` must be a number", f"got {base!r}", "base=math.e for nats"):
        lw.LogLoss(base=base)


@pytest.mark.parametrize("value", [-1, -1.5, math.nan, math.inf])
def test_beta_parameters(value: float) -> None:
    with refused(ValueError, "`a` must be finite and greater than -1, or the loss has no finite entropy", f"got {value!r}"):
        lw.BetaLoss(value, 0)
    with refused(ValueError, "`b` must be finite and greater than -1"):
        lw.BetaLoss(0, value)


def test_beta_parameters_of_other_kinds() -> None:
    with refused(ValueError, "`b` must be at most 100", "got 101"):
        lw.BetaLoss(1, 101)
    with refused(TypeError, "`a` must be a number greater than -1; got '1'"):
        lw.BetaLoss("1", 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("side", ["false_positive", "false_negative"])
def test_costs(side: str) -> None:
    def make(value: Any) -> lw.CostLoss:
        return lw.CostLoss(**{"false_positive": 1, "false_negative": 1, side: value})

    for bad in (-1, math.nan, math.inf):
        with refused(
            ValueError, f"`{side}` must be a finite cost, not negative; got {bad}", "Express a gain by lowering the alternative's cost"
        ):
            make(bad)
        with refused(ValueError, f"`{side}` of 'lung' must be a finite cost, not negative; got {bad}"):
            make({"lung": bad})
    for odd in ("1", None, True, 1j):
        with refused(TypeError, f"`{side}` must be a number; got {odd!r}", "Costs per class are given by name"):
            make(odd)
    q = lw.Ensemble(PROBS, class_names=NAMES)
    with refused(ValueError, f"`{side}` names 'lugn', which is not a class or event. Did you mean 'lung'?"):
        lw.decompose(q, make({"lugn": 1, "lymphoma": 1, "melanoma": 1}))
    for measure in ("total", "aleatoric", "epistemic"):  # classes that are not named cost 1
        named, short = (getattr(lw.decompose(q, make(costs)), measure) for costs in ({**dict.fromkeys(NAMES, 1), "lung": 7}, {"lung": 7}))
        assert np.array_equal(named, short)
    with refused(ValueError, f"`{side}` must give one cost per class, shape (3,); got shape (2,)", "by name: {'lung': ..., ...}"):
        lw.decompose(q, make([1, 2]))
    with refused(ValueError, "costs given by name need the names"):
        make({"lung": 1}).entropy(0.5)


def test_improper_custom_loss() -> None:
    place = "when the truth is 0.3, forecasting 1e-06 costs 0.3 and the truth itself 0.42"
    with refused(ValueError, "`phi` must be a proper loss; it is not proper", place):
        lw.CustomLoss(lambda f, y: abs(f - y))


@pytest.mark.parametrize("shift", [-1.0, -1e-4])
def test_negative_custom_loss(shift: float) -> None:
    with refused(
        ValueError, "`phi` must have an entropy φ(t, t) that is never negative", f"it is {shift:g} at t = ", "Add a constant to it"
    ):
        lw.CustomLoss(lambda f, y: (f - y) ** 2 + shift)


@pytest.mark.parametrize(
    ("phi", "error", "sentence"),
    [
        (lambda f, y: 1.0, ValueError, "`phi` must return one loss per forecast; got shapes () and ()"),
        (lambda f, y: f * np.nan, ValueError, "`phi` must be finite for forecasts strictly between 0 and 1; got NaN"),
        (lambda f: f, TypeError, "`phi` must be a function φ(forecast, y) of an array of forecasts and y = 0 or 1"),
        (lambda f, y: math.log(f), TypeError, "called with a NumPy array it failed"),
        ("log", TypeError, "`phi` must be a function φ(forecast, y), or a Loss; got 'log'"),
        (lw.LogLoss(), TypeError, "got a LogLoss, which is already a loss"),
    ],
)
def test_custom_losses_that_are_no_losses(phi: Any, error: type[Exception], sentence: str) -> None:
    with refused(error, sentence):
        lw.CustomLoss(phi)
