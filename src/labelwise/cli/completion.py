"""``labelwise completion``: shell completion of subcommands, options and file names."""

from __future__ import annotations

import click

from ._output import echo_data


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    Examples:
      labelwise completion bash >> ~/.bashrc
      labelwise completion zsh >> ~/.zshrc
      labelwise completion fish > ~/.config/fish/completions/labelwise.fish
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    if kind is None:
        raise ValueError(f"no completion for {shell!r}")
    complete = kind(root, {}, "labelwise", "_LABELWISE_COMPLETE")
    echo_data(complete.source_template % complete.source_vars() + "\n")
