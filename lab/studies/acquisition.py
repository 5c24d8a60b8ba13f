"""Does acquisition by label-wise epistemic uncertainty beat the alternatives? Two families of
models, nine strategies, and every data set that `acquisition_claims` admits.

    python lab/studies/acquisition.py --data-dir DIR --work-dir WORK     an hour of one core
    python lab/studies/acquisition.py --page                             only the page

DIR holds the data sets (default: LABELWISE_DATA). WORK takes a line for each finished unit (data
set, family, split); a run that was interrupted is resumed. While the file that LABELWISE_PAUSE
names exists, no unit is begun. Writes acquisition.json and acquisition.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.datasets
from acquisition_claims import (
    ARMS,
    BALANCED,
    HYPOTHESIS,
    INITIAL,
    MAX_POOL,
    MAX_TEST,
    MIN_CLASS,
    ROUNDS,
    SPLITS,
    TAIL,
    TEST_SIZE,
    budget_of,
    eligible,
)
from acquisition_page import page
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from units import finished, keep, wait_while_paused

from labelwise.models import LabelwiseClassifier
from labelwise_lab import datasets
from labelwise_lab.files import write_file
from labelwise_lab.simulation import simulate

HERE = Path(__file__).resolve().parent
CLAIMS = "last changed in “Test the level of the studies' verdicts”, 2026-11-18, 21:05 UTC"
"""The commit; the run began at 21:08."""
TABLES = {
    "breast_cancer": sklearn.datasets.load_breast_cancer,
    "iris": sklearn.datasets.load_iris,
    "wine": sklearn.datasets.load_wine,
}
FAMILIES = {
    "forest": lambda: RandomForestClassifier(50, n_jobs=1),
    "logistic": lambda: LabelwiseClassifier(LogisticRegression(max_iter=200), n_members=5),
}
PIXELS = 7  # images are averaged to so many by so many
PILOT_SPLITS = 3  # for the rule, with seeds of their own


def candidates(data_dir: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, features and labels of all data sets whose files are there."""
    for name in datasets.names():
        try:
            data = datasets.load(name, data_dir=data_dir)
        except FileNotFoundError:
            continue
        parts = [part for part in (data.train, data.val, data.test) if part is not None]
        x = np.concatenate([part.x for part in parts])
        y = np.concatenate([part.y for part in parts])
        yield name, x, y
    for name, load in TABLES.items():
        yield name, *load(return_X_y=True)


def pooled(images: np.ndarray) -> np.ndarray:
    """The mean of each of 7 × 7 parts of an image, for each channel; smaller images as they are."""
    side = images.shape[1]
    if side <= 8:
        return images.reshape(len(images), -1).astype(float)
    edges = np.linspace(0, side, PIXELS + 1).astype(int)[:-1]
    sums = np.add.reduceat(np.add.reduceat(images.astype(float), edges, axis=1), edges, axis=2)
    return sums.reshape(len(images), -1) / 255


