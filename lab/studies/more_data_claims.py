"""When does epistemic uncertainty say that more data help? What is compared, and how it is judged:
fixed before the runs.

**Question.** An ensemble trained on n cases claims an epistemic uncertainty EU_k(n) for each class.
Does it rank the classes by what more data gain, Brier_k(n) − Brier_k(n_max), better than what one
knows anyway: the current error Brier_k(n) on labeled cases, or the total uncertainty TU_k(n)?

**Design.** Forests of 50 trees and five small MLPs, six training sizes, on FashionMNIST (7 × 7
pixels) and the digits. Everything that is claimed (EU_k, TU_k, the current error) is measured on
one half of a test set, the gain on the other, so that they share no noise. All are for the squared
loss: EU_k is then the part of TU_k between the members, in the units of the Brier score. A second
arm, on FashionMNIST, replaces labels of the first five classes at random by another of them, in
training and test: an error that no data remove.

**Unit.** The training draw; sizes are nested in it. The draws of FashionMNIST share no image, in
training or test. Those of the digits are splits of the same cases: shown with wider intervals, not
tested.

**Judged by** Spearman's correlation over the ten classes, averaged over the five sizes below the
largest, and over both models unless one is named. The primary contrast is tested two-sided at 5 %
by exact sign flips over draws, the others by the same test with Holm's correction among themselves.
Intervals are Student's over draws, 95 %, one by one. Draws are complete or not counted.
How many there are is a matter of time, not of results, and final when they are first stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from labelwise_lab.statistics import holm, mean_over_runs, sign_flip_p

LEVEL = 0.05
DRAWS = 12  # at most
SIZES = {
    "fashion-mnist": (75, 150, 300, 600, 1200, 2400),
    "digits": (30, 60, 120, 240, 480, 960),
}
TEST = {"fashion-mnist": 3000, "digits": 830}  # half for the claims, half for the gain
TESTED = "fashion-mnist"
MODELS = ("forest", "mlp")
ARMS = ("clean", "noise")
CELLS = (
    *((TESTED, model, arm) for arm in ARMS for model in MODELS),
    *(("digits", model, "clean") for model in MODELS),
)
"""Data set, model and arm of each unit of a draw."""
NOISE = 0.4  # share of the labels of …
NOISY = 5  # … so many classes


def noisy(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels of the first classes, replaced by another of them with probability `NOISE`."""
    replaced = (y < NOISY) & (rng.random(len(y)) < NOISE)
    other = (y + rng.integers(1, NOISY, len(y))) % NOISY
    return np.where(replaced, other, y)


class Contrast(NamedTuple):
    """The correlation of ``score`` with the gain, minus that of another score or of none."""

    score: str
    minus: str | None = None
    arm: str = "clean"
    models: tuple[str, ...] = MODELS


PRIMARY = Contrast("EU", "error")
OTHERS = (
    Contrast("EU", "TU"),
    Contrast("EU"),
    Contrast("EU", "error", models=("forest",)),
    Contrast("EU", "error", models=("mlp",)),
    Contrast("EU", "error", "noise"),
    Contrast("EU", "TU", "noise"),
    Contrast("EU", arm="noise"),
)


def ranks(values: np.ndarray) -> np.ndarray:
    """From 1; equal values share the mean of theirs."""
    _, group, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[group]


def spearman(a: Any, b: Any) -> float:
    """0 where one is the same for all."""
    x, y = (ranks(np.asarray(each)) - (len(each) + 1) / 2 for each in (a, b))
    norm = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / norm) if norm > 0 else 0.0


def gain(unit: Mapping[str, Any]) -> np.ndarray:
    """Brier_k(n) − Brier_k(n_max) on the second half, (sizes − 1, classes)."""
    after = np.asarray(unit["after"])
    return after[:-1] - after[-1]


def correlation(unit: Mapping[str, Any], score: str) -> float:
    """Of a score with the gain over the classes: mean over the sizes below the largest."""
    pairs = zip(unit[score], gain(unit), strict=False)
    return float(np.mean([spearman(claimed, realized) for claimed, realized in pairs]))


def by_draw(units: Iterable[Mapping[str, Any]], contrast: Contrast, data: str) -> np.ndarray:
    """The value of a contrast for each draw: mean over the models."""
    found: dict[int, list[float]] = {}
    for unit in units:
        if (unit["data"], unit["arm"]) != (data, contrast.arm):
            continue
        if unit["model"] in contrast.models:
            value = correlation(unit, contrast.score)
            if contrast.minus is not None:
                value -= correlation(unit, contrast.minus)
            found.setdefault(unit["draw"], []).append(value)
    return np.array([np.mean(found[draw]) for draw in sorted(found)])


def examine_claims(units: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The primary contrast, then the others with Holm's correction; "shown" is the verdict."""
    records = []
    for contrast in (PRIMARY, *OTHERS):
        values = by_draw(units, contrast, TESTED)
        mean = mean_over_runs(values)
        ends = {"mean": float(mean.value), "low": float(mean.low), "high": float(mean.high)}
        records.append(contrast._asdict() | ends | {"p": sign_flip_p(values)})
    primary, *others = records
    primary["shown"] = primary["p"] <= LEVEL
    adjusted = holm([record["p"] for record in others])
    for record, p in zip(others, adjusted, strict=True):
        record |= {"p (Holm)": p, "shown": p <= LEVEL}
    return records
