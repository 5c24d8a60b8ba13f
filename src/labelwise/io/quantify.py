"""Uncertainty of stored predictions of any size: block by block, in bounded memory, going on after
an interruption.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import partial
from glob import escape
from itertools import product
from math import prod
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from .. import __version__
from .._errors import InputError
from .._lazy import imported
from ..decomposition import PARTS, decompose
from ..losses import CustomLoss, Loss, LossName, as_loss
from .atomic import make_folder_for, remove_at_once
from .files import file_name
from .grid import Grid
from .load import load_predictions, readable_files
from .on_disk import DType
from .overwriting import refuse_overwriting
from .packing import ResultBlocks, check_target, pack_results
from .predictions import Predictions

CONNECT_SECONDS = 6
"""How long to wait for a Dask scheduler."""
ATTEMPTS = 10
"""How often to start again when blocks vanish: each time an equal job must have finished."""
FINGERPRINT_LENGTH = 16
N_SAMPLES = 32
"""How many files of the input are sampled, and at how many places."""
SAMPLE_BYTES = 4096
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
        Address of a running Dask scheduler. Its workers read ``source`` and write blocks beside
        ``target``, so they must see the same files.
    progress : callable, optional
        Called with the numbers of rows done and of all rows.
    **options
        How to read the predictions, as for `load_predictions`: ``logits``, ``class_names``,
        ``member_axis`` and so on; no ``labels``.

    Notes
    -----
    Finished blocks are kept beside the target, in a folder ``TARGET.….partial`` that is named by a
    fingerprint of the settings and of the input (sizes, times and samples of its files). The same
    call after an interruption finds them there and gives the same file; another call, or one with
    changed input, never uses them. At the end these folders are removed. Processes may write one
    target at the same time: the last to finish wins.
    """
    target, budget = Path(target), parse_memory(memory)
    chosen = _losses_by_column(losses)
    if isinstance(source, str | os.PathLike):
        source = [source]
    read: list[Path] = []
    for path in source:
        read += sorted(readable_files(path))
    refuse_overwriting(target, read)
    if scheduler is not None and not re.search(r":\d+/?$|^inproc:", scheduler):
        # Dask would leave half a client, which ends in a traceback
        raise ValueError(
            f"`scheduler` must be an address such as 'tcp://127.0.0.1:8786'; got {scheduler!r}"
        )
    place = check_target(target).absolute()  # of a link: blocks go where the results will be
    inside = [file for path in read for file in sorted(path.rglob("*"))]  # of a .zarr
    files = list(filter(Path.is_file, [*read, *inside]))
    content = _fingerprint_of_files(files)
    predictions = load_predictions(source, labels=None, **options)
    names, shape, given = predictions.names, predictions.shape, predictions.dtype
    grid = predictions.grid or Grid((shape[-2],), 1, predictions.ids)
    if len(grid.shape) > 1 and target.suffix in (".csv", ".parquet"):
        raise ValueError(
            f"{target.suffix} is a table with a row for each case; write predictions of shape "
            f"{grid.shape} to .npz or .zarr"
        )
    settings = __version__, options, names, predictions.multilabel, content
    blocks = _plan_blocks(place, shape, given, grid, chosen, labelwise, budget, settings)
    extra = {"class_names": np.asarray(names)}
    if grid.ids is not None:
        extra["ids"] = np.asarray(grid.ids)
    unit = prod(grid.shape[1:])
    opened: Callable[[], Predictions] = partial(copy, predictions)
    compute_all: Callable[..., Iterable[None]] = map
    if scheduler is not None:
        # on another machine, the predictions are opened again
        opened = partial(load_predictions, list(map(os.path.realpath, source)), **options)
        compute_all = partial(_map_on_cluster, scheduler)
    compute = partial(_quantify_block, opened, chosen, blocks, unit)
    missing = blocks.missing()
    n_blocks, computed = len(blocks), len(missing)
    try:
        for left in reversed(range(ATTEMPTS)):
            try:
                make_folder_for(target, blocks.folder)
                before = n_blocks - len(missing)
                for done, _ in enumerate(compute_all(compute, missing), before + 1):
                    if progress is not None:
                        progress(min(done * blocks.rows, blocks.n), blocks.n)
                if _fingerprint_of_files(files) != content:
                    name = file_name(predictions.path or ".")
                    raise InputError(f"{name} changed while it was read; run quantify again")
                means = pack_results(place, blocks, extra)
                break
            except FileNotFoundError:  # it may be that an equal job has finished, and removed them
                if not left:
                    raise
                missing = blocks.missing()
    except (ValueError, TypeError):  # the input must change, and then the blocks are of no use
        remove_at_once(blocks.folder)
        raise
    finally:
        with suppress(OSError):
            blocks.folder.rmdir()  # if it is empty
    # blocks of any job for this target, and what a killed one did not finish to remove
    of_any_job = f"{escape(place.name)}.{'[0-9a-f]' * FINGERPRINT_LENGTH}.partial*"
    for folder in place.parent.glob(of_any_job):
        remove_at_once(folder)
    by_loss: dict[str, dict[str, float]] = {}
    for loss, part in product(chosen, PARTS):
        by_loss.setdefault(loss, {})[part] = means[f"{loss}_sum_{part}"]
    return Quantified(target, shape, n_blocks, computed, by_loss, predictions.notes)


