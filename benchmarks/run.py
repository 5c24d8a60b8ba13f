"""Measure labelwise against the plain formulas and write benchmarks/RESULTS.md: ``make bench``;
``make bench-quick`` only prints.

All contenders of a row (`table.py`) run in turn in one process, so that the machine's moods hit
them alike. The number is the median over the rounds. Calls include the allocation of the results,
and for labelwise also the validation of the input. Before a row is timed, its results are compared.
``--only TEXT`` measures the rows whose name has it, and prints; ``--processors`` measures on what
this processor can be told to be, and writes that section only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import growth
import machine
import numpy as np
import page
import table
import values
from accuracy import logistic_normal
from calls import status
from table import Measured, Row

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
warnings.filterwarnings(
    "ignore", message=".*not writable.*"
)  # torch, about NumPy arrays that are only read


def seconds(run: Callable[[], Any], calls: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def agree(row: Row, data: Any) -> None:
    """Compare the results of all contenders, label by label."""
    if not row.plain:
        return
    where = row.compared(data)
    ours = row.ours(data)
    for name, run in row.plain.items():
        for x, y in zip(ours, run(data), strict=True):
            x, y = np.asarray(x), np.asarray(y)
            if not np.allclose(
                x[where],
                y[where],
                rtol=100 * row.tolerance,
                atol=row.tolerance * max(1, row.shape[-1]),
            ):
                raise AssertionError(
                    f"{row.name}, {row.values}: labelwise and {name} differ by "
                    f"{np.abs(x - y)[where].max():.2g}"
                )


def measure(row: Row, budget: float) -> Measured:
    """Median seconds of each contender: three to nine rounds, as far as the ``budget`` in seconds
    goes; one of what takes very long.
    """
    data = row.data(row)
    agree(row, data)
    runs: dict[str, Callable[[], Any]] = {"ours": lambda: row.ours(data)}
    runs |= {name: lambda run=run: run(data) for name, run in row.plain.items()}
    if row.reference is not None:
        runs["reference"] = lambda: row.reference(data)  # type: ignore[misc]
    once = {
        name: min(seconds(run), seconds(run)) if row.reference is None else seconds(run)
        for name, run in runs.items()
    }
    calls = {
        name: max(1, int(0.003 / t)) for name, t in once.items()
    }  # several in a round where one is short
    expected = sum(once[name] * calls[name] for name in runs)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(max(3 if expected < 10 * budget else 1, min(9, int(budget / expected)))):
        for name, run in runs.items():
            time.sleep(
                0.005
            )  # threads of the one before spin for some milliseconds before they rest
            if calls[name] > 1:
                run()  # short calls are made in loops: the code of the first comes from main memory
            times[name].append(seconds(run, calls[name]))
    return Measured({name: median(found) for name, found in times.items()}, int(np.prod(row.shape)))


def rows(quick: bool) -> Iterable[tuple[str, Row]]:
    """All rows with their section."""
    factor = 5 if quick else 1
    roads = [*table.LOSSES, *table.other_libraries()]
    singles = [
        *table.shapes(quick),
        *table.DISTRIBUTIONS,
        *table.DECISIONS,
        *map(table.quantified, (".npz", ".zarr", ".parquet")),
    ]
    for row in singles:
        yield "table", row.smaller(factor if not row.name.startswith("quantify") else 4 * factor)
    for kind in values.RANGES:  # one after another, so that the data are made once
        for row in roads:
            yield "ranges", replace(row, values=kind).smaller(factor)


def measured(chosen: Iterable[tuple[str, Row]], budget: float) -> list[dict[str, Any]]:
    """What is known of each row afterwards, as plain data."""
    found = []
    for section, row in chosen:
        result = page.row(section, row, measure(row, budget))
        print(page.line(result), file=sys.stderr, flush=True)
        found.append(result)
    return found


def weak_scaling(sizes: Iterable[int]) -> list[tuple[int, float]]:
    """Million predictions per second by the number of instances: log loss, real float32
    predictions.
    """
    rates = []
    for n in sizes:
        row = replace(table.LOSSES[0], plain={}, shape=(5, n, 10))
        rates.append((n, 50 * n / measure(row, 1.0).seconds["ours"] / 1e6))
    return rates


def memory(name: str, contender: str) -> float:
    """Peak extra memory of one call in this process, as a multiple of the input."""
    row = next(
        row for _, row in rows(quick=False) if row.name == name and row.shape == (5, 400_000, 10)
    )
    run: Any = row.ours if contender == "ours" else row.plain[contender]
    small = row.smaller(4000)
    run(small.data(small))
    data = row.data(row)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = status("VmRSS")
    kept = run(data)
    return (status("VmHWM") - before) / data.nbytes if kept else np.nan


def _elsewhere(
    *arguments: str, env: dict[str, str] | None = None, before: tuple[str, ...] = ()
) -> Any:
    """What a process of its own prints as JSON."""
    command = [*before, sys.executable, *arguments]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | (env or {})
    )
    return json.loads(done.stdout.splitlines()[-1])


def extras() -> dict[str, Any]:
    """What only the full run measures."""
    contenders = [("log", "ours"), ("log", "SciPy"), ("squared", "ours"), ("squared", "NumPy")]
    return {
        "memory": [
            (*pair, _elsewhere(str(HERE / "run.py"), "--memory", *pair)) for pair in contenders
        ],
        "scaling": weak_scaling((10**4, 10**5, 10**6, 10**7)),
        "peers": _elsewhere(str(HERE / "peers.py")),
        "growth": growth.all_growth(),
        "proportion": growth.in_proportion(),
    }


def processors() -> str:
    """The section on other processors: kernels forced one by one, then with the plainest code of
    all libraries.
    """
    lowest = (sys.executable, str(HERE.parent / ".ci" / "lowest_dispatch.py"))
    found = {}
    for dispatch, before in (("as usual", ()), ("plainest", lowest)):
        for kernel in ("baseline", "v3", "v4"):
            if machine.has_kernel(kernel):
                env = {"LABELWISE_KERNEL": kernel}
                found[kernel, dispatch] = _elsewhere(
                    str(HERE / "run.py"), "--json", "--quick", "--losses", env=env, before=before
                )
            else:
                found[kernel, dispatch] = None
    return page.processors(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="a fifth of the instances, few rounds, no file"
    )
    parser.add_argument("--only", metavar="TEXT", help="only rows whose name has it, and no file")
    parser.add_argument(
        "--losses", action="store_true", help="only the rows of NumPy ensembles, and no file"
    )
    parser.add_argument(
        "--processors", action="store_true", help="write the section on other processors"
    )
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        print(memory(*options.memory))
        return
    if options.processors:
        page.replace_section(RESULTS, processors())
        return
    chosen = rows(options.quick)
    if options.losses:
        names = {row.name for row in table.LOSSES}
        chosen = ((section, row) for section, row in chosen if row.name in names)
    if options.only:
        chosen = (
            (section, row)
            for section, row in chosen
            if re.search(re.escape(options.only), row.name)
        )
    start = time.perf_counter()
    results = measured(chosen, 0.3 if options.quick else 4)
    if options.json:
        print(json.dumps(results))
        return
    whole = not (options.only or options.losses)
    exact = (
        [logistic_normal(spread, 20 if options.quick else 200, 2**16) for spread in (0.3, 1.0, 3.0)]
        if whole
        else []
    )
    extra = extras() if whole and not options.quick else {}
    text = page.whole(results, exact, extra, machine.description(), quick=options.quick)
    print(text)
    if whole and not options.quick:
        page.write(RESULTS, text)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
