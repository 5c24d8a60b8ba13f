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

Exit codes: 0, success; 2, an error that the user can fix, such as a damaged file or too little memory, in one sentence; 70, a bug in labelwise; 130,
interrupted. `labelwise --debug …` shows the traceback. Control characters in names, ids and file names are printed as `\\x1b`, never sent to the
terminal. In CSV files, text that a spreadsheet would interpret as a formula (beginning with `=`, `+`, `-`, `@`, a tab or a line end) is prefixed with an
apostrophe; numbers are not. Files are in UTF-8; on a terminal of another encoding, characters that it lacks are printed as look-alikes or escaped.

Files are written atomically, so no output is ever incomplete. A file that is replaced keeps its mode, and a symbolic link its target. An output that
the command also reads, under whatever name, is refused before any work is done. Of several processes that write the same output, the last to finish
wins; only a second `labelwise-lab train` or `petct prepare` exits with code 2 and names the first. `PREDICTIONS` is one or more files or a folder, in any of the
formats of `docs/reference/formats.md`; several files are the members.
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
    return text


if __name__ == "__main__":
    (Path(__file__).parent / "reference" / "cli.md").write_text(text(), encoding="utf-8")
