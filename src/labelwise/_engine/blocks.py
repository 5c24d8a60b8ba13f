"""A distribution cut into blocks of instances: one after another (NumPy), or each a task that runs
when it is asked for (Dask).

Dask arrays are validated twice: shapes and types when the distribution is made, values in the
tasks, which compute with NumPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from operator import getitem
from typing import Any, TypeVar, cast

import numpy as np
from array_api_compat import is_dask_array

from .._arrays import Array

Q = TypeVar("Q")
_ARGUMENTS = {"stored": "probs", "loc": "mean"}
"""What users call the arrays of a distribution, where it is not the name of the field."""


def library_of(q: Any) -> str:
    """Where the values of ``q`` are: "numpy", in a "dask" graph, or "other"."""
    found = "other"
    for x in vars(q).values():
        if is_dask_array(x):
            return "dask"
        if isinstance(x, np.ndarray):
            found = "numpy"
    return found


def in_blocks(f: Callable[[Any], Any], q: Any, size: int) -> Any:
    """``f(q)``, a tuple of tuples of arrays, in blocks of about ``size`` numbers along the first
    instance axis.
    """
    n = q.batch_shape[0]
    inner = q.n_numbers // max(n, 1)
    step = max(1, size // max(inner, 1))
    single = (
        inner > size and len(q.batch_shape) > 1
    )  # one position of the first axis is more than a block: without that axis
    kinds: list[Any] = []
    results: list[np.ndarray] = []
    for i in range(0, n, step):
        computed = f(q[i] if single else q[i : i + step])
        arrays, kinds = _flatten(computed)
        results = results or [
            np.empty((n, *(x.shape if single else x.shape[1:])), x.dtype) for x in arrays
        ]
        for result, x in zip(results, arrays, strict=True):
            result[i if single else slice(i, i + step)] = x
    return _unflatten(results, kinds)


def in_tasks(f: Callable[[Any], Any], q: Any) -> Any:
    """``f(q)``, lazily: one Dask task for each block of instances."""
    import dask.array as da

    known = f(_without_instances(q))
    examples, kinds = _flatten(known)
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
        whole = in_one_chunk(x, others, _ARGUMENTS.get(key, key), stacklevel=5)
        operands += [whole, (*labels[:first], *instances[: after - first], *labels[first:])]
    task = partial(_of_block, f, type(q), _others(q, arrays), tuple(arrays))
    blocks = da.blockwise(
        task, instances, *operands, name=None, dtype=object, meta=np.empty((0,) * batch, object)
    )
    results = []
    for i, example in enumerate(examples):
        new = {fresh + j: size for j, size in enumerate(example.shape[1:])}
        meta = np.empty((0,) * (batch + len(new)), example.dtype)
        results.append(
            da.blockwise(
                getitem,
                (*instances, *new),
                blocks,
                instances,
                i,
                None,
                new_axes=new,
                dtype=example.dtype,
                meta=meta,
            )
        )
    return _unflatten(results, kinds)


def in_one_chunk(x: Array, axes: Iterable[int], name: str, *, stacklevel: int = 3) -> Array:
    """``x`` with each of the ``axes`` (of members and classes) in one chunk."""
    axes = [axis % x.ndim for axis in axes]
    if all(len(x.chunks[axis]) == 1 for axis in axes):
        return x
    warnings.warn(
        f"`{name}` is split over its members or classes, in chunks of "
        f"{tuple(chunks[0] for chunks in x.chunks)}; they are put together "
        "first, which moves all of the data. Chunk it over the instances only, for example with "
        f"{name}.rechunk({{{', '.join(f'{axis}: -1' for axis in axes)}}})",
        stacklevel=stacklevel,
    )
    known = not any(np.isnan(size) for size in x.shape)
    return x.rechunk(
        {axis: -1 if axis in axes else "auto" for axis in (range(x.ndim) if known else axes)}
    )


def _flatten(computed: Any) -> tuple[list[Array], list[int | None]]:
    """All arrays of a result in a row, and how many belong to each of its fields (``None``: the
    field is empty).
    """
    return [x for group in computed if group is not None for x in group], [
        None if group is None else len(group) for group in computed
    ]


def _unflatten(arrays: list[Array], lengths: list[int | None]) -> Any:
    rest = iter(arrays)
    return tuple(None if n is None else tuple(next(rest) for _ in range(n)) for n in lengths)


def _of_block(
    f: Callable[[Any], Any], kind: Any, others: dict[str, Any], keys: tuple[str, ...], *blocks: Any
) -> list[np.ndarray]:
    """The arrays of ``f`` for one block of instances, after its values have been checked."""
    arrays = {}
    for key, block in zip(keys, blocks, strict=True):
        while isinstance(block, list):  # one level for each axis that is whole
            (block,) = block
        arrays[key] = np.asarray(block)
    return _flatten(f(_made(kind, others | arrays).checked()))[0]


def _made(kind: Any, values: dict[str, Any]) -> Any:
    """A distribution from its fields, as they are."""
    q: Any = object.__new__(kind)
    for key, value in values.items():
        object.__setattr__(q, key, value)
    return q


def with_values(q: Q, **values: Any) -> Q:
    """A distribution with some of its fields replaced by values that are known to be valid."""
    new: Q = _made(
        type(q), {field.name: getattr(q, field.name) for field in fields(cast(Any, q))} | values
    )
    return new


def _without_instances(q: Any) -> Any:
    """``q`` for an empty batch, in NumPy: what can be known of a result before any value is."""
    arrays, batch = _arrays(q)
    first = _members(q)
    empty = {}
    for key, x in arrays.items():
        own = _has_instances(x, first, batch)
        shape = (*x.shape[:first], 0, *x.shape[first + batch :]) if own else x.shape
        empty[key] = np.full(shape, 1 / shape[0] if key == "weights" else 1, x.dtype)
    return _made(type(q), _others(q, arrays) | empty)


def _members(q: Any) -> int:
    """How many axes come before those of the instances."""
    return int(q.n_members is not None)


def _arrays(q: Any) -> tuple[dict[str, Array], int]:
    """The arrays of ``q`` by name, and how many instance axes they have."""
    arrays = {field.name: x for field in fields(q) if hasattr(x := getattr(q, field.name), "ndim")}
    return arrays, len(q.batch_shape)


def _others(q: Any, arrays: dict[str, Array]) -> dict[str, Any]:
    """The fields of ``q`` that are not arrays."""
    return {field.name: getattr(q, field.name) for field in fields(q) if field.name not in arrays}


def _has_instances(x: Array, first: int, batch: int) -> bool:
    """Whether ``x`` has the axes of the instances: weights may be one for each member, for all."""
    return bool(x.ndim >= first + batch)
