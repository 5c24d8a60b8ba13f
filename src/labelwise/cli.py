"""The command ``labelwise``: parse, call the library, save or print. Each subcommand is a module of ``_commands``."""

from __future__ import annotations

import importlib
import pkgutil

import click

from . import __version__, _commands


class Commands(click.Group):
    """Subcommands that are imported when they are used; errors of the library become one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(module.name for module in pkgutil.iter_modules(_commands.__path__) if not module.name.startswith("_"))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{_commands.__name__}.{name}").command
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a subcommand: exit code 2 and one sentence for what the user can mend, 130 after Ctrl-C."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            if ctx.params["debug"]:
                raise
            click.echo("Interrupted.", err=True)
            ctx.exit(130)
        except BrokenPipeError:  # `labelwise ... | head`: click ends quietly
            raise
        except (ValueError, TypeError, OSError, ImportError) as error:
            if ctx.params["debug"]:
                raise
            click.echo(f"Error: {error}", err=True)
            ctx.exit(2)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option("--debug", is_flag=True, help="Show where in the program an error arises.")
def main(debug: bool) -> None:
    """Label-wise aleatoric and epistemic uncertainty: how sure is a classifier, about which classes, and why?

    \b
    Examples:
      labelwise demo                                  see what it does, in seconds
      labelwise report preds.npz -o report.html       a page to look at, to share and to decide from
      labelwise COMMAND --help                        more examples
    """
