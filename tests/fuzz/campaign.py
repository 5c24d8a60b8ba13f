"""Many damaged files, read by a pool of processes; what goes wrong is kept, with its bytes and its
seed.
"""

from __future__ import annotations

import json
import os
import pickle
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from .formats import Format, chosen, place, sample
from .mutations import Tree

START = 180.0
"""Seconds that a process may take to import everything and to read all valid samples."""
LOST = 25
"""After so many crashes and hangs of one format the rest of its files is left out: a new worker
takes seconds to start.
"""


@dataclass
class Tally:
    """What became of the files of one format."""

    files: int = 0
    read: int = 0
    refused: int = 0
    left_out: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """By kind and place."""
    examples: dict[str, dict[str, Any]] = field(default_factory=dict)


class Lost(Exception):
    """A worker crashed, hung, or could not start."""


class Worker:
    """One process, and the file that it is reading."""

    def __init__(self, samples: Path, module: str, seed: int, memory: int, log: Path) -> None:
        here = Path(__file__).resolve().parents[1]
        current = Path(tempfile.mkstemp(prefix="current-", dir=samples.parent)[1])
        environment = dict(
            os.environ,
            MALLOC_ARENA_MAX="2",
            OMP_NUM_THREADS="1",
            MKL_NUM_THREADS="1",
            LABELWISE_NUM_THREADS="1",
        )
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(here), os.environ.get("PYTHONPATH")])
        )
        with log.open("ab") as said:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "fuzz.worker",
                    str(samples),
                    module,
                    str(seed),
                    str(memory),
                    str(current),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env=environment,
            )
        self.current = current
        self.job: dict[str, Any] | None = None
        self.deadline = time.monotonic() + START
        self.ready = False

    @property
    def answers(self) -> Any:
        return self.process.stdout

    def give(self, job: dict[str, Any], limit: float) -> None:
        self.job, self.deadline = job, time.monotonic() + limit
        with suppress(BrokenPipeError):  # the end of its answers says so, too
            self.process.stdin.write((json.dumps(job) + "\n").encode())  # type: ignore[union-attr]
            self.process.stdin.flush()  # type: ignore[union-attr]

    def answer(self) -> dict[str, Any]:
        """The next line; `Lost` with the signal if there is none."""
        line = self.answers.readline()
        if not line:
            code = self.process.wait()
            raise Lost(
                f"killed by {signal.Signals(-code).name}"
                if code < 0
                else f"ended with exit code {code}"
            )
        return dict(json.loads(line))

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def run(
    *,
    seed: int = 0,
    files: int = 20_000,
    jobs: int = 2,
    limit: float = 5.0,
    memory: int = 1024,
    only: str | None = None,
    module: str = "fuzz.formats",
    keep: Path | None = None,
    progress: Callable[[int, int, int], None] | None = None,
) -> dict[str, Tally]:
    """Read ``files`` damaged files and count what happens.

    Parameters
    ----------
    seed : int
        The same seed and formats give the same files.
    jobs : int
        Processes.
    limit : float
        Seconds for each file.
    memory : int
        Megabytes that reading a file may add to the address space of a process.
    only : str, optional
        Words, separated by commas, that the names of the formats contain.
    keep : path, optional
        Folder for the first example of each failure.
    progress : callable, optional
        Called with the numbers of files done, of all, and of failures.
    """
    formats: dict[str, Format] = import_module(module).FORMATS
    names = list(chosen(only, formats))
    if not names:
        raise ValueError(f"no format is called like {only!r}; there are {', '.join(formats)}")
    samples = {name: sample(formats[name]) for name in names}
    tallies = {name: Tally() for name in names}
    lost: Counter[str] = Counter()
    todo: Iterator[dict[str, Any]] = (
        {"format": names[i % len(names)], "index": i} for i in range(files)
    )
    done = failed = 0
    with tempfile.TemporaryDirectory(prefix="labelwise-fuzz-") as folder:
        stored, log = Path(folder) / "samples", Path(folder) / "stderr"
        stored.write_bytes(pickle.dumps(samples))

        def start() -> Worker:
            worker = Worker(stored, module, seed, memory, log)
            selector.register(worker.answers, selectors.EVENT_READ, worker)
            return worker

        def retire(worker: Worker) -> None:
            selector.unregister(worker.answers)
            worker.stop()
            workers.remove(worker)

        def next_job() -> dict[str, Any] | None:
            for job in todo:
                if lost[job["format"]] < LOST:
                    return job
                tallies[job["format"]].left_out += 1
            return None

        def enter(worker: Worker, found: dict[str, Any]) -> None:
            nonlocal done, failed
            job = worker.job
            if job is None:
                return
            tally = tallies[job["format"]]
            done, tally.files = done + 1, tally.files + 1
            if found["outcome"] == "failed":
                failed += 1
                key = (
                    f"{found['what']} in {found['where']}" if found.get("where") else found["what"]
                )
                tally.failures[key] += 1
                if key not in tally.examples:
                    tally.examples[key] = found | {"index": job["index"], "seed": seed}
                    if keep is not None:
                        _keep(
                            keep, job, found, seed, key, pickle.loads(worker.current.read_bytes())
                        )
            else:
                setattr(tally, found["outcome"], getattr(tally, found["outcome"]) + 1)
            if progress is not None:
                progress(done, files, failed)

        with selectors.DefaultSelector() as selector:
            workers: list[Worker] = []
            try:
                workers += [start() for _ in range(max(1, min(jobs, files)))]
                while workers:
                    for ready, _ in selector.select(0.2):
                        worker = ready.data
                        try:
                            found = worker.answer()
                        except Lost as error:
                            job = worker.job
                            retire(worker)
                            if job is None:
                                raise RuntimeError(
                                    f"a worker {error} before its first "
                                    f"file:\n{log.read_text(errors='replace')[-3000:]}"
                                ) from error
                            lost[job["format"]] += 1
                            enter(
                                worker,
                                {
                                    "outcome": "failed",
                                    "what": str(error),
                                    "said": log.read_text(errors="replace")[-1000:],
                                },
                            )
                            workers.append(start())
                            continue
                        if not worker.ready:
                            if not found["ready"]:
                                raise RuntimeError(
                                    f"the valid sample of {found['format']!r} is not read: "
                                    f"{found.get('traceback', found.get('said'))}"
                                )
                            worker.ready = True
                        else:
                            enter(worker, found)
                        job = next_job()
                        if job is None:
                            retire(worker)
                        else:
                            worker.give(job, limit)
                    for worker in [w for w in workers if time.monotonic() > w.deadline]:
                        job = worker.job
                        retire(worker)
                        if job is None:
                            raise RuntimeError(
                                f"a worker took more than {START:.0f} s to "
                                f"start:\n{log.read_text(errors='replace')[-3000:]}"
                            )
                        lost[job["format"]] += 1
                        enter(worker, {"outcome": "failed", "what": f"more than {limit:g} s"})
                        workers.append(start())
            finally:
                for worker in workers:
                    worker.stop()
    return tallies


