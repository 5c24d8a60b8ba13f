"""When does epistemic uncertainty say that more data help? Claims against realized gains, class by
class.

    python lab/studies/more_data.py --data-dir DIR --work-dir WORK     a quarter of an hour
    python lab/studies/more_data.py --page                             only the page

DIR holds FashionMNIST (default: LABELWISE_DATA). WORK takes a line for each finished unit (data
set, model, arm, draw); a run that was interrupted is resumed. While the file that LABELWISE_PAUSE
names exists, no unit is begun. The claims are in more_data_claims.py. Writes more_data.json and
more_data.md.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from acquisition import pooled
from more_data_claims import CELLS, DRAWS, SIZES, TEST, noisy
from more_data_mlps import train_mlps
from more_data_page import page
from sklearn.ensemble import RandomForestClassifier
from units import finished, keep, wait_while_paused

import labelwise as lw
from labelwise.models import from_models
from labelwise_lab import datasets
from labelwise_lab.files import write_file

HERE = Path(__file__).resolve().parent
CLAIMS = "last changed in “Make the signs of a sign-flip test at once”, 2026-11-18, 21:08 UTC"
"""The commit; the run began at 21:19."""
CLASSES = 10
DIGITS = 4  # significant, of stored numbers


def load(name: str, data_dir: Path | None) -> tuple[np.ndarray, np.ndarray]:
    data = datasets.load(name, data_dir=data_dir)
    images = np.concatenate([data.train.x, data.test.x])
    scale = 1 / 255 if name == "digits" else 1 / 16  # to [0, 1]
    return pooled(images) * scale, np.concatenate([data.train.y, data.test.y])


def draw(name: str, y: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions for training, of which the first n are a training set of size n, and for testing.

    The draws of FashionMNIST are parts of one permutation; those of the digits are permutations.
    """
    size = SIZES[name][-1] + TEST[name]
    if size * DRAWS <= len(y):
        order = np.random.default_rng(0).permutation(len(y))[number * size : (number + 1) * size]
    else:
        order = np.random.default_rng(number).permutation(len(y))[:size]
    test, training = np.split(order, [TEST[name]])
    # Every class is in the smallest set: the first case of each class comes first, and so on.
    place = np.empty(len(training), dtype=int)
    for k in range(CLASSES):
        own = np.flatnonzero(y[training] == k)
        place[own] = np.arange(len(own))
    return training[np.argsort(place, kind="stable")], test


def members(model: str, x: np.ndarray, y: np.ndarray, x_test: np.ndarray, seed: int) -> np.ndarray:
    """Probabilities (members, cases, classes) of an ensemble trained on ``x`` and ``y``."""
    if model == "forest":
        forest = RandomForestClassifier(50, n_jobs=1, random_state=seed).fit(x, y)
        classes, found = forest.classes_, np.asarray(from_models(forest, x_test).probs)
        probs = np.zeros((*found.shape[:-1], CLASSES))  # also for a class that noise left out
        probs[..., classes] = found
        return probs
    return train_mlps(x, y, seed).predict(x_test)


def measure(probs: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Means by class of what an ensemble claims, and of its error, under the squared loss."""
    u = lw.decompose(lw.Ensemble(probs, member_axis=0), "squared")
    error = (probs.mean(axis=0) - np.eye(CLASSES)[y]) ** 2
    return {
        "EU": np.asarray(u.epistemic).mean(axis=0),
        "TU": np.asarray(u.total).mean(axis=0),
        "error": error.mean(axis=0),
    }


def rounded(rows: list[np.ndarray]) -> list[list[float]]:
    return [[float(f"{x:.{DIGITS}g}") for x in row] for row in rows]


def run(
    name: str, x: np.ndarray, y: np.ndarray, model: str, arm: str, number: int
) -> dict[str, Any]:
    """One unit: all sizes of one training draw."""
    start = time.process_time()
    training, test = draw(name, y, number)
    if arm == "noise":
        y = noisy(y, np.random.default_rng([number, 1]))
    claim, realized = np.split(test, 2)
    scores: dict[str, list[np.ndarray]] = {"EU": [], "TU": [], "error": [], "after": []}
    for size in SIZES[name]:
        own = training[:size]
        probs = members(model, x[own], y[own], x[test], number)
        half = len(claim)
        for score, value in measure(probs[:, :half], y[claim]).items():
            scores[score].append(value)
        scores["after"].append(measure(probs[:, half:], y[realized])["error"])
    record: dict[str, Any] = {"unit": f"{name}, {model}, {arm}, {number}", "data": name}
    record |= {"model": model, "arm": arm, "draw": number}
    record |= {score: rounded(rows) for score, rows in scores.items()}
    return record | {"seconds": round(time.process_time() - start, 1)}


def run_all(data_dir: Path | None, work: Path, draws: int) -> None:
    """Units that are not finished, draw by draw."""
    path = work / "more_data.jsonl"
    done = finished(path)
    loaded = {name: load(name, data_dir) for name in SIZES}
    for number in range(draws):
        for name, model, arm in CELLS:
            if f"{name}, {model}, {arm}, {number}" not in done:
                wait_while_paused()
                record = keep(path, run(name, *loaded[name], model, arm, number))
                print(record["unit"], record["seconds"], flush=True)


def collect(work: Path) -> dict[str, Any]:
    """The units of all complete draws."""
    units = list(finished(work / "more_data.jsonl").values())
    complete = [
        number
        for number in range(DRAWS)
        if sum(unit["draw"] == number for unit in units) == len(CELLS)
    ]
    kept = [unit for unit in units if unit["draw"] in complete]
    return {
        "claims": CLAIMS,
        "draws": len(complete),
        "minutes": round(sum(unit["seconds"] for unit in kept) / 60, 1),
        "units": [{k: v for k, v in u.items() if k not in ("unit", "seconds")} for u in kept],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path, help="folder of FashionMNIST")
    parser.add_argument("--work-dir", type=Path, help="folder for finished units")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--collect", action="store_true", help="only store what is finished")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    path = HERE / "more_data.json"
    if not options.page:
        if not options.collect:
            run_all(options.data_dir, options.work_dir, options.draws)
        results = collect(options.work_dir)
        write_file(path, json.dumps(results, separators=(",", ":")) + "\n")
    write_file(HERE / "more_data.md", page(json.loads(path.read_text())))


if __name__ == "__main__":
    main()
