"""The commands, run in this process."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

import labelwise.cli

LAB_COMMANDS = ("petct", "reproduce", "train", "votes")


def run(*args: object, **options: Any) -> Result:
    """``labelwise ARGS``, or ``labelwise-lab ARGS`` where the command is one of the lab."""
    words = [str(arg) for arg in args]
    main = labelwise.cli.main
    if words and words[0] in LAB_COMMANDS:
        from labelwise_lab.cli import main
    return CliRunner().invoke(main, words, **options)
