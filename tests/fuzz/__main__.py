"""`make fuzz`: thousands of damaged files, a table of what became of them, and the bytes of each
kind of failure.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from .campaign import replay, run


def main() -> int:
    """Parse, run, print; 1 if a reader failed."""
    parser = argparse.ArgumentParser(
        prog="make fuzz ARGS=…", description="Read damaged files of every format."
    )
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same files")
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds for each file")
    parser.add_argument("--memory", type=int, default=1024, help="megabytes that a file may take")
    parser.add_argument("--only", help="words in the names of formats, separated by commas")
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path("fuzz-failures"),
        help="folder for the first example of each failure",
    )
    parser.add_argument("--replay", type=Path, help="read the files of a kept failure once more")
    args = parser.parse_args()
    console = Console()
    if args.replay is not None:
        found = replay(args.replay, limit=args.limit, memory=args.memory)
        console.print(
            escape(
                json.dumps(
                    {key: value for key, value in found.items() if key != "traceback"}, indent=1
                )
            )
        )
        console.print(escape(found.get("traceback", "")))
        return int(found["outcome"] == "failed")
    started = time.monotonic()
    columns = (
        TextColumn("fuzz"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failures"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=args.files, failed=0)
        tallies = run(
            seed=args.seed,
            files=args.files,
            jobs=args.jobs,
            limit=args.limit,
            memory=args.memory,
            only=args.only,
            keep=args.keep,
            progress=lambda done, total, failed: bar.update(task, completed=done, failed=failed),
        )
    table = Table(
        title=(
            f"{sum(t.files for t in tallies.values()):,} damaged files, seed {args.seed}, "
            f"{time.monotonic() - started:.0f} s"
        )
    )
    for name in ("format", "files", "read", "refused", "failed", "left out"):
        table.add_column(name, justify="left" if name == "format" else "right")
    for name, t in tallies.items():
        table.add_row(
            name, *(f"{x:,}" for x in (t.files, t.read, t.refused, t.failures.total(), t.left_out))
        )
    console.print(table)
    for name, t in tallies.items():
        for key, times in t.failures.most_common():
            example = t.examples[key]
            console.print(
                escape(
                    f"{name}: {key}, {times} times, e.g. --seed {args.seed} file "
                    f"{example['index']}: {example.get('said', '')[:160]!r}"
                )
            )
    failed = any(t.failures for t in tallies.values())
    if failed:
        console.print(
            escape(
                f"One example of each is in {args.keep}; read it again with --replay "
                f"{args.keep}/NAME"
            )
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
