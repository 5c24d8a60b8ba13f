"""Members trained side by side in processes of their own, with a bar for each on a terminal."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import connection
from typing import Any

import torch

from ..files import end_with_parent
from ._member import Job, train_member

Show = Callable[[int, int, int, float], None]
"""Takes member, epoch (from 0), instances seen in it and mean loss."""


def train_here(job: Job, members: Sequence[int], *, threads: int, show: Show) -> None:
    """Train members one after another in this process."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for member in members:
            train_member(job, member, partial(show, member))
    finally:
        torch.set_num_threads(before)


def train_apart(job: Job, done: dict[int, int], *, n_jobs: int, threads: int, show: Show) -> None:
    """Train members in ``n_jobs`` processes; ``done`` says how many epochs each of them has behind
    it.
    """
    schedule = Schedule(done, job.recipe.epochs, n_jobs)
    context = multiprocessing.get_context("spawn")
    workers: dict[Any, tuple[Any, tuple[int, int]]] = {}
    try:
        while len(workers) < n_jobs and (task := schedule.next()) is not None:
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, job, threads), daemon=True)
            with _without_interrupts():
                process.start()
            theirs.close()
            workers[ours] = process, task
            with _alive(process, task):
                ours.send(task)
        while workers:
            for ready in connection.wait(list(workers)):
                _listen(ready, workers, schedule, show)
    finally:
        for process, _ in workers.values():
            process.terminate()
        for process, _ in workers.values():
            process.join()


class Schedule:
    """Which member is trained next, and up to which epoch.

    Where the members do not divide evenly among the processes, each is trained in about four
    pieces, the one with the fewest epochs first: five members on two processors then take 2.5 times
    as long as one, not 3. No member is in two processes at once.
    """

    def __init__(self, done: dict[int, int], epochs: int, n_jobs: int) -> None:
        self.done, self.epochs, self.running = dict(done), epochs, set[int]()
        self.piece = epochs if len(done) % n_jobs == 0 else -(-epochs // 4)

    def next(self) -> tuple[int, int] | None:
        """A member and the epoch to train it up to; ``None`` when there is nothing left to
        begin.
        """
        free = [
            member
            for member, epoch in self.done.items()
            if epoch < self.epochs and member not in self.running
        ]
        if not free:
            return None
        member = min(free, key=lambda m: self.done[m])
        self.running.add(member)
        return member, min(self.done[member] + self.piece, self.epochs)

    def finished(self, member: int, epoch: int) -> None:
        """A member has come as far as it should."""
        self.running.remove(member)
        self.done[member] = epoch


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes started inside do not see Ctrl-C, not even while they import: the parent does, and
    ends them.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _listen(
    pipe: Any, workers: dict[Any, tuple[Any, tuple[int, int]]], schedule: Schedule, show: Show
) -> None:
    """Act on one message of a worker."""
    process, task = workers[pipe]
    with _alive(process, task):
        message = pipe.recv()
    if isinstance(message, BaseException):
        raise message
    if message is not None:
        show(task[0], *message)
        return
    schedule.finished(*task)
    following = schedule.next()
    with _alive(process, task):
        pipe.send(following)
    if following is not None:
        workers[pipe] = process, following
        return
    process.join()
    del workers[pipe]
    pipe.close()


@contextmanager
def _alive(process: Any, task: tuple[int, int]) -> Iterator[None]:
    """A closed pipe means that the worker has died: say so."""
    try:
        yield
    except (EOFError, ConnectionError):
        process.join()
        code = process.exitcode
        why = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        hint = "perhaps the memory was short" if code == -9 else "see its message above"
        raise ChildProcessError(
            f"the process that trained member {task[0]} {why} ({hint}). Finished epochs are kept: "
            "resume with resume=True (--resume)"
        ) from None


def _work(pipe: Any, job: Job, threads: int) -> None:
    """The main function of a worker: tasks (member, epoch) come, reports and for each at last
    ``None`` (or an error) go.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    torch.set_num_threads(threads)
    while (task := pipe.recv()) is not None:
        member, until = task
        try:
            train_member(job, member, lambda *news: pipe.send(news), until=until)
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))
            try:
                pipe.send(error)
            except Exception:  # an error that cannot be pickled
                pipe.send(RuntimeError(f"{type(error).__name__}: {error}"))
            return
        pipe.send(None)


def refuse_unguarded() -> None:
    """Say what to do when a script that is being imported by a worker starts workers itself."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError(
            "members are trained in processes that import your script: put the call of "
            "fit_ensemble under `if __name__ == '__main__':`"
        )


@contextmanager
def progress_bars(members: Sequence[int], n: int, epochs: int, *, wanted: bool) -> Iterator[Show]:
    """A bar for each member on a terminal (standard error), nothing elsewhere."""
    if not (wanted and sys.stderr is not None and sys.stderr.isatty()):
        yield lambda member, epoch, seen, loss: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("member {task.fields[member]}"),
        BarColumn(),
        TextColumn("epoch {task.fields[epoch]}/{task.fields[epochs]}"),
        TextColumn("{task.fields[loss]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks = {
            m: bars.add_task(
                "", total=n * epochs, start=False, member=m, epoch=0, epochs=epochs, loss=""
            )
            for m in members
        }

        def show(member: int, epoch: int, seen: int, loss: float) -> None:
            if not bars.tasks[tasks[member]].started:
                bars.start_task(tasks[member])
            bars.update(
                tasks[member], completed=epoch * n + seen, epoch=epoch + 1, loss=f"loss {loss:.4f}"
            )

        yield show
