"""Values of other libraries in main memory: the same memory, and back in the library they came
from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from labelwise._engine.host import back_to_library, on_host


def test_the_same_memory_and_back(lib: Any) -> None:
    x = lib.array(np.arange(6.0).reshape(2, 3))
    seen = on_host(x)
    assert seen is not None
    np.testing.assert_array_equal(seen, np.arange(6.0).reshape(2, 3))
    again = back_to_library(seen + 1, x)
    assert type(again) is type(x)
    np.testing.assert_array_equal(lib.numpy(again), np.arange(1.0, 7.0).reshape(2, 3))
    if lib.name == "torch":
        seen[0, 0] = 7
        assert float(x[0, 0]) == 7


def test_what_is_differentiated_traced_or_of_another_kind_stays(optional: Any) -> None:
    torch, jax = optional("torch"), optional("jax")
    x = torch.ones(2, requires_grad=True)
    assert on_host(x) is None
    with torch.no_grad():
        assert on_host(x) is not None
    assert on_host(torch.ones(2).to_sparse()) is None
    seen: list[Any] = []
    jax.jit(lambda y: seen.append(on_host(y)) or y)(jax.numpy.ones(2))
    assert seen == [None]
    assert on_host([1.0]) is None


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_bfloat16_comes_as_its_bits(library: str, optional: Any) -> None:
    torch, jax = optional("torch"), optional("jax")
    one = (
        torch.ones(1, dtype=torch.bfloat16)
        if library == "torch"
        else jax.numpy.ones(1, jax.numpy.bfloat16)
    )
    seen = on_host(one)
    assert seen is not None
    assert (seen.dtype, seen.tolist()) == (np.uint16, [0x3F80])
