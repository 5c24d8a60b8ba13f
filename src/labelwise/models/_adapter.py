"""How the models of one library are asked: the small interface that `from_models` works with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._errors import InputError, did_you_mean
from .._validation.labels import integer_names
from ._batches import Batch


@dataclass(frozen=True)
class Adapter:
    """Models of one library."""

    predict: Callable[[Batch], Sequence[Any]]
    """The scores of each member for a batch: (n, K), (n, ..., K) or, for two classes, (n,) or (n,
    1).
    """
    scores: str
    """``"logits"``, ``"probabilities"``, or ``"unknown"``: the values decide, and must be clear."""
    class_names: tuple[str, ...] | None = None
    batch_size: int | None = None
    """Rows of an array at a time; ``None``: all, the library cuts them itself."""
    running: Callable[[], AbstractContextManager[Any]] = field(default=nullcontext)
    """Entered while the models are asked; restores what it changes."""
    weights: Any = None
    multilabel: bool = False
    """Whether the models say that labels may occur together."""


def aligned(probs: np.ndarray, classes: Any, all_classes: Any) -> np.ndarray:
    """Columns for ``all_classes`` (sorted) from columns for some of them, in any order; 0 for a
    class that a member has never seen.
    """
    if np.array_equal(classes, all_classes):
        return probs
    full = np.zeros((*probs.shape[:-1], len(all_classes)), dtype=probs.dtype)
    full[..., np.searchsorted(all_classes, np.asarray(classes))] = probs
    return full


def class_order(own: tuple[str, ...] | None, given: Any) -> tuple[Any, list[int] | None]:
    """The class names of the result, and where its classes are among the models' ``own``; ``None``:
    in their order.

    Names that the models have too are matched by name. Integer classes have no names yet: they are
    named in ascending order.
    """
    if own is None or given is None:
        return (own if given is None else given), None
    if isinstance(given, Mapping):
        by_class = {str(key): name for key, name in given.items()}
        return (given if set(by_class) != set(own) else [by_class[name] for name in own]), None
    names = tuple(str(name) for name in given)
    if sorted(names) == sorted(own):
        return names, [own.index(name) for name in names]
    numbers = integer_names(own)
    if numbers is None and set(own) != {"False", "True"}:
        unknown = next((name for name in names if name not in own), names[-1] if names else "")
        hint = did_you_mean(unknown, own)
        raise InputError(
            "`class_names` must be the classes of the models, "
            f"{', '.join(map(repr, own[:5]))}{', …' if len(own) > 5 else ''}, in any order; "
            f"got {unknown!r}{hint}",
            fix=None if hint else "rename_classes",
            first=own[0],
        )
    if (
        numbers is not None
        and len(names) == len(own)
        and not np.array_equal(numbers, np.arange(len(own)))
    ):
        pairs = ", ".join(
            f"{number} = {name}" for number, name in zip(own[:5], names[:5], strict=True)
        )
        warnings.warn(
            (
                "The models' classes are named in ascending order: "
                f"{pairs}{', …' if len(own) > 5 else ''}"
            ),
            stacklevel=4,
        )
    return names, None


def check_common_classes(classes: Sequence[Sequence[Any]]) -> None:
    """Refuse models whose classes are numbers and text, the same words written differently, or that
    have no class in common.
    """
    kinds = [
        "text" if any(isinstance(name, str) for name in each) else "numbers" for each in classes
    ]
    if len(set(kinds)) > 1:
        i, j = kinds.index("numbers"), kinds.index("text")
        raise InputError(
            f"the models must name their classes alike; model {i} has the number "
            f"{np.asarray(classes[i]).tolist()[0]!r}, "
            f"model {j} the text {str(classes[j][0])!r}",
            fix="same_classes",
        )
    sets = [{str(name) for name in each} for each in classes]
    written: dict[str, str] = {}
    for name in sorted(set().union(*sets)):
        other = written.setdefault(name.strip().casefold(), name)
        # EMNIST has both "a" and "A": then each model knows both
        if other != name and not any({name, other} <= known for known in sets):
            raise InputError(
                f"the models must name their classes alike; one has {other!r}, another {name!r}",
                fix="same_classes",
            )
    for i, known in enumerate(sets):
        others = set().union(*sets[:i], *sets[i + 1 :])
        if others and not known & others:
            raise InputError(
                f"the models must have classes in common; model {i} has "
                f"{', '.join(map(repr, sorted(known)[:3]))}, "
                f"the others have {', '.join(map(repr, sorted(others)[:3]))}",
                fix="same_classes",
            )


def same_names(names: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """The class names that all members have."""
    known = [each for each in names if each is not None]
    for each in known[1:]:
        if each != known[0]:
            raise ValueError(
                f"the models must have the same classes in the same order; got {known[0]} and "
                f"{each}"
            )
    return known[0] if known else None


def only_one_way(n_samples: int | None, library: str) -> None:
    """Refuse ``n_samples`` where there is no dropout to sample."""
    if n_samples is not None:
        raise ValueError(
            "`n_samples` is for dropout in torch modules and for catboost's virtual ensembles; "
            f"got {n_samples} for {library}"
        )
