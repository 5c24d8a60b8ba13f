"""Faults planted into trained ensembles: how often `check_ensemble` finds them, by size, and how often it raises false alarms.

    python benchmarks/studies/health.py --networks cifar10_8_networks.npz

Uses the ensembles under results/ and the logits of eight published CIFAR-10 networks (M, N, K). Writes health.json, and the tables of
health.md and docs/ensembles.md.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit, softmax
from tables import between

import labelwise as lw

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/ensembles.md"
START, END = "<!-- health: begin -->", "<!-- health: end -->"
RUNS, MEMBERS = 60, 5
Ensembles = dict[str, tuple[np.ndarray, np.ndarray | None]]
"""Probabilities (M, N, K) and labels, by name."""


def trained(networks: Path | None) -> Ensembles:
    """Healthy ensembles; FashionMNIST's are also given digits and Japanese characters, CIFAR-10's house numbers."""
    found: Ensembles = {}
    for path in sorted(ROOT.glob("results/*/run-*/*.npz")):
        if "unscaled" in path.name:  # known to be broken
            continue
        stored = np.load(path, allow_pickle=False)
        name = f"{path.parents[1].name}/{path.parent.name}/{path.stem}"
        found[name] = softmax(stored["log_probs"].astype(float), axis=-1), stored.get("y_true")
    if networks is not None:
        found["eight published networks"] = softmax(np.load(networks, allow_pickle=False)["logits"].astype(float), axis=-1), None
    return found


def small_models() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Models of scikit-learn on its bundled tables, half of each held out; not used to choose the thresholds."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    kinds: dict[str, Callable[[int], Any]] = {
        "networks": lambda seed: MLPClassifier(32, max_iter=60, random_state=seed),
        "bagged logistic regression": lambda seed: LogisticRegression(max_iter=300),
        "bagged trees of depth 6": lambda seed: DecisionTreeClassifier(max_depth=6, random_state=seed),
    }
    for load in (load_breast_cancer, load_digits, load_wine):
        x, y = load(return_X_y=True)
        for kind, make in kinds.items():
            rng = np.random.default_rng(0)
            order = rng.permutation(len(y))
            train, test = np.array_split(order, 2)
            members = []
            for seed in range(8):
                rows = train if kind == "networks" else rng.choice(train, len(train))
                members.append(make_pipeline(StandardScaler(), make(seed)).fit(x[rows], y[rows]).predict_proba(x[test]))
            yield f"scikit-learn: {kind}, {load.__name__[5:]}", np.stack(members), y[test]


def drawn(rng: np.random.Generator, ensembles: Ensembles, n: int, m: int) -> tuple[np.ndarray, np.ndarray | None, str]:
    """Some members and instances of one of the ensembles."""
    name = str(rng.choice(sorted(ensembles)))
    probs, y = ensembles[name]
    rows = rng.choice(probs.shape[1], n, replace=False)
    return probs[rng.choice(len(probs), min(m, len(probs)), replace=False)][:, rows].copy(), None if y is None else y[rows], name


def log_odds(p: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(p, 1e-12, 1 - 1e-12)))


def copied(probs: np.ndarray, size: float, rng: np.random.Generator) -> None:
    a, b = np.log(np.maximum(probs[:2], 1e-12))
    probs[1] = probs[0] if size == 0 else softmax((1 - size) * a + size * b, axis=-1)


def copied_label(probs: np.ndarray, size: float, rng: np.random.Generator) -> None:
    k = int(rng.integers(probs.shape[-1]))
    new = expit((1 - size) * log_odds(probs[0, :, k]) + size * log_odds(probs[1, :, k])) if size else probs[0, :, k]
    rest = np.delete(np.arange(probs.shape[-1]), k)
    others = np.maximum(probs[1][:, rest], 1e-12)
    probs[1][:, rest] = others / others.sum(axis=-1, keepdims=True) * (1 - new)[:, None]
    probs[1, :, k] = new


def flattened(probs: np.ndarray, size: float, rng: np.random.Generator) -> None:
    mean = probs[1].mean(axis=0)
    probs[1] = mean + size * (probs[1] - mean)


def permuted(probs: np.ndarray, size: float, rng: np.random.Generator) -> None:
    chosen = rng.choice(probs.shape[-1], int(size), replace=False)
    probs[1][:, chosen] = probs[1][:, np.roll(chosen, 1)]


def permuted_all(probs: np.ndarray, size: float, rng: np.random.Generator) -> None:
    chosen = rng.choice(probs.shape[-1], int(size), replace=False)
    probs[:, :, chosen] = probs[:, :, np.roll(chosen, 1)]


def wrong_sums(probs: np.ndarray, size: float, rng: np.random.Generator) -> None:
    probs[1, 0] *= 1 - size  # a single row


def logits(probs: np.ndarray, size: float, rng: np.random.Generator) -> None:
    probs[1] = size * (np.log(np.maximum(probs[1], 1e-8)) - np.log(np.maximum(probs[1], 1e-8)).mean(axis=-1, keepdims=True))


FAULTS: dict[str, tuple[str, set[str], Callable[[np.ndarray, float, np.random.Generator], None], tuple[float, ...]]] = {
    "copy of another member": ("own share", {"copies", "near copies"}, copied, (0, 0.01, 0.05, 0.1, 0.2, 0.5)),
    "one label copied": ("own share", {"copied labels"}, copied_label, (0, 0.01, 0.05, 0.1, 0.2)),
    "constant member": ("share of its variation", {"constant"}, flattened, (0, 0.05, 0.1, 0.2, 0.5)),
    "permuted classes": ("classes", {"permuted classes"}, permuted, (2, 3, 5, 10)),
    "all members permuted": ("classes", {"permuted classes"}, permuted_all, (2, 3, 5, 10)),
    "one row does not sum to 1": ("missing", {"sums"}, wrong_sums, (1e-9, 1e-6, 1e-3, 0.1)),
    "logits": ("scale", {"logits", "log-probabilities"}, logits, (0.1, 0.3, 1, 3)),
}
"""What its size is, the findings that name it, how to plant it into member 1, sizes."""


LARGER = ("one label copied", "permuted classes", "all members permuted")
"""Faults whose detection depends on the number of instances."""


def power(ensembles: Ensembles, n: int, faults: Sequence[str]) -> Iterator[dict[str, Any]]:
    known = {name: x for name, x in ensembles.items() if x[1] is not None}
    for fault in faults:
        unit, names, plant, sizes = FAULTS[fault]
        for size in sizes:
            row: dict[str, Any] = {"fault": fault, "unit": unit, "size": size, "n": n, "runs": RUNS}
            for labels in (False, True):
                rng, hits = np.random.default_rng(0), 0
                for _ in range(RUNS):
                    probs, y, _ = drawn(rng, known, n, MEMBERS)
                    plant(probs, size, rng)
                    found = lw.check_ensemble(probs, y if labels else None).findings
                    hits += any(x.fault in names and 1 in x.members for x in found)
                row["with labels" if labels else "without labels"] = hits / RUNS
            yield row


def alarms(ensembles: Ensembles, published: str = "eight published networks") -> Iterator[dict[str, Any]]:
    kinds = {
        "test data": {name: x for name, x in ensembles.items() if x[1] is not None},
        "out-of-distribution data": {name: x for name, x in ensembles.items() if x[1] is None and name != published},
        published: {name: x for name, x in ensembles.items() if name == published},
    }
    for kind, chosen in kinds.items():
        for m, n in ((2, 300), (3, 300), (5, 50), (5, 300), (5, 3000), (8, 300)) if chosen else ():
            if m > max(len(x[0]) for x in chosen.values()):
                continue
            rng, found, faults = np.random.default_rng(1), 0, set[str]()
            for _ in range(RUNS):
                probs, y, _ = drawn(rng, chosen, n, m)
                check = lw.check_ensemble(probs, y)
                found += not check.ok
                faults |= {x.fault for x in check.findings}
            yield {"data": kind, "members": m, "n": n, "alarms": found / RUNS, "faults": sorted(faults), "runs": RUNS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that have not converged are as good
        for kind, probs, y in small_models():
            check = lw.check_ensemble(probs, y)
            faults = {x.fault for x in check.findings}
            yield {"data": kind, "members": 8, "n": len(y), "alarms": float(not check.ok), "faults": sorted(faults), "runs": 1}


def tables(results: dict[str, Any]) -> str:
    lines = ["| fault planted into one of five members | size | n | found without labels | with labels |", "|---|---|---|---|---|"]
    for x in results["power"]:
        lines.append(f"| {x['fault']} | {x['size']:g} ({x['unit']}) | {x['n']} | {x['without labels']:.2f} | {x['with labels']:.2f} |")
    lines += ["", "| healthy members, nothing planted | members | n | false alarms | faults reported |", "|---|---|---|---|---|"]
    for x in results["alarms"]:
        lines.append(f"| {x['data']} | {x['members']} | {x['n']} | {x['alarms']:.2f} | {', '.join(x['faults']) or '–'} |")
    return "\n".join(lines) + "\n"


def insert(page: str, results: dict[str, Any]) -> str:
    return between(page, START, END, f"\n{tables(results)}")


def summary(results: dict[str, Any]) -> str:
    return (
        f"# Planted faults: results\n\n`python benchmarks/studies/health.py`, {results['seconds']:.0f} s of one core, {RUNS} draws of "
        f"members and instances each.\n\n{tables(results)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=Path, help="logits of the published networks")
    start, ensembles = time.perf_counter(), trained(parser.parse_args().networks)
    results: dict[str, Any] = {
        "ensembles": sorted(ensembles),
        "power": [*power(ensembles, 100, list(FAULTS)), *power(ensembles, 1000, LARGER)],
    }
    results["alarms"] = list(alarms(ensembles))
    results["seconds"] = time.perf_counter() - start
    (HERE / "health.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (HERE / "health.md").write_text(summary(results))
    if PAGE.is_file():
        PAGE.write_text(insert(PAGE.read_text(), results))


if __name__ == "__main__":
    main()
