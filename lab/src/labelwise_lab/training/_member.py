"""Training of one member: epochs, metrics, and a checkpoint after each epoch from which it is
resumed bit for bit.
"""

from __future__ import annotations

import json
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ..datasets.preprocess import crop_and_flip
from ..files import read_text, replacing, write_file
from .forward import evaluating, seeded
from .inputs import Inputs, LazyImages
from .networks import build
from .recipes import Recipe

Report = Callable[[int, int, float], None]
"""Told now and then: epoch (from 0), instances seen in it, mean loss so far."""

Subset = Callable[[int, int], np.ndarray]
"""Takes member and epoch (from 0); the positions of the instances that this member sees in this
epoch.
"""


# Numbers in one batch of inputs for validation: as many images as fit, at most 1024.
VALUES_AT_ONCE = 2**24
_LONGEST_METRICS = 2**26


@dataclass(frozen=True, eq=False)
class Job:
    """All that a process needs to train any member."""

    folder: Path
    make_model: str | Callable[[], nn.Module]
    n_classes: int
    inputs: Inputs
    recipe: Recipe
    seed: int
    device: str
    train: tuple[Any, Any]
    """Instances and labels: arrays, the .npy files that they are mapped from, or a source."""
    val: tuple[Any, Any] | None = None
    subset: Subset | None = None

    def build(self) -> nn.Module:
        """A model with new random weights from torch's global generator."""
        if isinstance(self.make_model, str):
            return build(self.make_model, self.n_classes, self.inputs.shape)
        model = self.make_model()
        if not isinstance(model, nn.Module):
            raise TypeError(
                f"`make_model` must return a torch.nn.Module; got {type(model).__name__}"
            )
        return model

    def checkpoint(self, member: int) -> Path:
        return self.folder / f"member-{member}.pt"

    def best(self, member: int) -> Path:
        """The weights of the epoch that was best on the validation set."""
        return self.folder / f"member-{member}.best.pt"

    def metrics(self, member: int) -> Path:
        return self.folder / f"member-{member}.jsonl"


def train_member(job: Job, member: int, report: Report, *, until: int | None = None) -> None:
    """Train one member up to epoch ``until`` (without it, to the end), from its checkpoint if there
    is one.

    The weights depend on the seed, the recipe, the data and the number of torch's threads; not on
    the process, the other members, or on how often the training was interrupted.
    """
    first, second = (
        int(s) for s in np.random.SeedSequence([job.seed, member]).generate_state(2, np.uint64)
    )
    generator = torch.Generator().manual_seed(second)
    train, val = _opened(job.train), None if job.val is None else _opened(job.val)
    with seeded(first):
        model = prepared(job.build(), job.inputs, job.device)
        optimizer = _optimizer(model, job.recipe)
        done = _restore(job.checkpoint(member), model, optimizer, generator)
        best = _keep_metrics(job.metrics(member), done)
        for epoch in range(done, job.recipe.epochs if until is None else until):
            started = time.perf_counter()
            for group in optimizer.param_groups:
                group["lr"] = job.recipe.rate(epoch)
            seen = train if job.subset is None else _rows(train, job.subset(member, epoch))
            loss, accuracy = _train_epoch(
                job, model, optimizer, seen, generator, partial(report, epoch)
            )
            if not np.isfinite(loss):
                why = f"the loss of member {member} is {loss} in epoch {epoch + 1}"
                raise ValueError(f"{why}: lower the learning rate, or scale the inputs")
            record = {
                "member": member,
                "epoch": epoch + 1,
                "learning_rate": job.recipe.rate(epoch),
                "loss": loss,
                "accuracy": accuracy,
            }
            if val is not None:
                record["val_accuracy"], record["val_loss"] = _validate(
                    model, job.inputs, val, job.device
                )
            record["seconds"] = round(time.perf_counter() - started, 3)
            # The line first: if the process dies in between, the epoch is done again and its line
            # written again.
            with job.metrics(member).open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            if job.recipe.keep_best and record["val_loss"] < best:
                best = record["val_loss"]
                with replacing(job.best(member)) as file:
                    torch.save({"epoch": epoch + 1, "model": model.state_dict()}, file)
            _save(job.checkpoint(member), epoch + 1, model, optimizer, generator)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint; nothing but tensors and plain values is unpickled."""
    if not path.exists():
        raise FileNotFoundError(f"there is no checkpoint {str(path)!r}")
    with _damage(path):
        state = torch.load(path, map_location="cpu", weights_only=True)
    if (
        not isinstance(state, dict)
        or type(state.get("epoch")) is not int
        or not isinstance(state.get("model"), dict)
    ):
        raise ValueError(f"{str(path)!r} is not a checkpoint of an ensemble member")
    return state


def load_weights(model: nn.Module, path: Path) -> nn.Module:
    """The model with the weights of a checkpoint."""
    weights = load_checkpoint(path)["model"]
    with _damage(path):
        empty = any(p.is_meta for p in model.parameters())
        model.load_state_dict(weights, assign=empty)
    return model


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """On damaged archives, pickles and states PyTorch raises nearly everything."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"the checkpoint {str(path)!r} cannot be read; delete it to train this member again"
        ) from error


def prepared(model: nn.Module, inputs: Inputs, device: str) -> nn.Module:
    """The model on its device, in the memory format of its inputs: channels-last halves the time of
    the CNN on a CPU.
    """
    return (
        model.to(device, memory_format=torch.channels_last) if inputs.images else model.to(device)
    )


