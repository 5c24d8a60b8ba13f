"""Deep ensembles: members that differ by their random weights and the order of the data, trained in
parallel, interruptible at any time.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ..datasets import Dataset, Examples
from ..files import remove_all_leftovers, replacing, usable_cores, write_file, write_npy
from ..validation import as_seed, check_names, check_positive, to_numpy
from ._member import Job, Subset, load_checkpoint, load_weights, prepared, read_metrics
from ._training_folder import agree, read_settings, reserved, stored_recipe
from ._workers import progress_bars, refuse_unguarded, train_apart, train_here
from .inputs import Inputs, LazyImages, as_instances, check_finite_blocks
from .recipes import Recipe, find_recipe

# Parameters × instances × epochs × members below which a training takes no longer than starting
# processes for it (a few seconds).
_SMALL = 10**10


@dataclass(frozen=True, eq=False)
class FittedEnsemble:
    """A trained ensemble in a folder: weights, metrics and what is needed to use it."""

    folder: Path
    n_members: int
    make_model: str | Callable[[], nn.Module]
    n_classes: int
    class_names: tuple[str, ...] | None
    inputs: Inputs
    recipe: Recipe

    @property
    def checkpoints(self) -> tuple[Path, ...]:
        """The file of each member: weights (``"model"``) and, of the last epoch, optimizer and
        random states; for ``torch.load(path, weights_only=True)``.
        """
        place = self._job.best if self.recipe.keep_best else self._job.checkpoint
        return tuple(place(member) for member in range(self.n_members))

    @property
    def metrics(self) -> tuple[list[dict[str, Any]], ...]:
        """For each member a list of one dict per epoch: loss, accuracy, learning rate, seconds;
        empty if it was trained elsewhere.
        """
        files = (self._job.metrics(member) for member in range(self.n_members))
        return tuple(read_metrics(file) if file.exists() else [] for file in files)

    def model(self, member: int) -> nn.Module:
        """One member with its trained weights, in evaluation mode."""
        if not 0 <= member < self.n_members:
            raise ValueError(f"`member` must be between 0 and {self.n_members - 1}; got {member}")
        # The first weights are replaced: those of a named network are never made, so that damaged
        # settings cannot ask for terabytes; a function of the user's may make them, but does not
        # use up the caller's random numbers.
        with (
            torch.random.fork_rng(devices=[]),
            torch.device("meta") if isinstance(self.make_model, str) else nullcontext(),
        ):
            try:
                model = self._job.build()
            except (RuntimeError, TypeError, OverflowError) as error:
                if not isinstance(self.make_model, str):
                    raise
                raise ValueError(
                    f"the settings of the ensemble in {str(self.folder)!r} are damaged: they give "
                    "no network"
                ) from error
        load_weights(model, self.checkpoints[member])
        return prepared(model, self.inputs, "cpu").eval()

    @property
    def _job(self) -> Job:
        return Job(
            self.folder,
            self.make_model,
            self.n_classes,
            self.inputs,
            self.recipe,
            0,
            "cpu",
            (None, None),
        )


def fit_ensemble(
    make_model: str | Callable[[], nn.Module],
    data: Dataset | Examples | tuple[Any, Any],
    *,
    n_members: int = 5,
    recipe: Recipe | str | None = None,
    rng: int | np.random.Generator | None = 0,
    out_dir: str | os.PathLike[str],
    resume: bool = False,
    epochs: int | None = None,
    subset: Subset | None = None,
    start: FittedEnsemble | None = None,
    members: Sequence[int] | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> FittedEnsemble:
    """Train a deep ensemble; members run in parallel processes on a CPU, one after another on a
    GPU.

    A checkpoint is written after every epoch. After an interruption, even ``kill -9`` or a power
    cut, the same call with ``resume=True`` ends with the same weights, bit for bit. On a CPU the
    same seed gives the same weights with any ``n_jobs``.

    Parameters
    ----------
    make_model : str or callable
        ``"cnn"``, ``"resnet18"``, ``"resnet50"``, ``"mlp"``, or a function without arguments that
        returns a new ``torch.nn.Module`` whose outputs are logits, (N, K). It is sent to other
        processes, so it must be importable (no lambda) unless ``n_jobs=1``.
    data : Dataset, Examples or (x, y)
        Training data: uint8 images (N, H, W) or (N, H, W, C), or numbers (N, ...); labels 0 … K −
        1. Of a Dataset, ``train`` is used, and ``val``, if there is one, for a metric (and to
        choose the epoch, if the recipe says so). The processes share the arrays. Images that do not
        fit in memory may be `LazyImages`, read one batch ahead of their use.
    recipe : Recipe or str, optional
        A name for :func:`find_recipe`: ``"paper"``, ``"code"`` or ``"default"``.
    rng : int, Generator or None
        Random seed of the ensemble, from which each member's is derived; a generator, or ``None``,
        draws one. Resume with the same integer.
    out_dir : path
        Folder for checkpoints (``member-0.pt``), metrics (``member-0.jsonl``, one line per epoch)
        and settings (``ensemble.json``).
    resume : bool
        Resume the training in ``out_dir``, if there is one. Without it a folder with a training in
        it is refused.
    epochs : int, optional
        Other than the recipe's; the learning-rate schedule is stretched accordingly.
    subset : callable, optional
        ``subset(member, epoch)`` gives the positions of the instances that a member sees in an
        epoch (from 0), for instance a bootstrap sample of its own, or other data after some epochs.
        It must depend on nothing else, have a ``repr`` that tells it from others (a frozen
        dataclass does), and be importable unless ``n_jobs=1``.
    start : FittedEnsemble, optional
        Continue from these members: their weights, optimizer and random numbers, with the epoch
        after their last. ``start`` itself is not changed, so that several trainings can branch off
        from it.
    members : sequence of int, optional
        Train only these of the members, for instance because other machines train the others;
        defaults to all. No member depends on another. Predict with ``predict_ensemble(fitted, x,
        members=...)``, or copy the files ``member-*`` of all into one folder and use
        `load_ensemble`.
    n_jobs : int, optional
        Processes at a time (1: this one); defaults to what the processors allow, or 1 where
        starting them would take longer than training.
    progress : bool
        Show a bar for each member if standard error is a terminal.

    Examples
    --------
    >>> import tempfile
    >>> data = labelwise_lab.datasets.load("digits")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted = fit_ensemble("mlp", data, n_members=2, epochs=1, out_dir=folder, n_jobs=1)
    ...     [path.name for path in fitted.checkpoints]
    ['member-0.pt', 'member-1.pt']
    """
    refuse_unguarded()
    n_members, seed = check_positive(n_members, "n_members"), as_seed(rng)
    wanted = check_members(members, n_members)
    x, y, val, class_names = _unpacked(data)
    name = data.name if isinstance(data, Dataset) else ""
    if recipe is None or isinstance(recipe, str):
        recipe = find_recipe(name, recipe, shape=Inputs.of(x).shape)
    if epochs is not None:
        recipe = recipe.stretched(check_positive(epochs, "epochs"))
    inputs = Inputs.fit(x, recipe)
    if val is not None:
        val = inputs.check(val[0], "data.val.x"), val[1]
    elif recipe.keep_best:
        fix = "use replace(recipe, keep_best=False)"
        raise ValueError(
            "the recipe keeps the epoch that is best on a validation set, but `data` has none; "
            f"{fix}"
        )
    folder = Path(out_dir)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if subset is not None:
        if isinstance(x, LazyImages):
            raise ValueError(
                "`subset` is for data in memory; these images are read from disk. Make LazyImages "
                "of the subset instead"
            )
        _check_subset(subset, len(x))
    if start is not None:
        _check_start(start, wanted, n_members, recipe)
    job = Job(
        folder,
        make_model,
        int(y.max()) + 1 if class_names is None else len(class_names),
        inputs,
        recipe,
        seed,
        device,
        (x, y),
        val,
        subset,
    )
    n_outputs, n_parameters = _try_out(job, x, exactly=class_names is not None)
    job = replace(job, n_classes=n_outputs)

    cores = usable_cores()
    folder.mkdir(parents=True, exist_ok=True)
    with reserved(folder):
        threads = int(
            agree(job, class_names, threads=max(1, cores // n_members), resume=resume)["threads"]
        )
        remove_all_leftovers(folder)
        if start is not None:
            _branch_off(start, job, wanted)
        done = {m: epoch for m in wanted if (epoch := _epochs_done(job, m)) < recipe.epochs}
        n_seen = len(x) if subset is None else len(subset(0, 0))
        if n_jobs is None:
            small = n_parameters * n_seen * recipe.epochs * len(done) < _SMALL
            n_jobs = 1 if small else max(1, cores // threads)
        n_jobs = min(check_positive(n_jobs, "n_jobs"), max(1, len(done)))
        with progress_bars(list(done), n_seen, recipe.epochs, wanted=progress) as show:
            if n_jobs == 1 or device != "cpu":
                train_here(job, list(done), threads=threads, show=show)
            else:
                with _shared(job) as shared:
                    train_apart(shared, done, n_jobs=n_jobs, threads=threads, show=show)
    return FittedEnsemble(folder, n_members, make_model, job.n_classes, class_names, inputs, recipe)


def load_ensemble(
    folder: str | os.PathLike[str], make_model: Callable[[], nn.Module] | None = None
) -> FittedEnsemble:
    """An ensemble that :func:`fit_ensemble` has trained; ``make_model`` only if it was given as a
    function then.

    Members that are not finished are left out if they are the last; any other that is missing is an
    error.
    """
    folder = Path(folder)
    settings = read_settings(folder)
    if settings["network"] is None and make_model is None:
        raise ValueError(
            f"the ensemble in {str(folder)!r} has a custom network; pass the function `make_model` "
            "that it was trained with"
        )
    try:
        inputs, n_classes = (
            Inputs(**settings["inputs"]),
            check_positive(settings["n_classes"], "n_classes"),
        )
        names = check_names(settings["class_names"], n_classes)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the settings of the ensemble in {str(folder)!r} are damaged: {error}"
        ) from error
    recipe = stored_recipe(folder, settings)
    fitted = FittedEnsemble(
        folder, 0, make_model or settings["network"], n_classes, names, inputs, recipe
    )
    stems = (path.stem.removeprefix("member-") for path in folder.glob("member-*.pt"))
    trained = sorted(
        m
        for m in (int(stem) for stem in stems if stem.isdecimal())
        if _epochs_done(fitted._job, m) >= recipe.epochs
    )
    if not trained:
        raise ValueError(
            f"no member of the ensemble in {str(folder)!r} is fully trained; resume it with "
            "resume=True (--resume)"
        )
    missing = sorted(set(range(trained[-1])) - set(trained))
    if missing:
        numbers = ", ".join(map(str, missing))
        raise ValueError(
            f"the ensemble in {str(folder)!r} lacks members {numbers}, but has "
            f"{', '.join(map(str, trained))}; copy their files into the "
            f"folder, or train them: members=[{numbers}], resume=True"
        )
    return replace(fitted, n_members=len(trained))


def _unpacked(data: Any) -> tuple[Any, np.ndarray, tuple[Any, Any] | None, tuple[str, ...] | None]:
    """Checked x and y, the validation set and the class names of whatever was given as `data`."""
    val = class_names = None
    if isinstance(data, Dataset):
        if data.train is None:
            raise ValueError(
                f"`data` must have a training set; of {data.name} only the test files were found"
            )
        class_names = data.class_names
        val = None if data.val is None else (data.val.x, data.val.y)
        data = data.train
    if isinstance(data, Examples):
        data = data.x, data.y
    if not isinstance(data, tuple) or len(data) != 2:
        raise TypeError(
            f"`data` must be a Dataset, an Examples or a pair (x, y); got {type(data).__name__}"
        )
    x, y = as_instances(data[0], "x"), to_numpy(data[1])
    check_finite_blocks(x, "x")
    if y.dtype.kind not in "iu" or y.shape != (len(x),):
        raise ValueError(
            f"`y` must hold one integer label for each of the {len(x)} instances; got {y.dtype} of "
            f"shape {y.shape}"
        )
    if y.min() < 0 or (class_names is not None and y.max() >= len(class_names)):
        raise ValueError(f"`y` must hold labels from 0 to K - 1; got {y.min()} to {y.max()}")
    if isinstance(x, LazyImages):
        return x, y, val, class_names
    x = (
        x
        if x.dtype.isnative and (x.flags.c_contiguous or isinstance(x, np.memmap))
        else np.ascontiguousarray(x, x.dtype.newbyteorder("="))
    )
    return x, y, val, class_names


def _try_out(job: Job, x: Any, *, exactly: bool) -> tuple[int, int]:
    """The numbers of classes that the model scores and of its parameters, before anything is
    written: a wrong model leaves no trace.
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        model = job.build().eval()
        scores = model(job.inputs(torch.from_numpy(np.array(x[:2]))))
    fits = isinstance(scores, torch.Tensor) and scores.ndim == 2 and len(scores) == len(x[:2])
    if not fits or scores.shape[1] < job.n_classes or (exactly and scores.shape[1] > job.n_classes):
        got = (
            f"shape {tuple(scores.shape)} for {len(x[:2])} instances"
            if isinstance(scores, torch.Tensor)
            else type(scores).__name__
        )
        raise ValueError(
            "`make_model` must give a model that returns logits (instances, classes) for "
            f"{job.n_classes} classes; got {got}"
        )
    return int(scores.shape[1]), sum(parameter.numel() for parameter in model.parameters())


