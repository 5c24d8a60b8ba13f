"""Faults planted into trained ensembles: how often `check_ensemble` finds them, and how often it
raises false alarms.

    python lab/studies/health.py

Two kinds of ensembles: the networks under lab/results/, and models of scikit-learn that are trained
here. The thresholds of the check were chosen on the networks and on models of scikit-learn with the
seeds 0 to 3; the models counted here have other seeds. Writes health.json, and the tables of
health.md and docs/lab/members.md.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

import labelwise as lw
from labelwise_lab import pages

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/lab/members.md"
START, END = "<!-- health: begin -->", "<!-- health: end -->"
SEEDS = (4, 5)
RUNS = 60
N_MEMBERS = 8  # trained; fewer are drawn
SIZES = (30, 100, 10_000)  # instances, or as many as there are
TABLES = ("digits", "iris", "wine", "breast_cancer", "noisy", "imbalanced", "twenty classes")


class Trained(NamedTuple):
    """A healthy ensemble."""

    kind: str
    data: str
    probs: np.ndarray
    """(M, N, K)."""
    y: np.ndarray | None
    """(N,); ``None``: out-of-distribution data."""


def networks() -> Iterator[Trained]:
    """FashionMNIST's are also given digits and Japanese characters, CIFAR-10's house numbers."""
    for path in sorted(ROOT.glob("lab/results/*/run-*/*.npz")):
        if "unscaled" in path.name:  # known to be broken
            continue
        stored = np.load(path, allow_pickle=False)
        y = stored.get("y_true")
        kind = "convolutional networks" + ("" if y is not None else ", out-of-distribution")
        yield Trained(kind, path.stem, softmax(stored["log_probs"].astype(float), axis=-1), y)


def table(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Standardized features and classes of one half for training and one for testing."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    made: dict[str, dict[str, Any]] = {
        "noisy": {"n_samples": 900, "n_features": 20, "n_informative": 4, "flip_y": 0.4},
        "imbalanced": {
            "n_samples": 1500,
            "n_features": 20,
            "n_informative": 6,
            "weights": [0.95, 0.05],
        },
        "twenty classes": {
            "n_samples": 2400,
            "n_features": 30,
            "n_informative": 12,
            "n_classes": 20,
            "n_clusters_per_class": 1,
            "class_sep": 1.5,
        },
    }
    if name in made:
        x, y = datasets.make_classification(**made[name], random_state=seed)
    else:
        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    x, x_test, y, y_test = train_test_split(x, y, test_size=0.5, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(x)
    return scaler.transform(x), y, scaler.transform(x_test), y_test


def makers() -> dict[str, Callable[[int], Any]]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "trees": lambda seed: DecisionTreeClassifier(random_state=seed),
        "trees of depth 4": lambda seed: DecisionTreeClassifier(max_depth=4, random_state=seed),
        "random forests": lambda seed: RandomForestClassifier(20, random_state=seed),
        "logistic regression": lambda seed: LogisticRegression(max_iter=100),
        "networks": lambda seed: MLPClassifier(32, max_iter=40, random_state=seed),
        "boosted trees": lambda seed: HistGradientBoostingClassifier(
            max_iter=10, max_leaf_nodes=8, random_state=seed
        ),
        "nearest neighbors": lambda seed: KNeighborsClassifier(5),
        "naive Bayes": lambda seed: GaussianNB(),
    }


def predicted(model: Any, x: np.ndarray, k: int) -> np.ndarray:
    """Probabilities of all classes; a bootstrap sample may lack one. Naive Bayes's sums are off by
    up to 1e-5.
    """
    probs = np.zeros((len(x), k))
    probs[:, model.classes_] = model.predict_proba(x)
    return probs / probs.sum(axis=-1, keepdims=True)


def small_models(data: str, seed: int) -> Iterator[Trained]:
    """Members of one kind on bootstrap samples (networks and forests: other random seeds), of
    several kinds, and dropout of features.
    """
    kinds = makers()
    x, y, x_test, y_test = table(data, seed)
    k = int(y.max()) + 1
    rng = np.random.default_rng(seed)

    def fit(kind: str, i: int) -> np.ndarray:
        whole = kind in ("networks", "random forests")
        rows = np.arange(len(y)) if whole else rng.choice(len(y), len(y))
        return predicted(kinds[kind](100 * seed + i).fit(x[rows], y[rows]), x_test, k)

    for kind in kinds:
        yield Trained(kind, data, np.stack([fit(kind, i) for i in range(N_MEMBERS)]), y_test)
    yield Trained(
        "all kinds mixed", data, np.stack([fit(kind, i) for i, kind in enumerate(kinds)]), y_test
    )
    two = ["logistic regression", "trees"] * (N_MEMBERS // 2)
    yield Trained(
        "two kinds mixed", data, np.stack([fit(kind, i) for i, kind in enumerate(two)]), y_test
    )
    network = kinds["networks"](seed).fit(x, y)
    passes = [
        predicted(network, x_test * (rng.random(x_test.shape) > 0.2) / 0.8, k)
        for _ in range(N_MEMBERS)
    ]
    yield Trained("dropout of features", data, np.stack(passes), y_test)


def drawn(
    rng: np.random.Generator, trained: Trained, n: int, m: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Some members and instances of an ensemble, in random order."""
    probs, y = trained.probs, trained.y
    rows = rng.permutation(probs.shape[1])[:n]
    members = rng.permutation(len(probs))[:m]
    return probs[members][:, rows].copy(), None if y is None else y[rows]


