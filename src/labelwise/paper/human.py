"""Do people and networks hesitate alike? Aleatoric uncertainty of an ensemble against the votes of CIFAR-10H, label by label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import load, load_cifar10h
from ..decomposition import decompose
from ..distributions import Ensemble
from ..evaluation import agreement, rank_agreement
from ..evaluation.correlation import vote_spread
from .arc import save
from .results_folder import Options, over_runs, predictions, record
from .settings import Setting, Source

NEIGHBOURS = 20


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``human.json`` and ``human.png``; returns the numbers."""
    if setting.data not in ("cifar10", "digits"):
        raise ValueError(f"people voted on the test images of cifar10 (CIFAR-10H); got {setting.data!r}")
    votes = (
        stand_in_votes()
        if setting.data == "digits"
        else load_cifar10h(data_dir=options.data_dir, download=options.download, sha256=options.sha256)
    )
    source = Source(setting.data)
    pairs: dict[tuple[str, str], list[float]] = {}
    labels: dict[str, list[float]] = {}
    classes: list[float] = []
    means: list[np.ndarray] = []
    for r in range(runs):
        stored = predictions(setting, r, [source], options)[source]
        q, y = Ensemble(stored.probs, class_names=stored.class_names), np.asarray(stored.y_true)
        u = decompose(q)
        found = agreement(u, votes=votes, error=q.mean().argmax(-1) != y)
        for pair, value in found.pairs.items():
            pairs.setdefault(pair, []).append(float(value.spearman))
        for name, value in found.by_class.items():
            labels.setdefault(name, []).append(float(value.spearman))
        means.append(np.asarray(u.aleatoric).mean(axis=0, dtype=float))
        spread = vote_spread(votes, u)
        classes.append(float(rank_agreement(means[-1], spread.mean(axis=0)).spearman))
    one = agreement(u, votes=votes, rng=0, n_bootstrap=200)  # of the last run: the spread over images rather than over trainings
    numbers = {
        "spearman": {pair: over_runs(values) for pair, values in pairs.items()},
        "spearman by label": {name: over_runs(values) for name, values in labels.items()},
        "spearman by label, images of the last run": {name: value.spearman for name, value in one.by_class.items()},
        "spearman of the class means": over_runs(classes),
        "mean aleatoric": {name: over_runs([mean[k] for mean in means]) for k, name in enumerate(u.class_names)},
        "mean spread of the votes": dict(zip(u.class_names, spread.mean(axis=0).tolist(), strict=True)),
    }
    more = {"votes": "CIFAR-10H" if setting.data == "cifar10" else f"stand-in: the {NEIGHBOURS} nearest training digits"}
    path = record(setting, "human", numbers, options, runs=runs, **more)
    draw(numbers, path.with_suffix(".png"))
    return numbers


def stand_in_votes() -> np.ndarray:
    """For a trial without CIFAR-10H: each test digit is voted on by its nearest training digits."""
    data = load("digits")
    if data.train is None:  # for the type checker
        raise ValueError("no training data")
    a, b = (split.x.reshape(len(split.x), -1).astype(float) for split in (data.test, data.train))
    distance = (a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1)
    nearest = data.train.y[np.argsort(distance, axis=1, kind="stable")[:, :NEIGHBOURS]]
    return np.asarray((nearest[..., None] == np.arange(10)).sum(axis=1))


def draw(numbers: dict[str, Any], path: Path) -> None:
    """Left: rank correlation label by label. Right: how much people and how much the network hesitate about each class on average."""
    from ..plots._style import ALEATORIC, pyplot, tidy

    by_label = numbers["spearman by label"]
    names = sorted(by_label, key=lambda name: -by_label[name]["mean"])
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    for ax in (left, right):
        tidy(ax)
    place = np.arange(len(names))
    left.barh(place, [by_label[name]["mean"] for name in names], color=ALEATORIC)
    if by_label[names[0]]["sd"] is not None:
        left.errorbar(
            [by_label[name]["mean"] for name in names], place, xerr=[by_label[name]["sd"] for name in names], fmt="none", ecolor="black"
        )
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
        crowded = bool(np.any((x > 0) & (x < 0.2) & (np.abs(y) < 0.06)))  # then to the left, where the neighbour is not
        right.annotate(
            name, point, xytext=(-5 if crowded else 5, 3), textcoords="offset points", fontsize=8, ha="right" if crowded else "left"
        )
    right.set_xlabel("mean spread of the votes (bits)")
    right.set_ylabel("mean aleatoric uncertainty (bits)")
    right.margins(0.12)
    save(figure, path)
