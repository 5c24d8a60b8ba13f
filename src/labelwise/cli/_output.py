"""Output of the commands: tables for people, JSON for programs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from .._tables import Summary, json_ready, shortened

Command = Callable[..., None]
Section = tuple[dict[str, Any], str]
"""A part of the output: as data for --json, and as text."""

# Characters that could control a terminal or reorder text: C0 and C1 controls, line separators,
# bidirectional embeddings, overrides and isolates; and halves of surrogate pairs, which cannot be
# encoded.
_CONTROL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
LONGEST_ERROR = 2000


def print_on_any_terminal() -> None:
    """Let libraries print too what the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not what tests and notebooks put in its place
            stream.reconfigure(errors="backslashreplace")


def printable(text: str, *, err: bool = False) -> str:
    r"""``text`` with escapes of control characters, except line feeds, and of those that the
    encoding of standard output or error lacks.

    >>> print(printable("mel\x1b[31manoma\u202e"))
    mel\x1b[31manoma\u202e
    """
    escaped = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
    # click would write UTF-8 to a stream that claims to be ASCII
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    return escaped.encode(encoding, "backslashreplace").decode(encoding)


def terminal_line(text: str, longest: int = LONGEST_ERROR) -> str:
    """``text`` on one line, truncated with an ellipsis.

    >>> terminal_line("a name\\nof two lines", 12)
    'a name of t…'
    """
    joined = " ".join(text[: 4 * longest].splitlines())
    return shortened(joined, longest)


def echo(text: str, *, err: bool = False) -> None:
    """Print text for people, with control characters escaped: it may come from an untrusted
    file.
    """
    click.echo(printable(text, err=err), err=err)


def echo_data(text: str) -> None:
    """Write a file to standard output, in UTF-8 as all files; on a terminal, with control
    characters escaped.
    """
    if sys.stdout.isatty():
        click.echo(printable(text.replace("\r\n", "\n")), nl=False)
    else:
        click.echo(text.encode(), nl=False)


def echo_json(value: Any) -> None:
    """``value`` as JSON in ASCII, whatever the terminal; results of the library by their fields,
    NaN and infinity as null.
    """
    click.echo(json.dumps(json_ready(value), indent=2))


def echo_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table with right-aligned numbers, a dash for ``None``, and an empty line after it."""
    echo(Summary(title, columns, list(rows)).text() + "\n")


@contextmanager
def progress_bar(word: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with (steps done, all steps); draws a bar on a terminal and nothing in a
    pipe.
    """
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    with click.progressbar(length=1, label=word, file=sys.stderr, show_pos=True) as bar:

        def show(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield show


def json_option(instead_of: str = "tables") -> Callable[[Command], Command]:
    """``--json``, as the argument ``as_json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help=f"Print JSON instead of {instead_of}."
    )


def write_csv_output(output: Path, rows: Iterable[Sequence[Any]]) -> bool:
    """Write a table, its header first, to a file, or to standard output for ``-``; whether it went
    there. Rows are written as they come.
    """
    from ..io.atomic import replacing
    from ..io.csv import csv_texts

    if str(output) == "-":
        for text in csv_texts(rows):
            echo_data(text)
        return True
    with replacing(output) as file:
        file.writelines(map(str.encode, csv_texts(rows)))
    return False


def check_csv(output: Path | None, what: str) -> bool:
    """Whether a table is asked for on standard output; refuse a file that is not a .csv file."""
    if output is not None and output.suffix != ".csv" and str(output) != "-":
        raise ValueError(f"{what} are written as .csv; got {output.name!r}")
    return str(output) == "-"
