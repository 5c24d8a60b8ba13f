"""One pass over the predictions, block by block: what the page shows of each case. Nothing is K ×
K.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_numpy
from ..decomposition import PARTS, decompose
from ..distributions import Distribution
from ..events import Events
from ..io import Predictions
from ..losses import LossName
from .columns import smallest_type

Progress = Callable[[int, int], None]
MAX_BITS = 31  # members whose agreement is embedded
OVERLAPPING = ("overlapping", "pairs")
MAX_LABELWISE = 1_000_000
"""Numbers (cases × labels) of which all are embedded; of more, none."""


@dataclass(frozen=True, eq=False)
class Collected:
    """Columns of R cases: first the N cases of the report, then those out of distribution."""

    sets: Mapping[str, Predictions]
    """By the name of the data set; the first are those of the report."""
    events: Events | None
    losses: Sequence[LossName]
    structure: str
    """How the events relate."""
    label_weight: float
    """Of each label in the scores: 1, so that they are sums, or of events that overlap means."""
    dataset: np.ndarray
    """Which set of cases each is of; 0 are those of the report."""
    columns: dict[str, np.ndarray]
    """What `_describe_cases` and `_uncertainty_of_cases` name, (R,); labels as bits, (R, L / 8);
    mean, aleatoric and epistemic by label (log loss), (R, L), unless these are too many numbers.
    """

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    @property
    def cases(self) -> Predictions:
        """Those of the report."""
        return next(iter(self.sets.values()))

    @property
    def n(self) -> int:
        return len(self.cases)

    @property
    def rows(self) -> int:
        return len(self.dataset)

    @property
    def scores(self) -> list[str]:
        """The columns of uncertainty, such as total.log."""
        return [f"{part}.{loss}" for loss in self.losses for part in PARTS]

    @property
    def wrong(self) -> np.ndarray:
        """Which cases have a wrong prediction, (R,); of those out of distribution none."""
        truth = self["truth"]
        if self.cases.multilabel:
            return truth > 0
        return (truth >= 0) & (truth != self["predicted"])

    @property
    def value(self) -> np.ndarray:
        """Of the N cases: 1 if right, else 0; for multi-label data the share of right labels."""
        if self.cases.multilabel:
            return 1 - self["truth"][: self.n] / self.cases.n_classes
        return 1.0 - self.wrong[: self.n]


def collect(
    sets: Mapping[str, Predictions],
    events: Events | None,
    losses: Sequence[LossName],
    progress: Progress | None = None,
) -> Collected:
    """All columns, in one pass over the cases of the report and those out of distribution."""
    cases = next(iter(sets.values()))
    dataset = np.repeat(np.arange(len(sets)), list(map(len, sets.values())))
    structure, n_labels, weight, weights = "partition", cases.n_classes, 1.0, None
    if events is not None:
        n_labels = len(events.names)
        structure = events.structure(cases.n_classes, cases.class_names)
    if structure in OVERLAPPING:
        weight = 1 / n_labels
        weights = np.full(n_labels, weight)
    by_label = len(dataset) * n_labels <= MAX_LABELWISE
    columns = {}
    stop = 0
    for number, part in enumerate(sets.values()):
        for rows, block in part.blocks():
            truth = None
            if number == 0 and cases.y_true is not None:
                truth = cases.true_class[rows]
            q = block.distribution()
            found = _describe_cases(q, truth)
            for loss in losses:
                found |= _uncertainty_of_cases(q, loss, events, weights, by_label=by_label)
            start, stop = stop, stop + len(block)
            for name, values in found.items():
                if name not in columns:
                    columns[name] = np.zeros((len(dataset), *values.shape[1:]), values.dtype)
                columns[name][start:stop] = values
            if progress is not None:
                progress(stop, len(dataset))
    return Collected(sets, events, losses, structure, weight, dataset, columns)


def _uncertainty_of_cases(
    q: Distribution, loss: LossName, events: Events | None, weights: Any, *, by_label: bool
) -> dict[str, np.ndarray]:
    """The uncertainty of a block of cases: sums over the labels; of the log loss, if ``by_label``,
    each label, with its mean.
    """
    u = decompose(q, loss, events=events)
    components = u.sum(weights=weights)
    found = {f"{part}.{loss}": to_numpy(getattr(components, part)) for part in PARTS}
    if by_label and loss == "log":
        found["mean"] = to_numpy(q.mean(events))
        found["aleatoric"], found["epistemic"] = to_numpy(u.aleatoric), to_numpy(u.epistemic)
    return found


def _describe_cases(q: Distribution, truth: np.ndarray | None) -> dict[str, np.ndarray]:
    """Prediction and truth of a block of cases; ``truth`` are its true classes or labels, if they
    are known.

    Of classes: the most probable two, the probability of the first, and the truth. Of labels that
    may occur together: how many are predicted and how many wrong, how probable it is that one is
    right, and which they are, as bits. A truth that is not known is -1.
    """
    mean = to_numpy(q.mean())
    choice = _predicted(mean, q)
    found = {"truth": np.full(len(mean), -1)}
    if q.exclusive:
        here, others = np.arange(len(mean)), np.array(mean)
        others[here, choice] = -1
        found |= {"predicted": choice, "second": np.argmax(others, axis=-1)}
        found["top"] = mean[here, choice]
        if truth is not None:
            found["truth"] = truth
    else:
        found["predicted"] = choice.sum(axis=-1)
        found["top"] = np.maximum(mean, 1 - mean).mean(axis=-1)
        labels = {"predicted_labels": choice}
        if truth is not None:
            labels["truth_labels"], found["truth"] = truth, (choice != truth).sum(axis=-1)
        for name, present in labels.items():
            found[name] = np.packbits(present, axis=-1, bitorder="little")
    if q.members is not None and 1 < len(q.members[0]) <= MAX_BITS:
        choices = [_predicted(to_numpy(member), q) for member in q.members[0]]
        found["agree"] = _bits_where_equal(choices, choice)
        if truth is not None:
            found["right"] = _bits_where_equal(choices, truth)
    return found


def _predicted(probs: np.ndarray, q: Distribution) -> np.ndarray:
    """The most probable classes, (N,); for multi-label data which labels are predicted, (N, K)."""
    return np.argmax(probs, axis=-1) if q.exclusive else probs > 0.5


def _bits_where_equal(choices: Sequence[np.ndarray], other: np.ndarray) -> np.ndarray:
    """Bit j: the choice of member j is ``other``, for all labels."""
    bits = np.zeros(len(other), smallest_type(1 << len(choices)))
    for j, choice in enumerate(choices):
        same = (choice == other).reshape(len(bits), -1).all(axis=-1)
        bits |= same.astype(bits.dtype) << j
    return bits
