"""Array libraries at the door: which one came in, is it usable, may its values be looked at.

Everything behind this module is written once, against the array-API namespace ``xp`` of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
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

Array: TypeAlias = Any
"""An array of any supported library."""
Namespace: TypeAlias = Any
"""An array-API namespace (``numpy``, ``torch``, ``jax.numpy`` as array-api-compat wraps them)."""

# How far the sum of a probability vector may be from 1. Wider than rounding alone needs, because stored predictions
# have often passed through the next smaller type: float32 softmax kept as float64, float16 files read as float32.
SUM_TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "float16": 1e-2, "bfloat16": 1e-2}


def namespace(*arrays: Array) -> Namespace:
    """The array-API namespace shared by ``arrays`` (scalars and ``None`` are passed over)."""
    return array_namespace(*(a for a in arrays if is_array_api_obj(a)))


def dtype_name(x: Array) -> str:
    """``"float32"`` for every library's float32."""
    return str(x.dtype).removeprefix("torch.")


def as_floating(x: Any, name: str) -> Array:
    """``x`` as a real floating-point array of its own library; float16 and bfloat16 are widened to float32."""
    if not is_array_api_obj(x):
        try:
            x = np.asarray(x)
        except ValueError as error:
            raise ValueError(f"`{name}` must be a rectangular array of numbers; got nested sequences of unequal lengths") from error
    kind = dtype_name(x)
    if kind in ("float32", "float64"):
        return x
    if kind in ("float16", "bfloat16"):
        return x.astype(np.float32) if is_numpy_array(x) else namespace(x).astype(x, namespace(x).float32)
    if kind.startswith("complex"):
        raise TypeError(f"`{name}` must be real; got {kind}. Take the real part or the modulus first")
    if kind == "object":
        raise TypeError(
            f"`{name}` must be a rectangular array of numbers; got an object array of shape {tuple(x.shape)}. "
            "Stack the members with np.stack([...])"
        )
    if kind.startswith(("str", "bytes", "<U", "|S", "<S", ">U")):
        raise TypeError(f"`{name}` must be numbers; got text ({kind}). Convert with x.astype(float)")
    hint = "If these are 0/1 votes, convert them with x.astype(float); class labels must be one-hot encoded first"
    raise TypeError(f"`{name}` must be floating point; got {kind}. {hint}")


def values_known(x: Array) -> bool:
    """Whether the values of ``x`` can be looked at now (not under ``jit``, not in a lazy Dask graph)."""
    if is_dask_array(x):
        return False
    if is_jax_array(x):
        import jax

        return not isinstance(x, jax.core.Tracer)
    return not (is_torch_array(x) and x.is_meta)


def to_numpy(x: Array) -> np.ndarray:
    """``x`` as a NumPy array, detached from its device and graph."""
    if is_torch_array(x):
        x = x.detach().cpu()
    return np.asarray(x)


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


def smallest(x: Array) -> tuple[float, float]:
    """``(tiny, eps / 2)`` of the dtype of ``x``: the smallest normal number and the distance from 1 to the number below it."""
    info = namespace(x).finfo(x.dtype)
    return float(info.smallest_normal), float(info.eps) / 2


def check_names(names: Sequence[str] | None, n: int) -> tuple[str, ...] | None:
    """``names`` as a tuple of ``n`` different strings, or ``None``."""
    if names is None:
        return None
    if isinstance(names, str):
        raise TypeError(f"`names` must be a sequence of {n} class names; got the single string {names!r}")
    names = tuple(str(name) for name in names)
    if len(names) != n:
        raise ValueError(f"`names` must name each of the K = {n} classes; got {len(names)} names")
    if len(set(names)) != n:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"`names` must be different from each other; got {twice!r} twice")
    return names


def check_finite(x: Array, name: str) -> None:
    """Refuse NaN and infinity, saying how many and where the first one is."""
    xp = namespace(x)
    good = xp.isfinite(x)
    if bool(xp.all(good)):
        return
    bad = ~to_numpy(good)
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    value = "NaN" if np.isnan(to_numpy(x)[first]) else "infinity"
    raise ValueError(f"`{name}` must be finite; got {value} at index {first} ({int(bad.sum())} of {bad.size} values are not finite)")
