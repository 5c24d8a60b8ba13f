"""Yes, no or unsure: the answers, and how often they were wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._frames import frame, index_columns
from .._resampling import Estimate
from .._tables import SHOWN, Shown, Summary, Tabular


@dataclass(frozen=True, eq=False, repr=False)
class LabelAnswers(Shown):
    """1 (yes), 0 (no) or −1 (unsure) for each case and label."""

    answer: np.ndarray
    """(..., K)."""
    class_names: tuple[str, ...]
    guarantee: str

    def to_frame(self, *, ids: Any = None, library: str = "pandas") -> Any:
        """A data frame with a row for each case and a column for each label."""
        return frame(self.columns(ids=ids), library)

    def columns(self, *, ids: Any = None) -> dict[str, Any]:
        """The columns of `to_frame`."""
        words = np.asarray(["no", "yes", "unsure"], dtype=object)[
            self.answer.reshape(-1, len(self.class_names))
        ]
        return {
            **index_columns(self.answer.shape[:-1], ids),
            **{name: words[:, k] for k, name in enumerate(self.class_names)},
        }

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
