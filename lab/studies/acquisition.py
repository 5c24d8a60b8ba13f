"""Class-wise acquisition against random, entropy and BALD on imbalanced medical tables: learning
curves per class.

    python lab/studies/acquisition.py --data-dir DIR        (or LABELWISE_DATA=DIR)

Writes acquisition.json (all curves) and acquisition.md (the tables) beside this file. Random
forests of 50 trees are the ensembles, one tree one member. Every strategy starts from the same
cases of a split and buys the same number of labels.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from tables import clear, first_screen, in_short, plain, signed

from labelwise_lab import datasets
from labelwise_lab.pages import table
from labelwise_lab.simulation import simulate

HERE = Path(__file__).resolve().parent
ARMS = {
    "label-wise": {"strategy": "label_wise"},
    "label-wise, classes in turn": {"strategy": "label_wise", "batch": "balanced"},
    "random": {"strategy": "random"},
    "entropy": {"strategy": "entropy"},
    "BALD": {"strategy": "bald"},
}
# name -> initial labels, labels per round, rounds
SETS = {"cardiotocography": (60, 20, 15), "hypothyroid": (60, 10, 15)}
TEST = 0.3
OTHERS = ("random", "entropy", "BALD")
OWN = ("label-wise", "label-wise, classes in turn")


def load(name: str, data_dir: str | None) -> datasets.Dataset:
    data = datasets.load(name, data_dir=data_dir)
    if name == "hypothyroid":  # two cases of secondary hypothyroidism cannot be learned, nor split
        keep = [datasets.Examples(s.x[s.y < 3], s.y[s.y < 3]) for s in (data.train, data.test)]
        data = datasets.Dataset(
            name, keep[0], keep[1], data.class_names[:3], None, data.features, False
        )
    return data


def run(name: str, data_dir: str | None, splits: int) -> dict:
    initial, budget, rounds = SETS[name]
    whole = load(name, data_dir)
    curves = {arm: {"recall": [], "labeled": []} for arm in ARMS}
    for split in range(splits):
        data = datasets.standardize(whole.resplit(test_size=TEST, rng=split))
        for arm, options in ARMS.items():
            curve = simulate(
                RandomForestClassifier(50, n_jobs=1),
                data.train.x,
                data.train.y,
                X_test=data.test.x,
                y_test=data.test.y,
                initial=initial,
                budget=budget,
                rounds=rounds,
                rng=split,
                **options,
            )
            curves[arm]["recall"].append(curve.recall.round(4).tolist())
            curves[arm]["labeled"].append(curve.labeled_by_class[-1].tolist())
        print(f"{name}: split {split + 1} of {splits}", flush=True)
    y = np.concatenate([whole.train.y, whole.test.y])
    return {
        "classes": list(whole.class_names),
        "cases": np.bincount(y).tolist(),
        "n_labeled": [initial + budget * r for r in range(rounds + 1)],
        "curves": curves,
    }


def summary(results: dict) -> str:
    lines = ["# Acquisition by class: results", ""]
    lines += [
        (
            f"`{results['command']}`, {results['splits']} random splits, {results['minutes']} min "
            "of one core."
        ),
        "",
    ]
    lines += [
        "Area: mean over the learning curve. ± is half of a 95 % interval over the splits, which "
        "allows for their overlap (Nadeau and Bengio 2003); differences are paired, and their "
        "intervals hold "
        "for all differences of a data set and kind (overall, by class) together.",
        "",
    ]
    short: list[list[str]] = []
    place = len(lines)
    for name, result in results["sets"].items():
        recall = {
            arm: np.array(c["recall"]) for arm, c in result["curves"].items()
        }  # (splits, rounds + 1, classes)
        balanced = {arm: r.mean(axis=2) for arm, r in recall.items()}
        weights = np.array(result["cases"]) / sum(result["cases"])
        accuracy = {arm: r @ weights for arm, r in recall.items()}
        first, last = result["n_labeled"][0], result["n_labeled"][-1]
        measures = [
            "balanced accuracy, area",
            f"balanced accuracy at {last}",
            f"accuracy at {last}",
        ]
        values = {
            arm: (balanced[arm].mean(axis=1), balanced[arm][:, -1], accuracy[arm][:, -1])
            for arm in ARMS
        }
        lines += [f"## {name}: {first} to {last} labels", ""]
        lines += [
            table(
                ["strategy", *measures],
                [[arm, *(plain(v, TEST) for v in values[arm])] for arm in ARMS],
            )
        ]
        apart = {
            (own, arm): [a - b for a, b in zip(values[own], values[arm], strict=True)]
            for own in OWN
            for arm in OTHERS
        }
        family = [x for differences in apart.values() for x in differences]
        for own in OWN:
            rows = [
                [arm, *(signed(x, TEST, len(family)) for x in apart[own, arm])] for arm in OTHERS
            ]
            lines += [f"{own} minus …", "", table(["", *measures], rows)]
        lines += [clear(family, TEST), ""]
        short.append(in_short(name, "overall", family, TEST))
        rows = []
        for k, label in enumerate(result["classes"]):
            bought = [
                f"{np.mean([x[k] for x in result['curves'][arm]['labeled']]):.0f}" for arm in ARMS
            ]
            rows.append([label, str(result["cases"][k]), *bought])
        lines += [
            f"Labels bought by class (mean, of {last}):",
            "",
            table(["class", "cases", *ARMS], rows),
        ]
        rows = [
            [label, *(plain(recall[arm][:, :, k].mean(axis=1), TEST, 2) for arm in ARMS)]
            for k, label in enumerate(result["classes"])
        ]
        lines += [
            "Recall of each class, area under its learning curve:",
            "",
            table(["class", *ARMS], rows),
        ]
        by_class = {
            (own, arm): (recall[own] - recall[arm]).mean(axis=1).T for own in OWN for arm in OTHERS
        }  # (classes, splits)
        family = [x for differences in by_class.values() for x in differences]
        for own in OWN:
            rows = [
                [label, *(signed(by_class[own, arm][k], TEST, len(family)) for arm in OTHERS)]
                for k, label in enumerate(result["classes"])
            ]
            lines += [
                f"{own} minus …, recall of each class, area:",
                "",
                table(["class", *OTHERS], rows),
            ]
        lines += [clear(family, TEST), ""]
        short.append(in_short(name, "recall by class", family, TEST))
        steps = range(0, len(result["n_labeled"]), 3)
        rows = [
            [label, arm, *(plain(recall[arm][:, r, k], TEST, 2) for r in steps)]
            for k, label in enumerate(result["classes"])
            for arm in ARMS
        ]
        counts = [str(result["n_labeled"][r]) for r in steps]
        lines += [
            "Learning curves, recall after so many labels:",
            "",
            table(["class", "strategy", *counts], rows),
        ]
    lines[place:place] = first_screen(
        (
            "how often acquisition by label-wise EU is clearly better (above 0) or worse than the "
            "other strategies"
        ),
        short,
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", help="folder that holds medical/ (default: LABELWISE_DATA)")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument(
        "--page", action="store_true", help="only write the page, from the stored curves"
    )
    parser.add_argument("--output", type=Path, default=HERE, help="folder for the results")
    options = parser.parse_args()
    if options.page:
        (options.output / "acquisition.md").write_text(
            summary(json.loads((options.output / "acquisition.json").read_text()))
        )
        return
    start = time.process_time()
    sets = {name: run(name, options.data_dir, options.splits) for name in SETS}
    results = {
        "command": "python lab/studies/acquisition.py",
        "splits": options.splits,
        "minutes": round((time.process_time() - start) / 60, 1),
        "sets": sets,
    }
    (options.output / "acquisition.json").write_text(
        json.dumps(results, separators=(",", ":")) + "\n"
    )
    (options.output / "acquisition.md").write_text(summary(results))


if __name__ == "__main__":
    main()
