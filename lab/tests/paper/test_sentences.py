"""What the sentences decide; that they are those of the documentation is tested in
cli/test_reproduce.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from labelwise_lab.paper.sentences import _found, _indistinguishable


def losses(runs: np.ndarray) -> list[dict[str, object]]:
    """Runs (scores, runs) of one task as they are stored."""
    return [
        {"task": "rejection", "loss": f"loss {i}", "part": "total"}
        | {"mean": x.mean(), "sd": x.std(ddof=1), "runs": list(x)}
        for i, x in enumerate(runs)
    ]


def test_equal_scores_are_seldom_told_apart() -> None:
    """The highest of 18 equal scores is chosen by the same runs: all pairs count."""
    rng = np.random.default_rng(0)
    n = 400
    wrong = 0
    for _ in range(n):
        (text,) = _indistinguishable(losses(rng.normal(size=(18, 5))))
        wrong += text.count("total loss") != 17
    assert wrong / n < 0.07


def test_a_clear_winner_is_named() -> None:
    runs = np.array([[0.9, 0.91, 0.92], [0.5, 0.51, 0.52], [0.8999, 0.9101, 0.9199]])
    (text,) = _indistinguishable(losses(runs))
    assert text == (
        "rejecting errors: total uncertainty under loss 0 loss (0.9100 ± 0.0100), not "
        "distinguishable from total loss 2"
    )
    (text,) = _indistinguishable(losses(runs[:2]))
    assert text.endswith("above all others")
    one = [{**cell, "sd": None, "runs": [cell["mean"]]} for cell in losses(runs[:2])]
    (text,) = _indistinguishable(one)
    assert text.endswith("is highest, but one run is too few to name a winner")


@pytest.mark.parametrize(
    ("n", "words"), [(2, "2 runs"), (11, "11 runs, with an 80 % chance of showing a drop of 33 %")]
)
def test_few_runs_promise_nothing(n, words) -> None:
    assert _found({"runs": [0.0] * n, "detectable": 0.4}) == words
