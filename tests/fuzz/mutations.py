"""Damage to files: at random places, and at those that a format gives a meaning to.

Random bytes alone seldom get past a checksum. So archives are unpacked, damaged inside and packed
again, and JSON, TOML and the headers of arrays are changed so that they still parse.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import warnings
import zipfile
from typing import Any

import numpy as np

Tree = dict[str, bytes]
"""Relative paths and contents of the files of a sample."""
Rng = np.random.Generator

LENGTHS = (
    0,
    1,
    2,
    7,
    127,
    128,
    255,
    256,
    32767,
    65535,
    2**20,
    2**24,
    2**28,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**63 - 1,
    2**64 - 1,
)
DEEP = "@deep@"
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    -1,
    0,
    1,
    3,
    65536,
    2**31,
    2**33,
    2**63,
    10**30,
    0.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "0",
    "x" * 10_000,
    "\x1b[31m",
    "\ud800",
    "../../outside",
    "probs",
    "float64",
    "float16",
    "<f8",
    ">f4",
    "|O",
    "|V8",
    "<U100000000",
    "int8",
    "complex128",
    "string",
    "bytes",
    "gzip",
    "zstd",
    "blosc",
    "lz4",
    "vlen-utf8",
    "delta",
    "pickle",
    "F",
    "little",
    "array",
    "group",
    "NaN",
    "Infinity",
    "0x7ff8000000000001",
    [],
    {},
    [0],
    [1, 1, 1],
    [2**40, 2**40],
    [-1],
    [None],
    ["a", "a"],
    {"name": "gzip"},
    {"name": "bytes", "configuration": {}},
    {"a": {"b": 1}},
    DEEP,
)
WORDS = (
    b"",
    b"nan",
    b"inf",
    b"-inf",
    b"-1",
    b"0",
    b"1e999",
    b"9" * 400,
    b"1e-400",
    b"1_000",
    b"0x10",
    b"true",
    b"{}",
    b"[]",
    b"''",
    b'"',
    b"'",
    b"?",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"=",
    b"\n",
    b"\r",
    b"\t",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"%",
    b"@data",
    b"@attribute",
    b"x" * 5000,
    b"[" * 5000,
    b"{a=" * 3000,
    b"class_names",
    b"matrix",
    b"ask",
    b"1979-05-27T07:32:00Z",
    "\u202e".encode(),
    "é".encode("latin-1"),
)


def mutate(tree: Tree, other: Tree, rng: Rng) -> tuple[Tree, str]:
    """A damaged copy of ``tree``, and what was done; ``other`` is one more valid sample of the
    format, to take pieces from.
    """
    tree, done = dict(tree), []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        if not tree:
            break
        name = sorted(tree)[rng.integers(len(tree))]
        meta = [
            key
            for key in sorted(tree)
            if key.endswith(("json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"))
        ]
        if (
            meta and rng.random() < 0.5
        ):  # few among many chunks, and what everything else depends on
            name = meta[rng.integers(len(meta))]
        if len(tree) > 1 and rng.random() < 0.1:
            done.append(_files(tree, name, rng))
        else:
            tree[name], what = content(tree[name], other.get(name, b""), rng)
            done.append(f"{name}: {what}")
    return tree, "; ".join(done)


def _files(tree: Tree, name: str, rng: Rng) -> str:
    other = sorted(tree)[rng.integers(len(tree))]
    match rng.integers(4):
        case 0:
            del tree[name]
            return f"removed {name}"
        case 1:
            tree[name] = b""
            return f"emptied {name}"
        case 2:
            tree[name] = tree[other]
            return f"{name} is a copy of {other}"
    tree[name], tree[other] = tree[other], tree[name]
    return f"exchanged {name} and {other}"


def content(data: bytes, other: bytes, rng: Rng) -> tuple[bytes, str]:
    """Damage one file, more often inside its structure than anywhere."""
    if rng.random() < 0.65:
        try:
            if data[:2] == b"PK":
                return archive(data, rng)
            if data[:2] == b"\x1f\x8b":
                inner, what = content(gzip.decompress(data), b"", rng)
                return gzip.compress(inner, 1), f"unpacked, {what}"
            if data[:6] == b"\x93NUMPY":
                return array_header(data, rng)
            if data[:1] in (b"{", b"["):
                return as_json(data, rng)
            if data.isascii() and data:
                return text(data, rng)
        except Exception:
            pass  # damaged before, in a way that its own library stumbles over: by bytes, then
    return raw(data, other, rng)


def raw(data: bytes, other: bytes, rng: Rng) -> tuple[bytes, str]:
    """Flip, overwrite, cut, insert, repeat, splice: anywhere, but more often near the beginning and
    the end, where headers are.
    """
    out = bytearray(data)
    n = len(out)

    def place() -> int:
        if n == 0:
            return 0
        match rng.integers(3):
            case 0:
                return int(rng.integers(min(n, 400)))
            case 1:
                return int(n - 1 - rng.integers(min(n, 400)))
        return int(rng.integers(n))

    at, size = place(), int(rng.integers(1, 65))
    match rng.integers(8):
        case 0:
            for _ in range(int(rng.integers(1, 9))):
                where = place()
                if n:
                    out[where] ^= 1 << int(rng.integers(8))
            return bytes(out), "bits flipped"
        case 1:
            return bytes(out[:at]), f"cut at {at}"
        case 2:
            width, order = int(rng.choice([1, 2, 4, 8])), "little" if rng.random() < 0.6 else "big"
            value = LENGTHS[rng.integers(len(LENGTHS))] % (1 << (8 * width))
            out[at : at + width] = value.to_bytes(width, order)  # type: ignore[arg-type]
            return bytes(out), f"{width} bytes at {at} say {value}"
        case 3:
            del out[at : at + size]
            return bytes(out), f"{size} bytes removed at {at}"
        case 4:
            out[at:at] = out[at : at + size] * int(rng.integers(1, 20))
            return bytes(out), f"{size} bytes repeated at {at}"
        case 5:
            out[at : at + size] = rng.bytes(size)
            return bytes(out), f"{size} random bytes at {at}"
        case 6:
            source = other or data
            begin = int(rng.integers(len(source) + 1))
            return bytes(out[:at]) + source[begin:], f"spliced at {at} with the rest from {begin}"
    return bytes(out) + rng.bytes(size), f"{size} random bytes at the end"


def text(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """Replace, repeat or remove a word or a line."""
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
        return raw(data, b"", rng)
    word = words[rng.integers(len(words))]
    put = WORDS[rng.integers(len(WORDS))]
    return data[: word.start()] + put + data[
        word.end() :
    ], f"{word[0][:30]!r} at {word.start()} is {put[:30]!r}"


def as_json(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """Change, add or remove a value of a JSON document."""
    document = json.loads(data)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in (
            node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        ):
            places.append((node, key))
            walk(node[key])

    walk(document)
    value = VALUES[rng.integers(len(VALUES))]
    if not places or rng.random() < 0.02:
        document, what = value, f"all of it is {str(value)[:30]!r}"
    else:
        node, key = places[rng.integers(len(places))]
        old = node[key]
        kind = rng.integers(6)
        if kind == 0:
            del node[key]
            what = f"{key!r} removed"
        elif kind == 1 and isinstance(old, int | float):
            node[key] = type(old)(
                old * int(rng.choice([-1, 2, 1000, 10**9])) + int(rng.integers(-1, 2))
            )
            what = f"{key!r} is {node[key]!r}"
        elif kind == 2 and isinstance(old, list):
            node[key] = old * int(rng.choice([0, 2, 50]))
            what = f"{key!r} repeated"
        elif kind == 3 and isinstance(node, dict):
            node[str(VALUES[rng.integers(len(VALUES))])] = node.pop(key)
            what = f"{key!r} renamed"
        else:
            node[key] = value
            what = f"{key!r} is {str(value)[:30]!r}"
    depth = int(rng.choice([50, 400, 20_000]))
    written = json.dumps(document).replace(json.dumps(DEEP), "[" * depth + "]" * depth)
    return written.encode(), what


def array_header(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """Another shape or type in the header of an .npy array."""
    size = 2 if data[6] == 1 else 4
    length = int.from_bytes(data[8 : 8 + size], "little")
    header, body = data[8 + size : 8 + size + length].decode("latin-1"), data[8 + size + length :]
    shapes = (
        "()",
        "(1,)",
        "(0, 5, 3)",
        "(5, 0, 3)",
        "(5, 3, 0)",
        "(-1, 5)",
        f"({2**62}, 8)",
        f"({10**30},)",
        "(1,)*5",
        "(2,) " * 20,
        "(True, 2)",
        "(1.5,)",
        "'x'",
        f"({'1, ' * 64})",
    )
    types = (
        "'|O'",
        "'<f8'",
        "'>f4'",
        "'<f2'",
        "'<c16'",
        "'|b1'",
        "'<U5'",
        "'|S0'",
        "'<M8[ns]'",
        "'|V8'",
        "[('a', '<f8')]",
        "'<U500000000'",
        "'f16'",
        "5",
        "None",
        "'i4, (9999999,)f8'",
    )
    match rng.integers(4):
        case 0:
            put = shapes[rng.integers(len(shapes))]
            header = re.sub(r"\([^)]*\)", lambda _: put, header, count=1)
        case 1:
            put = types[rng.integers(len(types))]
            header = re.sub(r"'descr': [^,]*", lambda _: f"'descr': {put}", header, count=1)
        case 2:
            put = "the other order"
            header = (
                header.replace("False", "True")
                if "False" in header
                else header.replace("True", "False")
            )
        case _:
            changed, put = text(header.encode("latin-1"), rng)
            header = changed.decode("latin-1")
    header = header.rstrip() + "\n"
    encoded = header.encode("latin-1", "replace")
    return data[:8] + (len(encoded) % (1 << (8 * size))).to_bytes(
        size, "little"
    ) + encoded + body, f"array header: {put[:40]}"


def odd_array(rng: Rng) -> bytes:
    """A valid .npy file of a kind that few expect."""
    odd: tuple[Any, ...] = (
        np.zeros(()),
        np.zeros(0),
        np.zeros((5, 0, 3)),
        np.full((5, 12, 3), np.nan),
        np.full((5, 12, 3), 1 / 3, np.float16),
        np.full((5, 12, 3), np.inf),
        np.arange(12),
        np.full(12, 2**63, np.uint64),
        np.full(12, -1),
        np.zeros((12, 3), np.int8),
        np.full((12, 3), 2),
        np.array(["a"] * 3),
        np.array(["", "", ""]),
        np.array([b"\xff"] * 12),
        np.array("text"),
        np.zeros(12, complex),
        np.zeros(12, "M8[s]"),
        np.zeros(12, [("a", float)]),
        np.zeros(12, bool),
        np.full((5, 12, 3), 1 / 3, np.longdouble),
        np.zeros((1,) * 30),
        np.full((5, 12, 3), 1 / 3, ">f8"),
        np.asfortranarray(np.full((5, 12, 3), 1 / 3)),
        np.full((5, 12, 3), -1.0),
        np.full((5, 12, 3), 1e308),
        np.array(["\ud800", "b", "c"]),
        np.zeros((12, 0, 0)),
    )
    file = io.BytesIO()
    np.save(file, odd[rng.integers(len(odd))], allow_pickle=False)
    return file.getvalue()


def archive(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """An archive packed again with one entry changed, so that its checksums are right."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        entries = [[entry.filename, packed.read(entry)] for entry in packed.infolist()]
    i = int(rng.integers(len(entries)))
    name, inner = entries[i]
    method = int(
        rng.choice(
            [
                zipfile.ZIP_STORED,
                zipfile.ZIP_STORED,
                zipfile.ZIP_DEFLATED,
                zipfile.ZIP_BZIP2,
                zipfile.ZIP_LZMA,
            ]
        )
    )
    match rng.integers(8):
        case 0:
            del entries[i]
            what = f"without {name}"
        case 1:
            entries.append([name, entries[rng.integers(len(entries))][1]])
            what = f"{name} twice"
        case 2:
            entries[i][0] = str(
                rng.choice(
                    [
                        "../outside.npy",
                        "",
                        "probs.npy",
                        "alpha.npy",
                        "y_true.npy",
                        "weights",
                        "images.npy",
                        "ids.npy",
                        "x" * 60_000,
                    ]
                )
            )
            what = f"{name} is called {entries[i][0][:30]}"
        case 3 if name.endswith(".npy"):
            entries[i][1] = odd_array(rng)
            what = f"{name} is odd"
        case 4:
            j = int(rng.integers(len(entries)))
            entries[i][1], entries[j][1] = entries[j][1], entries[i][1]
            what = f"{name} and {entries[j][0]} exchanged"
        case _:
            entries[i][1], what = content(inner, b"", rng)
            what = f"{name}: {what}"
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two entries of one name: on purpose
        with zipfile.ZipFile(file, "w", method) as packed:
            for key, value in entries:
                packed.writestr(zipfile.ZipInfo(key, (1980, 1, 1, 0, 0, 0)), value, method)
    return file.getvalue(), f"packed again, {what}"