def _plan_blocks(
    place: Path,
    shape: tuple[int, ...],
    given: DType,
    grid: Grid,
    losses: dict[str, Loss],
    labelwise: bool,
    budget: int,
    settings: tuple[Any, ...],
) -> ResultBlocks:
    """Which results predictions of a ``shape`` and type ``given`` will have, how many cases fit
    into the budget at a time, and the folder of blocks, named by all that the results depend on.
    """
    sizes = grid.result_axes(shape[-1])
    without_labels = tuple(axis for axis in sizes if axis != "label")
    columns: dict[str, tuple[str, ...]] = {}
    for loss in losses:
        if labelwise:
            columns |= {f"{loss}_{part}": tuple(sizes) for part in PARTS}
        columns |= {f"{loss}_sum_{part}": without_labels for part in PARTS}
    dtype = np.result_type(given, np.float32)
    # What is computed of a case takes about three times its predictions, and its results.
    size = 3 * prod(shape) * given.itemsize
    for axes in columns.values():
        size += prod(sizes[axis] for axis in axes) * dtype.itemsize
    rows = max(1, min(budget // 2 * grid.shape[0] // max(size, 1), 1 << 20))
    identities = [_loss_identity(loss) for loss in losses.values()]
    known = repr((settings, rows, identities, columns, sizes))
    fingerprint = hashlib.sha256(known.encode()).hexdigest()[:FINGERPRINT_LENGTH]
    folder = place.with_name(f"{place.name}.{fingerprint}.partial")
    return ResultBlocks(folder, columns, sizes, dtype, rows)


def _fingerprint_of_files(files: Sequence[Path]) -> str:
    """What tells the input from another: names, sizes and times of its files, and samples of their
    bytes.
    """
    digest = hashlib.sha256()
    for file in files:
        status = file.stat()
        # a copy can keep the size and the time of what it replaces, but not the last of these
        times = status.st_mtime_ns, status.st_ctime_ns
        digest.update(repr((str(file), status.st_size, times)).encode())
    for file in files[:N_SAMPLES]:
        last = max(0, file.stat().st_size - SAMPLE_BYTES)
        with file.open("rb") as opened:
            for position in np.linspace(0, last, N_SAMPLES, dtype=int):
                opened.seek(position)
                digest.update(opened.read(SAMPLE_BYTES))
    return digest.hexdigest()


def _quantify_block(
    opened: Callable[[], Predictions],
    losses: dict[str, Loss],
    blocks: ResultBlocks,
    unit: int,
    i: int,
) -> None:
    """Compute and write block ``i``, whose cases have ``unit`` instances each."""
    predictions, rows = opened(), blocks.span(i)
    results: dict[str, np.ndarray] = {}
    # a large block is checked when it is first computed with
    with predictions.naming_rows(rows):
        q = predictions.read(rows.start * unit, rows.stop * unit).distribution()
        for name, loss in losses.items():
            u = decompose(q, loss)
            sums = u.sum()
            for part in PARTS:
                results[f"{name}_{part}"] = getattr(u, part)
                results[f"{name}_sum_{part}"] = getattr(sums, part)
    blocks.write(i, results)


def _map_on_cluster(
    scheduler: str, compute: Callable[[int], None], missing: list[int]
) -> Iterator[None]:
    """Compute the blocks, a task for each, on the workers of a Dask cluster."""
    with _connect_to_scheduler(scheduler) as client:
        from distributed import as_completed

        tasks = client.map(compute, missing, pure=False, retries=3)
        for done in as_completed(tasks, loop=client.loop):
            yield done.result()


def _connect_to_scheduler(scheduler: str) -> Any:
    """A client of a Dask scheduler; its own time limit does not cover one that takes the call and
    says nothing.

    It is not made the default: one that is given up would leave the caller's other Dask arrays
    without a scheduler.
    """
    Client = imported("distributed", "a Dask cluster needs dask and distributed", "dask").Client
    client: Future[Any] = Future()

    def connect() -> None:
        try:
            client.set_result(Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False))
        except Exception as error:
            client.set_exception(error)

    Thread(target=connect, daemon=True).start()
    try:
        return client.result(CONNECT_SECONDS)
    except OSError as error:  # also TimeoutError
        raise OSError(
            f"no Dask scheduler answers at {scheduler} within {CONNECT_SECONDS:g} s; start one "
            "with: dask scheduler"
        ) from error


def _losses_by_column(losses: Sequence[LossName | Loss]) -> dict[str, Loss]:
    """Each loss by the name of its columns, ``log`` or ``BetaLoss_a_minus0_5_b_0_5``."""
    chosen: dict[str, Loss] = {}
    for given in losses:
        loss = as_loss(given)
        name = given if isinstance(given, str) else repr(loss)
        name = re.sub(r"\W+", "_", name.replace("-", "minus")).strip("_")
        if name in chosen and _loss_identity(chosen[name]) != _loss_identity(loss):
            raise ValueError(f"two different losses are called {name!r}; give one another name")
        chosen[name] = loss
    if not chosen:
        raise ValueError("`losses` must name at least one loss")
    return chosen


def _loss_identity(loss: Loss) -> str:
    """What tells a loss from another: of a function also some of its values, for its name may
    stay.
    """
    if not isinstance(loss, CustomLoss):
        return repr(loss)
    return f"{loss!r} {loss.entropy(np.array([0.01, 0.1, 0.3, 0.5, 0.8, 0.99])).tolist()}"


def parse_memory(memory: int | str) -> int:
    """Bytes from a number or from words such as ``"500MB"``.

    >>> parse_memory("1.5 GB")
    1500000000
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?\s*", str(memory).upper())
    if not match:
        raise ValueError(
            "`memory` must be a number of bytes, or words such as '500MB' or '2GiB'; got "
            f"{memory!r}"
        )
    unit = 1024 if match[3] else 1000
    size = int(float(match[1]) * unit ** " KMGT".index(match[2] or " "))
    if size < 10**6:
        raise ValueError(f"`memory` must be at least 1 MB; got {memory!r}")
    return size
