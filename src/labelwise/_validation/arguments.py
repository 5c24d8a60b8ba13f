"""Single arguments: choices, numbers, axes, random seeds; and what all checks' results share."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

import numpy as np

from .._errors import InputError, did_you_mean

Rng: TypeAlias = int | np.random.Generator | None
"""A random seed, a generator, or ``None`` for fresh entropy, as SPEC 7 asks."""


def check_choice(value: Any, name: str, choices: Collection[str]) -> None:
    """Refuse an option called ``name`` that is not among the ``choices``."""
    if value not in choices:
        known = list(map(repr, choices))
        rule = f"one of {', '.join(known)}"
        if len(known) == 2:
            rule = " or ".join(known)
        raise InputError(
            f"`{name}` must be {rule}; got {value!r}{did_you_mean(value, list(choices))}"
        )


def is_whole(value: Any) -> bool:
    """Whether ``value`` is an integer of Python or NumPy, and not a truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_count(n: Any) -> int:
    """Validate a number of draws."""
    if not is_whole(n) or n < 0:
        raise InputError(f"`n` must be a number of draws, an integer of at least 0; got {n!r}")
    return int(n)


def check_positive(value: Any, name: str) -> int:
    """``value`` as a positive integer."""
    if not is_whole(value) or value < 1:
        raise InputError(f"`{name}` must be a positive integer; got {value!r}")
    return int(value)


def as_rng(rng: Any) -> np.random.Generator:
    """A NumPy generator from a generator, a seed or ``None``."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if is_whole(rng) and rng >= 0:
        return np.random.default_rng(int(rng))
    raise TypeError(
        f"`rng` must be None, an integer seed from 0 or a numpy.random.Generator; got {rng!r}"
    )


def as_seed(rng: Any) -> int:
    """An integer seed for libraries that have no NumPy generator: ``rng`` itself if it is one, else
    drawn from it.
    """
    generator = as_rng(rng)
    if is_whole(rng):
        return int(rng)
    return int(generator.integers(2**32))


def set_fields(instance: Any, **values: Any) -> None:
    """Set the fields of a frozen dataclass with a custom ``__init__``."""
    vars(instance).update(values)
