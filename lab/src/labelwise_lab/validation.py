"""Checks of what callers of the lab pass."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np


def to_numpy(x: Any) -> np.ndarray:
    """``x`` as a NumPy array; of a tensor its values."""
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


def check_positive(value: Any, name: str) -> int:
    """``value`` as a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"`{name}` must be a positive integer; got {value!r}")
    return int(value)


def check_choice(value: Any, name: str, choices: Collection[str]) -> None:
    """Refuse an option called ``name`` that is not among the ``choices``."""
    if value not in choices:
        known = (
            " or ".join(map(repr, choices))
            if len(choices) == 2
            else f"one of {', '.join(map(repr, choices))}"
        )
        raise ValueError(
            f"`{name}` must be {known}; got {value!r}{did_you_mean(value, list(choices))}"
        )


def did_you_mean(word: Any, known: Sequence[str]) -> str:
    """The end of a message: the name that was probably meant; empty if none is close."""
    close = difflib.get_close_matches(str(word).lower(), known, n=1, cutoff=0.5)
    return f". Did you mean {close[0]!r}?" if close else ""


def suggest(word: Any, known: Sequence[str]) -> str:
    """The end of a message: the name that was probably meant, or the known names."""
    return (
        did_you_mean(word, known)
        or f". Known: {', '.join(map(repr, known[:8]))}{', …' if len(known) > 8 else ''}"
    )


def check_names(names: Any, n: int) -> tuple[str, ...] | None:
    """Class names as a tuple: ``n`` different texts."""
    if names is None:
        return None
    given = tuple(names)
    if len(given) != n or len(set(given)) != n or not all(isinstance(name, str) for name in given):
        raise ValueError(f"`class_names` must be {n} different names; got {given!r:.200}")
    return given


def as_rng(rng: Any) -> np.random.Generator:
    """A generator from a generator, a seed or ``None``."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng))
    raise TypeError(
        f"`rng` must be None, an integer seed from 0 or a numpy.random.Generator; got {rng!r}"
    )


def as_seed(rng: Any) -> int:
    """An integer seed: ``rng`` itself if it is one, else drawn from it."""
    generator = as_rng(rng)
    return int(rng) if isinstance(rng, int | np.integer) else int(generator.integers(2**32))
