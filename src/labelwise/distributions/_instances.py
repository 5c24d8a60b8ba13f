"""A distribution cut into blocks of instances: one after another (NumPy), or each a task that is run when it is asked for (Dask).

So no temporary is large. Of Dask arrays only shapes and types are checked at the door; the values are checked in the tasks, which
compute with NumPy what `decompose` would.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import partial
from math import prod
from operator import getitem
from typing import Any

import numpy as np
from array_api_compat import is_dask_array, is_numpy_array

from .._arrays import Array
from ._checks import set_fields
from .dirichlet import Dirichlet, DirichletMixture, check_alpha
from .ensemble import Ensemble, Members
from .logistic_normal import REPLICATES, LogisticNormal
from .multilabel import MultiLabelEnsemble

Distribution = Ensemble | Dirichlet | DirichletMixture | LogisticNormal | MultiLabelEnsemble
_CALLED = {"stored": "probs", "loc": "mean"}


AT_ONCE = 1 << 18
"""Numbers that are held for a block of instances; some dozen arrays of that size are made."""


def is_lazy(q: Distribution) -> bool:
    """Whether the values of ``q`` are in a Dask graph."""
    return any(is_dask_array(x) for x in vars(q).values())


def is_large(q: Distribution) -> bool:
    """Whether ``q`` is of NumPy arrays and has more instances than should be computed at once; ensembles see to that themselves."""
    if isinstance(q, Members):
        return False
    main = q.loc if isinstance(q, LogisticNormal) else q.alpha
    return bool(is_numpy_array(main)) and prod(main.shape[_members(q) : -1]) > _rows(q)


def _rows(q: Distribution) -> int:
    """How many instances of ``q`` to compute at once."""
    width = q.n_classes * (q.n_members if isinstance(q, DirichletMixture) else 1)
    if isinstance(q, LogisticNormal):  # all points twice, with the products that make correlated logits
        width *= 2 * REPLICATES * q.points * (1 if q.cov.ndim == q.loc.ndim else q.n_classes)
    return max(1, AT_ONCE // width)


def of_no_instances(q: Distribution) -> Distribution:
    """``q`` for an empty batch, in NumPy: what can be known of a result before any value is."""
    arrays, batch = _arrays(q)
    first = _members(q)
    empty = {}
    for key, x in arrays.items():
        own = _has_instances(x, first, batch)
        shape = (*x.shape[:first], 0, *x.shape[first + batch :]) if own else x.shape
        empty[key] = np.full(shape, 1 / shape[0] if key == "weights" else 1, x.dtype)
    return _made(type(q), _others(q, arrays) | empty)


def map_instances(f: Callable[[Distribution], tuple[np.ndarray, ...]], q: Distribution, like: Sequence[np.ndarray]) -> tuple[Array, ...]:
    """The arrays that ``f`` makes of ``q``; ``like`` shows their types and, after the first axis, their shapes."""
    return _in_tasks(f, q, like) if is_lazy(q) else _in_blocks(f, q, like)


def _in_blocks(f: Callable[[Distribution], tuple[np.ndarray, ...]], q: Distribution, like: Sequence[np.ndarray]) -> tuple[Array, ...]:
    arrays, batch = _arrays(q)
    first = _members(q)
    own = {key: x for key, x in arrays.items() if _has_instances(x, first, batch)}
    shape = next(iter(own.values())).shape[first : first + batch]
    before = (slice(None),) * first
    flat, step = own, 0  # one index of the first axis after another
    try:
        flat = {key: x.reshape((*x.shape[:first], -1, *x.shape[first + batch :]), copy=False) for key, x in own.items()}
        step, shape = _rows(q), (prod(shape),)
    except ValueError:  # the instances have no common stride
        pass
    results = [np.empty((*shape, *example.shape[1:]), example.dtype) for example in like]
    for i in range(0, shape[0], step or 1):
        where: Any = slice(i, i + step) if step else i
        block = _made(type(q), _others(q, own) | {key: x[(*before, where)] for key, x in flat.items()})
        for result, part in zip(results, f(block), strict=True):
            result[where] = part
    batch_shape = next(iter(own.values())).shape[first : first + batch]
    return tuple(result.reshape((*batch_shape, *result.shape[len(shape) :])) for result in results)


def _in_tasks(f: Callable[[Distribution], tuple[np.ndarray, ...]], q: Distribution, like: Sequence[np.ndarray]) -> tuple[Array, ...]:
    import dask.array as da

    arrays, batch = _arrays(q)
    arrays = {key: da.asarray(x) for key, x in arrays.items()}
    first = _members(q)
    instances = tuple(range(batch))
    fresh = batch
    operands: list[Any] = []
    for key, x in arrays.items():
        after = first + batch if _has_instances(x, first, batch) else first
        others = [axis for axis in range(x.ndim) if not first <= axis < after]
        labels = list(range(fresh, fresh + len(others)))
        fresh += len(others)
        operands += [whole(x, others, _CALLED.get(key, key), stacklevel=6), (*labels[:first], *instances[: after - first], *labels[first:])]
    task = partial(_of_block, f, type(q), _others(q, arrays), tuple(arrays))
    blocks = da.blockwise(task, instances, *operands, name=None, dtype=object, meta=np.empty((0,) * batch, object))
    results = []
    for i, example in enumerate(like):
        new = {fresh + j: size for j, size in enumerate(example.shape[1:])}
        meta = np.empty((0,) * (batch + len(new)), example.dtype)
        results.append(da.blockwise(getitem, (*instances, *new), blocks, instances, i, None, new_axes=new, dtype=example.dtype, meta=meta))
    return tuple(results)


def whole(x: Array, axes: Iterable[int], name: str, *, stacklevel: int = 3) -> Array:
    """``x`` with each of the ``axes`` (of members and classes) in one chunk."""
    axes = [axis % x.ndim for axis in axes]
    if all(len(x.chunks[axis]) == 1 for axis in axes):
        return x
    warnings.warn(
        f"`{name}` is split over its members or classes, in chunks of {tuple(chunks[0] for chunks in x.chunks)}; they are put together "
        "first, which moves all of the data. Chunk it over the instances only, for example with "
        f"{name}.rechunk({{{', '.join(f'{axis}: -1' for axis in axes)}}})",
        stacklevel=stacklevel,
    )
    known = not any(np.isnan(size) for size in x.shape)
    return x.rechunk({axis: -1 if axis in axes else "auto" for axis in (range(x.ndim) if known else axes)})


def _of_block(
    f: Callable[[Distribution], tuple[np.ndarray, ...]],
    kind: type[Distribution],
    others: dict[str, Any],
    keys: tuple[str, ...],
    *blocks: Any,
) -> tuple[np.ndarray, ...]:
    """What ``f`` makes of one block of instances, after its values have been checked."""
    arrays = {}
    for key, block in zip(keys, blocks, strict=True):
        while isinstance(block, list):  # one level for each axis that is whole
            (block,) = block
        arrays[key] = np.asarray(block)
    return f(_checked(_made(kind, others | arrays)))


def _made(kind: type[Distribution], values: dict[str, Any]) -> Distribution:
    """A distribution from its fields, as they are."""
    q: Distribution = object.__new__(kind)
    set_fields(q, **values)
    return q


def _checked(q: Distribution) -> Distribution:
    """``q`` if its values are those of a distribution; its shapes are known to be. Ensembles are checked in the pass that computes."""
    if isinstance(q, Dirichlet | DirichletMixture):
        check_alpha(q.alpha)
    elif isinstance(q, LogisticNormal):
        LogisticNormal(q.loc, q.cov, points=q.points)
    else:
        set_fields(q, pending=True)
    return q


def _members(q: Distribution) -> int:
    """How many axes come before those of the instances."""
    return int(hasattr(q, "n_members"))


def _arrays(q: Distribution) -> tuple[dict[str, Array], int]:
    """The arrays of ``q`` by name, and how many instance axes they have."""
    arrays = {field.name: x for field in fields(q) if hasattr(x := getattr(q, field.name), "ndim")}
    main = next(iter(arrays.values()))
    return arrays, main.ndim - 1 - _members(q)


def _others(q: Distribution, arrays: dict[str, Array]) -> dict[str, Any]:
    """The fields of ``q`` that are not arrays."""
    return {field.name: getattr(q, field.name) for field in fields(q) if field.name not in arrays}


def _has_instances(x: Array, first: int, batch: int) -> bool:
    """Whether ``x`` has the axes of the instances: weights may be one for each member, for all."""
    return bool(x.ndim >= first + batch)
