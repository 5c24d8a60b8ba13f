"""Yes, no or unsure: the answers, and how often they were wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._frames import index_columns
from .._resampling import Estimate
from .._tables import SHOWN, Summary, Tabular
from ._result import CaseResults


@dataclass(frozen=True, eq=False, repr=False)
class LabelAnswers(CaseResults):
    """1 (yes), 0 (no) or −1 (unsure) for each case and label."""

    answer: np.ndarray
    """(..., K)."""
    class_names: tuple[str, ...]
    guarantee: str

    def columns(self, *, ids: Any = None) -> dict[str, Any]:
        """For each case and label the answer in words."""
        words = np.asarray(["no", "yes", "unsure"], dtype=object)[self.answer]
        by_label = words.reshape(-1, len(self.class_names)).T
        answers = dict(zip(self.class_names, by_label, strict=True))
        return {**index_columns(self.answer.shape[:-1], ids), **answers}

    def _summary(self) -> Summary:
        flat = self.answer.reshape(-1, len(self.class_names))
        rows = []
        for name, answer in zip(self.class_names[:SHOWN], flat.T, strict=False):
            rows.append((name, (answer == 1).sum(), (answer == 0).sum(), (answer == -1).sum()))
        return Summary(
            f"Answers for {len(flat):,} cases",
            ("label", "yes", "no", "unsure"),
            rows,
            self.guarantee,
        )


@dataclass(frozen=True, eq=False, repr=False)
class LabelEvaluation(Tabular):
    """Misses, false alarms and unsure answers of each label, arrays (K,); prints as a table."""

    _longest: ClassVar[int] = 50

    missed: Estimate
    """Share of present labels that were answered no."""
    false_alarms: Estimate
    """Share of absent labels that were answered yes."""
    unsure: np.ndarray
    n_present: np.ndarray
    n_absent: np.ndarray
    class_names: tuple[str, ...]
    guarantee: str
    """What is guaranteed and, with groups, what the shares and intervals are about."""

    def _title(self) -> str:
        return f"Answers. {self.guarantee}"

    def _columns(self) -> dict[str, Any]:
        return {
            "label": self.class_names,
            "n_present": self.n_present,
            **self.missed.columns("missed"),
            "n_absent": self.n_absent,
            **self.false_alarms.columns("false_alarms"),
            "unsure": self.unsure,
        }
