"""Types of results are found in one place, and nowhere beside the functions that return them."""

from __future__ import annotations

import importlib

import labelwise as lw

MODULES = ["axioms", "calibration", "decisions", "demo", "evaluation", "joint", "report", "sets"]


def test_each_type_has_one_home() -> None:
    assert lw.typing.__all__ == sorted(lw.typing.__all__)
    for module in (lw, *(importlib.import_module(f"labelwise.{name}") for name in MODULES)):
        assert not {*lw.typing.__all__} & {*module.__all__}, module.__name__


def test_they_are_what_functions_return() -> None:
    q = lw.Ensemble([[[0.9, 0.1], [0.5, 0.5]], [[0.7, 0.3], [0.5, 0.5]]])
    u = lw.decompose(q)
    assert isinstance(u, lw.typing.Uncertainty)
    assert isinstance(u.sum(), lw.typing.Components)
    assert isinstance(lw.joint.decompose(q), lw.typing.JointUncertainty)
    assert isinstance(lw.evaluation.by_class(u), lw.typing.ByClass)
