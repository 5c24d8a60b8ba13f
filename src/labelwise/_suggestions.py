"""Suggestions for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import Any


def suggest(word: Any, known: Sequence[str]) -> str:
    """The end of an error message: the name that was probably meant, or the known names."""
    lower = {name.lower(): name for name in reversed(known)}
    close = difflib.get_close_matches(str(word).lower(), list(lower), n=1, cutoff=0.5)
    if close:
        return f". Did you mean {lower[close[0]]!r}?"
    return f". Known: {', '.join(map(repr, known[:8]))}{', …' if len(known) > 8 else ''}"


def check_choice(value: Any, name: str, choices: Collection[str]) -> None:
    """Refuse an option called ``name`` that is not among the ``choices``."""
    if value not in choices:
        known = [repr(choice) for choice in choices]
        rule = " or ".join(known) if len(known) == 2 else f"one of {', '.join(known)}"
        meant = suggest(value, list(choices))
        raise ValueError(f"`{name}` must be {rule}; got {value!r}{meant if 'mean' in meant else ''}")