def without_rare_classes(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    counts = np.bincount(y)
    common = np.flatnonzero(counts >= MIN_CLASS)
    rows = np.isin(y, common)
    return x[rows], np.searchsorted(common, y[rows])


def stratified(y: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """At most ``size`` positions that keep the share of each class, in random order."""
    order = np.lexsort((rng.random(len(y)), y))
    if len(order) > size:
        order = order[np.floor((np.arange(size) + rng.random()) * len(order) / size).astype(int)]
    return rng.permutation(order)


def thinned(y: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of a long tail: the largest class has ten times the cases of the smallest, the
    classes in random order.
    """
    counts = np.bincount(y)
    k = len(counts)
    shares = TAIL ** -(rng.permutation(k) / (k - 1))
    scale = min((counts / shares).min(), size / shares.sum())
    kept = []
    for label, share in enumerate(shares):
        own = rng.permutation(np.flatnonzero(y == label))
        kept.append(own[: max(int(scale * share), 1)])
    return rng.permutation(np.concatenate(kept))


def divide(x: np.ndarray, y: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Pool and test set of one split, standardized by the pool; missing values are its means."""
    rng = np.random.default_rng(seed)
    test = stratified(y, min(MAX_TEST, int(TEST_SIZE * len(y))), rng)
    rest = np.setdiff1d(np.arange(len(y)), test)
    counts = np.bincount(y)
    choose = thinned if counts.max() < BALANCED * counts.min() else stratified
    pool = rest[choose(y[rest], MAX_POOL, rng)]
    mean, sd = np.nanmean(x[pool], axis=0), np.nanstd(x[pool], axis=0)
    mean = np.nan_to_num(mean)
    sd = np.where(np.nan_to_num(sd) > 0, sd, 1)
    scaled = [
        np.nan_to_num((np.where(np.isnan(z), mean, z) - mean) / sd) for z in (x[pool], x[test])
    ]
    return {"X": scaled[0], "y": y[pool], "X_test": scaled[1], "y_test": y[test]}


def describe(name: str, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """What decides whether a data set counts: its size, and a forest on random labels."""
    record: dict[str, Any] = {"unit": f"rule {name}", "name": name, "cases": len(y)}
    record |= {"classes": np.bincount(y).tolist(), "balanced accuracy": None, "counts": False}
    if len(y) < 2 * INITIAL or len(record["classes"]) < 2:
        return record
    found = []
    for seed in range(1000, 1000 + PILOT_SPLITS):
        data = divide(x, y, seed)
        labeled = INITIAL + ROUNDS * max(budget_of(len(data["y"])), 0)
        forest = RandomForestClassifier(50, n_jobs=1, random_state=seed)
        forest.fit(data["X"][:labeled], data["y"][:labeled])
        found.append(balanced_accuracy_score(data["y_test"], forest.predict(data["X_test"])))
    accuracy = float(np.mean(found))
    record |= {"balanced accuracy": accuracy, "pool": len(data["y"]), "labels": labeled}
    counts = eligible(len(y), len(record["classes"]), accuracy)
    return record | {"counts": counts and name not in HYPOTHESIS}


def run(name: str, x: np.ndarray, y: np.ndarray, family: str, split: int) -> dict[str, Any]:
    """The learning curves of all arms, for one unit."""
    start = time.process_time()
    data = divide(x, y, split)
    accuracy, labeled = {}, {}
    for arm, strategy in ARMS.items():
        curve = simulate(
            FAMILIES[family](),
            **data,
            initial=INITIAL,
            budget=budget_of(len(data["y"])),
            rounds=ROUNDS,
            strategy=strategy,
            rng=split,
        )
        accuracy[arm] = curve.balanced_accuracy.round(4).tolist()
        labeled[arm] = curve.labeled_by_class[-1].tolist()
    return {
        "unit": f"{name}, {family}, {split}",
        "name": name,
        "family": family,
        "split": split,
        "labeled": curve.n_labeled.tolist(),
        "balanced accuracy": accuracy,
        "labels by class": labeled,
        "seconds": round(time.process_time() - start, 1),
    }


def run_all(data_dir: Path | None, work: Path, splits: int) -> None:
    """Units that are not finished: the rule first, then split by split."""
    path = work / "acquisition.jsonl"
    done = finished(path)
    loaded = {}
    for name, raw, labels in candidates(data_dir):
        x = pooled(raw) if raw.ndim > 2 else raw.astype(float)
        x, y = without_rare_classes(x, labels)
        if f"rule {name}" not in done:
            wait_while_paused()
            done[f"rule {name}"] = keep(path, describe(name, x, y))
        if done[f"rule {name}"]["counts"] or name in HYPOTHESIS:
            loaded[name] = x, y
    for split in range(splits):
        # Those that are only shown come last.
        for name in sorted(loaded, key=lambda name: name in HYPOTHESIS):
            for family in FAMILIES:
                if f"{name}, {family}, {split}" not in done:
                    wait_while_paused()
                    record = keep(path, run(name, *loaded[name], family, split))
                    print(record["unit"], record["seconds"], flush=True)


def collect(work: Path) -> dict[str, Any]:
    """What is stored: the rule's records, and the curves of all complete splits."""
    records = list(finished(work / "acquisition.jsonl").values())
    rule = [record for record in records if record["unit"].startswith("rule ")]
    units = [record for record in records if "split" in record]
    wanted = [record["name"] for record in rule if record["counts"]]
    complete = [
        split
        for split in range(SPLITS)
        if all(
            any((u["name"], u["family"], u["split"]) == (name, family, split) for u in units)
            for name in wanted
            for family in FAMILIES
        )
    ]
    kept = [unit for unit in units if unit["split"] in complete]
    return {
        "claims": CLAIMS,
        "splits": len(complete),
        "minutes": round(sum(unit["seconds"] for unit in kept) / 60, 1),
        "rule": [{k: v for k, v in record.items() if k != "unit"} for record in rule],
        "units": [{k: v for k, v in unit.items() if k != "unit"} for unit in kept],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path, help="folder of the data sets")
    parser.add_argument("--work-dir", type=Path, help="folder for finished units")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--collect", action="store_true", help="only store what is finished")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    path = HERE / "acquisition.json"
    if not options.page:
        if not options.collect:
            run_all(options.data_dir, options.work_dir, options.splits)
        earlier = json.loads(path.read_text())["earlier"]
        results = {"earlier": earlier} | collect(options.work_dir)
        write_file(path, json.dumps(results, separators=(",", ":")) + "\n")
    write_file(HERE / "acquisition.md", page(json.loads(path.read_text())))


if __name__ == "__main__":
    main()
