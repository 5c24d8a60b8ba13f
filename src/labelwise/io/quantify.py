"""Uncertainty of stored predictions of any size: block by block, in bounded memory, going on after
an interruption.
"""

from __future__ import annotations

import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any

import numpy as np

from .._errors import InputError
from .._lazy import imported
from ..decomposition import PARTS, decompose
from ..losses import CustomLoss, Loss, LossName, as_loss
from .atomic import final_place
from .files import file_name
from .grid import Grid
from .load import load_predictions, readable_files
from .overwriting import refuse_overwriting
from .predictions import KINDS, Predictions
from .staging import Columns, Staging, check_can_write, reserved

__all__ = ["Quantified", "parse_memory", "quantify"]

CONNECT_SECONDS = 6
"""How long to wait for a Dask scheduler."""
Reader = Callable[[], Predictions]
Progress = Callable[[int, int], None]
"""Called with the number of rows done and of all rows."""


@dataclass(frozen=True)
class Quantified:
    """What `quantify` has written."""

    path: Path
    shape: tuple[int, ...]
    """Of the predictions: (M, N, K), or (N, K)."""
    blocks: int
    computed: int
    """How many of the blocks this call computed; the others were there from an interrupted one."""
    means: dict[str, dict[str, float]]
    """For each loss the means over all instances of the sums of total, aleatoric and epistemic
    uncertainty.
    """
    notes: tuple[str, ...] = ()
    """What was assumed when the predictions were read."""

    @property
    def instances(self) -> int:
        return self.shape[-2]


