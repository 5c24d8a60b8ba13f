"""completion: scripts for shells, and what they complete."""

from __future__ import annotations

import subprocess
import sys

import pytest

from command_line import run


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_LABELWISE_COMPLETE={shell}_complete" in result.output


def test_shells_complete_subcommands() -> None:
    script = "from labelwise.cli import main; main(prog_name='labelwise')"
    environment = {
        "_LABELWISE_COMPLETE": "bash_complete",
        "COMP_WORDS": "labelwise re",
        "COMP_CWORD": "1",
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=60
    )
    assert done.stdout.split() == ["plain,report"]
