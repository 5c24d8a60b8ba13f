"""A distribution cut into blocks of instances: one after another (NumPy), or each a task that runs
when it is asked for (Dask).

Dask arrays are validated twice: shapes and types when the distribution is made, values in the
tasks, which compute with NumPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import partial
from itertools import count
from math import prod
from operator import getitem
from typing import Any

import numpy as np
from array_api_compat import is_dask_array

from .._arrays import Array, Arrays, Names, like, namespace, sum_first

TABLE_BLOCK = 1 << 17  # numbers of a table (instances, columns) that are worked on at once
# What users call the arrays of a distribution, where it is not the name of the field.
_ARGUMENTS = {"stored": "probs", "loc": "mean"}


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
    per_position = q.n_numbers // max(n, 1)
    blocks: Iterable[Any] = row_blocks(n, per_position, size)
    first_axis = 1  # of those that a block's results have behind its instances
    if per_position > size and len(q.batch_shape) > 1:
        # one position of the first axis is more than a block: without that axis
        blocks, first_axis = range(n), 0
    results: Any = None
    for block in blocks:
        computed = f(q[block])
        if results is None:  # the first block shows shapes and types
            results = map_arrays(lambda x: np.empty((n, *x.shape[first_axis:]), x.dtype), computed)
        for whole, part in zip(_arrays_in(results), _arrays_in(computed), strict=True):
            whole[block] = part
    return results


def row_blocks(n: int, width: int, size: int | None = None) -> Iterator[slice]:
    """All of ``n`` rows, in blocks of about ``size`` numbers (`TABLE_BLOCK`) where a row has
    ``width``.
    """
    step = max(1, (size or TABLE_BLOCK) // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def add_rows(sums: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """``sums`` (K,) and the ``rows`` (n, K), added one after another: the same bits for rows in
    blocks of any size.
    """
    return sum_first(np.concatenate([sums[None], rows]))


def in_tasks(f: Callable[[Any], Any], q: Any) -> Any:
    """``f(q)``, lazily: one Dask task for each block of instances."""
    import dask.array as da

    arrays = {}
    for field in fields(q):
        x = getattr(q, field.name)
        if hasattr(x, "ndim") and field.name != "ids":
            arrays[field.name] = x
    n_batch = len(q.batch_shape)
    first = int(q.n_members is not None)  # the axis of members comes before those of instances
    # In `blockwise` each axis has a label: those of the instances are shared by all arrays.
    instances = tuple(f"instance {axis}" for axis in range(n_batch))
    empty = {}
    operands = []
    for key, x in arrays.items():
        has_instances = x.ndim >= first + n_batch  # weights may be the same for all
        after = first + n_batch if has_instances else first
        shape = (*x.shape[:first], *[0] * has_instances, *x.shape[after:])
        empty[key] = np.full(shape, 1 / shape[0] if key == "weights" else 1, x.dtype)
        labels = [f"{key} {axis}" for axis in range(x.ndim)]
        labels[first:after] = instances[: after - first]
        others = [axis for axis, label in enumerate(labels) if label not in instances]
        whole = in_one_chunk(da.asarray(x), others, _ARGUMENTS.get(key, key))
        operands += [whole, tuple(labels)]
    # an empty batch in NumPy shows what can be known of a result before any value is
    examples = f(q.with_values(**empty, ids=None))
    template = q.with_values(**dict.fromkeys(arrays), ids=None)
    blocks = da.blockwise(
        partial(_arrays_of_block, f, template, tuple(arrays)),
        instances,
        *operands,
        name=None,
        dtype=object,
        meta=np.empty((0,) * n_batch, object),
    )
    number = count()

    def result(example: np.ndarray) -> Array:
        new_axes = {f"new {j}": size for j, size in enumerate(example.shape[1:])}
        return da.blockwise(
            getitem,
            (*instances, *new_axes),
            blocks,
            instances,
            next(number),
            None,
            new_axes=new_axes,
            dtype=example.dtype,
            meta=np.empty((0,) * (n_batch + len(new_axes)), example.dtype),
        )

    return map_arrays(result, examples)


def _arrays_of_block(
    f: Callable[[Any], Any], template: Any, keys: Names, *blocks: Any
) -> list[np.ndarray]:
    """The arrays of ``f`` for one block of instances, after its values have been checked."""
    arrays = {}
    for key, block in zip(keys, blocks, strict=True):
        while isinstance(block, list):  # one level for each axis that is whole
            (block,) = block
        arrays[key] = np.asarray(block)
    return _arrays_in(f(template.with_values(**arrays).with_valid_values()))


def in_one_chunk(x: Array, axes: Iterable[int], name: str) -> Array:
    """``x`` with each of the ``axes`` (of members and classes) in one chunk."""
    axes = [axis % x.ndim for axis in axes]
    if all(len(x.chunks[axis]) == 1 for axis in axes):
        return x
    wanted = ", ".join(f"{axis}: -1" for axis in axes)
    warnings.warn(
        f"`{name}` is split over its members or classes, in chunks of "
        f"{tuple(chunks[0] for chunks in x.chunks)}; they are put together "
        "first, which moves all of the data. Chunk it over the instances only, for example with "
        f"{name}.rechunk({{{wanted}}})",
        stacklevel=5,
    )
    sizes = {}
    if not np.any(np.isnan(x.shape)):  # unknown sizes cannot be chosen anew
        sizes = dict.fromkeys(range(x.ndim), "auto")
    return x.rechunk(sizes | dict.fromkeys(axes, -1))


def _arrays_in(computed: Any) -> list[Array]:
    """All arrays of a result, whose groups may be missing, in a row."""
    return [x for group in computed for x in group or ()]


def map_arrays(f: Callable[[Array], Array], computed: Any) -> Any:
    """``f`` of each array of a result."""
    groups = []
    for group in computed:
        groups.append(None if group is None else tuple(map(f, group)))
    return tuple(groups)


def in_instance_blocks(f: Callable[..., Arrays], arrays: Arrays, n_axes: int, size: int) -> Arrays:
    """``f`` of ``size`` instances at a time, whose axes are the first ``n_axes`` of each array.

    The last block is filled up with ones: the bits of a matrix product may depend on its shape.
    """
    xp = namespace(*arrays)
    batch = tuple(arrays[0].shape[:n_axes])
    n = prod(batch)
    fill = -n % size if n else size  # one block at least, which shows the shapes
    filled = []
    for x in arrays:
        inner = tuple(x.shape[n_axes:])
        ones = like(np.ones((fill, *inner)), x)
        filled.append(xp.concat([xp.reshape(x, (n, *inner)), ones], axis=0))
    parts = []
    for i in range(0, n + fill, size):
        parts.append(f(*[x[i : i + size, ...] for x in filled]))
    columns = [xp.concat(list(column), axis=0)[:n, ...] for column in zip(*parts, strict=True)]
    return tuple([xp.reshape(x, (*batch, *x.shape[1:])) for x in columns])
