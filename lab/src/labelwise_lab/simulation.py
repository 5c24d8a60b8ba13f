"""Simulate active learning on fully labeled data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise import Ensemble, joint
from labelwise.decisions import Costs, acquire, decide

from .validation import as_rng

__all__ = ["LearningCurve", "simulate"]

STRATEGIES = ("label_wise", "entropy", "bald", "random")
Strategy = Callable[[Ensemble, int, np.random.Generator], Any]
"""Takes the predictions for the pool, the budget and a generator; returns positions in the pool."""


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Test performance after each round; the first entry is before any acquisition."""

    n_labeled: np.ndarray
    """(R + 1,)"""
    accuracy: np.ndarray
    """(R + 1,)"""
    recall: np.ndarray
    """Recall of each class, (R + 1, K); NaN for classes without test cases."""
    labeled_by_class: np.ndarray
    """(R + 1, K)"""
    cost: np.ndarray | None
    """Mean cost of the cheapest prediction or abstention, (R + 1,); ``None`` without a cost
    matrix.
    """
    order: np.ndarray
    """Positions in the pool in the order of labeling."""
    class_names: tuple[str, ...]
    strategy: str

    @property
    def balanced_accuracy(self) -> np.ndarray:
        """Mean recall over the classes of the test set, (R + 1,)."""
        return np.asarray(np.nanmean(self.recall, axis=1))


def simulate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    X_test: Any,
    y_test: Any,
    budget: int,
    rounds: int,
    initial: Any = 50,
    costs: Costs | None = None,
    strategy: str | Strategy = "label_wise",
    batch: str = "top",
    loss: Any = "log",
    n_members: int = 10,
    rng: int | np.random.Generator | None = 0,
) -> LearningCurve:
    """Label ``budget`` more cases in each of ``rounds`` rounds, refit, and measure.

    The same ``rng`` seed gives every strategy the same initial cases and the same randomness of the
    fits, for paired comparisons.

    Parameters
    ----------
    estimator : scikit-learn classifier
        A random forest, extra trees, bagging or voting classifier is used member by member; any
        other classifier is fitted ``n_members`` times on bootstrap samples
        (`labelwise.models.LabelwiseClassifier`).
    X, y : arrays (N, D), (N,)
        The pool. A label is used only after its case was acquired.
    X_test, y_test : arrays
    budget, rounds : int
        Cases acquired per round, and number of rounds.
    initial : int or array of positions
        Initially labeled cases: a number to draw at random, or positions. They must cover at least
        two classes.
    strategy : {"label_wise", "entropy", "bald", "random"} or function
        `acquire`, one of the usual baselines, which ignore classes and costs, or a function of the
        pool's predictions, the budget and a generator that returns positions.
    costs, batch, loss
        As for `acquire`.
    rng : int, Generator or None
        Random seed or generator for the initial cases, the fits and the ``"random"`` strategy.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = simulate(GaussianNB(), X[::2], y[::2], X_test=X[1::2], y_test=y[1::2], initial=10, budget=5, rounds=3)
    >>> curve.n_labeled, curve.recall.shape
    (array([10, 15, 20, 25]), (4, 3))
    """  # noqa: E501
    X, X_test, y, y_test = np.asarray(X), np.asarray(X_test), np.asarray(y), np.asarray(y_test)
    if not callable(strategy) and strategy not in STRATEGIES:
        raise ValueError(f"`strategy` must be a function or one of {STRATEGIES}; got {strategy!r}")
    classes = np.unique(np.concatenate([y, y_test]))
    names = tuple(map(str, classes.tolist()))
    rng = as_rng(rng)
    labeled = _start(y, initial, rng)
    if budget < 1 or rounds < 0 or len(labeled) + budget * rounds > len(y):
        raise ValueError(
            f"`budget` × `rounds` must fit the pool: {len(labeled)} initial cases and {budget} × "
            f"{rounds} more, out of {len(y)}"
        )
    truth = np.searchsorted(classes, y_test)
    recall, counts, accuracy, paid = [], [], [], []
    for r in range(rounds + 1):
        fit_seed, draw_seed = (int(s) for s in rng.integers(2**31, size=2))
        model = _fitted(estimator, X[labeled], y[labeled], n_members, fit_seed)
        test = _predict(model, X_test, classes, names)
        mean = test.mean()
        right = np.argmax(mean, axis=1) == truth
        accuracy.append(right.mean())
        recall.append(
            [
                right[truth == k].mean() if np.any(truth == k) else np.nan
                for k in range(len(classes))
            ]
        )
        counts.append([int(np.sum(y[labeled] == k)) for k in classes])
        if costs is not None:
            plan = decide(test, costs, task="multiclass")
            paid.append(plan.problem.cost_of(plan.problem.now(mean)[0], truth).mean())
        if r == rounds:
            break
        pool = np.setdiff1d(np.arange(len(y)), labeled)
        q = _predict(model, X[pool], classes, names)
        if callable(strategy):
            chosen = np.asarray(strategy(q, budget, as_rng(draw_seed)))
        elif strategy == "label_wise":
            chosen = acquire(q, costs, budget=budget, batch=batch, loss=loss).indices
        else:
            score = _baseline_scores(q, strategy, draw_seed)
            chosen = np.argsort(-score, kind="stable")[:budget]
        labeled = np.concatenate([labeled, pool[chosen]])
    return LearningCurve(
        np.asarray(counts).sum(axis=1),
        np.asarray(accuracy),
        np.asarray(recall),
        np.asarray(counts),
        np.asarray(paid) if paid else None,
        labeled,
        names,
        strategy if isinstance(strategy, str) else strategy.__name__,
    )


