"""Where does aleatoric uncertainty track people, and what can critics show? Real predictions, real
votes.

    python lab/studies/votes.py --data-dir DIR      minutes; writes votes.json and the results of
                                                    docs/lab/votes.md, and the verdict of
                                                    docs/explanation/votes.md
    python lab/studies/votes.py --pages             only the pages, from the stored results

DIR holds cifar10_8_networks.npz, cifar10h-counts.npy (or cifar10_human.npz), cifar10_labels.npz,
chaosnli_snli.npz and sleep_dodh.npz, also in folders votes/ and cifar10/.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from votes_page import write_pages

import labelwise as lw
from labelwise.evaluation import rank_agreement
from labelwise_lab.votes import benchmark_votes, calibrate_members, disentanglement_error
from labelwise_lab.votes.data import KNOWN, load_vote_data
from labelwise_lab.votes.members import METHODS

HERE = Path(__file__).parent


def short(x: float) -> float:
    return float(f"{float(x):.5g}")


def true_labels(data_dir: Path, name: str) -> np.ndarray:
    file, key = {
        "cifar10h": ("cifar10_labels.npz", "test"),
        "chaosnli": ("chaosnli_snli.npz", "y_true"),
    }[name]
    path = next(
        data_dir / folder / file
        for folder in (".", "votes", "cifar10")
        if (data_dir / folder / file).is_file()
    )
    found = np.load(path)
    return np.asarray(
        found[key] if key in found else found[next(k for k in found if key in k)]
    ).ravel()


def members(q: lw.Ensemble, y: np.ndarray) -> dict[str, Any]:
    """Held-out scores of shared and separate calibration, mean over five random halves."""
    found: dict[str, Any] = {}
    for method in METHODS:
        runs = [calibrate_members(q, y, method=method, rng=seed).scores for seed in range(5)]
        found[method] = {
            name: [
                short(np.mean([float(x) for x in values]))
                for values in zip(
                    *(
                        (r[name].log_loss, r[name].brier, r[name].epistemic, r[name].auroc)
                        for r in runs
                    ),
                    strict=True,
                )
            ]
            for name in runs[0]
        }
    return found


def entanglement(q: lw.Ensemble, y: np.ndarray) -> dict[str, Any]:
    """How aleatoric and epistemic uncertainty go together; wrong predictions that all members agree
    on; the split under other temperatures.
    """
    u = lw.decompose(q, "squared").sum()
    top, wrong = q.probs.argmax(-1), q.mean().argmax(-1) != y
    alike = (top == top[0]).all(axis=0)
    low = u.epistemic <= np.median(u.epistemic)
    shares = {}
    for t in (0.5, 1.0, 2.0, 4.0):
        v = lw.decompose(
            lw.Ensemble.from_logits(np.log(np.maximum(q.probs, 1e-300)) / t), "squared"
        ).sum()
        shares[str(t)] = short(v.aleatoric.sum() / v.total.sum())
    return {
        "spearman": short(rank_agreement(u.aleatoric, u.epistemic)),
        "wrong": int(wrong.sum()),
        "wrong and agreed": int((wrong & alike).sum()),
        "wrong with EU below the median": int((wrong & low).sum()),
        "aleatoric share by temperature": shares,
    }


def disentanglement(rng: np.random.Generator) -> dict[str, Any]:
    """Five small networks on the digits of scikit-learn, with less data and with wrong labels."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    x, y = load_digits(return_X_y=True)
    order = rng.permutation(len(x))
    x, y = x[order] / 16, y[order]
    train, test = np.arange(1200), np.arange(1200, len(x))
    found: dict[str, Any] = {
        "levels": {
            "size": [0.05, 0.1, 0.2, 0.4, 0.7, 1.0],
            "noise": [0.0, 0.1, 0.2, 0.3, 0.45, 0.6],
        }
    }
    series: dict[str, dict[str, list]] = {}
    for kind, levels in found["levels"].items():
        for level in levels:
            rows, labels = train, y.copy()
            if kind == "size":
                rows = train[: int(level * len(train))]
            else:
                for part in (train, test):
                    swapped = part[rng.random(len(part)) < level]
                    labels[swapped] = rng.permutation(labels[swapped])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                passes = 25 * len(train) // len(rows)  # the same number of steps for all
                options: dict[str, Any] = {
                    "batch_size": 60,
                    "learning_rate_init": 5e-3,
                    "max_iter": passes,
                    "n_iter_no_change": passes,
                }
                nets = [
                    MLPClassifier((32,), random_state=i, **options).fit(x[rows], labels[rows])
                    for i in range(5)
                ]
            q = lw.Ensemble(np.stack([net.predict_proba(x[test]) for net in nets]))
            error = float(np.mean(q.mean().argmax(-1) != labels[test]))
            for loss in ("log", "squared"):
                u = lw.decompose(q, loss).sum()
                series.setdefault(loss, {}).setdefault(kind, []).append(
                    [error, u.aleatoric.mean(), u.epistemic.mean()]
                )
    for loss, by in series.items():
        columns = {kind: tuple(np.array(rows).T) for kind, rows in by.items()}
        found[loss] = {
            "error": short(disentanglement_error(columns["size"], columns["noise"])),
            **{kind: [[short(v) for v in row] for row in rows] for kind, rows in by.items()},
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--n-bootstrap", type=int, default=100)
    parser.add_argument("--only", choices=["benchmark", "members", "critics"], action="append")
    parser.add_argument("--pages", action="store_true")
    options = parser.parse_args()
    path = HERE / "votes.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["command"] = "python lab/studies/votes.py --data-dir DIR"
    wanted = [] if options.pages else options.only or ["benchmark", "members", "critics"]
    start = time.process_time()
    for kind in wanted:
        part = results.setdefault(kind, {})
        for name in KNOWN:
            data = load_vote_data(name, options.data_dir)
            if kind == "benchmark":
                found = benchmark_votes(
                    data.q,
                    data.votes,
                    annotators=data.annotators,
                    groups=data.groups,
                    n_splits=options.splits,
                    n_bootstrap=options.n_bootstrap,
                    rng=0,
                )
                part[name] = {"note": data.note, **found}
            elif name != "sleep":
                y = true_labels(options.data_dir, name)
                part[name] = members(data.q, y) if kind == "members" else entanglement(data.q, y)
            print(kind, name, round(time.process_time() - start), "s", flush=True)
        if kind == "critics":
            part["digits"] = disentanglement(np.random.default_rng(0))
        results.setdefault("minutes", {})[kind] = round((time.process_time() - start) / 60, 1)
        path.write_text(json.dumps(results, separators=(",", ":"), ensure_ascii=False) + "\n")
    write_pages(results)


if __name__ == "__main__":
    main()
