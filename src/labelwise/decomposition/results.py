"""What the results of a decomposition have in common: tables, the highest values, and what is
printed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, NoReturn

import numpy as np

from .._arrays import Array, dtype_name, namespace, to_numpy, values_known, without_gradient
from .._format import MISSING
from .._frames import columns_by_class, ids_at, same_rows
from .._labels import as_labels, class_position
from .._suggestions import check_choice
from .._tables import SHOWN, Library, Shown, Summary, counted, first_names, instance_frame, xarray

PARTS = ("total", "aleatoric", "epistemic")
"""What uncertainty is decomposed into: the fields of the results."""
MOST_NUMBERS = 1 << 24
"""Means of larger results are not computed only to be printed."""


@dataclass(frozen=True, eq=False, repr=False)
class Top(Shown):
    """The instances with the highest uncertainty, highest first; made by ``u.top(n)``."""

    positions: np.ndarray
    """Where they are among all instances, counted through all axes, (n,)."""
    values: np.ndarray
    """Their uncertainty, (n,)."""
    by: str
    label: str | None
    shape: tuple[int, ...]
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
            rank=True,
        )

    def _summary(self) -> Summary:
        about = "over all labels" if self.label is None else f"about {first_names([self.label])}"
        shown = self.indices[:SHOWN]
        names = shown.tolist()
        if self.instance_ids is not None:
            names = list(ids_at(self.instance_ids, shown))
        rows = list(zip(map(str, names), self.values[:SHOWN].tolist(), strict=True))
        rest = len(self) - len(rows)
        title = f"Top {len(self)} of {prod(self.shape):,} by {self.by} uncertainty {about}"
        return Summary(title, ("instance", self.by), rows, f"… and {rest:,} more" if rest else "")


class Result(Shown):
    """Total, aleatoric and epistemic uncertainty of instances of some shape (...), one value
    each.
    """

    total: Any
    aleatoric: Any
    epistemic: Any
    n_members: int | None
    ids: Any
    """What the instances are called: the index of the frames that the predictions came in, or
    ``None``.
    """
    _trailing = 0
    """How many axes follow those of the instances."""

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape (...) of the instances."""
        return tuple(self.total.shape[: self.total.ndim - self._trailing])

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

    def _parts(self) -> dict[str, np.ndarray]:
        """Each part in main memory; the epistemic part of a single member is not known."""
        parts = {part: to_numpy(getattr(self, part)) for part in PARTS}
        if self.n_members == 1:
            parts["epistemic"] = np.full_like(parts["epistemic"], np.nan)
        return parts

    def _rows(self) -> dict[str, np.ndarray]:
        """Each part with a row for each instance: (N,), or (N, K)."""
        n, rest = prod(self.batch_shape), self.total.shape[self.total.ndim - self._trailing :]
        return {part: x.reshape(n, *rest) for part, x in self._parts().items()}

    def _means(self) -> list[Any] | None:
        """The mean of each part over the instances, where its values are at hand and not too
        many.
        """
        if not values_known(self.total) or not 0 < prod(self.total.shape) <= MOST_NUMBERS:
            return None
        axes = tuple(range(len(self.batch_shape)))
        parts = [without_gradient(getattr(self, part)) for part in PARTS]
        return [
            to_numpy(namespace(x).mean(x, axis=axes) if axes else x).astype(float) for x in parts
        ]

    def _instances(self) -> str:
        shape = self.batch_shape
        if len(shape) > 1:
            return " × ".join(map(str, shape)) + " instances"
        return counted(prod(shape), "instance")

    def _row(self, name: str, *means: Any) -> list[Any]:
        """A row of the summary."""
        total, aleatoric, epistemic = map(float, means)
        return [name, total, aleatoric, MISSING if self.n_members == 1 else epistemic]

    def _note(self) -> str:
        return "one member: the epistemic part is not known" if self.n_members == 1 else ""

    def _top(self, values: Array, n: int, by: str, label: str | None) -> Top:
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"`n` must be a positive number of instances; got {n!r}")
        check_choice(by, "by", PARTS)
        if by == "epistemic" and self.n_members == 1:
            raise ValueError("one member says nothing about epistemic uncertainty; use by='total'")
        flat = to_numpy(values).reshape(-1)
        chosen = np.arange(flat.size)
        if n < flat.size:  # equal values in the order of the instances
            chosen = np.flatnonzero(flat >= np.partition(flat, flat.size - n)[flat.size - n])
        chosen = chosen[np.argsort(-flat[chosen], kind="stable")][:n]
        return Top(chosen, flat[chosen], by, label, self.batch_shape, self.ids)

    def top(self, n: int = 20, *, by: str = "epistemic") -> Top:
        """The ``n`` instances with the highest uncertainty, highest first; equal ones in their
        order.
        """
        return self._top(getattr(self, by if by in PARTS else "total"), n, by, None)

    def to_frame(self, *, ids: Any = None, library: Library = "pandas") -> Any:
        """A row for each instance, as a data frame of pandas or polars; see
        `Uncertainty.to_frame`.
        """
        return instance_frame(self._rows(), self.batch_shape, library, ids=ids, known=self.ids)

    def to_xarray(self, *, dims: Sequence[str] | None = None) -> Any:
        """An `xarray.Dataset` of the three parts; see `Uncertainty.to_xarray`."""
        dims = _dims(self.batch_shape, dims)
        return xarray().Dataset({part: (dims, x) for part, x in self._parts().items()})

    def to_dict(self) -> dict[str, float]:
        """The mean of each part, for logs; without the epistemic one of a single member."""
        return _means_of(self._rows())

    def _summary(self) -> Summary:
        title = f"{type(self).__name__}: {self._instances()}, {dtype_name(self.total)}"
        means = self._means()
        if means is None:
            return Summary(title)
        return Summary(title, ("", *PARTS), [self._row("mean", *means)], self._note())


