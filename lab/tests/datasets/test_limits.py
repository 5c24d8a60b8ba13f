"""What a file may make us allocate: no more than its length allows, and never more than is read."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from labelwise_lab.datasets._limits import FLOOR, RATIO, check_memory, human, read_array


def test_memory_is_bounded_by_the_length_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(10))
    assert check_memory(path, (FLOOR,), 1) == FLOOR
    with pytest.raises(
        ValueError,
        match=r"x\.bin: its header asks for .* of memory .*, but the file has only 10 bytes",
    ):
        check_memory(path, (FLOOR + 1,), 1)
    assert check_memory(path, (FLOOR + 1,), 1, length=FLOOR) == FLOOR + 1
    assert check_memory(path, (10, RATIO), 1, floor=0) == 10 * RATIO
    for impossible in ((-1, 2), (1,) * 9):
        with pytest.raises(ValueError, match="impossible shape"):
            check_memory(path, impossible, 1)


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_500_000, "1.5 MB"),
        (2.5e8, "250.0 MB"),
        (3e18, "3000000 TB"),
    ],
)
def test_sizes_in_words(nbytes: float, text: str) -> None:
    assert human(nbytes) == text


def test_arrays_are_read_in_blocks(peak: Callable[[Callable[[], object]], int]) -> None:
    values = np.arange(3_000_000, dtype="<u2")
    np.testing.assert_array_equal(
        read_array(io.BytesIO(values.tobytes()), (3, 1_000_000), "<u2", "x"), values.reshape(3, -1)
    )
    stream = io.BytesIO(values.tobytes())
    assert peak(lambda: read_array(stream, (3_000_000,), "<u2", "x")) < values.nbytes + 3 * 2**20
    with pytest.raises(
        ValueError, match=r"x: the file ends after 3 bytes of the 4 bytes that its header promises"
    ):
        read_array(io.BytesIO(b"abc"), (2,), "<u2", "x")
