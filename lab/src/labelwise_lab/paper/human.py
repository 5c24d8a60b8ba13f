"""Aleatoric uncertainty of an ensemble compared with people's votes (CIFAR-10H), label by label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from labelwise import Ensemble, LogLoss, decompose
from labelwise.evaluation import rank_agreement

from ..datasets import load_cifar10h
from ..text import PARTS
from .records import RunNumbers, estimate, pick
from .results_folder import Options, predictions, record, save_figure
from .settings import Setting, TestImages, training_data

__all__ = ["run"]

NEIGHBORS = 20


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``human.json`` and ``human.png``; returns the numbers."""
    if setting.data not in ("cifar10", "digits"):
        raise ValueError(
            f"people voted on the test images of cifar10 (CIFAR-10H); got {setting.data!r}"
        )
    votes = stand_in_votes() if setting.data == "digits" else load_cifar10h(**options.where)
    images = TestImages(setting.data)
    found = RunNumbers()
    for r in range(runs):
        stored = predictions(setting, r, [images], options)[images]
        q = Ensemble(stored.probs, class_names=stored.class_names)
        u = decompose(q)
        spread = vote_spread(votes)
        targets = {
            "votes": spread.sum(axis=-1),
            "error": q.mean().argmax(-1) != np.asarray(stored.y_true),
        }
        for against, target in targets.items():
            for part in PARTS:
                rho = _spearman(getattr(u.sum(), part), target)
                found.add("spearman", rho, part=part, against=against)
        compared = {"predicted probability": q.mean()}
        compared |= {part: np.asarray(getattr(u, part)) for part in PARTS}
        for score, values in compared.items():
            by_label = [_spearman(values[:, k], spread[:, k]) for k in range(spread.shape[1])]
            means = values.mean(axis=0, dtype=float)
            of_means = _spearman(means, spread.mean(axis=0))
            found.add("mean over labels", np.mean(by_label), score=score)
            found.add("spearman of the class means", of_means, score=score)
            if score == "aleatoric":
                for label, rho, mean in zip(u.class_names, by_label, means, strict=True):
                    found.add("spearman by label", rho, label=label)
                    found.add("mean aleatoric", mean, label=label)
    numbers = found.over_runs()
    # Variation over images rather than over trainings.
    numbers["spearman by label, images of the last run"] = [
        {"label": label}
        | estimate(rank_agreement(u.aleatoric[:, k], spread[:, k], rng=0, n_bootstrap=200))
        for k, label in enumerate(u.class_names)
    ]
    numbers["mean spread of the votes"] = [
        {"label": label, "value": value}
        for label, value in zip(u.class_names, spread.mean(axis=0), strict=True)
    ]
    numbers["spearman of the class means, over classes"] = [
        {"score": cell["score"]} | over_classes(cell["mean"], len(u.class_names))
        for cell in numbers["spearman of the class means"]
    ]
    whose = "CIFAR-10H"
    if setting.data == "digits":
        whose = f"stand-in: the {NEIGHBORS} nearest training digits"
    path = record(setting, "human", numbers, options, runs=runs, votes=whose)
    draw(numbers, path.with_suffix(".png"))
    return numbers


def vote_spread(votes: np.ndarray) -> np.ndarray:
    """Label-wise entropy of the shares of votes, (N, K)."""
    total = votes.sum(axis=-1, keepdims=True)
    return np.asarray(LogLoss().entropy(votes / total, (total - votes) / total))


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    return float(rank_agreement(a, b))


def over_classes(rho: float | None, n: int) -> dict[str, float | None]:
    """A rank correlation of n pairs with its 95 % interval: Fisher's transformation with the
    variance (1 + ρ²/2) / (n − 3).

    Where there is none (``None``), there is no interval either.

    >>> {key: round(x, 2) for key, x in over_classes(0.939, 10).items()}
    {'value': 0.94, 'low': 0.69, 'high': 0.99}
    """
    if rho is None:
        return {"value": None, "low": None, "high": None}
    center = np.arctanh(np.clip(rho, -1 + 1e-9, 1 - 1e-9))
    reach = 1.959964 * np.sqrt((1 + rho**2 / 2) / (n - 3))
    low, high = np.tanh([center - reach, center + reach])
    return {"value": rho, "low": float(low), "high": float(high)}


def stand_in_votes() -> np.ndarray:
    """Votes for a trial without CIFAR-10H: those of the nearest training digits of each test
    digit.
    """
    data, train = training_data(Setting("digits"))
    a, b = (split.x.reshape(len(split.x), -1).astype(float) for split in (data.test, train))
    distance = (a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1)
    nearest = train.y[np.argsort(distance, axis=1, kind="stable")[:, :NEIGHBORS]]
    return np.asarray((nearest[..., None] == np.arange(10)).sum(axis=1))


def draw(numbers: dict[str, Any], path: Path) -> None:
    """Left: mean rank correlation over the labels, with a baseline. Right: mean spread of the votes
    and mean aleatoric uncertainty by class.
    """
    from ..plotting import ALEATORIC, EPISTEMIC, TOTAL, panels, reach, tidy

    figure, (left, right) = panels(2, width=4.75, height=3.8)
    left.grid(visible=False, axis="y")
    tidy(left, "x")
    colors = {
        "predicted probability": "#888888",
        "total": TOTAL,
        "aleatoric": ALEATORIC,
        "epistemic": EPISTEMIC,
    }
    for i, (score, color) in enumerate(colors.items()):
        runs = pick(numbers["mean over labels"], score=score)["runs"]
        left.plot(runs, [i - 0.12] * len(runs), "o", color=color)
        cell = pick(numbers["spearman of the class means, over classes"], score=score)
        if cell["value"] is not None:
            bars = reach(cell["value"], cell["low"], cell["high"])
            style = {"fmt": "s", "color": color, "capsize": 3, "markersize": 5}
            left.errorbar(cell["value"], i + 0.12, xerr=bars, **style)
    left.set_yticks(range(len(colors)), list(colors))
    left.invert_yaxis()
    left.set_xlim(-1.05, 1.05)
    left.set_xlabel(
        "Spearman correlation with the spread of votes\n● mean over labels   ■ of the class "
        "means, 95 % interval",
        fontsize=9,
    )
    names = [each["label"] for each in numbers["mean spread of the votes"]]
    of_votes = [each["value"] for each in numbers["mean spread of the votes"]]
    aleatoric = [each["mean"] for each in numbers["mean aleatoric"]]
    points = np.array([of_votes, aleatoric]).T
    right.plot(*points.T, "o", color=ALEATORIC, markersize=5)
    extent = np.maximum(np.ptp(points, axis=0), 1e-12)
    for name, point in zip(names, points, strict=True):
        x, y = ((points - point) / extent).T
        # A neighbor to the right is in the way: then the name stands to the left.
        crowded = bool(np.any((x > 0) & (x < 0.2) & (np.abs(y) < 0.06)))
        place = {"ha": "right", "xytext": (-5, 3)} if crowded else {"ha": "left", "xytext": (5, 3)}
        right.annotate(name, point, textcoords="offset points", fontsize=8, **place)
    right.set_xlabel("mean spread of the votes (bits)")
    right.set_ylabel("mean aleatoric uncertainty (bits)")
    right.margins(0.12)
    save_figure(figure, path)
