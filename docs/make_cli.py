"""Writes docs/reference/cli.md from the help pages of the command: python docs/make_cli.py"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

import labelwise.cli
import labelwise_lab.cli

PROGRAMS = {"labelwise": labelwise.cli.main, "labelwise-lab": labelwise_lab.cli.main}

HEAD = """# The command

This page is generated from the help pages by `python docs/make_cli.py`; a test compares them.
"""

END = """
<!-- end of the help pages -->

## What holds for every command

| exit code | means |
|---|---|
| 0 | success |
| 2 | an error that you can fix, such as a damaged file or too little memory, in one sentence |
| 70 | a bug in labelwise; `labelwise --debug …` shows the traceback |
| 130 | interrupted |

- `PREDICTIONS` is one or more files or a folder, in any of the [formats](formats.md). Several files are the members.
- Files are written whole or not at all, and no command writes over a file that it reads: [Reading and writing files](files.md). A second `labelwise-lab train` or
  `petct prepare` with the same output exits with code 2 and names the first.
- In CSV files, text that a spreadsheet would run as a formula (it begins with `=`, `+`, `-`, `@`, a tab or a line end) gets an apostrophe in front; numbers do not.
- Control characters in names are printed as `\\x1b`, never sent to the terminal. Files are in UTF-8; characters that a terminal lacks are printed as look-alikes.
"""  # noqa: E501


def pages(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """Name and help page of a command and of its subcommands."""
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from pages(below, click.Context(below, info_name=name, parent=context))


def text() -> str:
    """The whole page."""
    text = HEAD
    for program, main in PROGRAMS.items():
        context = click.Context(
            main,
            info_name=program,
            terminal_width=100,
            max_content_width=100,
            **main.context_settings,
        )
        text += "".join(
            f"\n## {name}\n\n```text\n{page}\n```\n" for name, page in pages(main, context)
        )
    return text + END


if __name__ == "__main__":
    (Path(__file__).parent / "reference" / "cli.md").write_text(text(), encoding="utf-8")