def _check_subset(subset: Any, n: int) -> None:
    rows = np.asarray(subset(0, 0))
    if (
        rows.ndim != 1
        or rows.dtype.kind not in "iu"
        or not len(rows)
        or rows.min() < 0
        or rows.max() >= n
    ):
        raise ValueError(
            f"`subset` must give positions of instances, whole numbers from 0 to {n - 1} in one "
            "dimension; "
            f"got {rows.dtype} of shape {rows.shape} for member 0 and epoch 0"
        )


def _check_start(start: Any, members: Sequence[int], n_members: int, recipe: Recipe) -> None:
    if not isinstance(start, FittedEnsemble):
        raise TypeError(
            "`start` must be an ensemble from fit_ensemble or load_ensemble; got "
            f"{type(start).__name__}"
        )
    if start.n_members < n_members or start.recipe.epochs >= recipe.epochs:
        raise ValueError(
            f"`start` has {start.n_members} members and {start.recipe.epochs} epochs; going on "
            f"with {n_members} members up to epoch "
            f"{recipe.epochs} needs at least as many members and fewer epochs"
        )
    for member in members:
        if _epochs_done(start._job, member) < start.recipe.epochs:
            raise ValueError(
                f"`start` lacks member {member}: it is not, or not fully, trained in "
                f"{str(start.folder)!r}"
            )


