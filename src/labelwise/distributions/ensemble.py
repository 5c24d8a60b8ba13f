"""Ensembles: a second-order distribution given by the predictions of M members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import is_dask_array, is_numpy_array

from .._arrays import (
    Array,
    ClassNames,
    Names,
    at_most_one,
    index_like,
    namespace,
    softmax,
    to_numpy,
    values_known,
    widen,
)
from .._engine.blocks import in_one_chunk
from .._engine.compute import Computed
from .._engine.ensembles import split_ensemble_in_kernel
from .._errors import InputError
from .._validation.arguments import Rng, as_rng, check_count
from .._validation.arrays import check_classes, check_finite, members_first, normalized_weights
from .._validation.labels import check_names
from .._validation.probabilities import check_logits, check_probabilities
from ..events import Events, Family, as_events
from ..losses import Loss
from ..sources import Factors, as_factors, as_member_names
from .base import (
    ArrayOf,
    ArrayT,
    Distribution,
    InArrays,
    not_a_distribution,
)
from .marginals import Atoms
from .marginals.atoms import atoms_of_events
from .named_predictions import read_names


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Members(InArrays[ArrayT]):
    """What ensembles with and without the sum to 1 have in common; subclasses say what an event is
    (`law`).
    """

    stored: Array
    """The predictions as they came, (M, ..., K); see `probs`."""
    weights: Any
    class_names: Names | None
    factors: Factors | None
    member_names: Names | None = None
    ids: Any = None
    finite: ClassVar[bool] = True
    _arrays: ClassVar[Names] = ("stored",)

    def __init__(
        self,
        probs: ArrayOf[ArrayT] | Sequence[Any] | Mapping[str, Any],
        *,
        weights: Any = None,
        member_axis: int | None = None,
        class_axis: int = -1,
        class_names: ClassNames | None = None,
        factors: Mapping[str, Sequence[Any]] | None = None,
        member_names: Sequence[str] | None = None,
    ) -> None:
        ids = None
        # an array of NumPy has no names
        if type(probs) is not np.ndarray:  # type: ignore[comparison-overlap]
            given = read_names(
                probs, "probs", class_names, member_axis=member_axis, class_axis=class_axis
            )
            probs, member_axis, class_axis, class_names, ids, _ = given
            weights = given.weights(weights)
            member_names = given.names_of_members(member_names)
        stored = members_first(probs, "probs", member_axis, class_axis)
        check_classes(stored, "probs", exclusive=self.exclusive)
        check_probabilities(stored, "probs", sum_to_one=self.exclusive)
        if weights is not None:
            weights = normalized_weights(weights, stored)
        if class_names is not None:
            class_names = check_names(class_names, stored.shape[-1])
        if factors is not None:
            factors = as_factors(factors, int(stored.shape[0]))
        if member_names is not None or factors is not None:
            member_names = as_member_names(member_names, int(stored.shape[0]), factors)
        vars(self).update(
            stored=stored,
            weights=weights,
            class_names=class_names,
            factors=factors,
            member_names=member_names,
            ids=ids,
        )

    @classmethod
    def from_logits(
        cls,
        logits: Any,
        *,
        weights: Any = None,
        member_axis: int | None = None,
        class_axis: int = -1,
        class_names: ClassNames | None = None,
        factors: Mapping[str, Sequence[Any]] | None = None,
        member_names: Sequence[str] | None = None,
    ) -> Self:
        """An ensemble from network outputs before the softmax, or before the sigmoid of labels that
        may occur together; same options as the class.

        Before a softmax, a logit of −∞ stands for a class that a member rules out. Probabilities
        are refused, or a warning names what looks like them: a second softmax would level them.

        >>> lw.Ensemble.from_logits(np.array([[[1000.0, 0.0]]])).mean()
        array([[1., 0.]])
        >>> lw.MultiLabelEnsemble.from_logits(np.array([[[0.0, 1000.0]]])).mean()
        array([[0.5, 1. ]])
        """
        given = read_names(
            logits, "logits", class_names, member_axis=member_axis, class_axis=class_axis
        )
        z = members_first(given.values, "logits", given.member_axis, given.class_axis)
        check_classes(z, "logits", exclusive=cls.exclusive)
        check_logits(z, exclusive=cls.exclusive)
        q = cls(
            cls.probabilities_of(z),
            weights=given.weights(weights),
            member_axis=0,
            class_names=given.class_names,
            factors=factors,
            member_names=given.names_of_members(member_names),
        )
        return q.with_values(ids=given.ids)

    @staticmethod
    def probabilities_of(logits: Array) -> Array:
        """The probabilities that logits (M, ..., K) stand for."""
        raise NotImplementedError

    @property
    def probs(self) -> ArrayT:
        """Class probabilities (M, ..., K) in the type that is computed with: float16 and bfloat16
        as float32.
        """
        return widen(self.stored)

    @property
    def n_members(self) -> int:
        return int(self.stored.shape[0])

    @property
    def members(self) -> tuple[Array, Array | None]:
        return self.probs, self.weights

    def with_valid_values(self) -> Self:
        check_probabilities(self.stored, "probs", sum_to_one=self.exclusive)
        return self

    def fast(
        self, loss: Loss, events: Events | None, n_jobs: int | None, *, labelwise: bool = True
    ) -> Computed | None:
        return split_ensemble_in_kernel(self, loss, events, n_jobs, labelwise=labelwise)

    def law(self, probs: Array, weights: Array | None, events: Events | None) -> Atoms:
        """The law of each event's probability for predictions ``probs`` of the same classes."""
        raise NotImplementedError

    def marginal(self, events: Family | None = None) -> Atoms:
        """The law of each event's probability."""
        probs: Any = self.probs
        if isinstance(probs, np.ndarray):
            probs = np.ascontiguousarray(probs)  # the same bits for every layout
        return self.law(at_most_one(probs), self.weights, as_events(events))

    def sample(self, n: int, *, rng: Rng = None) -> ArrayT:
        """``n`` draws of Θ, shape (n, ..., K): members drawn by weight, independently for each
        instance.
        """
        return draw_members(self.probs, self.weights, n, as_rng(rng))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Ensemble(Members[ArrayT]):
    r"""The predictions of M members: Q = Σ_m w_m δ_{probs[m]}.

    Parameters
    ----------
    probs : array (M, ..., K), or sequence or mapping of data frames
        Class probabilities, members first and classes last, as ``np.stack([m.predict_proba(X) for m
        in models])`` gives them. They must sum to 1 and are never renormalized. float16 and
        bfloat16 are widened to float32. Values are validated here, those of Dask arrays in the
        tasks that compute with them.
    weights : array (M,) or (M, ...), optional
        Weights of the members (for all, or for each instance), used in every expectation. They need
        not sum to 1.
    member_axis, class_axis : int
        Where the members and classes are, if not first and last; the array is viewed, not copied,
        where that is possible. Two-dimensional input is accepted only with ``member_axis``.
    class_names : sequence of str, or mapping from positions to names, optional
        Class names.
    factors : mapping, optional
        What distinguishes the members: for each factor, such as ``"prompt"`` and ``"model"``, the
        level of each member, for `Uncertainty.sources`.
    member_names : sequence of str, optional
        What the members are called in tables and sentences. Defaults to the keys of a mapping, the
        coordinate of xarray, or the levels of ``factors``.

    Notes
    -----
    Data frames of pandas and polars and arrays of xarray are matched by name, not by position: the
    classes by their columns, the instances by their index (in polars by a column of text), in the
    order of the first member. Names or rows that only some members have are refused. Columns and
    rows that are only numbered from 0 are positions. ``class_names`` must then be the names of the
    columns, and their order is that of the result. `ids` is the index.

    Examples
    --------
    >>> q = Ensemble(np.array([[[0.9, 0.1]], [[0.7, 0.3]]]), class_names=["healthy", "ill"])
    >>> q.mean()
    array([[0.8, 0.2]])

    >>> import pandas as pd
    >>> first = pd.DataFrame({"healthy": [0.9, 0.4], "ill": [0.1, 0.6]}, index=["p1", "p2"])
    >>> second = pd.DataFrame({"ill": [0.8, 0.3], "healthy": [0.2, 0.7]}, index=["p2", "p1"])
    >>> q = Ensemble({"net": first, "forest": second})
    >>> q.mean().round(2), q.class_names, q.member_names
    (array([[0.8, 0.2],
           [0.3, 0.7]]), ('healthy', 'ill'), ('net', 'forest'))
    """

    @staticmethod
    def probabilities_of(logits: Array) -> Array:
        return softmax_of_members(logits)

    def law(self, probs: Array, weights: Array | None, events: Events | None) -> Atoms:
        return atoms_of_events(probs, weights, events, self.class_names)


