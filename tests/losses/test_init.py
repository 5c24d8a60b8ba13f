"""Losses by name, and a sentence for each that is no loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise.losses import as_loss
from wrong_input import PROBS, refused


def test_names_of_losses() -> None:
    assert [
        type(as_loss(name)) for name in ("log", "squared", "brier", "spherical", "zero_one")
    ] == [
        lw.LogLoss,
        lw.SquaredLoss,
        lw.SquaredLoss,
        lw.SphericalLoss,
        lw.ZeroOneLoss,
    ]
    loss = lw.BetaLoss(1, 2)
    assert as_loss(loss) is loss


@pytest.mark.parametrize(
    ("loss", "hint"),
    [
        ("breir", "'brier'"),
        ("Log", "'log'"),
        ("zero-one", "'zero_one'"),
        ("sqared", "'squared'"),
    ],
)
def test_unknown_loss(loss: str, hint: str) -> None:
    rule = "`loss` must be one of 'log', 'squared', 'spherical', 'zero_one' or a Loss"
    with pytest.raises(ValueError, match="`loss`") as caught:
        lw.decompose(lw.Ensemble(PROBS), loss)
    assert str(caught.value) == f"{rule}; got {loss!r}. Did you mean {hint}?"


def test_unknown_loss_without_a_suggestion() -> None:
    with refused(
        ValueError, "got 'xyzzy'. Known: 'log', 'squared', 'brier', 'spherical', 'zero_one'"
    ):
        lw.decompose(lw.Ensemble(PROBS), "xyzzy")


def test_function_class_or_nothing_as_loss() -> None:
    def absolute(forecast: Any, y: int) -> Any:
        return abs(forecast - y)

    with refused(
        TypeError,
        "`loss` must be one of",
        "got function. Wrap your own φ(forecast, y): lw.CustomLoss(phi)",
    ):
        lw.decompose(lw.Ensemble(PROBS), absolute)  # type: ignore[arg-type]
    with refused(TypeError, "`loss` must be one of", "got the class LogLoss. Instantiate it"):
        lw.decompose(lw.Ensemble(PROBS), lw.LogLoss)  # type: ignore[arg-type]
    with refused(TypeError, "`loss` must be one of", "got NoneType"):
        lw.decompose(lw.Ensemble(PROBS), None)  # type: ignore[arg-type]


def test_cost_matrix_as_the_loss_of_a_label() -> None:
    matrix = np.ones((3, 3)) - np.eye(3)
    with refused(
        TypeError,
        "got CostMatrix, a joint loss for all classes. Use it with lw.joint.decompose(q, loss)",
    ):
        lw.decompose(lw.Ensemble(PROBS), lw.joint.CostMatrix(matrix))  # type: ignore[arg-type]
