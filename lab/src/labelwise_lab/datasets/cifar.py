"""CIFAR-10 batches, https://www.cs.toronto.edu/~kriz/cifar.html: the binary version, and the Python
version read without unpickling.
"""

from __future__ import annotations

import io
import pickletools
from pathlib import Path
from typing import Any

import numpy as np

from ..files import read_bytes
from ._limits import human, refuse

CLASS_NAMES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
ROW = 3 * 32 * 32
MAX_BATCH = 2**26


def read_cifar10_binary(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, 32, 32, 3) uint8 and labels (N,) int64 of one ``.bin`` batch: per image one label
    byte, then 3 × 32 × 32 pixels.
    """
    path = Path(path)
    length = path.stat().st_size
    if length == 0 or length % (1 + ROW):
        raise refuse(
            path,
            (
                f"a CIFAR-10 batch has {1 + ROW} bytes per image; this file has {length}, which is "
                "not a multiple: truncated?"
            ),
        )
    if length > MAX_BATCH:
        raise refuse(path, f"a CIFAR-10 batch has 31 MB; this file has {human(length)}")
    records = np.frombuffer(read_bytes(path), np.uint8).reshape(-1, 1 + ROW)
    return _images(records[:, 1:]), _labels(records[:, 0], path)


def read_cifar10_python(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of one batch of the Python version.

    The published files are pickles. A pickle is a program; here only the few instructions that
    build dictionaries, lists, numbers, strings and one array are followed, on plain data. Nothing
    is imported or called, so nothing can run.
    """
    path = Path(path)
    if path.stat().st_size > MAX_BATCH:
        raise refuse(
            path, f"a CIFAR-10 batch has 31 MB; this file has {human(path.stat().st_size)}"
        )
    content = read_bytes(path)
    try:
        batch = _plain(content)
        pixels, labels = batch[b"data"], batch[b"labels"]
        if not isinstance(pixels, np.ndarray) or pixels.shape != (len(labels), ROW):
            raise _NotPlainError("`data` is not an array of one row per label")
        labels = np.array(labels, dtype=np.int64).reshape(len(labels))
    except _NotPlainError as error:
        raise refuse(
            path, f"not a CIFAR-10 batch as published: {error}. Nothing in it was run"
        ) from error
    except (ValueError, KeyError, IndexError, TypeError, OverflowError) as error:
        raise refuse(
            path,
            "not a CIFAR-10 batch as published, or truncated; get it again. Nothing in it was run",
        ) from error
    return _images(pixels), _labels(labels, path)


def _images(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def _labels(labels: np.ndarray, path: Path) -> np.ndarray:
    labels = labels.astype(np.int64)
    if labels.min(initial=0) < 0 or labels.max(initial=0) > 9:
        raise refuse(path, f"labels must be 0 to 9; found {labels.max()}: not a CIFAR-10 batch")
    return labels


class _NotPlainError(Exception):
    """The pickle holds something else than the published batches do."""


_GLOBALS = {
    "numpy.core.multiarray _reconstruct": "reconstruct",
    "numpy ndarray": "ndarray",
    "numpy dtype": "dtype",
}
_CONTAINERS = {"EMPTY_DICT", "EMPTY_LIST", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "GLOBAL"}
_CONSTANTS = {"BININT", "BININT1", "BININT2", "BINSTRING", "SHORT_BINSTRING"}


def _plain(pickle: bytes) -> Any:
    """What the pickle builds, if it builds plain data only."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}

    marks: list[int] = []
    containers = 0

    def since_mark() -> list[Any]:
        at = marks.pop()
        items = stack[at:]
        del stack[at:]
        return items

    argument: Any
    for opcode, argument, _ in pickletools.genops(io.BytesIO(pickle)):
        name = opcode.name
        containers += name in _CONTAINERS
        if containers > 100:
            raise _NotPlainError(
                "it builds too many lists"
            )  # each takes one byte here and sixty in memory
        if name in _CONSTANTS:
            stack.append(argument.encode("latin-1") if isinstance(argument, str) else argument)
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name in ("NONE", "NEWTRUE", "NEWFALSE"):
            stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[name])
        elif name == "MARK":
            marks.append(len(stack))
        elif name in ("EMPTY_DICT", "EMPTY_LIST"):
            stack.append({} if name == "EMPTY_DICT" else [])
        elif name in ("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"):
            stack.append(
                tuple(
                    since_mark()
                    if name == "TUPLE"
                    else [stack.pop() for _ in range(int(name[5:]))][::-1]
                )
            )
        elif name in ("APPEND", "APPENDS"):
            items = since_mark() if name == "APPENDS" else [stack.pop()]
            _a(list, stack[-1]).extend(items)
        elif name == "SETITEMS":
            items = since_mark()
            _a(dict, stack[-1]).update(zip(items[::2], items[1::2], strict=True))
        elif name == "GLOBAL":
            if argument not in _GLOBALS:
                raise _NotPlainError(f"it asks to import {argument.replace(' ', '.')!r}")
            stack.append(_Call(_GLOBALS[argument]))
        elif name == "REDUCE":
            stack.pop()  # the arguments: the array's own state, set by BUILD, says everything again
            _a(_Call, stack[-1])
        elif name == "BUILD":
            state = stack.pop()
            stack[-1] = _built(_a(_Call, stack[-1]), state)
        elif name == "STOP":
            return _a(dict, stack.pop())
        elif name != "PROTO":
            raise _NotPlainError(f"it contains the instruction {name}")
    raise _NotPlainError("it has no end")


class _Call:
    """A name that the pickle mentions. It stands for nothing that could be called."""

    def __init__(self, name: str) -> None:
        self.name = name


def _a(kind: type, item: Any) -> Any:
    if not isinstance(item, kind):
        raise _NotPlainError("its instructions do not fit together")
    return item


def _built(call: _Call, state: Any) -> Any:
    if call.name == "dtype":
        return call
    _, shape, _, fortran, values = (
        state  # the dtype does not matter: the number of bytes must fit uint8
    )
    if call.name != "reconstruct" or fortran or not isinstance(values, bytes):
        raise _NotPlainError("its array is not a plain array of bytes")
    return np.frombuffer(values, np.uint8).reshape(shape)
