"""Options that several commands share."""

from __future__ import annotations

import click
from click.testing import CliRunner

from labelwise_lab.cli._options import sha256_option


@click.command()
@sha256_option()
def show(sha256: dict[str, str]) -> None:
    click.echo(sorted(sha256.items()))


def test_checksums_are_given_by_file() -> None:
    result = CliRunner().invoke(show, ["--sha256", "a.npy=12ab", "--sha256", "b.npy=34cd"])
    assert result.output == "[('a.npy', '12ab'), ('b.npy', '34cd')]\n"


def test_a_checksum_without_its_file_is_refused() -> None:
    result = CliRunner().invoke(show, ["--sha256", "12ab"])
    assert result.exit_code == 2
    assert "expected FILE=CHECKSUM" in result.output