class Planted(NamedTuple):
    """What a fault needs: predictions to change in place (member 1), labels, a size, a random
    generator.
    """

    probs: np.ndarray
    y: np.ndarray
    size: float
    rng: np.random.Generator


def copied(x: Planted) -> None:
    x.probs[1] = x.probs[0]


def flattened(x: Planted) -> None:
    mean = x.probs[1].mean(axis=0)
    x.probs[1] = mean + x.size * (x.probs[1] - mean)


def permuted(x: Planted) -> None:
    chosen = x.rng.choice(x.probs.shape[-1], int(x.size), replace=False)
    x.probs[1][:, chosen] = x.probs[1][:, np.roll(chosen, 1)]


def permuted_all(x: Planted) -> None:
    chosen = x.rng.choice(x.probs.shape[-1], int(x.size), replace=False)
    x.probs[:, :, chosen] = x.probs[:, :, np.roll(chosen, 1)]


def wrong_sums(x: Planted) -> None:
    x.probs[1, 0] *= 1 - x.size  # a single row


def logits(x: Planted) -> None:
    log_probs = np.log(np.maximum(x.probs[1], 1e-8))
    x.probs[1] = x.size * (log_probs - log_probs.mean(axis=-1, keepdims=True))


def shuffled(x: Planted) -> None:
    x.probs[1] = x.rng.permutation(x.probs[1])


def shifted(x: Planted) -> None:
    x.probs[1] = np.roll(x.probs[1], int(x.size), axis=0)


def random_numbers(x: Planted) -> None:
    x.probs[1] = x.rng.dirichlet(np.full(x.probs.shape[-1], x.size), len(x.y))


class Fault(NamedTuple):
    unit: str
    findings: set[str]
    plant: Callable[[Planted], None]
    sizes: tuple[float, ...]
    on_networks: bool = False
    """Whether it is planted into networks alone: votes of trees may be equal by chance, and some
    need 10 classes.
    """


FAULTS = {
    "copy of another member": Fault("own share", {"copies"}, copied, (0,), on_networks=True),
    "constant member": Fault(
        "share of its variation", {"constant"}, flattened, (0, 0.05, 0.1, 0.2), on_networks=True
    ),
    "permuted classes": Fault(
        "classes", {"permuted classes"}, permuted, (2, 3, 5, 10), on_networks=True
    ),
    "all members permuted": Fault(
        "classes", {"permuted classes"}, permuted_all, (2, 10), on_networks=True
    ),
    "one row does not sum to 1": Fault(
        "missing", {"scale"}, wrong_sums, (1e-6, 1e-3), on_networks=True
    ),
    "logits": Fault("scale", {"scale"}, logits, (0.1, 1), on_networks=True),
    "rows shuffled": Fault("of the rows", {"unrelated"}, shuffled, (1,)),
    "rows shifted": Fault("row", {"unrelated"}, shifted, (1,)),
    "random numbers": Fault("α", {"unrelated"}, random_numbers, (1, 0.1)),
}


def power(ensembles: list[Trained]) -> Iterator[dict[str, Any]]:
    """How often each planted fault is found, by its size and the numbers of members and
    instances.
    """
    labeled = [x for x in ensembles if x.y is not None]
    large = [x for x in labeled if x.kind == "convolutional networks"]
    for name, fault in FAULTS.items():
        for m, n in (
            ((5, 100), (5, 1000))
            if fault.on_networks
            else ((2, 1000), (3, 100), (3, 1000), (5, 100), (5, 1000))
        ):
            for size in fault.sizes:
                row: dict[str, Any] = {
                    "fault": name,
                    "unit": fault.unit,
                    "size": size,
                    "members": m,
                    "n": n,
                    "runs": RUNS,
                }
                for labels in (False, True):
                    rng, hits = np.random.default_rng(0), 0
                    for _ in range(RUNS):
                        chosen = large if fault.on_networks else labeled
                        probs, y = drawn(rng, chosen[rng.integers(len(chosen))], n, m)
                        assert y is not None
                        fault.plant(Planted(probs, y, size, rng))
                        findings = lw.check_ensemble(probs, y if labels else None).findings
                        hits += any(x.fault in fault.findings and 1 in x.members for x in findings)
                    row["with labels" if labels else "without labels"] = hits / RUNS
                yield row


