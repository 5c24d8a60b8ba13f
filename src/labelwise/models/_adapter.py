"""How the models of one library are asked: the small interface that `from_models` works with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._errors import InputError, did_you_mean, listed
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
    member_names: Sequence[str] | None = None
    """What the members are called, where an ensemble of the library names them."""


def each_model(
    models: Sequence[Any], predict: Callable[[Any, Batch], Any]
) -> Callable[[Batch], Sequence[Any]]:
    """Every model as one member."""
    return lambda batch: [predict(model, batch) for model in models]


def predict_all_classes(model: Any, X: Any, all_classes: np.ndarray) -> np.ndarray:
    """What a classifier predicts, with a column for each of ``all_classes`` (sorted): 0 for a class
    that it has never seen.
    """
    probs = np.asarray(model.predict_proba(X))
    if np.array_equal(model.classes_, all_classes):
        return probs
    classes = np.asarray(model.classes_, all_classes.dtype)
    full = np.zeros((len(probs), len(all_classes)), probs.dtype)
    full[:, np.searchsorted(all_classes, classes)] = probs
    return full


def order_of_model_classes(
    known: tuple[str, ...] | None, class_names: Any
) -> tuple[Any, list[int] | None]:
    """The class names of the result, and where its classes are among those ``known`` to the models;
    ``None``: in their order.

    Names that the models have too are matched by name. Integer classes have no names yet: they are
    named in ascending order.
    """
    if class_names is None:
        return known, None
    if known is None:
        return class_names, None
    if isinstance(class_names, Mapping):
        renamed = dict(zip(map(str, class_names), class_names.values(), strict=True))
        if set(renamed) == set(known):
            return [renamed[name] for name in known], None
        return class_names, None  # from positions
    names = tuple(map(str, class_names))
    if sorted(names) == sorted(known):
        return names, list(map(known.index, names))
    numbers = integer_names(known)
    if numbers is None and set(known) != {"False", "True"}:
        unknown = next((name for name in names if name not in known), str(names))
        hint = did_you_mean(unknown, known)
        raise InputError(
            f"`class_names` must be the classes of the models, {listed(known)}, in any order; got "
            f"{unknown!r}{hint}",
            fix=None if hint else "rename_classes",
            first=known[0],
        )
    if numbers is not None and numbers.tolist() != list(range(len(names))):
        pairs = ", ".join(map("{} = {}".format, known, names))
        warnings.warn(f"The models' classes are named in their order: {pairs}", stacklevel=3)
    return names, None


def check_model_classes_agree(classes: Sequence[Sequence[Any]]) -> None:
    """Refuse models whose classes are the same words written differently, or that have no class in
    common. Numbers and text are the same class if they are written alike.
    """
    sets = [set(map(str, names)) for names in classes]
    spellings: dict[str, str] = {}
    for name in sorted(set().union(*sets)):
        other = spellings.setdefault(name.strip().casefold(), name)
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
                f"the models must have classes in common; model {i} has {listed(sorted(known))}, "
                f"the others have {listed(sorted(others))}",
                fix="same_classes",
            )


def class_names_of_models(names: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """The class names that all members have; some may have none."""
    known = sorted(set(filter(None, names)))
    if len(known) > 1:
        raise ValueError(
            f"the models must have the same classes in the same order; got {known[0]} and "
            f"{known[1]}"
        )
    return known[0] if known else None
