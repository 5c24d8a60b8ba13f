"""The commands, run in this process."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

import labelwise.cli
import labelwise_lab.cli


def run(*args: object, **options: Any) -> Result:
    """``labelwise ARGS``, or ``labelwise-lab ARGS`` where the command is one of the lab."""
    words = [str(arg) for arg in args]
    main = (
        labelwise_lab.cli.main
        if words and words[0] in labelwise_lab.cli.COMMANDS
        else labelwise.cli.main
    )
    return CliRunner().invoke(main, words, **options)