def quantify(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    *,
    losses: Sequence[LossName | Loss] = ("log",),
    labelwise: bool = True,
    memory: int | str = "500MB",
    scheduler: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Quantified:
    """Label-wise uncertainty of a prediction file of any size, written to another file.

    Parameters
    ----------
    source : path, or sequence of paths
        Predictions of any format; several files, or a folder of them, are the members.
    target : path
        .npz, .zarr, .parquet or .csv; none of the files that are read. For each loss it has arrays
        ``log_total``, ``log_aleatoric``, ``log_epistemic`` (N, K) and their sums ``log_sum_total``
        and so on (N,); in tables a column for each class, ``log_total.melanoma``. Predictions of
        images keep their axes: those of (M, N, K, height, width) with ``class_axis=2`` give (N, K,
        height, width), those of one volume (M, K, height, width) with ``class_axis=1`` give (K,
        height, width), in .npz and .zarr.
    losses : sequence of str or Loss
        Several are computed from one reading of the predictions.
    labelwise : bool
        Without it only the sums are written.
    memory : int or str
        How much to hold at once, in bytes or as ``"2GB"``.
    scheduler : str, optional
        Address of a running Dask scheduler whose workers can read ``source``; they compute, this
        process writes.
    progress : callable, optional
        Called with the numbers of rows done and of all rows.
    **options
        How to read the predictions, as for `load_predictions`: ``logits``, ``class_names``,
        ``member_axis`` and so on.

    Notes
    -----
    Finished blocks are kept in the folder ``TARGET.partial`` until the end. The same call after an
    interruption resumes there and gives the same file: it reads the predictions of finished blocks
    again and recomputes those that have changed. Only one process at a time can write a file; a
    second one raises an error that names the first.
    """
    target, budget = Path(target), parse_memory(memory)
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    labels = options.get("labels")
    read = [file for one in sources for file in readable_files(one)]
    refuse_overwriting(target, [*read, labels] if isinstance(labels, str | os.PathLike) else read)
    if scheduler is not None and not re.search(
        r":\d+/?$|^inproc:", scheduler
    ):  # Dask would leave half a client, which ends in a traceback
        raise ValueError(
            f"`scheduler` must be an address such as 'tcp://127.0.0.1:8786'; got {scheduler!r}"
        )
    place = final_place(
        target
    )  # of a link: parts are kept, and others are locked out, where the results will be
    check_can_write(place)
    reader = partial(load_predictions, [str(Path(one).resolve()) for one in sources], **options)
    stored = load_predictions(source, memory=budget, **options)
    chosen = _named(losses)
    if not chosen:
        raise ValueError("`losses` must name at least one loss")
    grid = stored.grid or Grid(
        (len(stored),), 1, None if stored.ids is None else np.asanyarray(stored.ids[: len(stored)])
    )
    if len(grid.shape) > 1 and place.suffix in (".csv", ".parquet"):
        raise ValueError(
            f"{place.suffix} is a table with a row for each case; write predictions of shape "
            f"{grid.shape} to .npz or .zarr"
        )
    columns = _columns(stored, grid, chosen, labelwise)
    per_row = 3 * prod(stored.shape) // max(grid.shape[0], 1) * stored.dtype.itemsize + sum(
        prod(row) * dtype.itemsize for row, dtype in columns.values()
    )
    rows = max(1, min(budget // 2 // max(per_row, 1), 1 << 20))
    # The predictions themselves are told by the checksums of their blocks: names, sizes and times
    # can stay while the values change.
    job = {
        "kind": stored.kind,
        "shape": stored.shape,
        "grid": grid.dimension_names,
        "dtype": stored.dtype.str,
        "multilabel": stored.multilabel,
        "losses": {name: _identity(loss) for name, loss in chosen.items()},
        "labelwise": labelwise,
        "rows": rows,
    }
    with reserved(place):
        staging = Staging(place, job, columns, grid.shape[0], rows, grid.dimension_names)
        computed = _fill(staging, stored, reader, chosen, labelwise, scheduler, progress)
        means = {
            name: {part: staging.mean(f"{name}_sum_{part}") for part in PARTS} for name in chosen
        }
        staging.finish({} if grid.ids is None else {"ids": grid.ids}, stored.names)
    return Quantified(
        target, stored.shape, -(-grid.shape[0] // rows), computed, means, stored.notes
    )


def _columns(stored: Predictions, grid: Grid, losses: dict[str, Loss], labelwise: bool) -> Columns:
    """The results by name, each with the shape of a row and its type."""
    dtype = np.dtype(np.float64 if stored.dtype == np.float64 else np.float32)
    columns: Columns = {}
    for name in losses:
        columns |= (
            {f"{name}_{part}": (grid.row_shape(stored.n_classes), dtype) for part in PARTS}
            if labelwise
            else {}
        )
        columns |= {f"{name}_sum_{part}": (grid.shape[1:], dtype) for part in PARTS}
    return columns


def _fill(
    staging: Staging,
    stored: Predictions,
    reader: Reader,
    losses: dict[str, Loss],
    labelwise: bool,
    scheduler: str | None,
    progress: Progress | None,
) -> int:
    """Compute what is missing, and count these blocks."""

    def report() -> None:
        if progress is not None:
            progress(min(len(staging.done) * staging.rows, staging.n), staging.n)

    staging.confirm(lambda start, stop: _checksum(_rows(stored, start, stop)), report)
    missing = todo = list(staging.blocks())
    while (
        missing
    ):  # a block whose worker died after computing it can get lost: then it is asked for again
        with ThreadPoolExecutor(
            1
        ) as writer:  # one block goes to the disk while the next is read and computed
            writing: Future[None] | None = None
            for i, (parts, checksum) in _computed(
                stored, reader, losses, labelwise, missing, scheduler
            ):
                _finish(writing, report)
                writing = writer.submit(staging.write, i, parts, checksum)
            _finish(writing, report)
        before, missing = len(missing), list(staging.blocks())
        if len(missing) == before:
            raise RuntimeError(
                f"the cluster at {scheduler} gave no result for {before} blocks; finished ones are "
                f"kept in {staging.folder}"
            )
    return len(todo)


def _finish(writing: Future[None] | None, report: Callable[[], None]) -> None:
    """Wait until a block is on the disk."""
    if writing is not None:
        writing.result()
        report()


Block = tuple[dict[str, np.ndarray], int]
"""Results of some rows, and the checksum of the rows."""


def of_block(
    reader: Reader, losses: dict[str, Loss], labelwise: bool, start: int, stop: int
) -> Block:
    """The results of some rows of a file; workers on other machines call this by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said once, where the work was started
        stored = reader()
    return _parts(stored, losses, labelwise, start, stop)


def _rows(stored: Predictions, start: int, stop: int) -> Predictions:
    """Some cases, with all their instances."""
    unit = 1 if stored.grid is None else stored.grid.unit
    return stored.read(start * unit, stop * unit)


def _parts(
    stored: Predictions, losses: dict[str, Loss], labelwise: bool, start: int, stop: int
) -> Block:
    results: dict[str, np.ndarray] = {}
    block, grid = _rows(stored, start, stop), stored.grid
    try:  # a large block is checked when it is first computed with
        q = block.distribution()
        for name, loss in losses.items():
            u = decompose(q, loss)
            total = u.sum()
            for part in PARTS:
                if labelwise:
                    results[f"{name}_{part}"] = np.asarray(getattr(u, part))
                results[f"{name}_sum_{part}"] = np.asarray(getattr(total, part))
    except ValueError as error:
        wrong = error if isinstance(error, InputError) else InputError(str(error))
        place = "the predictions" if stored.path is None else file_name(stored.path)
        raise wrong.found_in(f"{place}, rows {start} to {stop}") from error
    if grid is not None:
        results = {name: grid.restored(x, labels=x.ndim == 2) for name, x in results.items()}
    return results, _checksum(block)


def _checksum(block: Predictions) -> int:
    """Of all values that results depend on; it misses no change within 32 bits, and one in 4
    billion others.
    """
    checksum = 0
    for values in (*(getattr(block, kind) for kind in KINDS), block.weights):
        if values is not None:
            checksum = zlib.crc32(
                values.ravel(order="K").view(np.uint8).data,
                zlib.crc32(repr(values.strides).encode(), checksum),
            )
    return checksum


def _computed(
    stored: Predictions,
    reader: Reader,
    losses: dict[str, Loss],
    labelwise: bool,
    todo: list[tuple[int, int, int]],
    scheduler: str | None,
) -> Iterable[tuple[int, Block]]:
    """The blocks one after another, here or on the workers of a Dask cluster."""
    if scheduler is None:
        for i, start, stop in todo:
            yield i, _parts(stored, losses, labelwise, start, stop)
        return
    with _connected(scheduler) as client:
        from distributed import as_completed

        waiting = iter(todo)
        # few blocks at a time: what is finished waits in memory until this process has written it
        first = [
            block
            for block, _ in zip(
                waiting,
                range(2 * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))),
                strict=False,
            )
        ]

        def submit(block: tuple[int, int, int]) -> Any:
            i, start, stop = block
            future = client.submit(
                of_block, reader, losses, labelwise, start, stop, pure=False, retries=3
            )
            numbers[future.key] = i
            return future

        numbers: dict[str, int] = {}
        running = as_completed([submit(block) for block in first], loop=client.loop)
        for future in running:
            yield numbers.pop(future.key), future.result()
            for block in waiting:
                running.add(submit(block))
                break


def _connected(scheduler: str) -> Any:
    """A client of a Dask scheduler; its own time limit does not cover one that takes the call and
    says nothing.

    It is not made the default: one that is given up would leave the caller's other Dask arrays
    without a scheduler.
    """
    Client = imported("distributed", "a Dask cluster needs dask and distributed", "dask").Client
    answers: SimpleQueue[Any] = SimpleQueue()
    given_up = Event()

    def connect() -> None:
        try:
            client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except Exception as error:
            answers.put(error)
            return
        answers.put(client)
        if given_up.is_set():  # it answered too late
            client.close()

    Thread(target=connect, daemon=True).start()
    try:
        answer = answers.get(timeout=CONNECT_SECONDS)
    except Empty:
        given_up.set()
        answer = TimeoutError()
    if isinstance(answer, OSError):  # also TimeoutError
        raise OSError(
            f"no Dask scheduler answers at {scheduler} within {CONNECT_SECONDS:g} s; start one "
            "with: dask scheduler"
        ) from answer
    if isinstance(answer, Exception):
        raise answer
    return answer


def _named(losses: Sequence[LossName | Loss]) -> dict[str, Loss]:
    """Each loss by the name of its columns; losses of the same name (functions without one) are
    numbered.
    """
    chosen: dict[str, Loss] = {}
    for given in losses:
        loss = as_loss(given)
        name = plain = _name(given)
        number = 1
        while name in chosen and not _same(chosen[name], loss):
            number += 1
            name = f"{plain}_{number}"
        chosen[name] = loss
    return chosen


def _identity(loss: Loss) -> str:
    """What says that an interrupted job computed the same loss: of a function also some of its
    values, for its name may stay.
    """
    if not isinstance(loss, CustomLoss):
        return repr(loss)
    return f"{loss!r} {loss.entropy(np.array([0.01, 0.1, 0.3, 0.5, 0.8, 0.99])).tolist()}"


def _same(a: Loss, b: Loss) -> bool:
    return repr(a) == repr(b) and getattr(a, "function", None) is getattr(b, "function", None)


def _name(loss: LossName | Loss) -> str:
    """A name of letters, digits and ``_``: ``log``, or ``BetaLoss_a_minus0_5_b_0_5``."""
    if isinstance(loss, str):
        as_loss(loss)
        return loss
    return re.sub(r"\W+", "_", repr(loss).replace("-", "minus")).strip("_")


def parse_memory(memory: int | str) -> int:
    """Bytes from a number or from words such as ``"500MB"``.

    >>> parse_memory("1.5 GB")
    1500000000
    """
    units = {
        "": 1,
        "K": 10**3,
        "M": 10**6,
        "G": 10**9,
        "T": 10**12,
        "KI": 2**10,
        "MI": 2**20,
        "GI": 2**30,
        "TI": 2**40,
    }
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]I?|)B?\s*", str(memory).upper())
    if not match:
        raise ValueError(
            "`memory` must be a number of bytes, or words such as '500MB' or '2GiB'; got "
            f"{memory!r}"
        )
    size = int(float(match[1]) * units[match[2]])
    if size < 10**6:
        raise ValueError(f"`memory` must be at least 1 MB; got {memory!r}")
    return size
