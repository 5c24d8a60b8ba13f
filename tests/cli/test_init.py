"""The command as a whole: subcommands, exit codes, one sentence instead of a traceback."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import zlib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import labelwise.cli
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
        (OSError(28, "No space left on device"), 2, "Error: No space left on device\n"),
        (
            PermissionError(13, "Permission denied", "secret.npz"),
            2,
            "Error: Permission denied: 'secret.npz'\n",
        ),
        (
            ImportError('needs torch; install it with: pip install "labelwise[torch]"'),
            2,
            "Error: needs torch",
        ),
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


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("a\nb"), KeyError("x"), RecursionError("x"), zlib.error("x")]
)
def test_bugs_are_called_bugs_and_debug_shows_where(monkeypatch, error):
    monkeypatch.setattr(type(main), "get_command", lambda self, ctx, name: failing(error))
    result = CliRunner().invoke(main, ["fail"])
    assert result.exit_code == 70
    assert result.output.startswith(f"Error: this is a bug in labelwise ({type(error).__name__}: ")
    assert "--debug" in result.output
    assert "labelwise --version" in result.output
    assert result.output.count("\n") == 1
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    assert CliRunner().invoke(main, ["--debug", "fail"]).exception is error


def test_memory_is_not_a_bug(monkeypatch):
    monkeypatch.setattr(
        type(main),
        "get_command",
        lambda self, ctx, name: failing(MemoryError("Unable to allocate 3 TiB")),
    )
    result = CliRunner().invoke(main, ["fail"])
    assert (result.exit_code, result.output) == (
        2,
        "Error: not enough memory: Unable to allocate 3 TiB\n",
    )


def test_the_end_of_a_file_is_not_an_interrupt(monkeypatch):
    error = EOFError("Compressed file ended before the end-of-stream marker was reached")
    monkeypatch.setattr(type(main), "get_command", lambda self, ctx, name: failing(error))
    result = CliRunner().invoke(main, ["fail"])
    assert (result.exit_code, result.output) == (2, f"Error: the input ends too early: {error}\n")


@pytest.mark.parametrize("where", ["import", "callback", "close", "group close", "help"])
def test_errors_anywhere_are_sentences(monkeypatch, where):
    def wrong(*_: object) -> None:
        raise KeyError("x")

    @click.command("fail")
    @click.option("--number", callback=wrong if where == "callback" else None)
    @click.pass_context
    def fail(ctx: click.Context, number: str | None) -> None:
        if where.endswith("close"):
            (ctx if where == "close" else ctx.find_root()).call_on_close(wrong)

    monkeypatch.setattr(
        type(main),
        "get_command",
        wrong if where in ("import", "help") else lambda self, ctx, name: fail,
    )
    result = CliRunner().invoke(main, ["--help"] if where == "help" else ["fail"])
    assert result.exit_code == 70
    assert result.output.startswith("Error: this is a bug in labelwise (KeyError: 'x')")
    assert isinstance(result.exception, SystemExit)


def test_traceback_of_a_real_process_only_with_debug(tmp_path):
    script = """
import sys
import labelwise.cli as cli, labelwise.io
def broken(path, quiet):
    raise RuntimeError("red \\x1b[31m")
import labelwise.cli.evaluate as evaluate
evaluate.read_predictions = broken
cli.main(sys.argv[1:])
"""
    run = [sys.executable, "-c", script]
    done = subprocess.run([*run, "evaluate", "x.npz"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 70
    assert done.stderr.startswith(
        "Error: this is a bug in labelwise (RuntimeError: red \\x1b[31m). "
    )
    done = subprocess.run(
        [*run, "--debug", "evaluate", "x.npz"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert "\x1b" not in done.stderr


def test_nothing_typed_or_named_controls_the_terminal(monkeypatch):
    evil = "\x1b[2J\x9b31m\u202e\x07\x7f"
    monkeypatch.setattr(
        type(main),
        "get_command",
        lambda self, ctx, name: failing(ValueError(f"no {evil} here\r\nsecond line")),
    )
    result = CliRunner().invoke(main, ["fail"])
    assert result.output == "Error: no \\x1b[2J\\x9b31m\\u202e\\x07\\x7f here second line\n"
    monkeypatch.undo()
    result = CliRunner().invoke(main, ["quantify", "x.npz", "-o", "y.npz", "--loss", evil])
    assert result.exit_code == 2
    assert not set(evil) & set(result.output) - set("[2J31m")


def test_commands_print_through_one_function():
    folder = Path(labelwise.cli.__file__).parent
    for path in (folder / "cli").glob("*.py"):
        if path.name != "_output.py":
            assert not re.search(
                r"click\.(s?echo|secho)\(|\bprint\(|stdout\.write", path.read_text(encoding="utf-8")
            ), path.name


def test_help_lists_every_subcommand_and_each_has_help():
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    names = main.list_commands(click.Context(main))
    assert "quantify" in names
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
    main(["evaluate", "--help"])
except SystemExit:
    print(sorted({"torch", "jax", "sklearn", "matplotlib", "scipy"} & set(sys.modules)))
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    assert result.stdout.splitlines()[-1] == "[]"


ROOT = Path(__file__).parents[2]


def commands(command, context):
    yield context.command_path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            yield from commands(below, click.Context(below, info_name=name, parent=context))


def test_help_teaches_by_example() -> None:
    for name, command, context in commands(
        main, click.Context(main, info_name="labelwise", **main.context_settings)
    ):
        text = command.get_help(context)
        if len(name.split()) <= 2:
            assert f"{name} " in text.partition("Options:")[0].partition("\n")[2], (
                f"{name} --help has no example"
            )


def test_reference_page_is_that_of_the_help() -> None:
    expected = runpy.run_path(str(ROOT / "docs" / "make_cli.py"))["text"]()
    assert (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8") == expected, (
        "run: python docs/make_cli.py"
    )
