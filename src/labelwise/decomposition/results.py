"""What the results of a decomposition have in common: tables, the highest values, and what is
printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import prod
from typing import Any, ClassVar, Generic, NoReturn, Self

import numpy as np

from .._arrays import Names, Shape, dtype_name, to_numpy, values_known
from .._errors import InputError
from .._frames import Columns, Library, ids_at, import_xarray, instance_frame
from .._tables import SHOWN, Shown, Summary, first_names, instances_in_words
from .._validation.arguments import check_choice, check_positive
from ..distributions.base import ArrayT, instance_index

PARTS = ("total", "aleatoric", "epistemic")
"""What uncertainty is decomposed into: the fields of the results."""
MAX_SUMMARIZED = 1 << 24  # means of larger results are not computed only to be printed


@dataclass(frozen=True, eq=False, repr=False)
class Top(Shown):
    """The instances with the highest uncertainty, highest first; made by ``u.top(n)``."""

    positions: np.ndarray
    """Where they are among all instances, counted through all axes, (n,)."""
    values: np.ndarray
    """Their uncertainty, (n,)."""
    by: str
    label: str | None
    shape: Shape
    """The shape of all instances."""
    instance_ids: Any = None
    """What all instances are called, where they came with an index."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def indices(self) -> np.ndarray:
        """Where they are: (n,), or (n, D) where the instances have D ≠ 1 axes;
        ``u[tuple(top.indices.T)]`` are the instances then.
        """
        if len(self.shape) == 1:
            return self.positions
        axes = np.array(np.unravel_index(self.positions, self.shape), dtype=int)
        return axes.reshape(len(self.shape), len(self)).T

    def to_frame(self, *, ids: Any = None, library: Library = "pandas") -> Any:
        """A row for each, with its rank; ``ids`` name all instances, not only these."""
        name = self.by if self.label is None else f"{self.by}.{self.label}"
        return instance_frame(
            {name: self.values},
            self.shape,
            library,
            ids=ids,
            known=self.instance_ids,
            where=self.positions,
        )

    def _summary(self) -> Summary:
        about = "over all labels" if self.label is None else f"about {first_names([self.label])}"
        shown = self.indices[:SHOWN]
        names = shown.tolist()
        if self.instance_ids is not None:
            names = list(ids_at(self.instance_ids, shown))
        rows = list(zip(map(str, names), self.values[:SHOWN].tolist(), strict=True))
        rest = len(self) - len(rows)
        kind = self.by if self.by == "regret" else f"{self.by} uncertainty"
        title = f"Top {len(self)} of {prod(self.shape):,} by {kind} {about}"
        return Summary(title, ("instance", self.by), rows, f"… and {rest:,} more" if rest else "")


