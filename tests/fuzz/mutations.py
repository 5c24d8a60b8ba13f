"""Damage to files of text and to the arrays of predictions, at places that have a meaning.

Files in binary formats are opened by the libraries of these formats, so only what is in them is
changed: other arrays, axes, types and names.
"""

from __future__ import annotations

import io
import json
import re
from contextlib import suppress
from typing import Any

import numpy as np

Tree = dict[str, bytes]
"""Relative paths and contents of the files of a sample."""
Rng = np.random.Generator

DEEP = "@deep@"
VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 3, 65536, 2**31, 2**63, 10**30, 0.5, -0.0, 1e308),
    *(float("nan"), float("inf"), "", "0", "x" * 10_000, "\x1b[31m", "\ud800", "probs", "lung"),
    *([], {}, [0], [1, 1, 1], [[0.5, 0.5]], [None], ["a", "a"], {"a": {"b": 1}}, DEEP),
)
WORDS = (
    *(b"", b"nan", b"inf", b"-inf", b"-1", b"0", b"1e999", b"9" * 400, b"1e-400", b"1_000"),
    *(b"0x10", b"true", b"{}", b"[]", b"''", b'"', b"'", b"?", b"{", b"}", b"[", b"]", b",", b"="),
    *(b"\n", b"\r", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", b"%", b";", b"id", b"lung", b"model"),
    *(b"x" * 5000, b"[" * 5000, b"{a=" * 3000, b'"' * 301, b"class_names", b"matrix", b"ask"),
    *(b"1979-05-27T07:32:00Z", "\u202e".encode(), "é".encode("latin-1")),
)
ODD: tuple[np.ndarray, ...] = (
    np.zeros(()),
    np.zeros(0),
    np.zeros((5, 0, 3)),
    np.zeros((12, 0, 0)),
    np.zeros((1,) * 30),
    np.full((5, 12, 3), np.nan),
    np.full((5, 12, 3), np.inf),
    np.full((5, 12, 3), -1.0),
    np.full((5, 12, 3), 1e308),
    np.full((5, 12, 3), 1 / 3, np.float16),
    np.full((5, 12, 3), 1 / 3, np.longdouble),
    np.full((5, 12, 3), 1 / 3, ">f8"),
    np.asfortranarray(np.full((5, 12, 3), 1 / 3)),
    np.arange(12),
    np.full(12, 2**63, np.uint64),
    np.full(12, -1),
    np.full((12, 3), 2),
    np.zeros((12, 3), np.int8),
    np.zeros(12, bool),
    np.zeros(12, complex),
    np.zeros(12, "M8[s]"),
    np.zeros(12, [("a", float)]),
    np.array(["a"] * 3),
    np.array(["", "", ""]),
    np.array(["\ud800", "b", "c"]),
    np.array([b"\xff"] * 12),
    np.array("text"),
)
KEYS = ("probs", "logits", "alpha", "evidence", "y_true", "weights", "images", "ids", "class_names")


def mutate(tree: Tree, rng: Rng) -> tuple[Tree, str]:
    """A damaged copy of a sample, and what was done."""
    tree, done = dict(tree), []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        name = sorted(tree)[rng.integers(len(tree))]
        other = sorted(tree)[rng.integers(len(tree))]
        kind = rng.random()
        if len(tree) > 1 and kind < 0.1:
            tree[name], tree[other] = tree[other], tree[name]
            what = f"exchanged with {other}"
        elif kind < 0.15:
            tree[name], what = b"", "emptied"
        elif name.endswith(".npz"):
            tree[name], what = arrays(tree[name], rng)
        elif name.endswith(".npy"):
            tree[name], what = _saved(np.save, ODD[rng.integers(len(ODD))]), "an odd array"
        elif name.endswith(".jsonl") and kind < 0.7:
            tree[name], what = json_line(tree[name], rng)
        else:
            tree[name], what = (text if kind < 0.7 else raw)(tree[name], rng)
        done.append(f"{name}: {what}")
    return tree, "; ".join(done)


def _saved(save: Any, *values: Any, **named: Any) -> bytes:
    file = io.BytesIO()
    save(file, *values, allow_pickle=False, **named)
    return file.getvalue()


def arrays(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """An archive in which one array is odd, missing, has other axes, another type or name."""
    if not data.startswith(b"PK\x03"):  # emptied before, or exchanged with a file of text
        return raw(data, rng)
    with np.load(io.BytesIO(data)) as file:
        content = dict(file)
    name = list(content)[rng.integers(len(content))]
    array = content[name]
    match rng.integers(7):
        case 0:
            content[name] = ODD[rng.integers(len(ODD))]
        case 1:
            del content[name]
        case 2:
            content[KEYS[rng.integers(len(KEYS))]] = content.pop(name)
        case 3:
            content[name] = array.transpose(rng.permutation(array.ndim))
        case 4:
            content[name] = (
                array[rng.integers(0, len(array), rng.integers(20))] if array.ndim else array
            )
        case 5:
            kind = str(rng.choice(["f2", "f4", "i8", "u1", "U20", "S4", "?"]))
            if array.dtype.kind in "US":
                kind = "S20" if array.dtype.kind == "U" else "U20"
            with np.errstate(all="ignore"), suppress(ValueError, TypeError):
                content[name] = array.astype(kind)
        case 6:
            shape = rng.permutation([1, *array.shape])[: rng.integers(1, 5)]
            content[name] = np.resize(array, shape)
    return _saved(np.savez, **content), f"{name} is another"


def raw(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """Flip, cut, remove, repeat or overwrite bytes anywhere."""
    out = bytearray(data)
    at, size = int(rng.integers(len(out) + 1)), int(rng.integers(1, 65))
    match rng.integers(5):
        case 0:
            for _ in range(int(rng.integers(1, 9)) if out else 0):
                out[rng.integers(len(out))] ^= 1 << int(rng.integers(8))
            return bytes(out), "bits flipped"
        case 1:
            return bytes(out[:at]), f"cut at {at}"
        case 2:
            del out[at : at + size]
            return bytes(out), f"{size} bytes removed at {at}"
        case 3:
            out[at:at] = out[at : at + size] * int(rng.integers(1, 20))
            return bytes(out), f"{size} bytes repeated at {at}"
    out[at : at + size] = rng.bytes(size)
    return bytes(out), f"{size} random bytes at {at}"


def text(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """Replace a word, or remove, repeat or move a line."""
    if rng.random() < 0.3:
        lines = data.split(b"\n")
        i, j = rng.integers(len(lines), size=2)
        match rng.integers(3):
            case 0:
                del lines[i]
            case 1:
                lines.insert(i, lines[j])
            case 2:
                lines[i], lines[j] = lines[j], lines[i]
        return b"\n".join(lines), f"line {i} removed, repeated or moved"
    words = list(re.finditer(rb"[\w.+-]+|[^\w\s]", data))
    if not words:
        return raw(data, rng)
    word = words[rng.integers(len(words))]
    put = WORDS[rng.integers(len(WORDS))]
    changed = data[: word.start()] + put + data[word.end() :]
    return changed, f"{word[0][:30]!r} at {word.start()} is {put[:30]!r}"


def json_line(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """Change, rename or remove a value of a line of JSON."""
    lines = data.split(b"\n")
    i = int(rng.integers(len(lines)))
    try:
        document = json.loads(lines[i])
    except ValueError:  # damaged before
        return text(data, rng)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        if isinstance(node, dict | list):
            for key in node if isinstance(node, dict) else range(len(node)):
                places.append((node, key))
                walk(node[key])

    walk(document)
    value = VALUES[rng.integers(len(VALUES))]
    if not places or rng.random() < 0.02:
        document, what = value, f"line {i} is {str(value)[:30]!r}"
    else:
        node, key = places[rng.integers(len(places))]
        kind = rng.integers(5)
        if kind == 0:
            del node[key]
        elif kind == 1 and isinstance(node[key], list):
            node[key] = node[key] * int(rng.choice([0, 2, 50]))
        elif kind == 2 and isinstance(node, dict):
            node[str(value)] = node.pop(key)
        else:
            node[key] = value
        what = f"{key!r} of line {i} removed, repeated, renamed, or {str(value)[:30]!r}"
    depth = int(rng.choice([50, 400, 20_000]))
    written = json.dumps(document).replace(json.dumps(DEEP), "[" * depth + "]" * depth)
    lines[i] = written.encode()
    return b"\n".join(lines), what
