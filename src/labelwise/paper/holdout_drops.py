"""How much epistemic uncertainty falls, class by class: the paper's Table 2, with its slips mended."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..evaluation import Estimate, mean_over_runs

KINDS = ("absolute", "relative")
ENUMERATED = 5
"""Up to so many runs, every resample of the bootstrap is computed: 5⁵ = 3125."""


@dataclass(frozen=True, eq=False)
class Drops:
    """Mean label-wise EU of each class before and after, (runs, classes), and the class that got new data in each run."""

    before: np.ndarray
    after: np.ndarray
    selected: np.ndarray

    @property
    def n_runs(self) -> int:
        return len(self.before)

    @cached_property
    def absolute(self) -> np.ndarray:
        """Before − after."""
        return np.asarray(self.before - self.after)

    @cached_property
    def relative(self) -> np.ndarray:
        """(Before − after) / before."""
        return np.asarray(self.absolute / self.before)

    @cached_property
    def _is_selected(self) -> np.ndarray:
        return np.asarray(np.arange(self.before.shape[1]) == self.selected[:, None])

    def of_selected(self, values: np.ndarray) -> np.ndarray:
        """The value of the selected class in each run."""
        return np.asarray(values[self._is_selected])

    def of_others(self, values: np.ndarray) -> np.ndarray:
        """The values of the other classes, (runs, classes − 1)."""
        return np.asarray(values[~self._is_selected]).reshape(self.n_runs, -1)

    def table(self) -> dict[str, dict[str, np.ndarray]]:
        """For each kind of drop and each run: the selected class, the mean of the others, and the largest drop among the others.

        "Next highest drop" is, in the paper's words, that of the class with the second-largest reduction; where the selected class
        does not have the largest one, it is larger than the selected one's.
        """
        return {
            kind: {
                "selected": self.of_selected(drop),
                "others": self.of_others(drop).mean(axis=1),
                "next highest": self.of_others(drop).max(axis=1),
            }
            for kind in KINDS
            for drop in [getattr(self, kind)]
        }

    def largest(self, kind: str) -> int:
        """In how many runs the selected class has the largest drop of all."""
        drop = getattr(self, kind)
        return int(np.sum(self.of_selected(drop) > self.of_others(drop).max(axis=1)))

    @property
    def rises(self) -> tuple[int, int]:
        """In how many cases the EU of another class rises, and how many cases there are."""
        others = self.of_others(self.absolute)
        return int(np.sum(others < 0)), others.size


def drops(before: Any, after: Any, *, selected: Any = None) -> Drops:
    """Drops from label-wise EU before and after, (runs, instances, classes) or already averaged, (runs, classes).

    ``selected`` are the classes that got new data; by default those with the highest mean before.

    >>> d = drops([[0.4, 0.2, 0.1]], [[0.1, 0.1, 0.2]])
    >>> {name: float(x[0].round(3)) for name, x in d.table()["absolute"].items()}
    {'selected': 0.3, 'others': 0.0, 'next highest': 0.1}
    >>> d.largest("relative"), d.rises
    (1, (1, 2))
    """
    means = [np.asarray(x, dtype=float) for x in (before, after)]
    means = [x.mean(axis=1) if x.ndim == 3 else x for x in means]
    if means[0].ndim != 2 or means[0].shape != means[1].shape or means[0].shape[1] < 2:
        raise ValueError(
            "`before` and `after` must have the same shape, (runs, instances, classes) or (runs, classes); "
            f"got {np.shape(before)} and {np.shape(after)}"
        )
    chosen = means[0].argmax(axis=1) if selected is None else np.asarray(selected)
    if chosen.shape != (len(means[0]),) or chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= means[0].shape[1]:
        raise ValueError(
            f"`selected` must be one class for each of the {len(means[0])} runs, 0 to {means[0].shape[1] - 1}; got {selected!r}"
        )
    return Drops(means[0], means[1], chosen)


@dataclass(frozen=True, eq=False)
class Excess:
    """What of the selected class's drop the other classes do not foretell."""

    predicted_share: Estimate
    """Drop predicted from the other classes, as a share of the observed one."""
    excess: Estimate
    """Observed − predicted, on average over the runs."""
    extrapolated: int
    """In how many runs the selected class lies beyond all others, so that the line is extended."""


def excess(d: Drops, *, rng: int | np.random.Generator = 0, n_bootstrap: int = 5000) -> Excess:
    """Compare the selected class with a line fitted to the classes that got nothing: drop against EU before.

    A class chosen for its high value falls towards the mean, new data or not; the line says how far. It is no proof: it is extended
    beyond the points it was fitted to, and the classes share one network. The interval is a bootstrap over runs, of which all
    resamples are computed when there are few.
    """

    def statistics(rows: np.ndarray) -> tuple[float, float]:
        part = Drops(d.before[rows], d.after[rows], d.selected[rows])
        slope, offset = np.polyfit(part.of_others(part.before).ravel(), part.of_others(part.absolute).ravel(), 1)
        predicted = slope * part.of_selected(part.before) + offset
        observed = part.of_selected(part.absolute)
        return float(predicted.sum() / observed.sum()), float((observed - predicted).mean())

    n = d.n_runs
    found = statistics(np.arange(n))
    if n == 1:
        share, over = (Estimate(x) for x in found)
    else:
        resamples = (
            np.array(list(itertools.product(range(n), repeat=n)))
            if n <= ENUMERATED
            else np.random.default_rng(rng).integers(n, size=(n_bootstrap, n))
        )
        low, high = np.quantile([statistics(rows) for rows in resamples], (0.025, 0.975), axis=0)
        method = f"bootstrap over {n} runs" + (", all resamples" if n <= ENUMERATED else "")
        share, over = (Estimate(x, low[i], high[i], 0.95, method) for i, x in enumerate(found))
    beyond = d.of_selected(d.before) > d.of_others(d.before).max(axis=1)
    return Excess(share, over, int(beyond.sum()))


def paired_effect(arm: Any, control: Any, labels: Any) -> tuple[Estimate, np.ndarray]:
    """log EU(arm) − log EU(control) of one class per run, from mean EU (runs, classes), with a t-interval over runs; and the values.

    −0.2 means that the EU of the class is about 18 % lower than it would have been without.
    """
    rows = np.arange(len(np.asarray(labels)))
    values = np.log(np.asarray(arm)[rows, labels]) - np.log(np.asarray(control)[rows, labels])
    return (mean_over_runs(values) if len(values) > 1 else Estimate(float(values[0]))), values
