"""Aleatoric uncertainty of an ensemble compared with people's votes (CIFAR-10H), label by label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import load_cifar10h
from ..decomposition import decompose
from ..distributions import Ensemble
from ..evaluation import agreement, rank_agreement
from ..evaluation.correlation import vote_spread
from .results_folder import Options, over_runs, predictions, record, save_figure
from .settings import Setting, TestImages, training_data

__all__ = ["run"]

NEIGHBORS = 20


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``human.json`` and ``human.png``; returns the numbers."""
    if setting.data not in ("cifar10", "digits"):
        raise ValueError(f"people voted on the test images of cifar10 (CIFAR-10H); got {setting.data!r}")
    votes = stand_in_votes() if setting.data == "digits" else load_cifar10h(**options.where)
    images = TestImages(setting.data)
    found = []
    for r in range(runs):
        stored = predictions(setting, r, [images], options)[images]
        q = Ensemble(stored.probs, class_names=stored.class_names)
        u = decompose(q)
        each = agreement(u, votes=votes, error=q.mean().argmax(-1) != np.asarray(stored.y_true))
        mean, spread = np.asarray(u.aleatoric).mean(axis=0, dtype=float), vote_spread(votes, u).mean(axis=0)
        found.append(
            {
                "spearman": {pair: float(value.spearman) for pair, value in each.pairs.items()},
                "spearman by label": {name: float(value.spearman) for name, value in each.by_class.items()},
                "spearman of the class means": float(rank_agreement(mean, spread).spearman),
                "mean aleatoric": dict(zip(u.class_names, mean, strict=True)),
            }
        )
    last = agreement(u, votes=votes, rng=0, n_bootstrap=200)  # variation over images rather than over trainings
    numbers = {
        **over_runs(found),
        "spearman by label, images of the last run": {name: value.spearman for name, value in last.by_class.items()},
        "mean spread of the votes": dict(zip(u.class_names, spread.tolist(), strict=True)),
    }
    more = {"votes": "CIFAR-10H" if setting.data == "cifar10" else f"stand-in: the {NEIGHBORS} nearest training digits"}
    draw(numbers, record(setting, "human", numbers, options, runs=runs, **more).with_suffix(".png"))
    return numbers


def stand_in_votes() -> np.ndarray:
    """Votes for a trial without CIFAR-10H: those of the nearest training digits of each test digit."""
    data, train = training_data(Setting("digits"))
    a, b = (split.x.reshape(len(split.x), -1).astype(float) for split in (data.test, train))
    distance = (a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1)
    nearest = train.y[np.argsort(distance, axis=1, kind="stable")[:, :NEIGHBORS]]
    return np.asarray((nearest[..., None] == np.arange(10)).sum(axis=1))


def draw(numbers: dict[str, Any], path: Path) -> None:
    """Left: rank correlation label by label. Right: mean spread of the votes and mean aleatoric uncertainty of each class."""
    from ..plots._style import ALEATORIC, pyplot, tidy

    by_label = numbers["spearman by label"]
    names = sorted(by_label, key=lambda name: -by_label[name]["mean"])
    means, deviations = ([by_label[name][key] for name in names] for key in ("mean", "sd"))
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    for ax in (left, right):
        tidy(ax)
    place = np.arange(len(names))
    left.barh(place, means, color=ALEATORIC)
    if deviations[0] is not None:
        left.errorbar(means, place, xerr=deviations, fmt="none", ecolor="black")
    left.set_yticks(place, names)
    left.invert_yaxis()
    left.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    left.grid(visible=False, axis="y")
    left.set_xlabel("Spearman correlation of AU with the spread of votes")
    points = np.array([(numbers["mean spread of the votes"][name], numbers["mean aleatoric"][name]["mean"]) for name in names])
    right.plot(*points.T, "o", color=ALEATORIC, markersize=5)
    extent = np.maximum(np.ptp(points, axis=0), 1e-12)
    for name, point in zip(names, points, strict=True):
        x, y = ((points - point) / extent).T
        crowded = bool(np.any((x > 0) & (x < 0.2) & (np.abs(y) < 0.06)))  # then to the left, where the neighbor is not
        right.annotate(
            name, point, xytext=(-5 if crowded else 5, 3), textcoords="offset points", fontsize=8, ha="right" if crowded else "left"
        )
    right.set_xlabel("mean spread of the votes (bits)")
    right.set_ylabel("mean aleatoric uncertainty (bits)")
    right.margins(0.12)
    save_figure(figure, path)
