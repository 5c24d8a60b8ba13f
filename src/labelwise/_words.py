"""Words for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any


def suggest(word: Any, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(word), known, n=1, cutoff=0.5)
    return f". Did you mean {close[0]!r}?" if close else f". Known: {', '.join(map(repr, list(known)[:8]))}"
