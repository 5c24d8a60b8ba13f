"""Aleatoric uncertainty of an ensemble compared with people's votes (CIFAR-10H), label by label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from labelwise import Ensemble, decompose
from labelwise.evaluation import rank_agreement

from ..agreement import agreement, vote_spread
from ..datasets import load_cifar10h
from ..text import PARTS
from .results_folder import Options, over_runs, predictions, record, save_figure
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
    found = []
    for r in range(runs):
        stored = predictions(setting, r, [images], options)[images]
        q = Ensemble(stored.probs, class_names=stored.class_names)
        u = decompose(q)
        each = agreement(u, votes=votes, error=q.mean().argmax(-1) != np.asarray(stored.y_true))
        spread = vote_spread(votes, u)
        compared = {"predicted probability": q.mean()} | {
            part: np.asarray(getattr(u, part)) for part in PARTS
        }
        means = {name: values.mean(axis=0, dtype=float) for name, values in compared.items()}
        found.append(
            {
                "spearman": {pair: float(value.spearman) for pair, value in each.pairs.items()},
                "spearman by label": {
                    name: float(value.spearman) for name, value in each.by_class.items()
                },
                "mean over labels": {
                    name: np.mean(
                        [
                            float(rank_agreement(values[:, k], spread[:, k]).spearman)
                            for k in range(spread.shape[1])
                        ]
                    )
                    for name, values in compared.items()
                },
                "spearman of the class means": {
                    name: float(rank_agreement(x, spread.mean(axis=0)).spearman)
                    for name, x in means.items()
                },
                "mean aleatoric": dict(zip(u.class_names, means["aleatoric"], strict=True)),
            }
        )
    last = agreement(
        u, votes=votes, rng=0, n_bootstrap=200
    )  # variation over images rather than over trainings
    numbers = {
        **over_runs(found),
        "spearman by label, images of the last run": {
            name: value.spearman for name, value in last.by_class.items()
        },
        "mean spread of the votes": dict(
            zip(u.class_names, spread.mean(axis=0).tolist(), strict=True)
        ),
    }
    numbers["spearman of the class means, over classes"] = {
        name: over_classes(cell["mean"], len(u.class_names))
        for name, cell in numbers["spearman of the class means"].items()
    }
    more = {
        "votes": "CIFAR-10H"
        if setting.data == "cifar10"
        else f"stand-in: the {NEIGHBORS} nearest training digits"
    }
    draw(numbers, record(setting, "human", numbers, options, runs=runs, **more).with_suffix(".png"))
    return numbers


def over_classes(rho: float | None, n: int) -> dict[str, float | None]:
    """A rank correlation of n pairs with its 95 % interval: Fisher's transformation with the
    variance (1 + ρ²/2) / (n − 3).

    Where there is none (``None``), there is no interval either.

    >>> {key: round(x, 2) for key, x in over_classes(0.939, 10).items()}
    {'value': 0.94, 'low': 0.69, 'high': 0.99}
    """
    if rho is None:
        return {"value": None, "low": None, "high": None}
    center, reach = (
        np.arctanh(np.clip(rho, -1 + 1e-9, 1 - 1e-9)),
        1.959964 * np.sqrt((1 + rho**2 / 2) / (n - 3)),
    )
    return {
        "value": rho,
        "low": float(np.tanh(center - reach)),
        "high": float(np.tanh(center + reach)),
    }


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
    from ..plotting import ALEATORIC, EPISTEMIC, TOTAL, pyplot, tidy

    figure, (left, right) = pyplot().subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    for ax in (left, right):
        tidy(ax)
    colors = {
        "predicted probability": "#888888",
        "total": TOTAL,
        "aleatoric": ALEATORIC,
        "epistemic": EPISTEMIC,
    }
    for i, (name, color) in enumerate(colors.items()):
        left.plot(
            numbers["mean over labels"][name]["runs"],
            [i - 0.12] * len(numbers["mean over labels"][name]["runs"]),
            "o",
            color=color,
        )
        cell = numbers["spearman of the class means, over classes"][name]
        if cell["value"] is not None:
            reach = [[cell["value"] - cell["low"]], [cell["high"] - cell["value"]]]
            left.errorbar(
                cell["value"], i + 0.12, xerr=reach, fmt="s", color=color, capsize=3, markersize=5
            )
    left.set_yticks(range(len(colors)), list(colors))
    left.invert_yaxis()
    left.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    left.grid(visible=False, axis="y")
    left.set_xlim(-1.05, 1.05)
    left.set_xlabel(
        (
            "Spearman correlation with the spread of votes\n● mean over labels   ■ of the class "
            "means, 95 % interval"
        ),
        fontsize=9,
    )
    names = list(numbers["mean spread of the votes"])
    points = np.array(
        [
            (numbers["mean spread of the votes"][name], numbers["mean aleatoric"][name]["mean"])
            for name in names
        ]
    )
    right.plot(*points.T, "o", color=ALEATORIC, markersize=5)
    extent = np.maximum(np.ptp(points, axis=0), 1e-12)
    for name, point in zip(names, points, strict=True):
        x, y = ((points - point) / extent).T
        crowded = bool(
            np.any((x > 0) & (x < 0.2) & (np.abs(y) < 0.06))
        )  # then to the left, where the neighbor is not
        right.annotate(
            name,
            point,
            xytext=(-5 if crowded else 5, 3),
            textcoords="offset points",
            fontsize=8,
            ha="right" if crowded else "left",
        )
    right.set_xlabel("mean spread of the votes (bits)")
    right.set_ylabel("mean aleatoric uncertainty (bits)")
    right.margins(0.12)
    save_figure(figure, path)
