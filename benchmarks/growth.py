"""How time and memory of the commands and main functions grow with members M, instances N and
classes K, and what large calls take: two sections of RESULTS.md.

``python growth.py [TEXT]`` prints both, or the calls whose name has TEXT.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from math import inf, isnan, log, nan
from typing import Any, NamedTuple

import numpy as np
from calls import COMMANDS, Measurement, functions, measure

BASE = {"m": 5, "n": 20_000, "k": 10}
FACTOR = 4
STEPS = 3
MAX_EXPONENT = 1.1
MAX_MULTIPLE = 2.0
MB = 1e6
Measure = Callable[..., Measurement]
HEADER = [
    "call",
    *(f"time, {axis}" for axis in "NKM"),
    *(f"memory, {axis}" for axis in "NKM"),
    "peak ÷ input",
    "s",
]
HOW = """\
Exponents of time and memory in instances N, classes K and members M: three sizes of each, from 5 ×
20,000 × 10 float32 (4 MB) in steps of four times to 64 MB, and the slope of a straight line through
them on logarithmic scales. What the same call takes on next to nothing (imports, the start of a
command) is subtracted. *Peak ÷ input*: the largest multiple of the predictions' size that is held
at the last size of any axis, beyond the input of a function and the idle start of a command. *s*:
seconds for 5 × 320,000 × 10. Each measurement is a process of its own. **Bold**: an exponent above
1.1, that is, growth out of proportion, or a multiple above 2; inf: stopped after 90 seconds; –: too
little to tell."""
PROPORTION_HEADER = ["call", "size", "s", "peak", "÷ input", "target", ""]
PROPORTION_HOW = """\
Large calls, float32, each in a process of its own. The peak of a command is all it holds, that of a
function what it holds beyond its input; the multiple of a command's input is without its idle
start."""


def exponent(values: Sequence[float]) -> float:
    """The slope of a line through sizes that grow by `FACTOR`; infinite where one took too long,
    NaN where fewer than two are more than nothing.
    """
    steps = [step for step, value in enumerate(values) if value > 0]
    if len(steps) < 2:
        return nan
    if inf in values:
        return inf
    logarithms = [log(values[step]) / log(FACTOR) for step in steps]
    return float(np.polyfit(steps, logarithms, 1)[0])


def grow(name: str, base: dict[str, int] = BASE, measure: Measure = measure) -> dict[str, Any]:
    """The exponents along each axis, the largest multiple of the input, and seconds."""
    found: dict[str, Any] = {"name": name}
    multiples = []
    first = measure(name, **base)
    for axis in "nkm":
        runs = [first]
        for step in range(1, STEPS):
            runs.append(measure(name, **base | {axis: base[axis] * FACTOR**step}))
        found[f"time, {axis.upper()}"] = exponent([run.net_seconds for run in runs])
        found[f"memory, {axis.upper()}"] = exponent([run.net_peak for run in runs])
        multiples.append(runs[-1].net_peak / runs[-1].input)
        if axis == "n":
            found["s"] = runs[-1].seconds
    found["peak ÷ input"] = max(multiples)
    return found


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the table; what is above its limit is bold."""
    texts = [row["name"]]
    for column in HEADER[1:-1]:
        limit = MAX_MULTIPLE if column == "peak ÷ input" else MAX_EXPONENT
        text = "–" if isnan(row[column]) else f"{row[column]:.2f}"
        texts.append(f"**{text}**" if row[column] > limit else text)
    return [*texts, f"{row['s']:.2f}"]


class Target(NamedTuple):
    """What a large call may take."""

    name: str
    size: tuple[int, int, int]
    seconds: float | None = None
    bytes: float | None = None
    multiple: float | None = None
    """Of the input; with ``bytes``, these are added to it."""

    @property
    def text(self) -> str:
        parts = []
        if self.seconds is not None:
            parts.append(f"≤ {self.seconds:g} s")
        memory = []
        if self.multiple is not None:
            memory.append(f"{self.multiple:g} ×")
        if self.bytes is not None:
            memory.append(f"{self.bytes / MB:,.0f} MB")
        if memory:
            parts.append(f"≤ {' + '.join(memory)}")
        return ", ".join(parts)

    def missed(self, found: Measurement) -> bool:
        held, limit = found.peak, self.bytes
        if self.multiple is not None:
            held, limit = found.net_peak, self.multiple * found.input + (self.bytes or 0)
        slow = self.seconds is not None and found.seconds > self.seconds
        return slow or (limit is not None and held > limit)


WIDE, TALL, CASES = (5, 50_000, 1000), (5, 1_000_000, 10), (5, 5000, 50)
MANY_CASES, LABELS = (5, 50_000, 50), (5, 200_000, 50)
TARGETS = [
    Target("labelwise evaluate", WIDE, 12, 1500 * MB),
    Target("labelwise evaluate", TALL, 4, 600 * MB),
    Target("labelwise acquire", WIDE, 8, 1500 * MB),
    Target("labelwise decide", CASES, multiple=3),
    Target("labelwise decide", MANY_CASES, multiple=3),
    Target("labelwise sets fit", TALL, multiple=2),
    Target("labelwise quantify", TALL, multiple=2),
    Target("check_calibration", TALL, bytes=100 * MB, multiple=1),
    Target("uncertainty_intervals", TALL, bytes=100 * MB, multiple=1),
    Target("fit_calibration", TALL, multiple=2),
    Target("by_class", TALL, multiple=1),
    Target("decide, per label", LABELS, multiple=2),
    Target("fit_sets", TALL, multiple=1),
    Target("calibration_errors", TALL, multiple=1),
    Target("log_loss", TALL, multiple=1),
    Target("brier_score", TALL, multiple=1),
]


def proportion_cells(target: Target, found: Measurement) -> list[str]:
    m, n, k = target.size
    return [
        target.name,
        f"{m} × {n:,} × {k:,} ({found.input / MB:,.0f} MB)",
        f"{found.seconds:.3g}",
        f"{found.peak / MB:,.0f} MB",
        f"{found.net_peak / found.input:.2f}",
        target.text,
        "misses" if target.missed(found) else "",
    ]


def all_growth(text: str = "") -> list[list[str]]:
    """The rows of the section on growth."""
    names = [name for name in (*COMMANDS, *functions()) if text in name]
    return _printed(cells(grow(name)) for name in names)


def in_proportion(text: str = "") -> list[list[str]]:
    """The rows of the section on large calls."""
    wanted = [target for target in TARGETS if text in target.name]
    return _printed(
        proportion_cells(target, measure(target.name, *target.size)) for target in wanted
    )


def _printed(rows: Iterable[list[str]]) -> list[list[str]]:
    """All rows, each printed when it is there."""
    found = []
    for row in rows:
        print(" | ".join(row), file=sys.stderr, flush=True)
        found.append(row)
    return found


if __name__ == "__main__":
    wanted = " ".join(sys.argv[1:])
    all_growth(wanted)
    in_proportion(wanted)