def as_distribution(q: Any) -> Distribution:
    """A distribution as it is; an array of probabilities (M, ..., K) as an `Ensemble`."""
    if isinstance(q, Distribution):
        return q
    if isinstance(q, list | tuple | Mapping) or (hasattr(q, "shape") and not isinstance(q, type)):
        return Ensemble(q)
    raise not_a_distribution(q)


def softmax_of_members(logits: Array) -> Array:
    """The probabilities that ``logits`` (M, ..., K) stand for; of a Dask array in tasks."""
    if not is_dask_array(logits):
        return _checked_softmax_of_members(logits)
    kind = widen(logits[:0, ...]).dtype
    return in_one_chunk(logits, [-1], "logits").map_blocks(
        _checked_softmax_of_members, dtype=kind, meta=np.empty((0,) * logits.ndim, kind)
    )


def _checked_softmax_of_members(logits: Array) -> Array:
    """The probabilities that ``logits`` (M, ..., K) stand for, after these have been checked."""
    if 0 in logits.shape:
        return widen(logits)
    xp = namespace(logits)
    largest = xp.max(logits, axis=-1, keepdims=True)
    if values_known(logits) and not xp.all(xp.isfinite(largest)):
        check_finite(
            xp.where(xp.isinf(logits) & (logits < 0), xp.zeros_like(logits), logits), "logits"
        )
        raise InputError(
            "`logits` must leave at least one class possible; got −∞ for all classes of some "
            "instance"
        )
    if not is_numpy_array(logits):
        return softmax(widen(logits))
    probs = np.empty_like(logits, widen(logits[:0]).dtype)
    for i, member in enumerate(logits):  # what is held beside the result is small
        probs[i] = softmax(np.array(member, probs.dtype))
    return probs


def draw_members(probs: Array, weights: Array, n: int, rng: np.random.Generator) -> Array:
    """Rows of ``probs`` (M, ..., K) drawn by weight, (n, ..., K)."""
    if is_dask_array(probs):
        raise TypeError(
            "`sample` draws from values in memory; got a Dask array. Compute it first: "
            "lw.Ensemble(probs.compute())"
        )
    xp = namespace(probs)
    batch = tuple(probs.shape[1:-1])
    uniform = rng.random((check_count(n), *batch))
    if weights is None:
        index = np.floor(uniform * probs.shape[0]).astype(np.int64)
    else:
        w = to_numpy(weights).astype(float)
        cumulative = np.cumsum(w.reshape(w.shape + (1,) * (1 + len(batch) - w.ndim)), axis=0)
        index = np.minimum(
            (uniform[:, None] * cumulative[-1] >= cumulative).sum(axis=1), probs.shape[0] - 1
        )
    return xp.take_along_axis(probs, index_like(index, probs)[..., None], axis=0)
