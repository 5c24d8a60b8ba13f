"""Many damaged files, read one after another by a process in bounded memory; what goes wrong is
kept, with its bytes and its seed.
"""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import resource
import shutil
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from .formats import Format
from .mutations import Tree, mutate

START = 120.0
"""Seconds that a process may take to import everything and to read all valid samples."""


@dataclass
class Tally:
    """What became of the files of one format."""

    read: int = 0
    refused: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """By kind and place."""

    @property
    def files(self) -> int:
        return self.read + self.refused + self.failures.total()


def chosen(only: str, module: str) -> dict[str, Format]:
    """The formats whose names contain one of some words, separated by commas."""
    formats: dict[str, Format] = import_module(module).FORMATS
    words = [word.strip() for word in only.split(",")]
    found = {name: x for name, x in formats.items() if any(word in name for word in words)}
    if not found:
        raise ValueError(f"no format is called like {only!r}; there are {', '.join(formats)}")
    return found


def damaged(name: str, kind: Format, seed: int, index: int) -> tuple[Tree, str]:
    """File number ``index`` of a run: the same seed gives the same bytes."""
    return mutate(kind.sample, np.random.default_rng([seed, index]))


def place(tree: Tree, folder: Path) -> None:
    """Write a sample into a folder."""
    for name, data in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def outcome(kind: Format, tree: Tree) -> tuple[str, str]:
    """``read``, ``refused`` or ``failed``, and what was said or went wrong where."""
    with tempfile.TemporaryDirectory(prefix="labelwise-fuzz-") as folder:
        place(tree, Path(folder))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kind.read(Path(folder))
        except (ValueError, TypeError, OSError) as error:
            if getattr(error, "errno", None) == errno.ENOMEM:
                return "failed", _where(error, "memory")
            if not str(error).strip():
                return "failed", _where(error, "no sentence")
            return "refused", str(error)[:200]
        except Exception as error:
            memory = isinstance(error, MemoryError)
            return "failed", _where(error, "memory" if memory else type(error).__name__)
    return "read", ""


def _where(error: BaseException, what: str) -> str:
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)
    own = [frame for frame in frames if f"{os.sep}labelwise{os.sep}" in frame.filename] or frames
    return f"{what} in {Path(own[-1].filename).name}:{own[-1].name}: {str(error)[:120]}"


def serve(
    answers: Connection, module: str, only: str, seed: int, indices: range, megabytes: int
) -> None:
    """Read files and send what became of each; a crash or a hang takes only this process down."""
    formats = chosen(only, module)
    for name, kind in formats.items():  # what they import does not count as a file's memory
        found = outcome(kind, kind.sample)
        if found[0] != "read":
            answers.send(("failed", f"the valid sample of {name!r}: {found[1]}"))
            return
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (megabytes << 20),) * 2)
    answers.send(("ready", ""))
    names = list(formats)
    for index in indices:
        kind = formats[names[index % len(names)]]
        answers.send(outcome(kind, damaged(names[index % len(names)], kind, seed, index)[0]))


def run(
    *,
    seed: int = 0,
    files: int = 20_000,
    limit: float = 5.0,
    memory: int = 1024,
    only: str = "",
    module: str = "fuzz.formats",
    keep: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, failed: None,
) -> dict[str, Tally]:
    """Read ``files`` damaged files and count what happens.

    Each may take ``limit`` seconds and add so many megabytes of ``memory`` to the process. The
    first example of each failure goes to the folder ``keep``.
    """
    formats = chosen(only, module)
    names = list(formats)
    tallies = {name: Tally() for name in names}
    context = multiprocessing.get_context("spawn")
    done = 0
    while done < files:
        answers, theirs = context.Pipe(duplex=False)
        arguments = (theirs, module, only, seed, range(done, files), memory)
        process = context.Process(target=serve, args=arguments, daemon=True)
        process.start()
        theirs.close()
        try:
            ready, said = _answer(answers, process, START)
            if ready != "ready":
                raise RuntimeError(said)
            result = ready
            while done < files and result != "lost":
                result, said = _answer(answers, process, limit)
                name = names[done % len(names)]
                if result in ("failed", "lost"):
                    key = said.split(": ")[0]
                    if keep is not None and key not in tallies[name].failures:
                        _keep(keep, name, formats[name], seed, done, said)
                    tallies[name].failures[key] += 1
                else:
                    setattr(tallies[name], result, getattr(tallies[name], result) + 1)
                done += 1
                progress(done, sum(tally.failures.total() for tally in tallies.values()))
        finally:
            process.kill()
            process.join()
    return tallies


def _answer(answers: Connection, process: Any, seconds: float) -> tuple[str, str]:
    """What became of the next file; ``lost`` if the process hangs or is gone."""
    if not answers.poll(seconds):
        return "lost", f"more than {seconds:g} s"
    try:
        result, said = answers.recv()
    except EOFError:
        process.join()
        code = process.exitcode
        return (
            "lost",
            f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}",
        )
    return result, said


def _keep(keep: Path, name: str, kind: Format, seed: int, index: int, said: str) -> None:
    tree, damage = damaged(name, kind, seed, index)
    folder = keep / f"{name.replace(' ', '-')}-{seed}-{index}"
    shutil.rmtree(folder, ignore_errors=True)
    place(tree, folder / "files")
    facts = {"format": name, "seed": seed, "index": index, "damage": damage, "failure": said}
    (folder / "failure.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
