"""Accuracy against confidence, and paid against expected cost: how often the interval of the
difference is right.

    python lab/studies/expectations.py            (about 10 minutes; --quick: a twentieth of the
    runs, nothing is written)

Writes expectations.json and expectations.md beside this file. Forecasts are softmax or Dirichlet
vectors; outcomes are drawn from them (calibrated: how often the interval misses 0 is the level) or
from a power of them (over- or under-confident: how often it contains the truth is the coverage).
Cases of a group share a normal effect, of which ρ is the share of the variance.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, softmax

from labelwise.evaluation._excess import mean_excess
from labelwise_lab import pages

HERE = Path(__file__).resolve().parent
LEVEL_RUNS, COVERAGE_RUNS = 2000, 500
SEED = 29
LARGE = 400_000
"""Cases that the truth is computed from."""
GROUPS = ((10, 10), (20, 10), (40, 10))


def outcomes(
    rng: np.random.Generator, p: np.ndarray, n_groups: int, rho: float
) -> tuple[np.ndarray, np.ndarray | None]:
    """True classes drawn from ``p``, and their groups."""
    n = len(p)
    groups = np.repeat(np.arange(n_groups), n // n_groups) if n_groups else None
    u = rng.random(n)
    if groups is not None:
        u = ndtr(
            rho**0.5 * rng.normal(size=n_groups)[groups] + (1 - rho) ** 0.5 * rng.normal(size=n)
        )
    order = np.argsort(
        -p, axis=1
    )  # the most probable class first: cases of a group are right or wrong together
    ranked = np.take_along_axis(p, order, axis=1)
    rank = (u[:, None] > np.cumsum(ranked, axis=1)[:, :-1]).sum(axis=1)
    return order[np.arange(n), rank], groups


def sharpened(p: np.ndarray, power: float) -> np.ndarray:
    q = p**power
    return np.asarray(q / q.sum(axis=1, keepdims=True))


class Accuracy:
    """Right or wrong against the highest probability; ``scale`` is the spread of the logits."""

    bounds = (0.0, 1.0)

    def __init__(self, scale: float, classes: int = 3) -> None:
        self.scale, self.classes = scale, classes
        self.name = f"accuracy, {classes} classes, logits of sd {scale:g}"

    def forecasts(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return np.asarray(softmax(self.scale * rng.normal(size=(n, self.classes)), axis=1))

    def expected(self, p: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the forecasts expect of each case, and what is expected in truth."""
        top = p.argmax(axis=1)
        at = np.arange(len(p)), top
        return p[at], true[at]

    def realized(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (p.argmax(axis=1) == y).astype(float)


class Cost:
    """Paid against expected cost of the cheapest action; missing the last of three classes costs
    ``miss``, other errors 1.
    """

    def __init__(self, alpha: tuple[float, ...], miss: float, ask: float | None) -> None:
        self.alpha, self.miss, self.ask = alpha, miss, ask
        self.classes = len(alpha)
        self.table = np.array([[0, 1, 1], [1, 0, 1], [miss, miss, 0]], float)
        self.bounds = (0.0, miss)
        self.name = f"cost, rare class of share {alpha[-1] / sum(alpha):.2g} costs {miss:g}" + (
            "" if ask is None else f", asking {ask:g}"
        )

    def forecasts(self, rng: np.random.Generator, n: int) -> np.ndarray:
        p = rng.dirichlet(self.alpha, size=n) + 1e-12
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def costs(self, p: np.ndarray) -> np.ndarray:
        """Cost of the chosen action for each possible truth, (N, 3)."""
        risk = p @ self.table
        chosen = self.table[:, risk.argmin(axis=1)].T
        return (
            chosen
            if self.ask is None
            else np.where(risk.min(axis=1, keepdims=True) > self.ask, self.ask, chosen)
        )

    def expected(self, p: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        costs = self.costs(p)
        return (p * costs).sum(axis=1), (true * costs).sum(axis=1)

    def realized(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(self.costs(p)[np.arange(len(p)), y])


def problems() -> Iterator[Any]:
    yield from (Accuracy(1), Accuracy(3), Accuracy(8), Accuracy(20), Accuracy(0.5, classes=100))
    yield from (
        Cost((1, 1, 1), 5, None),
        Cost((3, 1, 0.05), 20, None),
        Cost((3, 1, 0.05), 20, 0.5),
        Cost((0.3, 0.3, 0.03), 20, None),
    )


def settings() -> Iterator[tuple[Any, int, int, float, float]]:
    """Problem, cases, groups, ρ, and the power of the forecasts that outcomes are drawn from."""
    for problem in problems():
        for n in (50, 200, 1000):
            for power in (1.0, 0.6, 1.6):
                yield problem, n, 0, 0.0, power
        for n_groups, size in GROUPS:
            for rho in (0.1, 0.3):
                for power in (1.0, 0.6):
                    yield problem, n_groups * size, n_groups, rho, power


def simulate(
    problem: Any, n: int, n_groups: int, rho: float, power: float, runs: int
) -> dict[str, Any]:
    rng = np.random.default_rng(SEED)
    p = problem.forecasts(rng, LARGE * 3 // problem.classes)
    believed, in_truth = problem.expected(p, sharpened(p, power))
    truth = 0.0 if power == 1 else float((in_truth - believed).mean())
    contains = 0
    width = 0.0
    for _ in range(runs):
        p = problem.forecasts(rng, n)
        y, groups = outcomes(rng, sharpened(p, power), n_groups, rho)
        estimate = mean_excess(
            problem.realized(p, y), problem.expected(p, p)[0], bounds=problem.bounds, groups=groups
        )
        contains += bool(estimate.low <= truth <= estimate.high)
        width += (estimate.high - estimate.low) / runs
    kind = "level" if power == 1 else "coverage"
    observed = contains / runs if power != 1 else 1 - contains / runs
    return {
        "problem": problem.name,
        "n": n,
        "groups": n_groups,
        "rho": rho if n_groups else None,
        "truth": round(truth, 4),
        "kind": kind,
        "nominal": 0.95 if kind == "coverage" else 0.05,
        "observed": round(observed, 4),
        "width": round(width, 4),
        "runs": runs,
    }


def table(results: dict[str, Any]) -> str:
    columns = [
        "difference of",
        "cases",
        "groups (ρ)",
        "true difference",
        "",
        "nominal",
        "observed",
        "mean width",
        "runs",
    ]
    rows = []
    for row in results["rows"]:
        groups = f"{row['groups']} ({row['rho']:g})" if row["groups"] else "–"
        rows.append(
            [
                row["problem"],
                str(row["n"]),
                groups,
                f"{row['truth']:.3f}",
                row["kind"],
                f"{row['nominal']:.2f}",
                f"{row['observed']:.3f}",
                f"{row['width']:.3f}",
                str(row["runs"]),
            ]
        )
    return pages.table(columns, rows)


def page(results: dict[str, Any]) -> str:
    head, command, *rest = (__doc__ or "").strip().split("\n\n")
    title, about = (text.replace("\n", " ") for text in (head, "\n".join(rest)))
    return (
        f"# {title}\n\n`{command.split('  ')[2].strip()}`. {about}\n\n"
        f"Random seed {results['seed']} for every row.\n\n{table(results)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a twentieth of the runs; nothing is written"
    )
    quick = parser.parse_args().quick
    rows = []
    for problem, n, n_groups, rho, power in settings():
        runs = (LEVEL_RUNS if power == 1 else COVERAGE_RUNS) // (20 if quick else 1)
        rows.append(simulate(problem, n, n_groups, rho, power, runs))
        print(table({"rows": rows[-1:]}).splitlines()[-1], flush=True)
    results = {"seed": SEED, "rows": rows}
    if not quick:
        lines = ",\n".join(json.dumps(row) for row in rows)
        (HERE / "expectations.json").write_text(f'{{"seed": {SEED}, "rows": [\n{lines}\n]}}\n')
        (HERE / "expectations.md").write_text(page(results))


if __name__ == "__main__":
    main()
