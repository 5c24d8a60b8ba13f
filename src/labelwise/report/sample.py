"""The instances embedded in the page: all or a random sample, with compactly encoded
predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._tables import shortened
from .._validation.arguments import as_rng
from ..decomposition import PARTS, Uncertainty, decompose
from ..distributions import Distribution, Ensemble, Intervals, MultiLabelEnsemble
from ..events import Events
from ..io import Predictions
from ..losses import LossName
from .embed import pack_for_page, quantize, restore_quantized

NUMBERS = 3_000_000
"""Maximum number of embedded two-byte numbers."""
DRAWS = 16
"""Draws that represent a continuous distribution."""
FINE = 65535
LONGEST_ID = 500
"""Maximum length of embedded ids: ten thousand ids of any length could be too large for a page."""


@dataclass(eq=False)
class Sample:
    """Embedded instances, collected block by block."""

    cases: Predictions
    index: np.ndarray
    """Positions of the instances, increasing."""
    codes: list[np.ndarray] = field(default_factory=list)
    """Members or draws, (n, M, K)."""
    weights: list[np.ndarray] = field(default_factory=list)
    means: list[np.ndarray] = field(default_factory=list)
    parts: dict[str, list[np.ndarray]] = field(default_factory=dict)
    """For a continuous distribution: aleatoric and epistemic uncertainty for each loss, (n, 2,
    L).
    """
    exact: dict[LossName, list[np.ndarray]] = field(default_factory=dict)
    """For an ensemble: the exact label-wise uncertainties, to measure the rounding error, (3, n,
    L).
    """
    predicted: list[np.ndarray] = field(default_factory=list)

    def add(
        self, part: slice, q: Distribution, mean: np.ndarray, us: dict[LossName, Uncertainty]
    ) -> None:
        """Collect the chosen instances of one block."""
        first, last = np.searchsorted(self.index, [part.start, part.stop])
        here = self.index[first:last] - part.start
        if not here.size:
            return
        self.predicted.append(np.argmax(mean[here], axis=-1))
        members = q[here].members
        if members is not None:
            probs, weights = members
            self.codes.append(quantize(to_numpy(probs)).transpose(1, 0, 2))
            if weights is not None and np.ndim(weights) == 2:
                self.weights.append(to_numpy(weights).T)
            elif weights is not None:
                self.weights = [to_numpy(weights)]
            for name, u in us.items():
                values = [to_numpy(getattr(u, part))[here].astype(float) for part in PARTS]
                self.exact.setdefault(name, []).append(np.stack(values))
            return
        if isinstance(q, Intervals):  # no draws: the point that stands for the set
            draws = mean[None, here]
        else:
            draws = to_numpy(q[here].sample(DRAWS, rng=0))
        self.codes.append(quantize(draws).transpose(1, 0, 2))
        self.means.append(quantize(mean[here]))
        for name, u in us.items():
            top = np.maximum(u.maximum, 1e-300)
            pair = np.stack([to_numpy(x)[here] / top for x in (u.aleatoric, u.epistemic)], axis=1)
            fine = np.rint(np.sqrt(np.clip(pair, 0, 1)) * FINE).astype(np.uint16)
            self.parts.setdefault(name, []).append(fine)

    def data(self, events: Events | None) -> dict[str, Any]:
        """As plain data for the page."""
        codes = np.concatenate(self.codes)
        cases, n = self.cases, len(self.index)
        class_type = "u2" if cases.n_classes <= 1 << 16 else "u4"
        found: dict[str, Any] = {
            "n": n,
            "m": int(codes.shape[1]),
            "probs": pack_for_page(codes, "u2"),
            "index": None,
            "predicted": pack_for_page(np.concatenate(self.predicted), class_type),
            "ids": None,
            "y": None,
            "weights": None,
            "mean": None,
            "parts": None,
            "error": self._error(codes, events),
        }
        if n < len(cases):
            found["index"] = pack_for_page(self.index, "u4")
        if self.means:  # of a continuous distribution
            found["mean"] = pack_for_page(np.concatenate(self.means), "u2")
            found["parts"] = {
                name: pack_for_page(np.concatenate(pieces), "u2")
                for name, pieces in self.parts.items()
            }
        if cases.ids is not None:
            ids = np.asarray(cases.ids[:])[self.index].tolist()
            found["ids"] = [shortened(str(name), LONGEST_ID) for name in ids]
        if cases.y_true is not None:
            if cases.multilabel:
                class_type = "u1"
            found["y"] = pack_for_page(cases.true_class[self.index], class_type)
        if self.weights:
            found["weights"] = pack_for_page(np.concatenate(self.weights), "f8")
        return found

    def _error(self, codes: np.ndarray, events: Events | None) -> dict[LossName, float] | None:
        """The largest rounding error of a label-wise uncertainty, for each loss."""
        if not self.exact:
            return None
        probs = restore_quantized(codes, normalize=not self.cases.multilabel).transpose(1, 0, 2)
        weights = None
        if self.weights:
            weights = np.concatenate(self.weights).T
        kind = MultiLabelEnsemble if self.cases.multilabel else Ensemble
        q = kind(probs, weights=weights, member_axis=0, class_names=self.cases.names)
        error = {}
        for name, pieces in self.exact.items():
            u = decompose(q, name, events=events)
            rounded = np.stack([getattr(u, part) for part in PARTS])
            error[name] = float(np.max(np.abs(rounded - np.concatenate(pieces, axis=1))))
        return error


def choose(
    cases: Predictions,
    losses: Sequence[str],
    n_labels: int,
    max_instances: int,
    rng: int | np.random.Generator | None,
) -> Sample:
    """All instances, or a random sample if they are too many."""
    k = cases.n_classes
    if cases.n_members is not None:
        each = k * cases.n_members
    else:
        each = k * (DRAWS + 1) + 2 * n_labels * len(losses)
    n = max(1, min(len(cases), max_instances, NUMBERS // each))
    if n == len(cases):
        return Sample(cases, np.arange(n))
    return Sample(cases, np.sort(as_rng(rng).choice(len(cases), size=n, replace=False)))
