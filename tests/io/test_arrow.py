"""Tables of Arrow: any slice comes back in bounded memory, and damage is one sentence."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise.io import load_predictions
from parquet_cases import RNG, table


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 170},
        {"row_group_size": 7, "compression": "zstd"},
        {"data_page_version": "2.0"},
        {"use_dictionary": False},
    ],
)
def test_slices_in_any_order(
    tmp_path: Path, pa: Any, pq: Any, fixed: bool, options: dict[str, Any]
) -> None:
    probs = RNG.dirichlet(np.ones(4), (1, 500)).astype(np.float32)
    ids = [f"case {i}" for i in range(500)]
    pq.write_table(
        table(pa, probs, fixed=fixed, ids=ids, y_true=np.arange(500) % 4),
        tmp_path / "p.parquet",
        **options,
    )
    stored = load_predictions(tmp_path / "p.parquet")
    for start, stop in (
        (0, 500),
        (0, 10),
        (10, 20),
        (20, 300),
        (5, 8),
        (499, 500),
        (170, 340),
        (400, 400),
        (0, 1),
    ):
        np.testing.assert_array_equal(stored[start:stop].probs, probs[:, start:stop], strict=True)
    assert stored.ids.tolist() == ids
    assert stored.y_true is not None
    np.testing.assert_array_equal(stored.y_true, np.arange(500) % 4)


def test_a_large_row_group_is_read_a_few_rows_at_a_time(tmp_path: Path, pa: Any, pq: Any) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(
        table(pa, RNG.random((1, 100_000, 50))), path, compression="none", use_dictionary=False
    )  # 40 MB in one group
    code = (
        "import sys\nimport pyarrow as pa\nfrom labelwise.io import load_predictions\n"
        "stored = load_predictions(sys.argv[1])\n"
        "for start in (0, 1000, 30_000):\n    stored[start : start + 1000]\n"
        "print(pa.default_memory_pool().max_memory())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 2 * 10**7


def test_rows_of_unequal_length_are_refused(tmp_path: Path, pa: Any, pq: Any) -> None:
    rows = [
        [0.2, 0.8],
        [0.1, 0.9, 0.5],
        [1.0],
        [0.5, 0.5],
    ]
    pq.write_table(pa.table({"probs": rows}), tmp_path / "p.parquet")
    message = "p.parquet: column `probs` must hold 2 numbers in every row, as the first"
    with pytest.raises(ValueError, match=re.escape(message)):
        load_predictions(tmp_path / "p.parquet")[0:4]


def test_missing_labels_and_other_types(tmp_path: Path, pa: Any, pq: Any) -> None:
    for columns, error, words in (
        (
            {"y_true": pa.array([0, None, 1])},
            ValueError,
            "column `y_true` must have no missing values; 1 are missing",
        ),
        (
            {"ids": pa.array(["a", None, "b"])},
            ValueError,
            "column `ids` must have no missing values",
        ),
        (
            {"y_true": pa.array([0.5, 1.0, 1.5])},
            TypeError,
            "`y_true` must be whole numbers or class names",
        ),
        (
            {"ids": pa.array([{"a": 1}] * 3)},
            TypeError,
            "column `ids` must hold texts or whole numbers; got struct",
        ),
    ):
        pq.write_table(table(pa, np.full((1, 3, 2), 0.5), **columns), tmp_path / "p.parquet")
        with pytest.raises((TypeError, ValueError), match=words) as caught:
            load_predictions(tmp_path / "p.parquet")
        assert issubclass(caught.type, (error, ValueError))


@pytest.mark.filterwarnings("ignore::UserWarning")  # damaged names are said
def test_damage_gives_one_sentence(tmp_path: Path, pa: Any, pq: Any) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "p.parquet"
    pq.write_table(
        table(
            pa,
            rng.random((1, 60, 3)).astype("f4"),
            ids=[f"c{i}" for i in range(60)],
            y_true=np.arange(60) % 3,
        ),
        path,
    )
    whole = path.read_bytes()
    refused = []
    for _ in range(400):
        content = bytearray(whole)
        for _ in range(rng.integers(1, 4)):
            content[rng.integers(len(content))] = rng.integers(256)
        path.write_bytes(content if rng.random() < 0.8 else content[: rng.integers(len(content))])
        try:
            load_predictions(path)[0:60]
        except (ValueError, TypeError) as error:
            refused.append(str(error))
    assert len(refused) > 200
    assert all(sentence.startswith("p.parquet") and "\n" not in sentence for sentence in refused)


def write_arrow(pa: Any, path: Path, made: Any, **options: Any) -> Path:
    options = {"options": pa.ipc.IpcWriteOptions(**options)}
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, made.schema, **options) as writer,
    ):
        writer.write_table(made, max_chunksize=7)
    return path


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_lists_in_arrow_files(tmp_path: Path, pa: Any, compression: str | None) -> None:
    probs = RNG.dirichlet(np.ones(4), (1, 50)).astype(np.float32)
    path = write_arrow(pa, tmp_path / "p.arrow", table(pa, probs), compression=compression)
    stored = load_predictions(path)
    for start, stop in ((0, 50), (5, 20), (20, 30), (3, 4), (50, 50)):
        np.testing.assert_array_equal(stored[start:stop].probs, probs[:, start:stop], strict=True)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"^p\.arrow"):
        load_predictions(path)


def test_text_in_views(tmp_path: Path, pa: Any) -> None:
    """What polars writes."""
    ids = ["a", "a text of more than twelve bytes", "ü"]
    columns = {"id": pa.array(ids, pa.string_view()), "a": np.full(3, 0.5), "b": np.full(3, 0.5)}
    path = write_arrow(pa, tmp_path / "p.arrow", pa.table(columns))
    assert list(lw.load_predictions(path).ids) == ids
