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
    PARTS,
    Check,
    Recomputed,
    all_scores,
    compare_drops,
    compare_ends,
    complement,
    entropy,
    opened,
    own_runs,
    select,
)

__all__ = ["compare_votes", "find", "published"]


def find(name: str, data_dirs: Sequence[Path]) -> Path | None:
    """A file in one of the directories or in a folder of it; published files lie at most two
    folders deep.
    """
    for place in data_dirs:
        for pattern in (name, f"*/{name}", f"*/*/{name}"):
            for path in sorted(place.glob(pattern)):
                return path
    return None


def compare_votes(
    folder: Path, counts: Path, numbers: dict[str, Any], about: dict[str, Any]
) -> Iterator[Check]:
    """Rank correlations with the entropy of the votes, over instances label by label, and over the
    class means.
    """
    try:
        votes = np.load(counts, allow_pickle=False).astype(float)
    except (OSError, ValueError, EOFError) as damage:
        raise ValueError(f"{counts.name}: {damage}") from damage
    total = votes.sum(axis=-1, keepdims=True)
    spread = entropy("log", votes / total, (total - votes) / total)
    labels = [each["label"] for each in numbers["mean spread of the votes"]]
    found = Recomputed()
    for _, p, correct in own_runs(folder, about):
        mean, rest, summed = p.mean(axis=0), complement(p), all_scores(p)
        for part in PARTS:
            of = summed["label-wise entropy", part]
            rho = _spearman(of, spread.sum(axis=-1))
            found.add("spearman", rho, part=part, against="votes")
            found.add("spearman", _spearman(of, ~correct), part=part, against="error")
        by_label = {
            "predicted probability": mean,
            "total": entropy("log", mean, rest.mean(axis=0)),
            "aleatoric": entropy("log", p, rest).mean(axis=0),
        }
        by_label["epistemic"] = by_label["total"] - by_label["aleatoric"]
        for score, x in by_label.items():
            each = [_spearman(x[:, k], spread[:, k]) for k in range(len(labels))]
            of_means = _spearman(x.mean(axis=0), spread.mean(axis=0))
            found.add("mean over labels", np.mean(each), score=score)
            found.add("spearman of the class means", of_means, score=score)
            if score == "aleatoric":
                for k, label in enumerate(labels):
                    found.add("spearman by label", each[k], label=label)
                    found.add("mean aleatoric", x[:, k].mean(), label=label)
    yield from found.checks(numbers)
    for cell in numbers["spearman of the class means, over classes"]:
        (of_runs,) = select(numbers["spearman of the class means"], score=cell["score"])
        rho = of_runs["mean"]
        reach = 1.959964 * np.sqrt((1 + rho**2 / 2) / (len(labels) - 3))
        name = f"class means, {cell['score']}"
        yield Check(f"{name}, low", cell["low"], float(np.tanh(np.arctanh(rho) - reach)))
        yield Check(f"{name}, high", cell["high"], float(np.tanh(np.arctanh(rho) + reach)))
    for k, each in enumerate(numbers["mean spread of the votes"]):
        value = float(spread[:, k].mean())
        yield Check(f"mean spread of the votes, {each['label']}", each["value"], value)


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Not a number where one of the two is constant, such as the errors of a run without any."""
    from scipy.stats import spearmanr

    if min(len(np.unique(a)), len(np.unique(b))) < 2:
        return float("nan")
    return float(spearmanr(a, b).statistic)


def published(arrays: Path, numbers: dict[str, Any]) -> Iterator[Check]:
    """Table 2 from the EU of each test instance and label, (runs, instances, labels), before and
    after the class got new data.
    """
    from scipy.stats import t

    with opened(arrays) as file:
        before = file["eus_before"].astype(float).mean(axis=1)
        after = file["eus_after"].astype(float).mean(axis=1)
    label = before.argmax(axis=1)
    yield from compare_drops("", numbers, before, after, label)
    drop = before - after

    def line(runs: np.ndarray) -> tuple[float, float]:
        """Drop of the selected class as predicted from the others (share), and what is left
        (mean).
        """
        level = np.concatenate([np.delete(before[r], label[r]) for r in runs])
        falls = np.concatenate([np.delete(drop[r], label[r]) for r in runs])
        if len(np.unique(level)) < 2:
            return float("nan"), float("nan")
        slope, offset = np.polyfit(level, falls, 1)
        predicted = slope * before[runs, label[runs]] + offset
        observed = drop[runs, label[runs]]
        return float(predicted.sum() / observed.sum()), float((observed - predicted).mean())

    # The standard error is that of all resamples of up to five runs, of 5,000 random ones of more,
    # corrected for the number of runs.
    n = len(label)
    draws: Any = product(range(n), repeat=n)
    if n > 5:
        draws = np.random.default_rng(0).integers(n, size=(5000, n))
    resampled = np.array([line(np.array(runs)) for runs in draws])
    values = line(np.arange(n))
    for i, key in enumerate(("predicted by the other classes", "excess")):
        yield Check(f"{key}, value", numbers[key]["value"], values[i])
        if n > 1:
            error = np.nanstd(resampled[:, i], ddof=1) * np.sqrt(n / (n - 1))
            reach = float(t.ppf(0.975, n - 1) * error)
            yield from compare_ends(key, numbers[key], values[i], reach)
