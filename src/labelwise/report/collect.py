"""One pass over the predictions, block by block: what the page shows of each case, and sums over
the classes. Nothing is K × K.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays import to_numpy
from ..decomposition import PARTS, decompose
from ..distributions import Distribution
from ..events import Events
from ..io import Predictions
from ..losses import LossName

Progress = Callable[[int, int], None]
MAX_BITS = 31  # members whose agreement is embedded
MAX_LABELWISE = 1_000_000
"""Numbers (cases × labels) of which all are embedded; of more, none."""


class Collected:
    """Columns of R cases: first the N cases of the report, then those out of distribution."""

    def __init__(
        self, sets: Sequence[Predictions], events: Events | None, losses: Sequence[LossName]
    ) -> None:
        cases = sets[0]
        self.cases, self.events, self.losses = cases, events, losses
        self.n, self.rows = len(cases), sum(map(len, sets))
        self.n_labels = cases.n_classes
        if events is not None:
            self.n_labels = len(events.names)
        rows = self.rows
        self.dataset = np.repeat(np.arange(len(sets)), [len(x) for x in sets])
        self.top = np.empty(rows)
        """Probability of the prediction; for multi-label data the mean over the labels."""
        self.scores = {f"{part}.{loss}": np.empty(rows) for loss in losses for part in PARTS}
        self.structure = "partition"
        if events is not None:
            self.structure = events.structure(cases.n_classes, cases.class_names)
        self.averaged = self.structure in ("overlapping", "pairs")
        """Whether events overlap, so that the scores are their means instead of their sums."""
        self.agree = np.zeros(rows, np.uint32)
        """Bit j: member j predicts what the ensemble predicts."""
        self.right = np.zeros(rows, np.uint32)
        """Bit j: member j is right."""
        self.predicted = np.zeros(rows, np.int32)
        """The most probable class; for multi-label data the number of predicted labels."""
        self.second = np.zeros(rows, np.int32)
        self.truth = np.full(rows, -1, np.int32)
        """The true class, or -1; for multi-label data the number of wrong labels."""
        self.bits: dict[str, np.ndarray] = {}
        if cases.multilabel:
            width = -(-self.n_labels // 8)
            self.bits["predicted_labels"] = np.zeros((rows, width), np.uint8)
            if cases.y_true is not None:
                self.bits["truth_labels"] = np.zeros((rows, width), np.uint8)
        self.by_label: dict[str, np.ndarray] = {}
        """Mean and uncertainty (log loss) by label, (R, L), unless these are too many numbers."""
        if rows * self.n_labels <= MAX_LABELWISE:
            shape = (rows, self.n_labels)
            for name in ("mean", "aleatoric", "epistemic"):
                self.by_label[name] = np.zeros(shape, np.float32)

    @property
    def wrong(self) -> np.ndarray:
        """Which cases have a wrong prediction, (R,); of those out of distribution none."""
        if self.cases.multilabel:
            return np.asarray(self.truth > 0)
        return np.asarray((self.truth >= 0) & (self.truth != self.predicted))

    @property
    def value(self) -> np.ndarray:
        """Of the N cases: 1 if right, else 0; for multi-label data the share of right labels."""
        if self.cases.multilabel:
            return np.asarray(1 - self.truth[: self.n] / self.n_labels)
        return np.asarray(self.truth[: self.n] == self.predicted[: self.n], dtype=float)

    def add(self, rows: slice, q: Distribution, y: np.ndarray | None) -> None:
        """Add a block of cases; ``y`` are its true classes or labels."""
        mean = to_numpy(q.mean())
        if self.cases.multilabel:
            predicted = self._add_labels(rows, mean, y)
        else:
            predicted = self._add_classes(rows, mean, y)
        if 1 < (self.cases.n_members or 1) <= MAX_BITS and q.members is not None:
            self._add_members(rows, q.members[0], predicted, y)
        weights: Any = None
        if self.averaged:
            weights = np.full(self.n_labels, 1 / self.n_labels)
        for loss in self.losses:
            u = decompose(q, loss, events=self.events)
            components = u.sum(weights=weights)
            for part in PARTS:
                self.scores[f"{part}.{loss}"][rows] = to_numpy(getattr(components, part))
            if loss == "log" and self.by_label:
                likely = mean
                if self.events is not None:
                    likely = to_numpy(q.mean(self.events))
                self.by_label["mean"][rows] = likely
                self.by_label["aleatoric"][rows] = to_numpy(u.aleatoric)
                self.by_label["epistemic"][rows] = to_numpy(u.epistemic)

    def _add_classes(self, rows: slice, mean: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        predicted = np.asarray(np.argmax(mean, axis=-1))
        here = np.arange(len(mean))
        self.predicted[rows] = predicted
        self.top[rows] = mean[here, predicted]
        others = np.array(mean)
        others[here, predicted] = -1
        self.second[rows] = np.argmax(others, axis=-1)
        if y is not None:
            self.truth[rows] = y
        return predicted

    def _add_labels(self, rows: slice, mean: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        predicted = np.asarray(mean > 0.5)
        self.predicted[rows] = predicted.sum(axis=-1)
        self.top[rows] = np.maximum(mean, 1 - mean).mean(axis=-1)
        self.bits["predicted_labels"][rows] = np.packbits(predicted, axis=-1, bitorder="little")
        if y is not None:
            self.truth[rows] = (predicted != y).sum(axis=-1)
            self.bits["truth_labels"][rows] = np.packbits(y, axis=-1, bitorder="little")
        return predicted

    def _add_members(
        self, rows: slice, members: Any, predicted: np.ndarray, y: np.ndarray | None
    ) -> None:
        """Where each member predicts what the mean predicts, and what is true; all labels count."""
        for j, member in enumerate(members):
            probs = to_numpy(member)
            if self.cases.multilabel:
                choice = probs > 0.5
            else:
                choice = np.argmax(probs, axis=-1)
            for bits, other in ((self.agree, predicted), (self.right, y)):
                if other is not None:
                    same = (choice == other).reshape(len(choice), -1).all(axis=-1)
                    bits[rows] |= same.astype(np.uint32) << np.uint32(j)


def largest_first(values: np.ndarray, n: int) -> np.ndarray:
    """Positions of the ``n`` largest values of each row, the largest first.

    >>> largest_first(np.array([[0.2, 0.7, 0.1]]), 2)
    array([[1, 0]])
    """
    found = np.argpartition(values, -n, axis=-1)[:, -n:]
    order = np.argsort(-np.take_along_axis(values, found, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(found, order, axis=-1)


def collect(
    sets: Sequence[Predictions],
    events: Events | None,
    losses: Sequence[LossName],
    progress: Progress | None = None,
) -> Collected:
    """All columns, in one pass over the cases of the report and those out of distribution."""
    found = Collected(sets, events, losses)
    before = 0
    truth: Any = None
    if sets[0].y_true is not None:
        truth = sets[0].true_class
    for cases in sets:
        for part, block in cases.blocks():
            rows = slice(before + part.start, before + part.stop)
            y = None
            if before == 0 and truth is not None:
                y = truth[part]
            found.add(rows, block.distribution(), y)
            if progress is not None:
                progress(rows.stop, found.rows)
        before += len(cases)
    return found
