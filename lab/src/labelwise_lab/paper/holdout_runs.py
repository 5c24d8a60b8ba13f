"""What is kept of each run of the hold-out experiment: means of the label-wise EU by class, and its
distribution, in one small file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..files import read_npz, replacing, write_compressed_npz

if TYPE_CHECKING:
    from .holdout import Run

__all__ = ["GRID", "Runs"]

GRID = np.geomspace(1e-6, 0.25, 60)
"""Where the distributions are stored; the variance of a probability is at most 1/4."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Arrays with one row per run; missing rows are NaN.

    ``before`` and the name of each arm: mean EU by class, (runs, classes); ``… other half``: on the
    half of the test set on which no class is selected; ``… accuracy``: (runs,); ``… ecdf``: (runs,
    2, points), the selected class and the others; ``… label``: the class that an arm gave new
    images, or that another rule would have selected (``own``: mean over its own instances,
    ``half``: on half of the test set).
    """

    arrays: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.arrays["before"]) if self.arrays else 0

    def has(self, run: int, arms: tuple[str, ...]) -> bool:
        """Whether everything is stored of a run and these arms."""
        return run < len(self) and all(
            name in self.arrays and np.isfinite(self.arrays[name][run]).all()
            for name in ("before", *arms)
        )

    def first(self, n: int) -> Runs:
        """The first ``n`` runs, and only what they have."""
        return Runs({key: x[:n] for key, x in self.arrays.items() if np.isfinite(x[:n]).any()})

    @property
    def arms(self) -> list[str]:
        return [
            name
            for name, x in self.arrays.items()
            if x.ndim == 2 and name != "before" and not name.endswith(" other half")
        ]

    def rows(self, *names: str) -> np.ndarray:
        """The runs that have all of these arrays."""
        there = np.ones(len(self), bool)
        for name in names:
            array = self.arrays.get(name, np.full(len(self), np.nan))
            there &= np.isfinite(array.reshape(len(self), -1)).all(axis=1)
        return np.flatnonzero(there)

    def same_label(self, rule: str) -> tuple[int, int]:
        """In how many runs another rule selects the same class, and in how many that is known."""
        rows = self.rows(f"{rule} label", "swap label")
        if not len(rows):
            return 0, 0
        same = self.arrays[f"{rule} label"][rows] == self.arrays["swap label"][rows]
        return int(same.sum()), len(rows)

    def with_run(self, index: int, run: Run) -> Runs:
        """Also, or instead, run number ``index``."""
        new = summary(run)
        n = max(len(self), index + 1)
        arrays = {}
        for key in dict.fromkeys([*self.arrays, *new]):
            like = self.arrays.get(key, np.empty((0, *np.shape(new.get(key, 0.0)))))
            arrays[key] = np.concatenate([like, np.full((n - len(like), *like.shape[1:]), np.nan)])
            if key in new:
                arrays[key][index] = new[key]
        return Runs(arrays)

    @classmethod
    def read(cls, path: Path) -> Runs:
        """Stored runs; none, if there is no such file."""
        if not path.is_file():
            return cls({})
        stored = read_npz(path)
        lengths = {x.shape[:1] for x in stored.values()}
        if stored.get("before", np.empty(0)).ndim != 2 or len(lengths) != 1:
            found = ", ".join(f"`{name}` of shape {x.shape}" for name, x in stored.items())
            raise ValueError(
                f"{str(path)!r} must hold `before` (runs, classes) and other arrays with one row "
                f"for each run; it holds {found or 'nothing'}. Delete it and run the command "
                "again: what is missing is trained"
            )
        return cls({name: x.astype(float) for name, x in stored.items()})

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {
            key: x.astype(np.float16 if key.endswith(" ecdf") else float)
            for key, x in sorted(self.arrays.items())
        }
        with replacing(path) as file:
            write_compressed_npz(file, arrays)


def summary(run: Run) -> dict[str, np.ndarray]:
    """One row of each array."""
    # as the experiment selects it, whatever the arms
    selected = int(run.before.mean(axis=0).argmax())
    own = [run.before[run.y_true == k, k].mean() for k in range(run.before.shape[1])]
    row: dict[str, np.ndarray] = {
        "own label": np.asarray(np.argmax(own), float),
        "half label": np.asarray(run.before[~run.second_half].mean(axis=0).argmax(), float),
    }
    for name, eu in {"before": run.before, **run.after}.items():
        row[name] = eu.mean(axis=0, dtype=float)
        row[f"{name} accuracy"] = np.asarray(run.accuracy[name])
        if name != "before":
            row[f"{name} label"] = np.asarray(run.labels[name], float)
        if name in ("before", "swap", "no-swap"):
            row[f"{name} other half"] = eu[run.second_half].mean(axis=0, dtype=float)
            columns = eu[:, selected], np.delete(eu, selected, axis=1).ravel()
            row[f"{name} ecdf"] = np.stack(
                [np.searchsorted(np.sort(x), GRID, side="right") / x.size for x in columns]
            )
    return row
