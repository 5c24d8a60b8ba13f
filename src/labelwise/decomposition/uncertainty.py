"""The label-wise result: arrays for each instance and label, their sums, tables and sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, overload

import numpy as np

from .._arrays import Array, Names, dtype_name, like, namespace, to_numpy
from .._errors import InputError, suggest
from .._frames import (
    Columns,
    Library,
    columns_by_class,
    ids_at,
    import_xarray,
    instance_frame,
    same_rows,
    values_by_class,
)
from .._tables import SHOWN, Summary, counted, first_names, instances_in_words
from .._validation.arguments import Rng, check_choice
from .._validation.arrays import as_real, check_axis
from .._validation.labels import as_labels, class_position
from ..distributions.base import ArrayT, instance_index
from ..distributions.marginals import Atoms
from ..events import Events, Structure
from ..losses import Loss
from ..sources import Sources, find_sources
from .results import (
    PARTS,
    Components,
    Result,
    Top,
    axis_names,
    mean_columns,
    tracker_keys,
)

Basis = Literal["mean", "forecast", "intervals"]
INTERVAL_SUMS = (
    "sums over the labels of intervals: of total, epistemic and regret upper bounds, of aleatoric "
    "a lower bound"
)


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty(Result[ArrayT]):
    """Label-wise uncertainty: arrays of shape (..., K), or (..., E) for E events.

    ``u["melanoma"]`` picks a label, ``u[mask]`` and ``u[3:9]`` instances; `sum` sums over the
    labels, `normalized` divides by the largest possible value. `to_frame`, `to_xarray`, `to_dict`
    and `top` give tables.
    """

    class_names: Names
    loss: Loss
    events: Events | None = None
    structure: Structure = "partition"
    """How the labels or events relate, which determines whether a plain sum is meaningful."""
    sums: Components[ArrayT] | None = None
    """The plain sums, if computed along with the labels' values."""
    unit: Array = 1.0
    """Divisor of the values: 1, or after `normalized` the largest value of each label."""
    ensemble: Any = None
    """The ensemble, if its members have named factors; see `sources`."""
    basis: Basis = "mean"
    """What the values are about: the mean as the forecast, another one, or intervals."""

    _trailing: ClassVar[int] = 1

    @property
    def maximum(self) -> np.ndarray:
        """The largest possible total of the mean as the forecast, of each label, (K,) or (E,)."""
        return self.loss.maximum / self.unit + np.zeros(len(self.class_names))

    @overload
    def __getitem__(self, key: str) -> Components[ArrayT]: ...
    @overload
    def __getitem__(self, key: Any) -> Uncertainty[ArrayT]: ...
    def __getitem__(self, key: Any) -> Any:
        """The uncertainty about one label or event, by name; or of some instances, by an index for
        their axes (...).
        """
        if isinstance(key, str):
            if key not in self.class_names:
                raise KeyError(f"no label {key!r}{suggest(key, self.class_names)}")
            k = self.class_names.index(key)
            return self._components_of(lambda x: x[..., k])
        if isinstance(key, list) and any(isinstance(name, str) for name in key):
            raise InputError(
                f"labels are picked one by one, such as u[{key[0]!r}]; all are columns of "
                "u.to_frame()"
            )
        i = instance_index(key, len(self.batch_shape))
        new = self._parts_mapped(lambda x: x[(*i, slice(None))])
        for name in ("sums", "ensemble"):
            if getattr(self, name) is not None:
                new[name] = getattr(self, name)[i]
        return replace(self, **new, ids=ids_at(self.ids, i))

    def _components_of(self, f: Callable[[Any], Any]) -> Components[ArrayT]:
        """``f`` of the three parts, one value per instance."""
        return Components(**self._parts_mapped(f), n_members=self.n_members, ids=self.ids)

    def sum(
        self, weights: Sequence[float] | Mapping[str, float] | None = None
    ) -> Components[ArrayT]:
        r"""Global uncertainty :math:`\sum_k w_k\, \mathrm{TU}_k` and so on, Eqs. (12)–(14); weights
        for unequal costs.
        """
        if weights is None and self.structure == "overlapping":
            raise InputError(
                f"these events ({first_names(self.class_names, 4)}) overlap, so a plain sum counts "
                "classes more than once. Pass `weights`, one per event"
            )
        if weights is None and self.sums is not None:
            return replace(self.sums, n_members=self.n_members, ids=self.ids)
        w = None if weights is None else self._label_weights(weights)

        def add(x: Array) -> Array:
            if w is not None:
                x = x * like(w, x)
            return namespace(x).sum(x, axis=-1)

        summed = self._components_of(add)
        if self.basis == "intervals":
            return replace(summed, note=INTERVAL_SUMS)
        return summed

    def _label_weights(self, weights: Any) -> np.ndarray:
        weights = values_by_class(weights, self.class_names, "weights")
        w = to_numpy(as_real(weights, "weights", integers=True)).astype(float)
        if w.shape != (len(self.class_names),):
            raise InputError(
                f"`weights` must have one value per label, shape ({len(self.class_names)},); got "
                f"shape {w.shape}"
            )
        if not np.all(np.isfinite(w)) or np.any(w < 0):
            raise InputError(
                f"`weights` must be finite and not negative; got {w[~(w >= 0) | np.isinf(w)][0]:g}"
            )
        return w

    def sources(self, *, n_permutations: int = 999, rng: Rng = None) -> Sources:
        r"""Where the members' disagreement comes from: main effects of the ensemble's ``factors``,
        their interaction, and replicates.

        .. math::
            \mathrm{main}_A = G(\bar\theta) - \mathbb{E}_A\, G(\bar\theta_A)

        with the mean :math:`\bar\theta_A` over all members of a level. The interaction is the rest;
        all add up to the epistemic uncertainty. For log and squared loss and one factor or a
        complete crossing of two. Where cells' weights are not products of their levels' weights,
        each cell weighs the same, with a warning. Variance components and permutation tests, both
        of the means of cells' members, tell effects from noise.

        Parameters
        ----------
        n_permutations : int
            Random permutations for the p-values, where there are more; else all of them are used.
        rng : int, Generator or None
            Random seed or generator of the permutations.

        Examples
        --------
        >>> probs = np.array([[[0.9, 0.1]], [[0.7, 0.3]], [[0.8, 0.2]], [[0.6, 0.4]]])
        >>> q = lw.Ensemble(probs, factors={"prompt": list("aabb"), "model": list("xyxy")})
        >>> s = lw.decompose(q, "squared").sources(rng=0)
        >>> s.names, s.means.sum(axis=1).round(4) + 0
        (('prompt', 'model', 'interaction'), array([0.005, 0.02 , 0.   ]))
        """
        if self.ensemble is None:
            raise InputError(
                "`sources` needs named factors, such as lw.Ensemble(probs, factors={'prompt': "
                "[...], 'model': [...]}), without `correction` and `forecast`"
            )
        found = find_sources(
            numpy_law(self.ensemble, self.events),
            self.ensemble.factors,
            self.loss,
            self.class_names,
            n_permutations=n_permutations,
            rng=rng,
        )
        by_level = {name: values / self.unit for name, values in found.level_values.items()}
        return replace(found, values=found.values / self.unit, level_values=by_level)

    def normalized(self) -> Uncertainty[ArrayT]:
        """Divide by the largest possible label-wise value, max G."""
        if self.basis == "forecast":
            raise InputError(
                "`normalized` divides by the largest total of the mean, which that of another "
                "`forecast` may exceed. Normalize lw.decompose without `forecast`"
            )
        if np.any(self.maximum == 0):
            name = self.class_names[np.argmin(self.maximum)]
            raise InputError(
                f"`normalized` divides by the largest value of each label, which is 0 for {name!r} "
                "because one of its costs is 0"
            )
        return replace(
            self,
            **self._parts_mapped(lambda x: x / like(self.maximum, x)),
            sums=None,
            unit=self.loss.maximum + np.zeros(len(self.class_names)),
        )

    def top(self, n: int = 20, *, by: str = "epistemic", label: str | int | None = None) -> Top:
        """The ``n`` instances with the highest uncertainty about ``label``, or summed over the
        labels; equal ones in their order.

        A whole number is a label's name where all names are integers, else its position.

        >>> melanoma = np.array([[0.1, 0.5, 0.1], [0.1, 0.5, 0.7]])  # two members, three cases
        >>> probs = np.stack([1 - melanoma, melanoma], axis=-1)
        >>> u = lw.decompose(lw.Ensemble(probs, class_names=["nevus", "melanoma"]))
        >>> u.top(2, by="total", label="melanoma").indices
        array([1, 2])
        """
        if label is None:
            return self.sum().top(n, by=by)
        name = self.class_names[class_position(label, self.class_names)]
        return replace(self[name].top(n, by=by), label=name)

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
        >>> probs = np.array([[[0.9, 0.1]], [[0.7, 0.3]]])
        >>> q = lw.Ensemble(probs, class_names=["nevus", "melanoma"])
        >>> u = lw.decompose(q, "squared")
        >>> print(u.to_frame(layout="long", y_true=["melanoma"]).round(3))
           instance    y_true     label  total  aleatoric  epistemic
        0         0  melanoma     nevus   0.16       0.15       0.01
        1         0  melanoma  melanoma   0.16       0.15       0.01
        """
        check_choice(layout, "layout", ("wide", "long"))
        k = len(self.class_names)
        ids, y_pred, y_true = same_rows(self, ids=ids, y_pred=y_pred, y_true=y_true)
        columns = {}
        for name, y in (("y_pred", y_pred), ("y_true", y_true)):
            if y is not None:
                columns[name] = self._class_columns(y, name)
        parts = self._parts_by_instance()
        if layout == "long":
            for name, y in columns.items():
                columns[name] = np.repeat(y, k) if y.ndim == 1 else y.reshape(-1)
            labels = np.asarray(self.class_names, dtype=object)
            columns["label"] = np.tile(labels, len(parts["total"]))
            for part, x in parts.items():
                columns[part] = x.reshape(-1)
            return instance_frame(
                columns, self.batch_shape, library, ids=ids, known=self.ids, repeat=k
            )
        columns = label_columns(columns, self.class_names)
        if self.structure != "overlapping":
            columns |= self.sum()._parts_by_instance()
        columns |= label_columns(parts, self.class_names)
        return instance_frame(columns, self.batch_shape, library, ids=ids, known=self.ids)

    def _class_columns(self, y: Any, name: str) -> np.ndarray:
        """Class names (N,); or, for labels that may occur together, whether each does (N, K)."""
        shape, k = self.batch_shape, len(self.class_names)
        given = to_numpy(columns_by_class(y, self.class_names, name))
        several = self.structure == "free" or self.events is not None
        if several and given.shape == (*shape, k) and given.dtype.kind in "biu":
            return given.reshape(-1, k).astype(bool)
        if self.events is None:
            positions = as_labels(y, name, self.class_names, shape)
            return np.asarray(self.class_names, dtype=object)[positions]
        if given.shape != shape:
            raise InputError(
                f"`{name}` must have one class per instance, shape {shape}; got shape {given.shape}"
            )
        return given.reshape(-1)

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
        names = list(axis_names(self.batch_shape, dims))
        at = check_axis(label_axis, "label_axis", "u", len(names) + 1)
        names.insert(at, "label")
        parts = {}
        for part, x in self._parts_in_numpy().items():
            parts[part] = names, np.moveaxis(x, -1, at)
        return import_xarray().Dataset(parts, coords={"label": list(self.class_names)})

    def to_dict(self) -> dict[str, float]:
        """Mean over the instances of each part: ``total`` (the sum over labels) and
        ``total.melanoma``, for JSON and experiment trackers.

        Keys hold letters, digits, spaces and ``_ - .`` only, as MLflow asks; other characters
        become ``_``. The epistemic part of a single member, which is not known, is left out.

        >>> q = lw.Ensemble(np.array([[[0.9, 0.1]], [[0.7, 0.3]]]), class_names=["a/b", "c"])
        >>> u = lw.decompose(q, "squared")
        >>> {key: round(value, 3) for key, value in u.to_dict().items() if "total" in key}
        {'total': 0.32, 'total.a_b': 0.16, 'total.c': 0.16}
        """
        means = {}
        if self.structure != "overlapping":
            means = self.sum().to_dict()
        return means | mean_columns(
            label_columns(self._parts_by_instance(), tracker_keys(self.class_names))
        )

    def _summary(self) -> Summary:
        labels = counted(len(self.class_names), "label")
        size = f"{instances_in_words(self.batch_shape)} × {labels}"
        title = f"Uncertainty: {size}, {self.loss}, {dtype_name(self.total)}"
        means = self._means_over_instances()
        if means is None:
            return Summary(f"{title}: {first_names(self.class_names)}")
        rows = []
        for i in np.argsort(-means[0], kind="stable")[:SHOWN]:
            rows.append([self.class_names[i], *means[:, i]])
        notes = self._summary_notes()
        left = len(self.class_names) - len(rows)
        if left:
            notes.append(f"… and {left:,} labels with lower means")
        return Summary(title, ("mean of", *PARTS), rows, "; ".join(notes))


def label_columns(columns: Columns, labels: Sequence[str]) -> Columns:
    """Columns (N,) as they are, and of those (N, K) one for each label: ``total.melanoma``."""
    single = {}
    for name, x in columns.items():
        if x.ndim == 1:
            single[name] = x
        else:
            for k, label in enumerate(labels):
                single[f"{name}.{label}"] = x[:, k]
    return single


def numpy_law(q: Any, events: Events | None) -> Atoms:
    """The law of the events under an ensemble, in NumPy and double precision."""
    law = q.marginal(events)
    arrays = {}
    for name in ("t", "weights", "complement"):
        x = getattr(law, name)
        if x is not None:
            arrays[name] = to_numpy(x).astype(float)
    return Atoms(**arrays)
