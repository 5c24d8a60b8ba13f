"""Suggestions for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import Any


def did_you_mean(word: Any, known: Sequence[str]) -> str:
    """The end of an error message: the name that was probably meant; empty if none is close."""
    lower = {name.lower(): name for name in reversed(known)}
    close = difflib.get_close_matches(str(word).lower(), list(lower), n=1, cutoff=0.6)
    return f". Did you mean {lower[close[0]]!r}?" if close else ""


def suggest(word: Any, known: Sequence[str]) -> str:
    """The end of an error message: the name that was probably meant, or the known names."""
    return did_you_mean(word, known) or f". Known: {listed(known, 8)}"


def listed(names: Sequence[str], limit: int = 5) -> str:
    """The first names of a list, quoted.

    >>> listed(["cat", "dog", "eel"], 2)
    "'cat', 'dog', …"
    """
    shown = list(map(repr, names[:limit]))
    if len(names) > limit:
        shown.append("…")
    return ", ".join(shown)


def check_choice(value: Any, name: str, choices: Collection[str]) -> None:
    """Refuse an option called ``name`` that is not among the ``choices``."""
    if value not in choices:
        known = [repr(choice) for choice in choices]
        rule = " or ".join(known) if len(known) == 2 else f"one of {', '.join(known)}"
        raise ValueError(
            f"`{name}` must be {rule}; got {value!r}{did_you_mean(value, list(choices))}"
        )