def check_members(members: Sequence[int] | None, n_members: int) -> list[int]:
    """Checked positions of the members; all of them for ``None``."""
    if members is None:
        return list(range(n_members))
    wanted = np.asarray(members)
    whole = wanted.ndim == 1 and wanted.dtype.kind in "iu" and len(wanted) > 0
    if (
        not whole
        or wanted.min() < 0
        or wanted.max() >= n_members
        or len(np.unique(wanted)) < len(wanted)
    ):
        raise ValueError(
            f"`members` must be different whole numbers from 0 to {n_members - 1}, in a list; got "
            f"{members!r}"
        )
    return [int(m) for m in wanted]


def _branch_off(start: FittedEnsemble, job: Job, members: Sequence[int]) -> None:
    """Copy the checkpoints of members that have none here; the metrics first, because a checkpoint
    says that they are there.
    """
    for member in members:
        if not job.checkpoint(member).exists():
            for source, target in (
                (start._job.metrics(member), job.metrics(member)),
                (start.checkpoints[member], job.checkpoint(member)),
            ):
                write_file(target, source.read_bytes())


def _epochs_done(job: Job, member: int) -> int:
    path = job.checkpoint(member)
    return int(load_checkpoint(path)["epoch"]) if path.exists() else 0


@contextmanager
def _shared(job: Job) -> Iterator[Job]:
    """The job with its data in files that all processes map: one copy in memory, and shared memory
    may be as small as it likes.

    A source is on disk already.
    """
    try:
        pickle.dumps(job.make_model)
    except Exception as error:
        raise TypeError(
            "`make_model` must be a name or an importable function, because each member is trained "
            "in a process of its own; "
            f"got {job.make_model!r}. Define it with def in a module, or pass n_jobs=1"
        ) from error
    arrays = {"train-x": job.train[0], "train-y": job.train[1]}
    if job.val is not None:
        arrays |= {"val-x": job.val[0], "val-y": job.val[1]}
    places = {
        key: array if isinstance(array, LazyImages) else job.folder / f".{key}.npy"
        for key, array in arrays.items()
    }
    try:
        for key, place in places.items():
            if isinstance(place, Path):
                with replacing(place) as file:
                    write_npy(file, arrays[key])
        val = (places["val-x"], places["val-y"]) if job.val is not None else None
        yield replace(job, train=(places["train-x"], places["train-y"]), val=val)
    finally:
        for place in places.values():
            if isinstance(place, Path):
                place.unlink(missing_ok=True)
