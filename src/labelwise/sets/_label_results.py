"""Yes, no or unsure: the answers, and how often they were wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._format import MISSING, percent
from .._resampling import Estimate
from .._tables import SHOWN, Shown, Summary, frame, index_columns


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
class LabelEvaluation(Shown):
    """Misses, false alarms and unsure answers of each label, arrays (K,); prints as a table."""

    missed: Estimate
    """Share of present labels that were answered no."""
    false_alarms: Estimate
    """Share of absent labels that were answered yes."""
    unsure: np.ndarray
    n_present: np.ndarray
    n_absent: np.ndarray
    class_names: tuple[str, ...]
    guarantee: str
    note: str = ""
    """Of intervals over groups: what they are about."""

    def to_frame(self, *, library: str = "pandas") -> Any:
        """A data frame of pandas or polars with a row for each label."""
        return frame(self.columns(), library)

    def columns(self) -> dict[str, Any]:
        """The columns of `to_frame`."""
        found: dict[str, Any] = {
            "label": np.asarray(self.class_names, dtype=object),
            "n_present": self.n_present,
            "n_absent": self.n_absent,
        }
        for name, x in (("missed", self.missed), ("false_alarms", self.false_alarms)):
            found |= {name: x.value, f"{name}_low": x.low, f"{name}_high": x.high}
        return found | {"unsure": self.unsure}

    def _summary(self) -> Summary:
        def share(x: Estimate, k: int) -> str:
            if np.isnan(x.value[k]):
                return MISSING
            return f"{percent(x.value[k])} ({percent(x.low[k])} to {percent(x.high[k])})"

        rows = []
        for k, name in enumerate(self.class_names):
            present = f"{self.n_present[k]:,}", share(self.missed, k)
            absent = f"{self.n_absent[k]:,}", share(self.false_alarms, k)
            rows.append((name, *present, *absent, percent(self.unsure[k])))
        header = ("label", "present", "missed", "absent", "false alarms", "unsure")
        return Summary("Answers", header, rows, f"{self.guarantee} {self.note}".rstrip())
