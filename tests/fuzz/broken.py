"""Readers that fail in every way, to test that the campaign notices."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .formats import Format

VALID = b"A" * 64


def _unless_valid(fail: Callable[[], object]) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        if (folder / "x").read_bytes() != VALID:
            fail()

    return read


def _raises() -> None:
    raise KeyError("x")


def _refuses() -> None:
    raise ValueError("x is damaged")


def _says_nothing() -> None:
    raise ValueError


FORMATS = {
    name: Format({"x": VALID}, _unless_valid(fail))
    for name, fail in {
        "crashes": lambda: os.kill(os.getpid(), signal.SIGSEGV),
        "hangs": lambda: time.sleep(3600),
        "eats memory": lambda: np.ones(1 << 30),
        "raises": _raises,
        "refuses": _refuses,
        "says nothing": _says_nothing,
    }.items()
}