def _keep(
    keep: Path,
    job: dict[str, Any],
    found: dict[str, Any],
    seed: int,
    key: str,
    made: tuple[Tree, str],
) -> None:
    tree, damage = made
    folder = keep / f"{job['format'].replace(' ', '-')}-{seed}-{job['index']}"
    shutil.rmtree(folder, ignore_errors=True)
    place(tree, folder / "files")
    (folder / "sample.pickle").write_bytes(pickle.dumps(tree))
    facts = {
        "format": job["format"],
        "seed": seed,
        "index": job["index"],
        "failure": key,
        "damage": damage,
        **found,
    }
    (folder / "failure.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def replay(
    folder: Path, *, limit: float = 5.0, memory: int = 1024, module: str = "fuzz.formats"
) -> dict[str, Any]:
    """Read the files of a kept failure once more; what happens now."""
    facts = json.loads((folder / "failure.json").read_text(encoding="utf-8"))
    formats: dict[str, Format] = import_module(module).FORMATS
    name = facts["format"]
    with tempfile.TemporaryDirectory(prefix="labelwise-fuzz-") as work:
        stored = Path(work) / "samples"
        stored.write_bytes(pickle.dumps({name: sample(formats[name])}))
        worker = Worker(stored, module, facts["seed"], memory, Path(work) / "stderr")
        try:
            if not worker.answer()["ready"]:
                raise RuntimeError(f"the valid sample of {name!r} is not read")
            worker.give({"format": name, "tree": str(folder.resolve() / "sample.pickle")}, limit)
            with selectors.DefaultSelector() as selector:
                selector.register(worker.answers, selectors.EVENT_READ)
                if not selector.select(limit):
                    return {"outcome": "failed", "what": f"more than {limit:g} s"}
            return worker.answer()
        except Lost as error:
            return {"outcome": "failed", "what": str(error)}
        finally:
            worker.stop()


def by_kind(tallies: dict[str, Tally]) -> dict[str, dict[str, int]]:
    """Failures of each format, most frequent first."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for name, tally in tallies.items():
        for key, times in tally.failures.most_common():
            found[name][key] = times
    return dict(found)
