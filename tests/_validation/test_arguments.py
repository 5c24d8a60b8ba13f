"""Choices; and all checks say by `ok` whether nothing was found, and have no truth value."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise._validation.arguments import check_choice
from labelwise.calibration import check_calibration, check_votes

P = np.random.default_rng(0).dirichlet([2, 2], 400)
Y = (np.random.default_rng(1).random(400) < P[:, 1]).astype(int)
Q = lw.Ensemble(np.stack([P, P[:, ::-1]]))
VOTES = np.random.default_rng(2).multinomial(3, P)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (
            lambda: check_calibration(P, Y, n_bootstrap=50, rng=0),
            lambda: check_calibration(P, 1 - Y, n_bootstrap=50, rng=0),
        ),
        (
            lambda: check_votes(lw.Ensemble(P[None]), VOTES, n_bootstrap=50, rng=0),
            lambda: check_votes(lw.Ensemble(0 * P[None] + 0.5), VOTES, n_bootstrap=50, rng=0),
        ),
        (lambda: lw.check_ensemble(lw.Ensemble(P[None])), lambda: lw.check_ensemble(Q, Y)),
        (
            lambda: lw.check_proper(lambda f, y: (f - y) ** 2),
            lambda: lw.check_proper(lambda f, y: abs(f - y)),
        ),
    ],
    ids=["calibration", "votes", "ensemble", "proper"],
)
def test_ok_says_that_nothing_was_found(good, bad):
    assert good().ok is True
    assert bad().ok is False
    for check in (good(), bad()):
        with pytest.raises(TypeError, match=r"use \.ok of this \w+Check"):
            bool(check)


def test_choices() -> None:
    check_choice("em", "method", ("em", "bbse"))
    with pytest.raises(ValueError, match=r"^`method` must be 'em' or 'bbse'; got 'xyz'$"):
        check_choice("xyz", "method", ("em", "bbse"))
    with pytest.raises(ValueError, match=r"^`statistic` must be 'mean' or 'each'; got 'x'$"):
        check_choice("x", "statistic", ("mean", "each"))
    with pytest.raises(
        ValueError,
        match=r"^`part` must be one of 'train', 'val', 'test'; got 'tset'\. Did you mean 'test'\?$",
    ):
        check_choice("tset", "part", {"train": 0, "val": 1, "test": 2})
