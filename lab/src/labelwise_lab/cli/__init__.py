"""The command ``labelwise-lab``; each subcommand is a module of this package."""

from __future__ import annotations

import click

from labelwise.cli import Commands

__all__ = ["main"]

COMMANDS = ("petct", "reproduce", "train", "votes")


@click.group(cls=Commands, package=__name__, names=COMMANDS)
def main() -> None:
    """The laboratory of labelwise: training, the paper's experiments, PET/CT, and people's votes.

    \b
    Examples:
      labelwise-lab train digits -o preds.npz         an ensemble on a small data set, in a minute
      labelwise-lab reproduce audit                   recompute every published number
      labelwise-lab COMMAND --help                    more examples
    """
