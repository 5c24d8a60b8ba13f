"""No command overwrites what it reads: every command and every pair of a path that is read and one
that is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest

import labelwise.cli
from command_line import run
from labelwise.cli import InputPath, OutputPath
from optional_libraries import optional


def commands(
    command: click.Command, context: click.Context, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands that do something, each with the words to type."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from commands(below, click.Context(below, parent=context), (*words, name))


ALL = {
    words: command
    for main in (labelwise.cli.main, optional("labelwise_lab.cli").main)
    for words, command in commands(main, click.Context(main))
}
PAIRS = [
    (words, read, written)
    for words, command in ALL.items()
    for read in command.params
    for written in command.params
    if isinstance(read.type, InputPath) and isinstance(written.type, OutputPath)
]


def test_every_path_is_read_or_written() -> None:
    assert len(ALL) > 20
    for words, command in ALL.items():
        for param in command.params:
            known = isinstance(param.type, InputPath | OutputPath) or "--data-dir" in param.opts
            assert known or not isinstance(param.type, click.Path), (words, param.opts)
    outputs = {words for words, _, _ in PAIRS}
    assert {
        ("decide",),
        ("acquire",),
        ("quantify",),
        ("report",),
        ("sets", "fit"),
        ("sets", "predict"),
    } <= outputs


def typed(param: click.Parameter, value: str) -> list[str]:
    return [value] if isinstance(param, click.Argument) else [param.opts[-1], value]


def other_value(param: click.Parameter, folder: Path) -> str:
    """Anything that a required parameter accepts."""
    if isinstance(param.type, click.Path) and not param.type.file_okay:
        (folder / f"{param.name}-folder").mkdir()
        return f"{param.name}-folder"
    if isinstance(param.type, InputPath):
        (folder / f"{param.name}.npz").write_bytes(b"")
        return f"{param.name}.npz"
    return {"budget": "2"}.get(str(param.name), f"other-{param.name}")


@pytest.mark.parametrize(
    ("words", "read", "written"),
    PAIRS,
    ids=[f"{' '.join(w)} {r.opts[-1]} {o.opts[-1]}" for w, r, o in PAIRS],
)
def test_no_output_is_a_file_that_is_read(words, read, written, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = output = Path("x.npz")
    if not written.type.replaced or not getattr(
        read.type, "file_okay", True
    ):  # one of them is a folder
        given = Path("folder")
        given.mkdir()
        output = given / "x.npz" if written.type.replaced else given
    if output.suffix:
        output.write_bytes(b"precious")
    rest = [param for param in ALL[words].params if param.required and param not in (read, written)]
    args = [word for param in rest for word in typed(param, other_value(param, tmp_path))]
    result = run(*words, *typed(read, str(given)), *typed(written, str(output)), *args)
    assert result.exit_code == 2, result.output
    assert (
        result.stderr
        == f"Error: {str(output)!r} is read and would be overwritten; choose another output\n"
    )
    assert output.is_dir() or output.read_bytes() == b"precious"


CSV = "id,cat,dog,label\n1,.5,.5,cat\n2,.25,.75,dog\n"


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Files that the commands can really use."""
    monkeypatch.chdir(tmp_path)
    Path("fold").mkdir()
    for name in ("m.csv", "m-uncertainty.csv", "fold/d1.csv", "fold/d2.csv"):
        Path(name).write_text(CSV)
    Path("l.csv").write_text("id,label\n1,cat\n2,dog\n")
    Path("names.txt").write_text("cat\ndog\n")
    Path("costs.toml").write_text("default = 1\n")
    rng = np.random.default_rng(0)
    np.savez(
        "s.npz",
        probs=rng.dirichlet([1, 1], (2, 40)),
        y_true=np.arange(40) % 2,
        votes=np.full((40, 2), 3),
    )
    os.link("m.csv", "hard.csv")
    Path("soft.csv").symlink_to("m.csv")
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "decide m.csv --costs costs.toml -o m.csv",
        "decide m.csv --costs costs.toml -o hard.csv",
        "decide m.csv --costs costs.toml -o soft.csv",
        "decide m.csv --costs costs.toml --labels l.csv -o l.csv",
        "sets fit s.npz -o s.npz --coverage .5",
        "acquire fold --budget 1 -o fold/d1.csv",
        "quantify fold -o fold/d1.csv",
        "quantify m.csv m-uncertainty.csv",  # the default output
        "decide m.csv --costs costs.toml --class-names names.csv -o names.csv",
        "votes cifar10h -o cifar10h-counts.npy",
    ],
)
def test_nothing_is_lost(line: str, here: Path) -> None:
    Path("names.csv").write_text("cat\ndog\n")
    Path("cifar10h-counts.npy").write_bytes(b"precious")
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    result = run(*line.split())
    assert result.exit_code == 2, result.output
    assert "is read and would be overwritten; choose another output" in result.stderr
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_a_store_is_not_replaced_by_what_is_computed_from_it(
    tmp_path, monkeypatch, optional
) -> None:
    zarr = optional("zarr")
    monkeypatch.chdir(tmp_path)
    zarr.save_group("p.zarr", probs=np.full((2, 4, 2), 0.5))
    result = run("quantify", "p.zarr", "-o", "p.zarr")
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: 'p.zarr' is read and would be overwritten; choose another output\n",
    )
    assert zarr.open("p.zarr")["probs"].shape == (2, 4, 2)


def test_a_known_name_is_not_a_folder_of_that_name(here: Path, optional) -> None:
    optional("torch")
    Path("digits").mkdir()
    Path("digits/preds.npz").write_bytes(b"former predictions")
    result = run("train", "digits", "-o", "digits/preds.npz")
    assert result.stderr == (
        "Error: 'digits/preds.npz' exists already; choose another name, or resume with --resume\n"
    )
    Path("photos").mkdir()
    Path("photos/preds.npz").write_bytes(b"precious")
    result = run("train", "photos", "-o", "photos/preds.npz")
    assert (
        result.stderr
        == "Error: 'photos/preds.npz' is read and would be overwritten; choose another output\n"
    )


def test_other_outputs_are_written(here: Path) -> None:
    for _ in range(2):  # also where there is one already
        result = run("decide", "m.csv", "--costs", "costs.toml", "-o", "d.csv")
        assert result.exit_code == 0, result.output
        result = run("report", "fold", "-o", "fold/report.html")  # beside what is read
        assert result.exit_code == 0, result.output
        result = run("quantify", "fold", "-o", "u.csv")
        assert result.exit_code == 0, result.output
