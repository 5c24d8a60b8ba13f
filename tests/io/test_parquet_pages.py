"""Headers of .parquet pages that lie are found before anything is decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labelwise.io import load_predictions
from labelwise.io.parquet_pages import _struct, _varint
from parquet_cases import RNG, table


def page_field(path: Path, pq: Any, *numbers: int) -> tuple[int, bytes]:
    """Where in the file the header of the first page has this field, and its bytes."""
    content = path.read_bytes()
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    at = column.dictionary_page_offset or column.data_page_offset
    for wanted in numbers:
        number = 0
        while True:
            kind, number = content[at] & 15, number + (content[at] >> 4)
            at += 1
            if number == wanted:
                break
            at = _struct(content, at)[1] if kind == 12 else _varint(content, at)[1]
    return at, content[at : _varint(content, at)[1]]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (
            (2,),
            2**26,
            r"a page of column `probs` takes 67,108,864 bytes, where 16,777,216 are allowed",
        ),
        ((3,), 2**26, r"a page of column `probs` lies outside of the file"),
        ((3,), -5, r"a page of column `probs` lies outside of the file"),
        (
            (5, 1),
            2**26,
            r"column `probs` holds 67,108,864 values in its pages, but 1,200,000 by its footer",
        ),
        ((5, 1), -5, r"a page of column `probs` has fewer values than none"),
    ],
)
def test_pages_that_lie(
    tmp_path: Path, pa: Any, pq: Any, field: tuple[int, ...], value: int, words: str
) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(
        table(pa, RNG.random((1, 20_000, 60)).astype("f4")),
        path,
        use_dictionary=False,
        data_page_size=1 << 30,
        compression="none",
    )
    at, old = page_field(path, pq, *field)
    assert len(old) == 4
    new, rest = b"", value << 1 ^ value >> 63
    for i in range(4):  # as many bytes as before, so that nothing else moves
        new += bytes([rest >> 7 * i & 127 | (128 if i < 3 else 0)])
    content = bytearray(path.read_bytes())
    content[at : at + 4] = new
    path.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        load_predictions(path, memory=10**6)[0:10]