@dataclass(frozen=True, eq=False, repr=False)
class Result(Shown, Generic[ArrayT]):
    """Total, aleatoric and epistemic uncertainty of instances of some shape (...)."""

    total: ArrayT
    aleatoric: ArrayT
    epistemic: ArrayT
    _: KW_ONLY
    error: Components[ArrayT] | None = None
    """95 % bounds on the numerical error of (quasi-)Monte Carlo values; ``None`` if only rounding
    matters.
    """
    regret: ArrayT | None = None
    """What the ``forecast`` costs beyond the mean, D(θ̄‖f), which is part of total and epistemic;
    of `Intervals` the smallest regret that a forecast can guarantee. Else ``None``.
    """
    n_members: int | None = None
    """Number of members of an ensemble, else ``None``. One member has no known epistemic
    uncertainty: it is shown as –.
    """
    ids: Any = None
    """What the instances are called: the index of the frames that the predictions came in, or
    ``None``.
    """
    note: str = ""
    """What a reader must know of these values."""
    _trailing: ClassVar[int] = 0
    """How many axes follow those of the instances."""

    @property
    def batch_shape(self) -> Shape:
        """The shape (...) of the instances."""
        return self._shape[: len(self._shape) - self._trailing]

    @property
    def _shape(self) -> Shape:
        total: Any = self.total
        return tuple(total.shape)

    def __len__(self) -> int:
        if not self.batch_shape:
            raise TypeError("the uncertainty of one instance without a batch axis has no length")
        return self.batch_shape[0]

    def __bool__(self) -> bool:
        return True  # whatever its length

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        example = ".epistemic"
        if self._trailing:
            example = "u.sum().epistemic, or u['name'].epistemic for one label"
        raise TypeError(
            f"{type(self).__name__} holds three arrays, `total`, `aleatoric` and `epistemic`: use "
            f"one of them, such as {example}"
        )

    def _parts_mapped(self, f: Callable[[Any], Any]) -> dict[str, Any]:
        """``f`` of the three parts, their error bounds and the regret, as fields of a new
        result.
        """
        new = {part: f(getattr(self, part)) for part in PARTS}
        if self.error is not None:
            new["error"] = replace(self.error, **self.error._parts_mapped(f))
        if self.regret is not None:
            new["regret"] = f(self.regret)
        return new

    def _parts_in_numpy(self) -> Columns:
        """Each part in main memory, and the regret if there is one; the epistemic part of a single
        member is not known.
        """
        parts = {part: to_numpy(getattr(self, part)) for part in PARTS}
        if self.n_members == 1:
            parts["epistemic"] = np.full_like(parts["epistemic"], np.nan)
        if self.regret is not None:
            parts["regret"] = to_numpy(self.regret)
        return parts

    def _parts_by_instance(self) -> Columns:
        """Each part with a row for each instance: (N,), or (N, K)."""
        shape = prod(self.batch_shape), *self._shape[len(self.batch_shape) :]
        return {part: x.reshape(shape) for part, x in self._parts_in_numpy().items()}

    def _means_over_instances(self) -> np.ndarray | None:
        """The mean of each part over the instances, (3,) or (3, K), where its values are at hand
        and not too many.
        """
        if not values_known(self.total) or not 0 < prod(self._shape) <= MAX_SUMMARIZED:
            return None
        axes, parts = tuple(range(len(self.batch_shape))), self._parts_in_numpy()
        return np.stack([parts[part].mean(axis=axes, dtype=float) for part in PARTS])

    def _summary_notes(self) -> list[str]:
        notes = []
        if self.n_members == 1:
            notes.append("one member: the epistemic part is not known")
        if self.note:
            notes.append(self.note)
        return notes

    def to_frame(self, *, ids: Any = None, library: Library = "pandas") -> Any:
        """A row for each instance, as a data frame of pandas or polars; see
        `Uncertainty.to_frame`.
        """
        return instance_frame(
            self._parts_by_instance(), self.batch_shape, library, ids=ids, known=self.ids
        )

    def to_xarray(self, *, dims: Sequence[str] | None = None) -> Any:
        """An `xarray.Dataset` of the three parts; see `Uncertainty.to_xarray`."""
        dims = axis_names(self.batch_shape, dims)
        return import_xarray().Dataset(
            {part: (dims, x) for part, x in self._parts_in_numpy().items()}
        )

    def to_dict(self) -> dict[str, float]:
        """The mean of each part, for logs; without the epistemic one of a single member."""
        return mean_columns(self._parts_by_instance())

    def _summary(self) -> Summary:
        size = instances_in_words(self.batch_shape)
        title = f"{type(self).__name__}: {size}, {dtype_name(self.total)}"
        means = self._means_over_instances()
        if means is None:
            return Summary(title)
        note = "; ".join(self._summary_notes())
        return Summary(title, ("", *PARTS), [["mean", *means]], note)


class Components(Result[ArrayT]):
    """Total, aleatoric and epistemic uncertainty, one value per instance."""

    def __getitem__(self, index: Any) -> Self:
        """The uncertainty of some instances; ``index`` is one for the axes (...) of instances."""
        i = instance_index(index, len(self.batch_shape))
        return replace(self, **self._parts_mapped(lambda x: x[i]), ids=ids_at(self.ids, i))

    def top(self, n: int = 20, *, by: str = "epistemic") -> Top:
        """The ``n`` instances with the highest uncertainty, highest first; equal ones in their
        order.
        """
        n = check_positive(n, "n")
        choices = PARTS if self.regret is None else (*PARTS, "regret")
        check_choice(by, "by", choices)
        if by == "epistemic" and self.n_members == 1:
            raise InputError("one member says nothing about epistemic uncertainty; use by='total'")
        flat = to_numpy(getattr(self, by)).reshape(-1)
        chosen = np.arange(flat.size)
        if n < flat.size:  # equal values in the order of the instances
            chosen = np.flatnonzero(flat >= np.partition(flat, flat.size - n)[flat.size - n])
        chosen = chosen[np.argsort(-flat[chosen], kind="stable")][:n]
        return Top(chosen, flat[chosen], by, None, self.batch_shape, self.ids)


def axis_names(shape: Shape, dims: Sequence[str] | None) -> Names:
    """The names of the axes of instances."""
    if dims is None:
        if len(shape) == 1:
            return ("instance",)
        return tuple(f"axis_{i}" for i in range(len(shape)))
    if isinstance(dims, str) or len(dims) != len(shape) or len({*dims, "label"}) != len(shape) + 1:
        raise InputError(
            f"`dims` must name the {len(shape)} axes of instances, with different names other than "
            f"'label'; got {dims!r}"
        )
    return tuple(map(str, dims))


def mean_columns(columns: Columns) -> dict[str, float]:
    """The mean of each column that has no missing values."""
    if any(not len(x) for x in columns.values()):
        raise InputError("there are no instances, so there is no mean")
    means = {}
    for key, x in columns.items():
        mean = float(np.mean(x, dtype=float))
        if not np.isnan(mean):
            means[key] = mean
    return means


def tracker_keys(names: Sequence[str]) -> list[str]:
    """Different names of letters, digits, spaces and ``_ - .`` only, not too long for a key."""
    found: dict[str, None] = {}
    for name in names:
        key = new = re.sub(r"[^\w.\- ]", "_", name)[:200] or "_"
        number = 1
        while new in found:
            number += 1
            new = f"{key}_{number}"
        found[new] = None
    return list(found)
