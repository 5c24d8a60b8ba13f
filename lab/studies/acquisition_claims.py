"""What the study of acquisition compares, on which data, and how it is judged: fixed before its
runs.

**Question.** Does acquisition by label-wise epistemic uncertainty learn the classes faster than the
usual scores, or do turns between the classes explain its gain?

**Arms.** Four scores (label-wise EU, BALD, entropy, random), each with and without turns: without,
the highest scores are labeled; with, the classes take turns, the rarest predicted class first, and
each takes the highest score among the cases predicted as it. "Label-wise, in turn" is the library's
``acquire(batch="balanced")``, where a class may take any case; a ninth arm holds it to the cases
predicted as the class, like the others, and so isolates the score.

**Data.** Everything that `labelwise_lab.datasets` can load and scikit-learn's own classification
tables, if the files are there and `eligible` says so. Cardiotocography and hypothyroid suggested
the question: they are shown, not counted.

**Judged by** the area under balanced accuracy (mean over the rounds), averaged over splits and over
both families of models: one number for each data set and arm, and the data set is the unit. The
primary contrast is tested two-sided at 5 % by exact sign flips over data sets; the others by the
same test with Holm's correction among themselves. Intervals are Student's over data sets, 95 %, one
by one. Splits are complete or not counted. How many there are is a matter of time, not of
results, and final when they are first stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import labelwise as lw
from labelwise.decisions import acquire
from labelwise_lab.statistics import holm, mean_over_runs, sign_flip_p

LEVEL = 0.05
SPLITS = 5  # at most
HYPOTHESIS = ("cardiotocography", "hypothyroid")

# Which data count.
MIN_CASES = 300
MIN_CLASS = 20  # rarer classes are left out: they can be neither learned nor tested
HIGHEST = 0.95  # balanced accuracy of a forest with the final number of random labels: a ceiling
LEAST = 0.1  # above chance: something to learn

# How labels are bought.
TEST_SIZE, MAX_TEST, MAX_POOL = 0.3, 1000, 1500
INITIAL, ROUNDS, MAX_BUDGET = 40, 8, 20
BALANCED = 2  # largest / smallest class below which a set is thinned …
TAIL = 10  # … until its largest class is so many times its smallest


def budget_of(pool: int) -> int:
    """Labels a round, so that at most half of a pool is labeled in the end."""
    return min(MAX_BUDGET, (pool // 2 - INITIAL) // ROUNDS)


def eligible(cases: int, classes: int, balanced_accuracy: float) -> bool:
    """Whether a data set counts, from its size and a forest on random labels (no strategy)."""
    learns = balanced_accuracy >= 1 / classes + LEAST
    return cases >= MIN_CASES and learns and balanced_accuracy <= HIGHEST


# A strategy takes the predictions for the pool, the budget and a generator; it returns positions.
Strategy = Callable[[lw.Ensemble, int, np.random.Generator], np.ndarray]
Score = Callable[[lw.Ensemble, np.random.Generator], np.ndarray]


def bald(q: lw.Ensemble, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(lw.joint.decompose(q).epistemic)


def entropy(q: lw.Ensemble, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(lw.joint.decompose(q).total)


def random(q: lw.Ensemble, rng: np.random.Generator) -> np.ndarray:
    return rng.random(len(q.mean()))


def own_class(q: lw.Ensemble, rng: np.random.Generator) -> np.ndarray:
    """EU of the predicted class; its prevalence is the same for all cases predicted as it."""
    predicted = q.mean().argmax(axis=1)
    return np.asarray(lw.decompose(q).epistemic)[np.arange(len(predicted)), predicted]


def top(score: Score) -> Strategy:
    """The highest scores."""

    def choose(q: lw.Ensemble, budget: int, rng: np.random.Generator) -> np.ndarray:
        return np.argsort(-score(q, rng), kind="stable")[:budget]

    return choose


def in_turn(score: Score) -> Strategy:
    """Classes take turns, each the highest score among the cases predicted as it."""

    def choose(q: lw.Ensemble, budget: int, rng: np.random.Generator) -> np.ndarray:
        return take_turns(score(q, rng), q.mean().argmax(axis=1), budget)

    return choose


def take_turns(score: np.ndarray, predicted: np.ndarray, budget: int) -> np.ndarray:
    """Positions in the order in which the classes take them, the rarest predicted class first.

    >>> take_turns(np.array([5, 4, 3, 2, 1]), np.array([0, 0, 0, 0, 1]), 3)
    array([4, 0, 1])
    """
    order = np.argsort(-score, kind="stable")
    classes, counts = np.unique(predicted, return_counts=True)
    place = np.empty(len(score), dtype=int)  # the round in which a case's class would take it
    for k in classes:
        own = order[predicted[order] == k]
        place[own] = np.arange(len(own))
    rarity = np.argsort(np.argsort(counts, kind="stable"))[np.searchsorted(classes, predicted)]
    return np.lexsort((rarity, place))[:budget]


def label_wise(q: lw.Ensemble, budget: int, rng: np.random.Generator) -> np.ndarray:
    return acquire(q, budget=budget).indices


def label_wise_in_turn(q: lw.Ensemble, budget: int, rng: np.random.Generator) -> np.ndarray:
    return acquire(q, budget=budget, batch="balanced").indices


ARMS: dict[str, Strategy] = {
    "label-wise": label_wise,
    "BALD": top(bald),
    "entropy": top(entropy),
    "random": top(random),
    "label-wise, in turn": label_wise_in_turn,
    "BALD, in turn": in_turn(bald),
    "entropy, in turn": in_turn(entropy),
    "random, in turn": in_turn(random),
    "label-wise, in turn by predicted class": in_turn(own_class),
}


class Contrast(NamedTuple):
    """Does ``arm`` have a larger area than ``minus``?"""

    arm: str
    minus: str


PRIMARY = Contrast("label-wise, in turn", "BALD, in turn")
OTHERS = (
    Contrast("label-wise, in turn", "entropy, in turn"),
    Contrast("label-wise, in turn", "random, in turn"),
    Contrast("label-wise, in turn", "random"),
    Contrast("label-wise, in turn", "label-wise"),
    Contrast("label-wise, in turn by predicted class", "BALD, in turn"),
    Contrast("label-wise", "BALD"),
    Contrast("BALD, in turn", "BALD"),
    Contrast("BALD, in turn", "random"),
)

Areas = Mapping[str, Mapping[str, float]]
"""Data set -> arm -> area."""


def difference(areas: Areas, contrast: Contrast) -> dict[str, Any]:
    """A contrast over data sets, with its interval and its p-value."""
    values = [of[contrast.arm] - of[contrast.minus] for of in areas.values()]
    mean = mean_over_runs(values)
    return contrast._asdict() | {
        "by set": dict(zip(areas, values, strict=True)),
        "mean": float(mean.value),
        "low": float(mean.low),
        "high": float(mean.high),
        "p": sign_flip_p(values),
    }


def examine_claims(areas: Areas) -> list[dict[str, Any]]:
    """The primary contrast, then the others with Holm's correction; "shown" is the verdict."""
    primary = difference(areas, PRIMARY)
    primary["shown"] = primary["p"] <= LEVEL
    others = [difference(areas, contrast) for contrast in OTHERS]
    adjusted = holm([record["p"] for record in others])
    for record, p in zip(others, adjusted, strict=True):
        record |= {"p (Holm)": p, "shown": p <= LEVEL}
    return [primary, *others]


def over_families(curves: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The area of each arm of one data set: mean over the stored curves (splits and families)."""
    return {
        arm: float(np.mean([np.mean(of["balanced accuracy"][arm]) for of in curves]))
        for arm in ARMS
    }
