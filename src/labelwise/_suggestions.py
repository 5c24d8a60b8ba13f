"""Suggestions for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any


def suggest(word: Any, known: Sequence[str]) -> str:
    """The end of an error message: the name that was probably meant, or the known names."""
    lower = {name.lower(): name for name in reversed(known)}
    close = difflib.get_close_matches(str(word).lower(), list(lower), n=1, cutoff=0.5)
    if close:
        return f". Did you mean {lower[close[0]]!r}?"
    return f". Known: {', '.join(map(repr, known[:8]))}{', …' if len(known) > 8 else ''}"