def _baseline_scores(q: Ensemble, strategy: str, seed: int) -> np.ndarray:
    """What the usual strategies score a case by, whatever the classes and costs."""
    if strategy == "random":
        return as_rng(seed).random(len(q.mean()))
    u = joint.decompose(q, "log")
    return np.asarray(u.total if strategy == "entropy" else u.epistemic)


def _start(y: np.ndarray, initial: Any, rng: np.random.Generator) -> np.ndarray:
    if isinstance(initial, int | np.integer) and not isinstance(initial, bool):
        if not 2 <= initial <= len(y):
            raise ValueError(
                f"`initial` must be between 2 and the pool's {len(y)} cases; got {initial}"
            )
        start = rng.choice(len(y), size=int(initial), replace=False)
    else:
        start = np.asarray(initial)
        if start.ndim != 1 or start.dtype.kind not in "iu" or len(np.unique(start)) != len(start):
            raise ValueError(
                "`initial` must be a number of cases or different positions in the pool; got "
                f"{initial!r}"
            )
    if len(np.unique(y[start])) < 2:
        raise ValueError(
            f"the {len(start)} initial cases must cover at least two classes; start with more, or "
            "choose them"
        )
    return start


def _fitted(estimator: Any, X: np.ndarray, y: np.ndarray, n_members: int, seed: int) -> Any:
    from sklearn.base import clone
    from sklearn.ensemble import (
        BaggingClassifier,
        ExtraTreesClassifier,
        RandomForestClassifier,
        VotingClassifier,
    )

    from labelwise.models import LabelwiseClassifier

    inner = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if isinstance(
        inner,
        RandomForestClassifier
        | ExtraTreesClassifier
        | BaggingClassifier
        | VotingClassifier
        | LabelwiseClassifier,
    ):
        model = clone(estimator)
        seeds = {
            key: seed
            for key in model.get_params()
            if key == "random_state" or key.endswith("__random_state")
        }
        return model.set_params(**seeds).fit(X, y)
    return LabelwiseClassifier(estimator, n_members=n_members, random_state=seed).fit(X, y)


def _predict(model: Any, X: np.ndarray, classes: np.ndarray, names: tuple[str, ...]) -> Ensemble:
    """The members' predictions with a column for every class, including those not yet seen."""
    from labelwise.models import from_models

    q = from_models(model, X)
    probs = np.zeros((*q.probs.shape[:-1], len(classes)))
    probs[..., np.searchsorted(classes, model.classes_)] = q.probs
    return Ensemble(probs, weights=q.weights, member_axis=0, class_names=names)
