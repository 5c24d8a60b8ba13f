"""Do prediction sets keep their guarantees, and how large are they? Simulations with known laws,
and real predictions.

    python lab/studies/sets.py --data-dir DIR [--quick] [--only PART]

DIR holds votes/cifar10_8_networks.npz, votes/sleep_dodh.npz, cifar10/cifar10_labels.npz and
medical/retinamnist.npz. Writes sets.json (the numbers) and sets.md (the tables) beside this file.
Fashion-MNIST is the bundled ensemble, RetinaMNIST that of docs/data.

Simulation: within one calibration the number of covered new cases of a class follows a
beta-binomial law (scores without ties); over calibrations the mean coverage lies at or above the
level, within a Monte-Carlo band. Real predictions: 200 random halves (calibration, test); the
coverage of each class is averaged over the splits *first*, then the minimum over classes is taken:
the minimum in each split would be below the level for any method. Sleep: each night is left out in
turn, its threshold comes from the other eight.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import betabinom, kstest, norm
from sets_page import page

import labelwise as lw
from labelwise.sets import fit_sets
from labelwise_lab.paper.prediction_files import read_predictions

HERE = Path(__file__).resolve().parent
LEVEL, SPLITS, TRIALS, NEW = 0.9, 200, 1000, 200


def classes_of(y: np.ndarray, digits: int | None, rng: np.random.Generator) -> np.ndarray:
    """Probabilities of three classes of different difficulty; with ``digits`` most scores are
    tied.
    """
    z = rng.normal(size=(len(y), 3)) + np.array([2.0, 1.0, 0.3])[y][:, None] * np.eye(3)[y]
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    if digits is None:
        return p
    p = np.round(p, digits) + 1e-9
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def simulate(trials: int) -> list[dict[str, Any]]:
    """Class-conditional sets: n calibration cases of each class, or 10 : 3 : 1 of them."""
    rows = []
    for n in (20, 100, 1000):
        for design in ("balanced", "imbalanced"):
            for ties in (False, True):
                row = {"n": n, "design": design, "ties": ties}
                rows.append(row | simulated(row, trials if n < 1000 else max(trials // 5, 20), 0))
    return rows


def simulated(row: dict[str, Any], runs: int, seed: int) -> dict[str, Any]:
    """One row: coverage of new cases of each class, over calibrations."""
    n, digits = row["n"], 1 if row["ties"] else None
    sizes = (n, n, n) if row["design"] == "balanced" else (10 * n, 3 * n, n)
    rng = np.random.default_rng([n, sizes[0], row["ties"], 0, 0, seed])
    hits = np.empty((runs, 3), int)
    y, new = np.repeat([0, 1, 2], sizes), np.repeat([0, 1, 2], NEW)
    for t in range(runs):
        sets = fit_sets(classes_of(y, digits, rng), y, coverage=LEVEL)
        member = sets.predict(classes_of(new, digits, rng)).member
        hits[t] = member[np.arange(len(new)), new].reshape(3, NEW).sum(axis=1)
    return laws(hits, sizes, rng)


def confirm(runs: int) -> list[dict[str, Any]]:
    """The two rows that looked wrong in a first run, once more with other random numbers and more
    calibrations.
    """
    rows = [{"n": n, "design": "imbalanced", "ties": False} for n in (20, 100)]
    return [row | simulated(row, runs, 1) for row in rows]


def laws(hits: np.ndarray, sizes: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    """Mean coverage of the worst class with its band (for up to 30 rows of 3 classes at once), and
    the test of the beta-binomial law.
    """
    runs = len(hits)
    mean, error = hits.mean(axis=0) / NEW, hits.std(axis=0, ddof=1) / NEW / np.sqrt(runs)
    worst = int(mean.argmin())
    values = []
    for c, n in enumerate(sizes):
        rank = -(-(n + 1) * 9 // 10)
        law = betabinom(NEW, rank, n + 1 - rank)
        u = law.cdf(hits[:, c] - 1) + rng.random(runs) * law.pmf(hits[:, c])
        values.append(float(kstest(u, "uniform").pvalue))
    half = float(norm.ppf(1 - 0.025 / 90)) * error[worst]
    return {
        "runs": runs,
        "worst": float(mean[worst]),
        "low": float(mean[worst] - half),
        "high": float(mean[worst] + half),
        "law_p": min(1.0, 3 * min(values)),
    }


def simulate_groups(trials: int) -> list[dict[str, Any]]:
    """Groups of 1 to 40 cases that differ: a random case of a new group, and sets that ignore the
    groups.
    """
    rows = []
    for n_groups in (10, 30, 100):
        rng = np.random.default_rng(n_groups)
        found: dict[str, list[float]] = {"case": [], "case, groups ignored": []}
        for _ in range(trials):
            size = np.where(rng.random(n_groups + 1) < 0.3, 40, rng.integers(1, 8, n_groups + 1))
            shift = np.where(size == 40, 2.5, 0.5) + rng.normal(size=len(size))
            code = np.repeat(np.arange(len(size)), size)
            y = rng.integers(2, size=len(code))
            p = 1 / (1 + np.exp((1 - 2 * y) * (shift[code] + rng.normal(size=len(code)))))
            p = np.stack([1 - p, p], axis=-1)
            old, new = code < n_groups, code == n_groups
            for name, groups in (("case", code[old]), ("case, groups ignored", None)):
                sets = fit_sets(p[old], y[old], guarantee="marginal", coverage=LEVEL, groups=groups)
                inside = sets.predict(p[new]).member[np.arange(new.sum()), y[new]]
                found[name].append(float(inside.mean()))
        for name, x in found.items():
            half = 1.96 * np.std(x) / np.sqrt(len(x))
            rows.append(
                {
                    "groups": n_groups,
                    "estimand": name,
                    "coverage": float(np.mean(x)),
                    "low": float(np.mean(x) - half),
                    "high": float(np.mean(x) + half),
                }
            )
    return rows


def real(data: Path) -> Iterator[tuple[str, lw.Ensemble, np.ndarray]]:
    """Name, predictions and true classes."""
    run = HERE.parent / "results" / "fashion-mnist-paper" / "run-0"
    fashion = read_predictions(run / "fashion-mnist.npz", labeled=True)
    yield "Fashion-MNIST", lw.Ensemble(fashion.probs), fashion.y_true
    with (
        np.load(data / "votes" / "cifar10_8_networks.npz") as file,
        np.load(data / "cifar10" / "cifar10_labels.npz") as labels,
    ):
        yield (
            "CIFAR-10, eight networks",
            lw.Ensemble.from_logits(file["logits"].astype(float)),
            labels["test"].reshape(-1).astype(int),
        )
    with (
        np.load(HERE.parents[1] / "docs" / "data" / "retinamnist.npz") as file,
        np.load(data / "medical" / "retinamnist.npz") as labels,
    ):
        yield (
            "RetinaMNIST",
            lw.Ensemble(file["probs"].astype(float), class_names=file["class_names"].tolist()),
            labels["test_labels"].reshape(-1).astype(int),
        )


def methods(p: np.ndarray, y: np.ndarray, cal: np.ndarray, level: float) -> dict[str, Any]:
    """Fitted sets by name."""
    return {
        "marginal": fit_sets(p[cal], y[cal], guarantee="marginal", coverage=level),
        "class": fit_sets(p[cal], y[cal], coverage=level),
    }


def splits(name: str, q: lw.Ensemble, y: np.ndarray, n_splits: int) -> dict[str, Any]:
    """Coverage of each class and mean size over random halves."""
    p, sd = (
        np.asarray(q.mean(), float),
        np.sqrt(np.asarray(lw.decompose(q, "squared").epistemic, float)),
    )
    k, level = p.shape[1], 0.8 if len(y) < 1000 else LEVEL
    shares: dict[str, list[np.ndarray]] = {}
    for s in range(n_splits):
        order = np.random.default_rng(s).permutation(len(y))
        cal, new = order[: len(y) // 2], order[len(y) // 2 :]
        made = {
            method: fitted.predict(p[new]).member
            for method, fitted in methods(p, y, cal, level).items()
        }
        made |= with_uncertainty(p, sd, y, cal, new, level)
        for method, member in made.items():
            inside, size = member[np.arange(len(new)), y[new]], member.sum(axis=1)
            row = [inside[y[new] == c].mean() for c in range(k)] + [
                inside.mean(),
                size.mean(),
                (size == 1).mean(),
                (size == 0).mean(),
            ]
            shares.setdefault(method, []).append(np.asarray(row))
    return {
        "name": name,
        "level": level,
        "n": len(y),
        "n_splits": n_splits,
        "methods": {m: judged(np.stack(x), k) for m, x in shares.items()},
    }


def with_uncertainty(
    p: np.ndarray, sd: np.ndarray, y: np.ndarray, cal: np.ndarray, new: np.ndarray, level: float
) -> dict[str, np.ndarray]:
    """Sets per class with p − sd and p + sd (standard deviation over members) as the score in place
    of p; same quantiles.
    """
    found = {}
    for name, sign in (("class, p − sd over members", -1), ("class, p + sd over members", 1)):
        score = -(p + sign * sd)
        member = np.zeros((len(new), p.shape[1]), bool)
        for c in range(p.shape[1]):
            own = np.sort(score[cal[y[cal] == c], c])
            rank = int(np.ceil(round((len(own) + 1) * level, 9)))
            member[:, c] = score[new, c] <= own[rank - 1]
        found[name] = member
    return found


def judged(x: np.ndarray, k: int) -> dict[str, Any]:
    """Means over splits; of the class with the lowest mean, its band, for k classes at once. Given
    the data, splits are independent, and the cases of a random split are exchangeable: the mean
    over all splits is at least the level, whatever the data.
    """
    mean, sd = x.mean(axis=0), x.std(axis=0, ddof=1)
    worst = int(mean[:k].argmin())
    half = float(norm.ppf(1 - 0.025 / k)) * sd[worst] * np.sqrt(1 / len(x))
    return {
        "coverage": float(mean[k]),
        "worst_class": worst,
        "worst": float(mean[worst]),
        "low": float(mean[worst] - half),
        "high": float(mean[worst] + half),
        "sd_of_a_split": float(sd[worst]),
        "size": float(mean[k + 1]),
        "single": float(mean[k + 2]),
        "empty": float(mean[k + 3]),
        "classes": mean[:k].round(4).tolist(),
    }


def sleep(data: Path) -> dict[str, Any]:
    """Leave one night out at 80 %; the truth is a random scorer (a case for each scorer), or the
    majority of the scorers.
    """
    with np.load(data / "votes" / "sleep_dodh.npz") as file:
        scorers, models, night, names = (
            file[key] for key in ("scorers", "models", "night", "class_names")
        )
    k = len(names)
    p = np.stack([np.eye(k)[model] for model in models]).mean(axis=0)
    p = (p * len(models) + 0.5) / (
        len(models) + 0.5 * k
    )  # shares of votes are never 0: ties stay ties
    votes = np.stack([(scorers == c).sum(axis=0) for c in range(k)], axis=-1)
    top = votes.argmax(axis=-1)
    clear = (votes == votes.max(axis=-1, keepdims=True)).sum(axis=-1) == 1
    who, where = np.nonzero(scorers >= 0)
    targets = {
        "random scorer": (where, scorers[who, where].astype(int)),
        "majority of scorers": (np.flatnonzero(clear), top[clear]),
    }
    found = []
    for target, (rows, y) in targets.items():
        for per in ("marginal", "class"):
            for how in ("groups", "groups ignored"):
                nights, sizes, by_class = [], [], []
                for out in np.unique(night):
                    new = night[rows] == out
                    given = {"groups": night[rows][~new]} if how == "groups" else {}
                    member = (
                        fit_sets(p[rows][~new], y[~new], guarantee=per, coverage=0.8, **given)
                        .predict(p[rows][new])
                        .member
                    )
                    inside = member[np.arange(new.sum()), y[new]]
                    nights.append(float(inside.mean()))
                    sizes.append(float(member.sum(axis=1).mean()))
                    by_class.append(
                        [
                            float(inside[y[new] == c].mean()) if (y[new] == c).any() else np.nan
                            for c in range(k)
                        ]
                    )
                classes = np.nanmean(by_class, axis=0)
                found.append(
                    {
                        "target": target,
                        "per": per,
                        "how": how,
                        "coverage": float(np.mean(nights)),
                        "sd": float(np.std(nights, ddof=1)),
                        "lowest_night": min(nights),
                        "size": float(np.mean(sizes)),
                        "worst_class": str(names[int(classes.argmin())]),
                        "worst": float(classes.min()),
                    }
                )
    return {"nights": len(np.unique(night)), "rows": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument(
        "--only",
        choices=["sleep", "real", "groups", "simulation", "confirmation"],
        help="recompute this part of sets.json",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the trials and splits; nothing is written"
    )
    given = parser.parse_args()
    share = 10 if given.quick else 1
    start = time.perf_counter()
    parts = {
        "sleep": lambda: {"sleep": sleep(given.data_dir)},
        "real": lambda: {"real": [splits(*one, SPLITS // share) for one in real(given.data_dir)]},
        "groups": lambda: {"groups": simulate_groups(TRIALS // share)},
        "simulation": lambda: {"simulation": simulate(TRIALS // share)},
        "confirmation": lambda: {"confirmation": confirm(4 * TRIALS // share)},
    }
    result = {} if given.only is None else json.loads((HERE / "sets.json").read_text())
    for name, part in parts.items():
        if given.only in (None, name):
            result |= part()
    if given.quick:
        print(page(result))
    else:
        (HERE / "sets.json").write_text(json.dumps(result, indent=1) + "\n")
        (HERE / "sets.md").write_text(page(result))
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
