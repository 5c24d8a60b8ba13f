"""What models are asked about: an array, a table or a mapping, cut into batches, or the batches of
a loader, with labels if it has them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

LABEL_KEYS = ("labels", "label", "y", "target", "targets")


@dataclass(frozen=True)
class Batch:
    """Inputs for a model: positional, or by name (``**inputs``); and the labels, if the loader has
    them.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    labels: Any = None

    @property
    def only(self) -> Any:
        """The one input, for models that take one."""
        if self.kwargs:
            return self.kwargs
        if len(self.args) != 1:
            raise ValueError(
                f"these models take one input; the loader gives {len(self.args)} and the labels"
            )
        return self.args[0]

    def fitted_to(self, function: Callable[..., Any]) -> Batch:
        """The batch as ``function`` takes it: inputs by name if it has these parameters; else, for
        one parameter, the only input or the whole mapping.
        """
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # not written in Python
            return self
        names = {x.name for x in parameters}
        any_name = any(x.kind is x.VAR_KEYWORD for x in parameters)
        required = [
            x for x in parameters if x.default is x.empty and x.kind is not x.VAR_POSITIONAL
        ]
        if any_name or names & self.kwargs.keys() or not self.kwargs or len(required) != 1:
            return self
        only = self.kwargs
        if len(self.kwargs) == 1:
            (only,) = self.kwargs.values()
        return Batch((only,), {}, self.labels)

    def __len__(self) -> int:
        first = next(iter(self.kwargs.values())) if self.kwargs else self.args[0]
        return int(first.shape[0]) if hasattr(first, "shape") else len(first)


def is_loader(x: Any) -> bool:
    """Whether ``x`` gives batches: it can be iterated over, but has no shape and is no list of
    rows.
    """
    return (
        hasattr(x, "__iter__")
        and not hasattr(x, "shape")
        and not isinstance(x, list | tuple | Mapping | str | bytes)
    )


def check_loader(x: Any, return_labels: bool) -> None:
    """Refuse a shuffled loader without its labels: the order of the rows would be lost."""
    if type(getattr(x, "sampler", None)).__name__ == "RandomSampler" and not return_labels:
        raise ValueError(
            "the loader shuffles, so the order of the rows would be unknown; pass "
            "return_labels=True to get the labels in the same order, "
            "or make the loader with shuffle=False"
        )


def loader_batches(loader: Iterable[Any]) -> Iterator[Batch]:
    """The batches of a loader: (inputs ..., labels), a mapping with or without labels, or inputs
    alone.
    """
    for item in loader:
        if isinstance(item, Mapping):
            inputs, labels = dict(item), None
            for key in LABEL_KEYS:
                if key in item:
                    labels = inputs.pop(key)
                    break
            yield Batch((), inputs, labels)
        elif isinstance(item, tuple | list) and len(item) > 1:
            *args, labels = item
            yield Batch(tuple(args), {}, labels)
        else:
            yield Batch(tuple(item) if isinstance(item, tuple | list) else (item,), {})


def array_batches(x: Any, size: int | None) -> Iterator[Batch]:
    """Rows of an array, a table, or a mapping of arrays, ``size`` at a time; all at once without
    it.
    """
    x = np.asarray(x) if isinstance(x, list | tuple) else x
    whole = Batch((x,), {})
    if isinstance(x, Mapping):
        whole = Batch((), x)
    elif not hasattr(x, "shape"):
        raise TypeError(
            "`X` must be an array, a table, a mapping of arrays or a loader of batches; got "
            f"{type(x).__name__}. "
            "Wrap a torch Dataset in a DataLoader"
        )
    elif len(x.shape) == 0 or x.shape[0] == 0:
        raise ValueError(
            f"`X` must hold at least one instance on its first axis; got shape {tuple(x.shape)}"
        )
    if size is None or len(whole) <= size:
        yield whole
        return
    for start in range(0, len(whole), size):
        rows = slice(start, start + size)  # of a table by position
        args = tuple(getattr(values, "iloc", values)[rows] for values in whole.args)
        yield Batch(args, {key: values[rows] for key, values in whole.kwargs.items()})
