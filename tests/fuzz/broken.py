"""Readers that fail in every way, to test that the campaign notices."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from .formats import Format


def _make(folder: Path) -> None:
    (folder / "x").write_bytes(b"A" * 64)


def _unless_valid(fail: object) -> object:
    def read(folder: Path) -> None:
        path = folder / "x"
        if not path.exists() or path.read_bytes() != b"A" * 64:
            fail()  # type: ignore[operator]

    return read


def _raises() -> None:
    raise KeyError("x")


def _refuses() -> None:
    raise ValueError("x is damaged")


def _says_nothing() -> None:
    raise ValueError


FORMATS = {
    name: Format(_make, _unless_valid(fail))  # type: ignore[arg-type]
    for name, fail in {
        "crashes": lambda: os.kill(os.getpid(), signal.SIGSEGV),
        "hangs": lambda: time.sleep(3600),
        "eats memory": lambda: np.ones(1 << 30),
        "raises": _raises,
        "refuses": _refuses,
        "says nothing": _says_nothing,
    }.items()
}
