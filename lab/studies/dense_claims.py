"""Claims about case scores of segmentations, fixed before the networks were trained, and how they
are tested.

A first look at the same volumes (one seed, one split) suggested the claims, so they are confirmed
on other splits and other networks, not on other people. Volumes are not patients either: both
sides of one person may be among them.

Primary are the clean test volumes, the risk is 1 − Dice of a structure, and a score is judged by
its AURC (lower is better). For each structure:

1. EU_k ÷ predicted volume beats mean entropy ÷ predicted volume. Both are sums over the voxels,
   divided by the same volume, so that the division is no advantage.
2. EU_k ÷ predicted volume is not worse than 1 − mean pairwise Dice of the members by more than
   MARGIN.
3. EU_k ÷ predicted volume of the structure beats that of the other structure.

MARGIN: over mean entropy, the paired 95 % intervals of the first look ended at a gain of 0.010 for
both structures, and pairwise Dice gained as much as EU_k. A score that is worse than pairwise Dice
by 0.003 still keeps 70 % of that least gain.

Estimated is the mean over seeds of the difference of AURCs. Replicates draw volumes and seeds, each
with replacement and independently (a volume takes its results for all seeds along), so intervals
are over volumes and seeds. A one-sided p-value is the share of replicates on the wrong side of the
limit; Holm's correction covers structures × claims at a level of 2.5 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from labelwise_lab.statistics import holm

STRUCTURES = ("anterior", "posterior")
MARGIN = 0.003
LEVEL = 0.025
REPLICATES = 10_000
SCORE = "eu_per_volume"


class Claim(NamedTuple):
    """`SCORE` has an AURC below that of ``against`` plus ``limit``."""

    words: str
    against: str
    limit: float


CLAIMS = (
    Claim("beats mean entropy ÷ predicted volume", "entropy_per_volume", 0.0),
    Claim("not worse than pairwise Dice by the margin", "pairwise_dice", MARGIN),
    Claim("beats the other structure's EU ÷ predicted volume", "other_eu_per_volume", 0.0),
)


def aurc(score: np.ndarray, risk: np.ndarray, count: np.ndarray) -> float:
    """Mean risk of the 1, 2, … most certain volumes, averaged; each volume ``count`` times."""
    order = np.argsort(score, kind="stable")
    risks = np.repeat(risk[order], count[order])
    return float(np.mean(np.cumsum(risks) / np.arange(1, len(risks) + 1)))


class Results(NamedTuple):
    """What is known of the test volumes of all seeds, for one structure."""

    volumes: list[np.ndarray]
    """For each seed, the number of each test volume."""
    risk: list[np.ndarray]
    scores: list[dict[str, np.ndarray]]

    @property
    def n(self) -> int:
        return 1 + max(int(numbers.max()) for numbers in self.volumes)


def collect(rows: Sequence[dict[str, Any]], structure: str, shifts: Sequence[str]) -> Results:
    """Rows of one structure, with one of the ``shifts``."""
    rows = [row for row in rows if row["structure"] == structure and row["shift"] in shifts]
    names = sorted({row["volume"] for row in rows})
    columns = [key for key, value in rows[0].items() if isinstance(value, float)]
    found = Results([], [], [])
    for seed in sorted({row["seed"] for row in rows}):
        own = [row for row in rows if row["seed"] == seed]
        found.volumes.append(np.array([names.index(row["volume"]) for row in own]))
        found.risk.append(np.array([1 - row["dice"] for row in own]))
        found.scores.append({key: np.array([row[key] for row in own]) for key in columns})
    return found


def draws(results: Results, replicates: int, rng: np.random.Generator) -> Iterator[Any]:
    """Seeds and counts of volumes: first the data as they are."""
    seeds = len(results.risk)
    yield np.arange(seeds), np.ones(results.n, dtype=int)
    for _ in range(replicates):
        chosen = rng.integers(seeds, size=seeds)
        yield chosen, np.bincount(rng.integers(results.n, size=results.n), minlength=results.n)


def aurcs(results: Results, names: Sequence[str], replicates: int, rng: Any) -> np.ndarray:
    """(1 + replicates, scores): mean over seeds."""
    found = []
    for seeds, counts in draws(results, replicates, np.random.default_rng(rng)):
        means = np.zeros(len(names))
        for seed in seeds:
            count = counts[results.volumes[seed]]
            for i, name in enumerate(names):
                means[i] += aurc(results.scores[seed][name], results.risk[seed], count)
        found.append(means / len(seeds))
    return np.array(found)


def difference(values: np.ndarray) -> dict[str, float]:
    """The first value, with the 95 % interval of the others."""
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return {"value": float(values[0]), "low": float(low), "high": float(high)}


def examine_claims(rows: Sequence[dict[str, Any]], replicates: int = REPLICATES) -> list[Any]:
    """One record for each structure and claim, on clean volumes."""
    tested = []
    for structure in STRUCTURES:
        results = collect(rows, structure, ["clean"])
        names = [SCORE, *(claim.against for claim in CLAIMS)]
        values = aurcs(results, names, replicates, 0)
        for i, claim in enumerate(CLAIMS, start=1):
            differences = values[:, 0] - values[:, i]
            wrong = int(np.count_nonzero(differences[1:] >= claim.limit))
            record: dict[str, Any] = {"structure": structure, "claim": claim.words}
            record |= difference(differences)
            tested.append(record | {"limit": claim.limit, "p": (1 + wrong) / (1 + replicates)})
    for record, p in zip(tested, holm([record["p"] for record in tested]), strict=True):
        record |= {"p_holm": p, "holds": p <= LEVEL}
    return tested
