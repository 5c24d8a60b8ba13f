"""The command as a whole: subcommands, exit codes, one sentence instead of a traceback."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import labelwise
from labelwise.cli import main


def failing(error: BaseException):
    @click.command("fail")
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ValueError("`x` must be small; got 3"), 2, "Error: `x` must be small; got 3\n"),
        (TypeError("not text"), 2, "Error: not text\n"),
        (FileNotFoundError("there is no file"), 2, "Error: there is no file\n"),
        (ImportError('needs torch; install it with: pip install "labelwise[torch]"'), 2, "Error: needs torch"),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
    ],
)
def test_errors_become_one_sentence(monkeypatch, error, code, words):
    monkeypatch.setattr(type(main), "get_command", lambda self, ctx, name: failing(error))
    result = CliRunner().invoke(main, ["fail"])
    assert result.exit_code == code
    assert result.output.startswith(words)
    assert "Traceback" not in result.output
    result = CliRunner().invoke(main, ["--debug", "fail"])
    assert result.exit_code != 0
    assert code == 130 or result.exception is error


def test_bugs_are_not_hidden(monkeypatch):
    error = ZeroDivisionError("a bug")
    monkeypatch.setattr(type(main), "get_command", lambda self, ctx, name: failing(error))
    assert CliRunner().invoke(main, ["fail"]).exception is error


def test_help_lists_every_subcommand_and_each_has_help():
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    names = main.list_commands(click.Context(main))
    assert "train" in names
    for name in names:
        assert f"  {name} " in result.output
        page = CliRunner().invoke(main, [name, "--help"])
        assert page.exit_code == 0
        assert page.output.startswith(f"Usage: main {name}")


def test_unknown_subcommand_and_version():
    result = CliRunner().invoke(main, ["trian"])
    assert result.exit_code == 2
    assert "trian" in result.output
    assert labelwise.__version__ in CliRunner().invoke(main, ["--version"]).output


def test_help_loads_no_heavy_library():
    script = """
import sys
from labelwise.cli import main
try:
    main(["train", "--help"])
except SystemExit:
    print(sorted({"torch", "jax", "sklearn", "matplotlib", "scipy"} & set(sys.modules)))
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert result.stdout.splitlines()[-1] == "[]"
