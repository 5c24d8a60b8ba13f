"""`make fuzz`: thousands of damaged files, a table of what became of them, and the bytes of each
kind of failure.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from .campaign import run


def main() -> int:
    """Parse, run, print; 1 if a reader failed."""
    parser = argparse.ArgumentParser(
        prog="make fuzz ARGS=…", description="Read damaged predictions, costs and events."
    )
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same files")
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--only", default="", help="words in the names of formats, with commas")
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path("fuzz-failures"),
        help="folder for the first example of each failure",
    )
    args = parser.parse_args()
    started = time.monotonic()
    console = Console(stderr=True)
    bar = iter(track(range(args.files), "fuzz", console=console, disable=not console.is_terminal))
    tallies = run(**vars(args), progress=lambda done, failed: next(bar))
    seconds = time.monotonic() - started
    table = Table(title=f"{args.files:,} damaged files, seed {args.seed}, {seconds:.0f} s")
    for name in ("format", "files", "read", "refused", "failed"):
        table.add_column(name, justify="left" if name == "format" else "right")
    for name, t in tallies.items():
        numbers = (t.files, t.read, t.refused, t.failures.total())
        table.add_row(name, *(f"{n:,}" for n in numbers))
    Console().print(table)
    for name, t in tallies.items():
        for failure, times in t.failures.most_common():
            print(f"{name}: {failure}, {times} times; an example is in {args.keep}")
    return int(any(t.failures for t in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