def alarms(ensembles: list[Trained]) -> Iterator[dict[str, Any]]:
    """One row for each check of a healthy ensemble, with and without its labels."""
    rng = np.random.default_rng(1)
    for trained in ensembles:
        for m in (2, 3, 5, 8):
            if m > len(trained.probs):
                continue
            for n in SIZES:
                probs, y = drawn(rng, trained, n, m)
                for labels in (False, True):
                    if labels and y is None:
                        continue
                    check = lw.check_ensemble(probs, y if labels else None)
                    faults = sorted({x.fault for x in check.findings})
                    yield {
                        "kind": trained.kind,
                        "members": m,
                        "n": n,
                        "labels": labels,
                        "faults": faults,
                    }


def overconfident(ensembles: list[Trained]) -> Iterator[dict[str, Any]]:
    """One of three members is far more confident: how often that is taken for a fault of the
    others.
    """
    rng = np.random.default_rng(2)
    chosen = [
        x
        for x in ensembles
        if x.kind in ("convolutional networks", "networks", "logistic regression", "boosted trees")
    ]
    for factor in (3, 10):
        faults = []
        for trained in chosen:
            probs, _ = drawn(rng, trained, 1000, 3)
            probs[1] = softmax(factor * np.log(np.maximum(probs[1], 1e-12)), axis=-1)
            faults.append(sorted({x.fault for x in lw.check_ensemble(probs).findings}))
        yield {
            "factor": factor,
            "ensembles": len(chosen),
            "alarms": sum(map(bool, faults)),
            "faults": sorted({y for x in faults for y in x}),
        }


def counts(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Checks and false alarms for each value of ``key``."""
    result = []
    for value in dict.fromkeys(row[key] for row in rows):
        own = [row for row in rows if row[key] == value]
        faults = sorted({fault for row in own for fault in row["faults"]})
        result.append(
            {
                key: value,
                "checks": len(own),
                "alarms": sum(bool(row["faults"]) for row in own),
                "faults": faults,
            }
        )
    return result


def tables(results: dict[str, Any]) -> str:
    power = [
        [
            x["fault"],
            f"{x['size']:g} ({x['unit']})",
            str(x["members"]),
            str(x["n"]),
            f"{x['without labels']:.2f}",
            f"{x['with labels']:.2f}",
        ]
        for x in results["power"]
    ]
    rows = []
    of = {"kind": "{}", "members": "M = {}", "n": "n up to {:,}"}
    for key, words in of.items():
        for x in results["alarms"][key]:
            faults = ", ".join(x["faults"]) or "–"
            rows.append([words.format(x[key]), str(x["checks"]), str(x["alarms"]), faults])
    checks, alarms = (
        sum(x[key] for x in results["alarms"]["kind"]) for key in ("checks", "alarms")
    )
    rows.append(["all of these", str(checks), f"{alarms} ({alarms / checks:.1%})", ""])
    for x in results["overconfident"]:
        name = f"one of three members {x['factor']} times as confident"
        faults = ", ".join(x["faults"]) or "–"
        rows.append([name, str(x["ensembles"]), str(x["alarms"]), faults])
    planted = ["fault planted into one member", "size", "members", "n up to"]
    found = ["found without labels", "with labels"]
    healthy = ["healthy members, nothing planted", "checks", "false alarms", "faults reported"]
    return f"{pages.table([*planted, *found], power)}\n{pages.table(healthy, rows)}"


def insert(page: str, results: dict[str, Any]) -> str:
    return pages.between(page, START, END, f"\n{tables(results)}")


def summary(results: dict[str, Any]) -> str:
    seeds = ", ".join(map(str, SEEDS))
    return (
        f"# Planted faults: results\n\n`python lab/studies/health.py`, {results['seconds']:.0f} s "
        f"of one core. Planted faults: {RUNS} draws "
        f"of members and instances each (seed 0). Healthy: {results['ensembles']} trained "
        f"ensembles, those of scikit-learn with the seeds {seeds} "
        f"(thresholds were chosen with the seeds 0 to 3).\n\n{tables(results)}"
    )


def main() -> None:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that have not converged are as good
        ensembles = [
            *networks(),
            *(x for seed in SEEDS for data in TABLES for x in small_models(data, seed)),
        ]
    checks = list(alarms(ensembles))
    results: dict[str, Any] = {
        "ensembles": len(ensembles),
        "alarms": {key: counts(checks, key) for key in ("kind", "members", "n")},
        "overconfident": list(overconfident(ensembles)),
        "power": list(power(ensembles)),
    }
    results["seconds"] = time.perf_counter() - start
    (HERE / "health.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (HERE / "health.md").write_text(summary(results))
    PAGE.write_text(insert(PAGE.read_text(), results))


if __name__ == "__main__":
    main()
