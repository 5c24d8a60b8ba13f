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
from command_line import run as run_command

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import calls
import files
import growth
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


@pytest.mark.parametrize("name", calls.functions())
def test_functions_whose_growth_is_measured(name):
    probs, y = calls.predictions(3, 200, 4)
    assert calls.functions()[name](lw.Ensemble(probs), y) is not None


@pytest.mark.parametrize("name", calls.COMMANDS)
def test_commands_whose_growth_is_measured(name, tmp_path):
    calls.write_predictions(tmp_path, 3, 200, 4)
    result = run_command(*calls.words_of(name, tmp_path))
    assert result.exit_code == 0, result.output


def test_a_measurement_is_a_process_of_its_own():
    found = calls.measure("log_loss", 3, 1000, 4)
    assert found.input == 3 * 1000 * 4 * 4
    assert found.seconds > 0


def growing(name, m, n, k):
    """Time that grows with N² and memory with K, beside fixed costs."""
    return calls.Measurement(7.0 + 1e-9 * n**2 * k, 5e7 + 10.0 * m * n * k, 7.0, 5e7, 4 * m * n * k)


def test_growth_out_of_proportion_is_flagged():
    row = growth.grow("quadratic", {"m": 5, "n": 1000, "k": 10}, growing)
    assert row["time, N"] == pytest.approx(2)
    assert row["time, K"] == pytest.approx(1)
    assert np.isnan(growth.exponent([0, 0, 1]))
    assert growth.exponent([1, 2, np.inf]) == np.inf
    assert row["memory, M"] == pytest.approx(1)
    assert row["peak ÷ input"] == pytest.approx(2.5)
    texts = dict(zip(growth.HEADER, growth.cells(row), strict=True))
    assert texts["time, N"] == "**2.00**"
    assert texts["time, K"] == "1.00"
    assert texts["peak ÷ input"] == "**2.50**"


def test_a_large_call_misses_its_target_by_time_or_memory():
    found = calls.Measurement(10.0, 300e6, 1.0, 50e6, 100_000_000)
    for target, misses in (
        (growth.Target("x", (1, 1, 1), 12, 400e6), False),
        (growth.Target("x", (1, 1, 1), 9, 400e6), True),
        (growth.Target("x", (1, 1, 1), 12, 200e6), True),
        (growth.Target("x", (1, 1, 1), multiple=2.4), True),
        (growth.Target("x", (1, 1, 1), bytes=20e6, multiple=2.4), False),
    ):
        assert target.missed(found) == misses, target.text
        assert (growth.proportion_cells(target, found)[-1] == "misses") == misses


def test_growth_is_on_the_page():
    rows = [growth.cells(growth.grow("quadratic", {"m": 5, "n": 1000, "k": 10}, growing))]
    large = [growth.proportion_cells(growth.TARGETS[0], growing("x", 5, 1000, 10))]
    extra = {"memory": [], "scaling": [], "peers": [], "growth": rows, "proportion": large}
    text = run.page.whole([], [], extra, "A machine", quick=False)
    assert "## Growth" in text
    assert "| quadratic | **2.00** |" in text
    assert "| labelwise evaluate | 5 × 50,000 × 1,000 (0 MB) |" in text
