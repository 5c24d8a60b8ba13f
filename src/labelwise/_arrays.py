"""Input arrays: identify the array library, validate and convert.

All other modules are written once, against the array-API namespace ``xp`` of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_array_api_obj,
    is_dask_array,
    is_jax_array,
    is_numpy_array,
    is_torch_array,
)

from ._errors import InputError
from ._frames import names_by_position

Array: TypeAlias = Any
"""An array of any supported library."""
ClassNames: TypeAlias = Sequence[str] | Mapping[Any, str]
"""Class names in the order of the classes, or by position: ``{0: "cat", 1: "dog"}``."""
namespace: Callable[..., Any] = array_namespace
"""The array-API namespace shared by some arrays; scalars and ``None`` are ignored."""

# How far the sum of a probability vector may be from 1. Wider than rounding alone needs, because
# stored predictions have often passed through the next smaller type: float32 softmax kept as
# float64, float16 files read as float32.
SUM_TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "float16": 1e-2, "bfloat16": 1e-2}


def dtype_name(x: Array) -> str:
    """``"float32"`` for every library's float32, in either byte order."""
    return _name_of(x.dtype)


@lru_cache(maxsize=64)  # NumPy rebuilds the name on each access
def _name_of(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype)).removeprefix("torch.")


def library(x: Array) -> str:
    """The name of the array library of ``x``."""
    known = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX", "jaxlib": "JAX", "dask": "Dask"}
    module = type(x).__module__.partition(".")[0]
    return known.get(module, module)


def as_real(x: Any, name: str, *, integers: bool = False) -> Array:
    """``x`` as an array of real numbers in its own library and type; of integers only if they are
    allowed.

    Lists have no type of their own, so numbers in lists are floating point.
    """
    if type(x) is np.ndarray and x.dtype in (np.float32, np.float64):
        return x  # the most frequent case, fast
    given = x
    x = _as_array(x, name)
    kind = dtype_name(x)
    if kind in SUM_TOLERANCE:
        if (is_numpy_array(x) or is_dask_array(x)) and not x.dtype.isnative:
            return x.astype(x.dtype.newbyteorder("="))
        return x
    if kind.startswith(("int", "uint")) and (integers or not is_array_api_obj(given)):
        return x if integers else x.astype(np.float64)
    if kind == "object" and x.ndim == 0:
        what = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
        raise TypeError(f"`{name}` must be an array of numbers; got {what}")
    convert = f"{name}.double()" if is_torch_array(x) else f"{name}.astype(float)"
    raise TypeError(
        f"`{name}` must be real and floating point (float64 or float32; float16 and bfloat16 are "
        f"widened); got {kind} for shape {tuple(x.shape)}. Convert with {convert}"
    )


def _as_array(x: Any, name: str) -> Array:
    """``x`` as an array of its own library, or of NumPy if it has none."""
    if isinstance(x, np.ma.MaskedArray):
        missing = int(np.sum(np.ma.getmaskarray(x)))
        if missing:
            raise ValueError(
                f"`{name}` must be complete; got a masked array with {missing} of {x.size} values "
                "masked. "
                "Drop the masked instances, or fill them in, first"
            )
        return np.asarray(x.data)
    if is_numpy_array(x):
        return np.asarray(x)  # np.matrix and np.memmap as plain arrays on the same memory
    if is_array_api_obj(x):
        return x
    if isinstance(x, list | tuple) and any(
        is_array_api_obj(part) and not is_numpy_array(part) for part in x
    ):
        try:
            return namespace(*x).stack(
                list(x)
            )  # in the members' own library, on its device, with its gradients
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"`{name}` must be arrays of one library and of equal shape when given as a list; "
                f"{error}"
            ) from error
    try:
        return np.asarray(x)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"`{name}` must be a rectangular array of numbers; got sequences of unequal lengths or "
            "of mixed kinds"
        ) from error


def widen(x: Array) -> Array:
    """``x`` in the type used for computation: float16 and bfloat16 become float32."""
    if dtype_name(x) not in ("float16", "bfloat16"):
        return x
    return (
        x.astype(np.float32) if is_numpy_array(x) else namespace(x).astype(x, namespace(x).float32)
    )


def at_most_one(x: Array) -> Array:
    """``x`` with rounding errors above 1 replaced by 1; the same NumPy array if there are none."""
    if is_numpy_array(x):
        return x if not x.size or x.max() <= 1 else np.minimum(x, 1)
    xp = namespace(x)
    return xp.where(x > 1, xp.ones_like(x), x)  # keeps the slope 1 at x = 1


def as_floating(x: Any, name: str) -> Array:
    """``x`` as a real floating-point array of its own library; float16 and bfloat16 are widened to
    float32.
    """
    return widen(as_real(x, name))


def into(x: Array, other: Array, name: str, other_name: str) -> Array:
    """``x`` in the library and type of ``other``: from NumPy into every library, but not between
    two others.
    """
    if is_numpy_array(x) and not is_numpy_array(other):
        return like(x, other)
    if library(x) != library(other):
        raise TypeError(
            f"`{name}` and `{other_name}` must come from the same array library; got {library(x)} "
            f"and {library(other)}. "
            f"Convert `{name}` first"
        )
    return namespace(other).astype(x, other.dtype)