def _opened(pair: tuple[Any, Any]) -> tuple[Any, torch.Tensor]:
    """Instances and labels as tensors that share memory with the array, or with all processes that
    map the same file; a source stays one.
    """
    x, y = (
        np.load(part, mmap_mode="c", allow_pickle=False) if isinstance(part, Path) else part
        for part in pair
    )
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="The given NumPy array is not writable"
        )  # nothing is written to it
        return x if isinstance(x, LazyImages) else torch.from_numpy(x), torch.from_numpy(
            np.array(y, dtype=np.int64)
        )


def _rows(
    data: tuple[torch.Tensor, torch.Tensor], rows: np.ndarray
) -> tuple[torch.Tensor, torch.Tensor]:
    index = torch.from_numpy(np.asarray(rows, dtype=np.int64))
    return data[0][index], data[1][index]


def _batches(n: int, size: int, generator: torch.Generator | None) -> Iterator[torch.Tensor]:
    """Indices of one epoch. Fewer instances left over than an eighth of a batch join the batch
    before.

    Batch normalization over a few instances spoils the running statistics of an epoch's end; a
    single one has no statistics.
    """
    order = torch.arange(n) if generator is None else torch.randperm(n, generator=generator)
    parts = list(order.split(size))
    if len(parts) > 1 and len(parts[-1]) < max(2, size // 8):
        parts[-2:] = [torch.cat(parts[-2:])]
    yield from parts


def _train_epoch(
    job: Job,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: tuple[Any, torch.Tensor],
    generator: torch.Generator,
    report: Callable[[int, float], None],
) -> tuple[float, float]:
    """Mean loss and accuracy over the batches as they were seen."""
    x, y = data
    model.train()
    seen, told = 0, 0.0
    total = torch.zeros(2, dtype=torch.float64, device=job.device)
    for index, batch in _read(
        x, _batches(len(x), job.recipe.batch_size, generator if job.recipe.shuffle else None)
    ):
        if job.recipe.augment:
            batch = crop_and_flip(batch, generator=generator, padding=job.recipe.padding)
        inputs, labels = job.inputs(batch).to(job.device), y[index].to(job.device)
        scores = model(inputs)
        loss = nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            total += torch.stack([loss * len(index), (scores.argmax(1) == labels).sum()])
        seen += len(index)
        if time.monotonic() - told > 0.2 or seen == len(x):
            told = time.monotonic()
            report(seen, float(total[0]) / seen)
    loss_sum, correct = total.tolist()
    return loss_sum / seen, correct / seen


def _read(x: Any, parts: Iterable[torch.Tensor]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Positions and their instances; those of a source are read while the ones before are worked
    on.
    """
    if not isinstance(x, LazyImages):
        yield from ((index, x[index]) for index in parts)
        return
    with ThreadPoolExecutor(1) as reader:
        waiting: deque[Any] = deque()
        for index in parts:
            waiting.append((index, reader.submit(x.__getitem__, index.numpy())))
            if len(waiting) == 2:
                ready, images = waiting.popleft()
                yield ready, torch.from_numpy(images.result())
        for ready, images in waiting:
            yield ready, torch.from_numpy(images.result())


def _validate(
    model: nn.Module, inputs: Inputs, data: tuple[Any, torch.Tensor], device: str
) -> tuple[float, float]:
    """Accuracy and mean loss, without augmentation."""
    x, y = data
    size = max(1, min(1024, VALUES_AT_ONCE // int(np.prod(inputs.shape))))
    correct, loss = 0, 0.0
    with evaluating(model):
        for index, batch in _read(x, torch.arange(len(x)).split(size)):
            scores = model(inputs(batch).to(device)).double().cpu()
            correct += int((scores.argmax(1) == y[index]).sum())
            loss += float(nn.functional.cross_entropy(scores, y[index], reduction="sum"))
    return correct / len(y), loss / len(y)


def _optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    if recipe.optimizer == "adam":
        return torch.optim.Adam(
            model.parameters(), lr=recipe.rate(0), weight_decay=recipe.weight_decay
        )
    return torch.optim.SGD(
        model.parameters(),
        lr=recipe.rate(0),
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
    )


def _save(
    path: Path,
    epoch: int,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
) -> None:
    state = {
        "epoch": epoch,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "order": generator.get_state(),
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    with replacing(path) as file:
        torch.save(state, file)


def _restore(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator
) -> int:
    if not path.exists():
        return 0
    state = load_checkpoint(path)
    with _damage(path):
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        generator.set_state(state["order"])
        torch.set_rng_state(state["random"])
        if state["random_cuda"]:
            torch.cuda.set_rng_state_all(state["random_cuda"])
    return int(state["epoch"])


def _keep_metrics(path: Path, epochs: int) -> float:
    """Drop lines of epochs that are not in the checkpoint (and a half-written last one); the lowest
    validation loss of the others.
    """
    if not path.exists():
        return np.inf
    lines = read_text(path).splitlines(keepends=True)
    write_file(path, "".join(lines[:epochs]))
    return min(
        (float(record.get("val_loss", np.inf)) for record in read_metrics(path)), default=np.inf
    )


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """One record for each epoch."""
    try:
        records = [json.loads(line) for line in read_text(path).splitlines()]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error}") from error
    if not all(isinstance(record, dict) for record in records):
        raise ValueError(f"{str(path)!r} must have a record in each line")
    return records
