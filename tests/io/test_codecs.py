"""Compressions: what the usual libraries write is decoded, and never to more bytes than belong
there.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib

import numpy as np
import pytest

from labelwise.io.codecs import COMPRESSIONS, crc32c

CONTENT = np.random.default_rng(0).integers(0, 9, 5000, dtype=np.uint8).tobytes()


def packed(name: str, optional) -> bytes:
    standard = {
        "gzip": gzip.compress,
        "zlib": zlib.compress,
        "bz2": bz2.compress,
        "lzma": lzma.compress,
    }
    if name in standard:
        return standard[name](CONTENT)
    return bytes(optional("numcodecs").get_codec({"id": name}).encode(CONTENT))


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_within_bounds(name: str, optional) -> None:
    data, decode = packed(name, optional), COMPRESSIONS[name]
    assert bytes(decode(data, len(CONTENT))) == CONTENT
    with pytest.raises(
        ValueError, match=r"but only 4,999 belong there|more than the 4,999 bytes that belong there"
    ):
        decode(data, len(CONTENT) - 1)
    for damaged in (b"", data[:3], data[: len(data) // 2]):
        with pytest.raises(ValueError, match="chunk"):
            decode(damaged, len(CONTENT))


def test_zstd_without_a_size_fills_a_buffer_of_the_allowed_length(optional) -> None:
    """A frame of one raw block, with a window instead of the size of its content (RFC 8878)."""
    optional("numcodecs")
    frame = b"\x28\xb5\x2f\xfd" + b"\x00\x58" + (1 | 3 << 3).to_bytes(3, "little") + b"abc"
    assert bytes(COMPRESSIONS["zstd"](frame, 3)) == b"abc"
    with pytest.raises(ValueError, match="a zstd chunk is damaged"):
        COMPRESSIONS["zstd"](frame, 2)


def test_checksum(optional) -> None:
    value = optional("google_crc32c").value(b"123456789")
    assert value == 0xE3069283  # the check value of CRC-32C
    assert crc32c(b"123456789" + value.to_bytes(4, "little")) == b"123456789"
    for damaged in (b"123456780" + value.to_bytes(4, "little"), b"123", b""):
        with pytest.raises(ValueError, match="the checksum of a chunk is wrong"):
            crc32c(damaged)
