"""Verdicts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from labelwise.paper.claims import HELD, NOT_HELD, NOT_REFUTED, UNTESTED, _small, claims, limit
from labelwise.paper.provenance import Results


def test_what_can_be_excluded() -> None:
    text = limit({"mean": 0.0, "low": np.log(0.83), "high": np.log(1.2), "detectable": -np.log(0.77)})
    assert text == (
        "the final EU differs by 0 % [−17 %, +20 %] from that without them: the interval excludes a drop of more than 17 % "
        "(so many runs can be expected to find one of 23 % or more)"
    )


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [((-0.5, 0.5), HELD), ((1.5, 2.0), NOT_HELD), ((-2.0, -1.5), NOT_HELD), ((0.5, 1.5), NOT_REFUTED), ((None, None), UNTESTED)],
)
def test_what_is_small_is_decided_by_intervals(ends, verdict) -> None:
    assert _small([{"low": -0.1, "high": 0.1}, dict(zip(("low", "high"), ends, strict=True))], 1.0) == verdict


@pytest.mark.parametrize(
    ("n", "low", "high", "verdict"),
    [
        (50, -0.4, -0.1, HELD),
        (50, -0.05, 0.2, NOT_HELD),  # a drop of a tenth is excluded
        (50, -0.4, 0.2, NOT_REFUTED),  # not significant, but not excluded either
        (5, -0.05, 0.2, UNTESTED),
    ],
)
def test_no_effect_is_not_what_is_not_significant(tmp_path, n, low, high, verdict) -> None:
    folder = tmp_path / "holdout-fashion-mnist-paper"
    folder.mkdir()
    effect = {"runs": [0.0] * n, "mean": (low + high) / 2, "low": low, "high": high, "detectable": 0.2}
    (folder / "holdout.json").write_text(json.dumps({"about": {"runs": n}, "numbers": {"effect": {"swap − no-swap": effect}}}))
    (line,) = (line for line in claims(Results(tmp_path, tmp_path)) if "FashionMNIST: the EU of the class" in line)
    assert f"| {verdict} |" in line
