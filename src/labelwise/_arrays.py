"""Arrays of every library: which one it is, and what NumPy, PyTorch, JAX and Dask do differently.

All other modules are written once, against the array-API namespace ``xp`` of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_dask_array,
    is_jax_array,
    is_numpy_array,
    is_torch_array,
)

Array: TypeAlias = Any
"""An array of any supported library."""
Arrays: TypeAlias = tuple[Array, ...]
Pair: TypeAlias = tuple[Array, Array]
"""Two arrays of one shape, most often a probability and its complement."""
Shape: TypeAlias = tuple[int, ...]
Names: TypeAlias = tuple[str, ...]
"""Names in their order: of classes, events, members, fields."""
ClassNames: TypeAlias = Sequence[str] | Mapping[Any, str]
"""Class names in the order of the classes, or by position: ``{0: "cat", 1: "dog"}``."""
namespace: Callable[..., Any] = array_namespace
"""The array-API namespace shared by some arrays; scalars and ``None`` are ignored."""

# How far the sum of a probability vector may be from 1. Wider than rounding alone needs, because
# stored predictions have often passed through the next smaller type: float32 softmax kept as
# float64, float16 files read as float32.
SUM_TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "float16": 1e-2, "bfloat16": 1e-2}

MAX_UNROLLED = 64  # numbers added one after another in JAX; more would take long to compile


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


def widen(x: Array) -> Array:
    """``x`` in the type used for computation: float16 and bfloat16 become float32."""
    if dtype_name(x) not in ("float16", "bfloat16"):
        return x
    xp = namespace(x)
    return xp.astype(x, xp.float32)


def at_most_one(x: Array) -> Array:
    """``x`` with rounding errors above 1 replaced by 1; the same NumPy array if there are none."""
    if is_numpy_array(x):
        if not x.size or x.max() <= 1:
            return x
        return np.minimum(x, 1)
    xp = namespace(x)
    return xp.where(x > 1, xp.ones_like(x), x)  # keeps the slope 1 at x = 1


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
    return not (is_torch_array(x) and (x.is_meta or is_traced(x)))


def is_traced(x: Array) -> bool:
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


def as_double(x: Array) -> np.ndarray:
    """``x`` as a NumPy array in double precision."""
    return to_numpy(x).astype(float)


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

        if isinstance(x, jax.core.Tracer):  # a constant would become one
            return jax.lax.stop_gradient(x)
    return x


def like(values: Any, x: Array) -> Array:
    """``values`` (NumPy, scalars) in the library, dtype and device of ``x``."""
    xp = namespace(x)
    if is_torch_array(x):
        return xp.asarray(np.array(values), dtype=x.dtype, device=device(x))
    if is_jax_array(x):
        import jax

        with jax.ensure_compile_time_eval():  # constants, such as weights, stay known under jit
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
    if is_jax_array(x) and x.shape[0] <= MAX_UNROLLED and not values_known(x):
        return reduce(add, x)  # XLA makes one loop of these, and slow ones of sums over an axis
    return namespace(x).sum(x, axis=0)


def smallest(x: Array) -> tuple[float, float]:
    """``(tiny, eps / 2)`` of the dtype of ``x``: the smallest normal number and the distance from 1
    to the number below it.
    """
    info = namespace(x).finfo(x.dtype)
    return float(info.smallest_normal), float(info.eps) / 2


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^−x) without overflow, with the right derivative at 0, where |x| has none."""
    xp = namespace(x)
    below = xp.exp(xp.where(x < 0, x, 0.0))
    above = xp.exp(-xp.where(x < 0, 0.0, x))
    return xp.where(x < 0, below / (1 + below), 1 / (1 + above))


def softmax(z: Array) -> Array:
    """Probabilities from logits on the last axis; an array of NumPy is overwritten by them."""
    if isinstance(z, np.ndarray):
        z -= np.max(z, axis=-1, keepdims=True)
        odds = np.exp(z, out=z)
        odds /= np.sum(odds, axis=-1, keepdims=True)
        return odds
    xp = namespace(z)
    odds = xp.exp(z - xp.max(z, axis=-1, keepdims=True))
    return odds / xp.sum(odds, axis=-1, keepdims=True)


def quotient(top: Any, bottom: Any, otherwise: float = np.nan) -> np.ndarray:
    """top / bottom of NumPy; ``otherwise`` where bottom is not above 0.

    >>> quotient(np.array([1.0, 2.0]), np.array([2.0, 0.0]))
    array([0.5, nan])
    """
    above = bottom > 0
    return np.where(above, top / np.where(above, bottom, 1), otherwise)


def sigmoid_step(x: Array, step: Array) -> Array:
    """sigmoid(x + step) − sigmoid(x), with all its digits however small the step is."""
    xp = namespace(x)
    down = xp.expm1(-xp.abs(step))
    return xp.where(
        step >= 0, -sigmoid(x + step) * sigmoid(-x) * down, sigmoid(x) * sigmoid(-x - step) * down
    )


def not_negative(x: Array) -> Array:
    """Clip negative zeros and rounding errors of nonnegative quantities; at 0 the gradient is
    kept.
    """
    return namespace(x).where(x < 0, 0 * x, x) + 0.0


def sum_with_remainder(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b exactly, as the rounded sum and what rounding lost (Knuth)."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


def ratio(x: Array, y: Array) -> Array:
    """x / y for y > 0, both scaled up first where y is small: the gradient divides by y², which
    must not underflow.
    """
    xp = namespace(y)
    tiny = smallest(y)[0]
    scale = xp.where(y < tiny**0.5, like(tiny**-0.75, y), xp.ones_like(y))
    return (x * scale) / (y * scale)


def fill_in(value: Array, mask: Array, f: Callable[..., Array], *arrays: Array) -> Array:
    """``value``, but ``f`` of the ``arrays`` where the ``mask`` is; in NumPy it is computed only
    there, because it costs many powers.
    """
    if is_numpy_array(value):
        value, at = np.asarray(value, order="C"), np.flatnonzero(mask)  # faster than the mask
        value.reshape(-1)[at] = f(*[np.broadcast_to(x, value.shape).take(at) for x in arrays])
        return value
    xp = namespace(value)
    half = xp.ones_like(value) / 2
    return xp.where(mask, f(*[xp.where(mask, x, half) for x in arrays]), value)
