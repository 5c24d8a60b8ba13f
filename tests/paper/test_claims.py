"""Intervals behind the verdicts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from labelwise.paper.claims import HELD, NOT_HELD, NOT_REFUTED, UNTESTED, _small, claims, limit, simultaneous, welch
from labelwise.paper.provenance import Results


def test_the_difference_from_the_paper_has_welchs_interval() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.85, 0.04, 4), rng.normal(0.89, 0.02, 5)
    found = welch(list(ours), (theirs.mean(), theirs.std(ddof=1)))
    expected = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval()
    assert [found["mean"], found["low"], found["high"]] == pytest.approx([ours.mean() - theirs.mean(), expected.low, expected.high])


def test_one_run_is_compared_with_the_spread_of_theirs() -> None:
    found = welch([0.8], (0.9, 0.02), count=5)
    assert found["mean"] == pytest.approx(-0.1)
    for end in ("low", "high"):  # where a t-test of one against five, all of the same deviation, gives p = 0.05
        assert stats.ttest_ind_from_stats(0.8 - found[end], 0.0, 1, 0.9, 0.02, 5).pvalue == pytest.approx(0.05)
    wider = welch([0.8], (0.9, 0.02), family=3)
    assert wider["low"] < found["low"] < found["high"] < wider["high"]


def test_simultaneous_intervals_miss_in_at_most_one_of_twenty_families() -> None:
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(1500):
        cells = [{"runs": x, "mean": x.mean()} for x in rng.normal(size=(6, 5))]
        found = [simultaneous(cell, 6) for cell in cells]
        missed += any(cell["low"] > 0 or cell["high"] < 0 for cell in found)
    assert 0.03 < missed / 1500 < 0.065  # independent members of the family: just below 0.05
    assert simultaneous({"runs": [1.0], "mean": 1.0}, 3)["low"] is None


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
