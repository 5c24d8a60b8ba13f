"""How much epistemic uncertainty falls, class by class: the paper's Table 2, with its errors corrected."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evaluation import Estimate

__all__ = ["Drops", "Excess", "drops", "excess", "log_ratios"]

KINDS = ("absolute", "relative")
ENUMERATED = 5
"""Up to this number of runs, every resample of the bootstrap is computed: 5⁵ = 3125."""


@dataclass(frozen=True, eq=False)
class Drops:
    """Mean label-wise EU of each class before and after, (runs, classes), and the class that got new data in each run."""

    before: np.ndarray
    after: np.ndarray
    selected: np.ndarray

    @property
    def n_runs(self) -> int:
        return len(self.before)

    def drop(self, kind: str) -> np.ndarray:
        """Before − after, ``"absolute"`` or ``"relative"`` to before."""
        drop = self.before - self.after
        return np.asarray(drop if kind == "absolute" else drop / self.before)

    def of_selected(self, values: np.ndarray) -> np.ndarray:
        """The value of the selected class in each run."""
        return np.asarray(values[np.arange(self.n_runs), self.selected])

    def of_others(self, values: np.ndarray) -> np.ndarray:
        """The values of the other classes, (runs, classes − 1)."""
        return np.stack([np.delete(row, k) for row, k in zip(values, self.selected, strict=True)])

    def table(self) -> dict[str, dict[str, np.ndarray]]:
        """For each kind of drop and each run: the selected class, the mean of the others, and the largest drop among the others.

        "Next highest drop" is, in the paper's words, that of the class with the second-largest reduction; where the selected class
        does not have the largest one, it is larger than the selected one's.
        """
        made = {}
        for kind in KINDS:
            own, others = self.of_selected(self.drop(kind)), self.of_others(self.drop(kind))
            made[kind] = {"selected": own, "others": others.mean(axis=1), "next highest": others.max(axis=1)}
        return made

    def largest(self, kind: str) -> int:
        """In how many runs the selected class has the largest drop of all."""
        columns = self.table()[kind]
        return int(np.sum(columns["selected"] > columns["next highest"]))

    @property
    def rises(self) -> tuple[int, int]:
        """In how many cases the EU of another class rises, and how many cases there are."""
        others = self.of_others(self.drop("absolute"))
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
    """The part of the selected class's drop that a line fitted to the other classes does not predict."""

    predicted_share: Estimate
    """Drop predicted from the other classes, as a share of the observed one."""
    excess: Estimate
    """Observed − predicted, on average over the runs."""
    extrapolated: int
    """In how many runs the selected class lies beyond all others, so that the line is extrapolated."""


def excess(d: Drops, *, rng: int | np.random.Generator = 0, n_bootstrap: int = 5000) -> Excess:
    """Compare the selected class with a line fitted to the classes that got nothing: drop against EU before.

    A class selected for its high value regresses to the mean, with or without new data; the line estimates how far. It is no proof: it
    extrapolates, and the classes share one network. The interval is a bootstrap over runs; of few runs, all resamples are computed.
    """

    def statistics(rows: np.ndarray) -> tuple[float, float]:
        part = Drops(d.before[rows], d.after[rows], d.selected[rows])
        slope, offset = np.polyfit(part.of_others(part.before).ravel(), part.of_others(part.drop("absolute")).ravel(), 1)
        predicted = slope * part.of_selected(part.before) + offset
        observed = part.of_selected(part.drop("absolute"))
        return float(predicted.sum() / observed.sum()), float((observed - predicted).mean())

    n = d.n_runs
    found = statistics(np.arange(n))
    beyond = int(np.sum(d.of_selected(d.before) > d.of_others(d.before).max(axis=1)))
    if n == 1:
        return Excess(Estimate(found[0]), Estimate(found[1]), beyond)
    few = n <= ENUMERATED
    drawn = np.random.default_rng(rng).integers(n, size=(n_bootstrap, n))
    resamples = np.array(list(itertools.product(range(n), repeat=n))) if few else drawn
    low, high = np.quantile([statistics(rows) for rows in resamples], (0.025, 0.975), axis=0)
    method = f"bootstrap over {n} runs" + ", all resamples" * few
    share, over = (Estimate(x, low[i], high[i], 0.95, method) for i, x in enumerate(found))
    return Excess(share, over, beyond)


def log_ratios(arm: Any, control: Any, labels: Any) -> np.ndarray:
    """log EU(arm) − log EU(control) of one class per run, from mean EU (runs, classes).

    −0.2 means that the EU of the class is about 18 % lower than in the control arm.
    """
    rows = np.arange(len(labels))
    return np.asarray(np.log(np.asarray(arm)[rows, labels]) - np.log(np.asarray(control)[rows, labels]))