def values_known(x: Array) -> bool:
    """Whether the values of ``x`` are available: not under ``jit``, ``torch.compile`` or ``vmap``,
    nor in a lazy Dask graph.
    """
    if isinstance(x, np.ndarray):
        return True
    if is_dask_array(x):
        return False
    if is_jax_array(x):
        import jax

        return not isinstance(x, jax.core.Tracer)
    return not (is_torch_array(x) and (x.is_meta or traced(x)))


def traced(x: Array) -> bool:
    """Whether a tensor is traced by ``torch.compile``, ``vmap`` or a derivative of
    ``torch.func``.
    """
    import torch

    return torch.compiler.is_compiling() or bool(torch._C._functorch.is_functorch_wrapped_tensor(x))


def to_numpy(x: Array) -> np.ndarray:
    """``x`` as a NumPy array, detached from its device and graph."""
    if is_torch_array(x):
        x = x.detach().cpu()
    return np.asarray(x)


def channels_first(shape: tuple[int, ...]) -> bool:
    """Whether images of this shape are (N, C, H, W) with 1 or 3 channels, as in PyTorch, and not
    (N, H, W) or (N, H, W, C).
    """
    return len(shape) == 4 and shape[1] in (1, 3) and shape[3] not in (1, 3, 4)


def without_gradient(x: Array) -> Array:
    """``x`` as a constant for automatic differentiation."""
    if is_torch_array(x):
        return x.detach()
    if is_jax_array(x):
        import jax

        return jax.lax.stop_gradient(x)
    return x


def like(values: Any, x: Array) -> Array:
    """``values`` (NumPy, scalars) in the library, dtype and device of ``x``."""
    xp = namespace(x)
    if is_torch_array(x):
        return xp.asarray(np.array(values), dtype=x.dtype, device=device(x))
    if is_jax_array(x):
        return xp.asarray(values, dtype=x.dtype)
    return xp.asarray(values, dtype=x.dtype, device=device(x))


def index_like(values: Any, x: Array) -> Array:
    """Integer indices in the library and device of ``x``."""
    xp = namespace(x)
    values = np.asarray(values, dtype=np.int64)
    if is_jax_array(x):
        return xp.asarray(values)
    return xp.asarray(values, device=device(x))


def sum_first(x: Array) -> Array:
    """Σ x over the first axis, one after another: NumPy adds up a single column in another order
    than those of a matrix.

    So the result for one instance does not depend on how many are computed together.
    """
    if is_numpy_array(x) and 0 < x.shape[0] == x.size and x.ndim > 1:
        return np.add.accumulate(x, axis=0)[-1]
    return namespace(x).sum(x, axis=0)


def smallest(x: Array) -> tuple[float, float]:
    """``(tiny, eps / 2)`` of the dtype of ``x``: the smallest normal number and the distance from 1
    to the number below it.
    """
    info = namespace(x).finfo(x.dtype)
    return float(info.smallest_normal), float(info.eps) / 2


def check_names(names: ClassNames | None, n: int) -> tuple[str, ...] | None:
    """``names`` as a tuple of ``n`` different strings, or ``None``; also from positions to names,
    such as ``{0: "cat", 1: "dog"}``, or from names to positions.
    """
    if names is None:
        return None
    if isinstance(names, Mapping):
        in_order = names_by_position(names)
        if in_order is None or len(in_order) != n:
            raise InputError(
                f"`class_names` as a mapping must name each position from 0 to {n - 1} (K = {n} "
                "classes), such as {0: 'cat', 1: 'dog'}; got the keys "
                f"{', '.join(map(repr, list(names)[:5]))}{', …' if len(names) > 5 else ''}"
            )
        names = in_order
    if isinstance(names, str | Set) or not isinstance(names, Iterable):
        raise TypeError(
            f"`class_names` must be a sequence of {n} class names, in the order of the classes; "
            f"got {names!r}"
        )
    names = tuple(str(name) for name in names)
    if len(names) != n:
        raise ValueError(
            f"`class_names` must name each of the K = {n} classes; got {len(names)} names: "
            f"{', '.join(map(repr, names[:5]))}"
        )
    if len(set(names)) != n:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"`class_names` must be distinct; got {twice!r} twice")
    return names


def check_finite(x: Array, name: str, **fix: Any) -> None:
    """Raise an error for NaN and infinity, with their number and the first position; ``fix``: that
    of the `InputError`.
    """
    xp = namespace(x)
    good = xp.isfinite(x)
    if bool(xp.all(good)):
        return
    bad = ~to_numpy(good)
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    value = "NaN" if np.isnan(to_numpy(x)[first]) else "infinity"
    raise InputError(
        (
            f"`{name}` must be finite; got {value} at index {first} ({int(bad.sum())} of "
            f"{bad.size} values are not finite)"
        ),
        **fix,
    )
