"""The command ``labelwise``; each subcommand is a module of this package."""

from __future__ import annotations

import functools
import io
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

from .. import __version__
from .._errors import suggest
from .._interrupts import INTERRUPTED, interrupts_raised_as_usual
from .._tables import counted
from ._errors import in_options
from ._output import (
    echo,
    echo_json,
    echo_table,
    print_on_any_terminal,
    progress_bar,
    terminal_line,
)
from ._paths import InputPath, OutputPath, will_read, will_write

__all__ = [
    "Commands",
    "InputPath",
    "OutputPath",
    "echo",
    "echo_json",
    "echo_table",
    "main",
    "progress_bar",
    "will_read",
    "will_write",
]

USER_ERROR, BUG = 2, 70  # exit codes; 70 is EX_SOFTWARE of sysexits.h

COMMANDS = (
    "acquire",
    "axioms",
    "completion",
    "decide",
    "demo",
    "dense",
    "evaluate",
    "quantify",
    "report",
    "sets",
)


class Commands(click.Group):
    """Subcommands that are imported when they are asked for; every error becomes a short message
    and an exit code.

    ``names`` are modules of ``package``, each with its ``command``.
    """

    def __init__(self, *args: Any, package: str, names: Sequence[str], **options: Any) -> None:
        options["params"] = [*options.get("params", ()), *_global_options()]
        options["context_settings"] = {
            "help_option_names": ["-h", "--help"],
            "show_default": True,
        }
        super().__init__(*args, **options)
        self.package, self.names = package, names

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.names)

    def get_command(self, ctx: click.Context, name: str) -> Any:
        if name in self.names:
            return import_module(f"{self.package}.{name}").command
        return None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The subcommand that is asked for; of a mistyped one, the name that was probably meant is
        said.
        """
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"No such command {args[0]!r}{suggest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a subcommand. Unlike click, do not treat EOFError as Ctrl-D, nor print an empty line
        on Ctrl-C.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise click.Abort from error
        except EOFError as error:
            raise ValueError(f"the input ends too early: {error}") from error

    def main(
        self,
        args: Sequence[str] | None = None,
        *others: Any,
        standalone_mode: bool = True,
        **options: Any,
    ) -> Any:
        """Parse and run; the only place that handles errors, from importing a subcommand to closing
        its context.
        """
        words = list(sys.argv[1:] if args is None else args)
        run: Callable[[], Any] = functools.partial(
            super().main, words, *others, standalone_mode=False, **options
        )
        if not standalone_mode:
            return run()
        print_on_any_terminal()
        debug = "--debug" in words
        if debug:
            sys.excepthook = _traceback
        try:
            with interrupts_raised_as_usual():
                code = run()
        except click.ClickException as error:
            usage = io.StringIO()
            error.show(file=usage)
            echo(usage.getvalue().rstrip(), err=True)
            code = error.exit_code
        except (click.Abort, KeyboardInterrupt) as error:
            if debug and (error.__cause__ is not None or isinstance(error, KeyboardInterrupt)):
                raise
            echo("Interrupted.", err=True)
            code = INTERRUPTED
        except Exception as error:
            if debug:
                raise
            sentence, code = explain_error(error)
            echo(f"Error: {terminal_line(sentence)}", err=True)
        sys.exit(code if isinstance(code, int) else 0)


def explain_error(error: Exception) -> tuple[str, int]:
    """The message for an error, and the exit code.

    >>> explain_error(ValueError("`x` must be small; got 3"))
    ('`x` must be small; got 3', 2)
    """
    name = type(error).__name__
    if isinstance(error, MemoryError):
        return f"not enough memory: {str(error) or 'an array does not fit'}", USER_ERROR
    if isinstance(error, OSError) and error.errno is not None:  # without "[Errno 28]"
        place = "" if error.filename is None else f": {error.filename!r}"
        return f"{error.strerror}{place}", USER_ERROR
    if isinstance(error, ValueError | TypeError | OSError | ImportError):
        return in_options(error) or name, USER_ERROR
    what = f"{name}: {error}" if str(error) else name
    return (
        f"this is a bug in labelwise ({what}). "
        "Run the command again as `labelwise --debug …` and report what it prints, with the output "
        "of `labelwise --version`.",
        BUG,
    )


def _traceback(kind: type[BaseException], error: BaseException, where: Any) -> None:
    """With --debug: Python's traceback, with control characters escaped."""
    echo("".join(traceback.format_exception(kind, error, where)).rstrip(), err=True)


def _show_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    """--version: what matters for a bug report."""
    if not wanted or context.resilient_parsing:
        return
    from importlib.metadata import version
    from platform import platform, python_version

    from .. import kernel_info

    kernel = kernel_info()
    echo(
        f"labelwise {__version__}, kernel {kernel['kernel']}, "
        f"{counted(kernel['threads'], 'thread')}"
    )
    echo(
        f"Python {python_version()}, NumPy {version('numpy')}, SciPy {version('scipy')}, "
        f"{platform()}"
    )
    if "missing" in kernel:
        echo(f"There is no compiled kernel, so that computing takes longer: {kernel['missing']}")
    context.exit()


def _global_options() -> list[click.Parameter]:
    """--version and --debug; the latter is looked for in `Commands.main`."""
    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_version,
        help="Show the version and exit.",
    )
    debug = click.Option(
        ["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error."
    )
    return [version, debug]


@click.group(cls=Commands, package=__name__, names=COMMANDS)
def main() -> None:
    """Label-wise aleatoric and epistemic uncertainty of classifiers.

    \b
    Examples:
      labelwise demo                                  try it on bundled predictions, in seconds
      labelwise report preds.npz -o report.html       an interactive report
      labelwise COMMAND --help                        more examples
    """
