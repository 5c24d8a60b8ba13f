"""The benchmarks compare the same things: on few instances, every plain formula agrees with
labelwise.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import files
import run
import table
import values

ROADS = [*table.LOSSES, *table.other_libraries()]


@pytest.mark.parametrize("row", ROADS, ids=lambda row: row.name)
def test_plain_formulas_agree_on_values_of_every_size(row):
    for kind in values.RANGES:
        kind_row = replace(row, values=kind, shape=(5, 50, 10))
        run.agree(kind_row, kind_row.data(kind_row))


@pytest.mark.parametrize("row", table.DISTRIBUTIONS, ids=lambda row: row.name)
def test_plain_formulas_agree_on_distributions(row):
    row = replace(row, shape=(*row.shape[:-2], 20, row.shape[-1]))
    run.agree(row, row.data(row))


def test_a_wrong_formula_is_noticed():
    row = replace(table.LOSSES[0], shape=(5, 50, 10), plain={"wrong": table.LOSSES[1].ours})
    with pytest.raises(AssertionError, match="labelwise and wrong differ"):
        run.agree(row, row.data(row))


@pytest.mark.parametrize("suffix", [".npz", ".zarr", ".parquet"])
def test_a_copy_writes_as_much_as_quantify(suffix, tmp_path):
    probs = values.ensemble("real", (5, 300, 10))
    source = tmp_path / f"predictions{suffix}"
    files.stored(source, probs)
    np.testing.assert_array_equal(files.read(source), probs)
    found = []
    for f, name in ((files.copied, "copy"), (lw.quantify, "results")):
        f(source, target := tmp_path / f"{name}{suffix}")
        found.append(
            {
                name: (x.shape, x.dtype)
                for name, x in _arrays(target).items()
                if name not in ("class_names", "label")
            }
        )
    assert found[0] == found[1]


def _arrays(path):
    if path.suffix == ".npz":
        return dict(np.load(path))
    if path.suffix == ".zarr":
        import zarr

        return dict(zarr.open_group(str(path), mode="r").arrays())
    import pyarrow.parquet as pq

    stored = pq.read_table(path)
    return {name: stored.column(name).to_numpy() for name in stored.column_names}


def test_ranges_are_what_they_say():
    made = {kind: values.ensemble(kind, (5, 2000, 10)) for kind in values.RANGES}
    assert all(np.allclose(p.sum(-1), 1, atol=1e-6) for p in made.values())
    assert np.median(made["real"]) < 1e-7
    assert 1e-12 < np.median(made["confident"]) < 1e-9
    assert np.isin(made["one-hot"], [0, 1]).all()
    small = made["subnormal"][made["subnormal"] < 0.5]
    assert (small < np.finfo(np.float32).tiny).all()
    assert (small > 0).mean() > 0.9
    assert np.median(made["smooth"]) > 1e-3


def test_flags():
    slow = table.Measured({"ours": 2.0, "SciPy": 1.0, "NumPy": 3.0}, 100)
    found = run.page.row("table", table.LOSSES[0], slow)
    assert found["slower"] == ["SciPy"]
    assert found["misses"]
    assert "SLOWER than SciPy; misses" in run.page.line(found)
    fast = run.page.row(
        "table", table.LOSSES[0], table.Measured({"ours": 1.0, "SciPy": 25.0, "NumPy": 5.0}, 100)
    )
    assert not fast["slower"]
    assert not fast["misses"]


def test_a_new_page_keeps_the_section_on_other_processors(tmp_path):
    path = tmp_path / "RESULTS.md"
    run.page.write(path, "# Speed\n\nold\n")
    run.page.replace_section(path, "## Other processors\n\nslow\n")
    run.page.write(path, "# Speed\n\nnew\n")
    assert path.read_text() == "# Speed\n\nnew\n\n## Other processors\n\nslow\n"