class LabelwiseResult(Result):
    """The same with one value per instance and label."""

    class_names: tuple[str, ...]
    loss: Any
    events: Any
    structure: Any
    _trailing = 1

    def sum(self, weights: Any = None) -> Any:
        raise NotImplementedError

    def __getitem__(self, name: Any) -> Any:
        raise NotImplementedError

    def top(self, n: int = 20, *, by: str = "epistemic", label: str | int | None = None) -> Top:
        """The ``n`` instances with the highest uncertainty about ``label``, or summed over the
        labels; equal ones in their order.

        A whole number is a label's name where all names are integers, else its position.

        >>> probs = np.array([[[0.9, 0.1], [0.5, 0.5], [0.9, 0.1]], [[0.9, 0.1], [0.5, 0.5], [0.3, 0.7]]])
        >>> u = lw.decompose(lw.Ensemble(probs, class_names=["nevus", "melanoma"]))
        >>> u.top(2, by="total", label="melanoma").indices
        array([1, 2])
        """  # noqa: E501
        name = None
        if label is not None:
            name = self.class_names[class_position(label, self.class_names, "label")]
        source = self.sum() if name is None else self[name]
        return self._top(getattr(source, by if by in PARTS else "total"), n, by, name)

    def to_frame(
        self,
        *,
        layout: Literal["wide", "long"] = "wide",
        ids: Any = None,
        y_pred: Any = None,
        y_true: Any = None,
        library: Library = "pandas",
    ) -> Any:
        """A data frame of pandas or polars.

        Parameters
        ----------
        layout : {"wide", "long"}
            A row for each instance, with the sums and a column for each part and label,
            ``epistemic.melanoma``; or a row for each instance and label.
        ids : array (...), optional
            What the instances are called, in column ``id``. Predictions from data frames have an
            index, which this frame has too (in polars: column ``id``). Without both there is their
            position ``instance``, or with D ≠ 1 axes of instances ``axis_0``, ``axis_1`` and so on.
        y_pred, y_true : array (...) or, for labels that may occur together, (..., K), optional
            Predicted and true classes, by name or position. A series with an index is matched to
            that of the predictions, if they have one.
        library : {"pandas", "polars"}

        Returns
        -------
        DataFrame
            The epistemic part of a single member, which is not known, is missing.

        Examples
        --------
        >>> u = lw.decompose(lw.Ensemble(np.array([[[0.9, 0.1]], [[0.7, 0.3]]]), class_names=["nevus", "melanoma"]), "squared")
        >>> print(u.to_frame(layout="long", y_true=["melanoma"]).round(3))
           instance    y_true     label  total  aleatoric  epistemic
        0         0  melanoma     nevus   0.16       0.15       0.01
        1         0  melanoma  melanoma   0.16       0.15       0.01
        """  # noqa: E501
        check_choice(layout, "layout", ("wide", "long"))
        k = len(self.class_names)
        ids, y_pred, y_true = same_rows(self, ids=ids, y_pred=y_pred, y_true=y_true)
        given = {"y_pred": y_pred, "y_true": y_true}
        classes = {name: self._classes(y, name) for name, y in given.items() if y is not None}
        parts = self._rows()
        columns: dict[str, np.ndarray] = {}
        if layout == "long":
            for name, y in classes.items():
                columns[name] = np.repeat(y, k) if y.ndim == 1 else y.reshape(-1)
            labels = np.asarray(self.class_names, dtype=object)
            columns["label"] = np.tile(labels, len(parts["total"]))
            columns |= {part: x.reshape(-1) for part, x in parts.items()}
        else:
            for name, y in classes.items():
                columns |= {name: y} if y.ndim == 1 else self._by_label({name: y})
            if self.structure != "overlapping":
                columns |= self.sum()._rows()
            columns |= self._by_label(parts)
        return instance_frame(
            columns,
            self.batch_shape,
            library,
            ids=ids,
            known=self.ids,
            repeat=k if layout == "long" else 1,
        )

    def _by_label(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """A column for each label of columns (N, K): ``total.melanoma``."""
        return {
            f"{name}.{label}": x[:, i]
            for name, x in columns.items()
            for i, label in enumerate(self.class_names)
        }

    def _classes(self, y: Any, name: str) -> np.ndarray:
        """Class names (N,); or, for labels that may occur together, whether each does (N, K)."""
        shape, k = self.batch_shape, len(self.class_names)
        given = to_numpy(columns_by_class(y, self.class_names, name))
        several = self.structure == "free" or self.events is not None
        if several and given.shape == (*shape, k) and given.dtype.kind in "biu":
            return np.asarray(given.reshape(-1, k).astype(bool))
        if self.events is None:
            names: np.ndarray = np.asarray(self.class_names, dtype=object)[
                as_labels(y, name, self.class_names, shape)
            ]
            return names
        if given.shape != shape:
            raise ValueError(
                f"`{name}` must have one class per instance, shape {shape}; got shape {given.shape}"
            )
        return np.asarray(given.reshape(-1))

    def to_xarray(self, *, dims: Sequence[str] | None = None, label_axis: int = -1) -> Any:
        """An `xarray.Dataset` of the three parts, with the labels as a coordinate.

        Parameters
        ----------
        dims : sequence of str, optional
            Names of the axes of instances; by default ``instance``, or ``axis_0``, ``axis_1`` and
            so on.
        label_axis : int
            Where the labels go: last as in the arrays, or for instance 1 to keep the order of
            channel-first images.

        Examples
        --------
        >>> u = lw.decompose(lw.Ensemble(np.full((2, 4, 8, 8, 3), 1 / 3)))
        >>> dict(u.to_xarray(dims=("case", "y", "x"), label_axis=1).sizes)
        {'case': 4, 'label': 3, 'y': 8, 'x': 8}
        """
        names = _dims(self.batch_shape, dims)
        d = len(names)
        if (
            isinstance(label_axis, bool)
            or not isinstance(label_axis, int)
            or not -d - 1 <= label_axis <= d
        ):
            raise ValueError(
                f"`label_axis` must be a position among the {d + 1} axes; got {label_axis!r}"
            )
        at = label_axis % (d + 1)
        names = (*names[:at], "label", *names[at:])
        parts = {part: (names, np.moveaxis(x, -1, at)) for part, x in self._parts().items()}
        return xarray().Dataset(parts, coords={"label": list(self.class_names)})

    def to_dict(self) -> dict[str, float]:
        """Mean over the instances of each part: ``total`` (the sum over labels) and
        ``total.melanoma``, for JSON and experiment trackers.

        Keys hold letters, digits, spaces and ``_ - .`` only, as MLflow asks; other characters
        become ``_``. The epistemic part of a single member, which is not known, is left out.

        >>> u = lw.decompose(lw.Ensemble(np.array([[[0.9, 0.1]], [[0.7, 0.3]]]), class_names=["a/b", "c"]), "squared")
        >>> {key: round(value, 3) for key, value in u.to_dict().items() if "total" in key}
        {'total': 0.32, 'total.a_b': 0.16, 'total.c': 0.16}
        """  # noqa: E501
        means = {} if self.structure == "overlapping" else self.sum().to_dict()
        keys = _safe(self.class_names)
        columns = {
            f"{part}.{key}": x[:, i]
            for part, x in self._rows().items()
            for i, key in enumerate(keys)
        }
        return means | _means_of(columns)

    def _summary(self) -> Summary:
        title = (
            f"Uncertainty: {self._instances()} × {counted(len(self.class_names), 'label')}, "
            f"{self.loss}, {dtype_name(self.total)}"
        )
        means = self._means()
        if means is None:
            return Summary(f"{title}: {first_names(self.class_names)}")
        order = np.argsort(-means[0], kind="stable")[:SHOWN]
        rows = [self._row(self.class_names[i], *(mean[i] for mean in means)) for i in order]
        left = len(self.class_names) - len(rows)
        notes = [self._note(), f"… and {left:,} labels with lower means" if left else ""]
        return Summary(title, ("mean of", *PARTS), rows, "; ".join(note for note in notes if note))


def _dims(shape: tuple[int, ...], dims: Sequence[str] | None) -> tuple[str, ...]:
    if dims is None:
        return ("instance",) if len(shape) == 1 else tuple(f"axis_{i}" for i in range(len(shape)))
    if isinstance(dims, str) or len(dims) != len(shape) or len({*dims, "label"}) != len(shape) + 1:
        raise ValueError(
            f"`dims` must name the {len(shape)} axes of instances, with different names other than "
            f"'label'; got {dims!r}"
        )
    return tuple(map(str, dims))


def _means_of(columns: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The mean of each column that has no missing values."""
    if any(not len(x) for x in columns.values()):
        raise ValueError("there are no instances, so there is no mean")
    means = {key: float(np.mean(x, dtype=float)) for key, x in columns.items()}
    return {key: mean for key, mean in means.items() if not np.isnan(mean)}


def _safe(names: Sequence[str]) -> list[str]:
    """Different names of letters, digits, spaces and ``_ - .`` only, not too long for a key."""
    found: dict[str, None] = {}
    for name in names:
        plain = new = re.sub(r"[^\w.\- ]", "_", name)[:200] or "_"
        number = 1
        while new in found:
            number += 1
            new = f"{plain}_{number}"
        found[new] = None
    return list(found)
