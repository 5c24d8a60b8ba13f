"""The command, run in this process."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

from labelwise.cli import main


def run(*args: object, **options: Any) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args], **options)
