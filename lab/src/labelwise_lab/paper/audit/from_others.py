"""Checks that need what belongs to others: people's votes (CIFAR-10H), and the arrays that the
authors published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from .formulas import (
    DAMAGED,
    PARTS,
    Check,
    all_scores,
    compare_drops,
    compare_runs,
    complement,
    entropy,
    opened,
    read_labels,
    read_probs,
    run_folders,
)

__all__ = ["compare_votes", "find", "published"]


def find(name: str, data_dirs: Sequence[Path]) -> Path | None:
    """A file in one of the directories or in a folder of it; published files lie at most two
    folders deep.
    """
    patterns = (name, f"*/{name}", f"*/*/{name}")
    return next(
        (
            path
            for place in data_dirs
            for pattern in patterns
            for path in sorted(place.glob(pattern))
            if path.is_file()
        ),
        None,
    )


def compare_votes(
    folder: Path, counts: Path, numbers: dict[str, Any], about: dict[str, Any]
) -> Iterator[Check]:
    """Rank correlations with the entropy of the votes, over instances label by label, and over the
    class means.
    """
    try:
        votes = np.load(counts, allow_pickle=False).astype(float)
    except DAMAGED as damage:
        raise ValueError(f"{counts.name}: {damage}") from damage
    total = votes.sum(axis=-1, keepdims=True)
    spread = entropy("log", votes / total, (total - votes) / total)
    data, found = about["setting"]["data"], dict[str, dict[str, list[float]]]()

    def add(kind: str, key: str, a: np.ndarray, b: np.ndarray) -> None:
        found.setdefault(kind, {}).setdefault(key, []).append(_spearman(a, b))

    for _, run in run_folders(folder, about):
        p = read_probs(run / f"{data}.npz", about["setting"]["members"])
        mean, rest = p.mean(axis=0), complement(p)
        error = mean.argmax(axis=-1) != read_labels(run / f"{data}.npz")
        by_label = {
            "predicted probability": mean,
            "total": entropy("log", mean, rest.mean(axis=0)),
            "aleatoric": entropy("log", p, rest).mean(axis=0),
        }
        by_label["epistemic"] = by_label["total"] - by_label["aleatoric"]
        summed = all_scores(p)
        for part in PARTS:
            add(
                "spearman",
                f"{part} | votes",
                summed["label-wise entropy", part],
                spread.sum(axis=-1),
            )
            add("spearman", f"{part} | error", summed["label-wise entropy", part], error)
        for k, name in enumerate(numbers["mean spread of the votes"]):
            add("spearman by label", name, by_label["aleatoric"][:, k], spread[:, k])
            found.setdefault("mean aleatoric", {}).setdefault(name, []).append(
                float(by_label["aleatoric"][:, k].mean())
            )
        for name, x in by_label.items():
            each = [_spearman(x[:, k], spread[:, k]) for k in range(x.shape[1])]
            found.setdefault("mean over labels", {}).setdefault(name, []).append(
                float(np.mean(each))
            )
            add("spearman of the class means", name, x.mean(axis=0), spread.mean(axis=0))
    for kind, cells in found.items():
        for key, values in cells.items():
            yield from compare_runs(f"{kind}, {key}", numbers[kind][key], values)
    for key, values in found["spearman of the class means"].items():
        rho, n = float(np.mean(values)), spread.shape[1]
        reach = 1.959964 * np.sqrt((1 + rho**2 / 2) / (n - 3))
        for end, sign in (("low", -1), ("high", 1)):
            stored = numbers["spearman of the class means, over classes"][key][end]
            yield (
                f"class means, {key}, {end}",
                stored,
                float(np.tanh(np.arctanh(rho) + sign * reach)),
            )
    for k, (name, stored) in enumerate(numbers["mean spread of the votes"].items()):
        yield f"mean spread of the votes, {name}", stored, float(spread[:, k].mean())


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Not a number where one of the two is constant, such as the errors of a run without any."""
    from scipy.stats import spearmanr

    return (
        float("nan")
        if min(len(np.unique(a)), len(np.unique(b))) < 2
        else float(spearmanr(a, b).statistic)
    )


def published(arrays: Path, numbers: dict[str, Any]) -> Iterator[Check]:
    """Table 2 from the EU of each test instance and label, (runs, instances, labels), before and
    after the class got new data.
    """
    from scipy.stats import t

    with opened(arrays) as file:
        before, after = (
            file[key].astype(float).mean(axis=1) for key in ("eus_before", "eus_after")
        )
    label, rows = before.argmax(axis=1), np.arange(len(before))
    others = np.stack([np.delete(row, k) for row, k in zip(before - after, label, strict=True)])
    yield from compare_drops("", numbers, before, after, label)
    rises, cases = numbers["EU of another class rises"]
    yield "EU of another class rises", rises, float((others < 0).sum())
    yield "other classes", cases, float(others.size)

    def line(runs: np.ndarray) -> tuple[float, float]:
        """Drop of the selected class as predicted from the others (share), and what is left
        (mean).
        """
        level = np.concatenate([np.delete(before[r], label[r]) for r in runs])
        if len(np.unique(level)) < 2:
            return float("nan"), float("nan")
        slope, offset = np.polyfit(level, np.concatenate([others[r] for r in runs]), 1)
        predicted, observed = (
            slope * before[runs, label[runs]] + offset,
            (before - after)[runs, label[runs]],
        )
        return float(predicted.sum() / observed.sum()), float((observed - predicted).mean())

    # The standard error is that of all resamples of up to five runs, of 5,000 random ones of more,
    # corrected for the number of runs.
    n = len(rows)
    draws = (
        product(rows, repeat=n) if n <= 5 else np.random.default_rng(0).integers(n, size=(5000, n))
    )
    resampled = np.array([line(np.array(runs)) for runs in draws])
    for i, key in enumerate(("predicted by the other classes", "excess")):
        yield f"{key}, value", numbers[key]["value"], line(rows)[i]
        if n > 1:
            reach = float(
                t.ppf(0.975, n - 1) * np.nanstd(resampled[:, i], ddof=1) * np.sqrt(n / (n - 1))
            )
            for end, sign in (("low", -1), ("high", 1)):
                yield f"{key}, {end}", numbers[key][end], line(rows)[i] + sign * reach
