"""Events about the classes: single labels, groups, ordinal cuts, trees, pairs.

An event A is a set of classes with probability Θ_A = Σ_{k∈A} Θ_k; the paper's labels are the events
{k}. A conditional event "A given B" has probability Θ_A / Θ_B. All measures depend only on these
probabilities, so they work for every family of events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import index
from typing import Any, Literal, overload

import numpy as np

from ._arrays import Array, Names, Pair, index_like, namespace
from ._errors import InputError, listed, suggest
from ._frames import distinct_names
from ._validation.labels import integer_names

__all__ = ["Events", "groups", "one_vs_one", "ordinal", "tree"]

Label = str | int
"""A class by name; a whole number is a name where all class names are integers, else a position."""
Structure = Literal["partition", "disjoint", "free", "nested", "pairs", "overlapping"]
"""Exactly one event occurs; at most one; no constraints; each contains the next; pairs; or none of
these.
"""


@dataclass(frozen=True)
class Events:
    """A family of events; made by `groups`, `ordinal`, `tree` and `one_vs_one`."""

    names: Names
    inside: tuple[tuple[Label, ...], ...]
    """The classes of each event."""
    given: tuple[tuple[Label, ...], ...] | None = None
    """The classes each event is conditioned on; ``None``: all of them."""
    kind: str = "groups"
    n_classes: int | None = None
    """Number of classes the family was made for, if fixed."""

    def resolve(self, n: int, names: Sequence[str] | None) -> list[tuple[list[int], list[int]]]:
        """For each event the positions of its classes and of those it is contrasted with."""
        if self.n_classes is not None and self.n_classes != n:
            raise InputError(
                f"`events` ({self.kind}) were made for {self.n_classes} classes; the prediction "
                f"has K = {n}"
            )
        result = []
        places = _places_of_labels(n, names)
        for i, event in enumerate(self.names):
            inside = [_position_of_label(label, places, names, event) for label in self.inside[i]]
            if len(set(inside)) != len(inside):
                raise InputError(f"`events`: {event!r} names a class twice: {list(self.inside[i])}")
            given: Iterable[int] = range(n)
            if self.given is not None:
                given = [_position_of_label(label, places, names, event) for label in self.given[i]]
            result.append((inside, [k for k in given if k not in inside]))
        return result

    def structure(self, n: int, names: Sequence[str] | None) -> Structure:
        """How the events relate, which determines whether they can be summed and the maximum of the
        sum.
        """
        positions = [k for inside, _ in self.resolve(n, names) for k in inside]
        if self.kind == "ordinal":
            return "nested"
        if self.kind == "one_vs_one":
            return "pairs"
        if self.given is not None or len(set(positions)) < len(positions):
            return "overlapping"
        return "partition" if len(positions) == n else "disjoint"


class Place(int):
    """A position whatever the classes are called: the classes of ``ordinal(5)`` have no names."""


def _places_of_labels(n: int, names: Sequence[str] | None) -> dict[Label, int]:
    """The position of each class by all that it may be called."""
    places: dict[Label, int] = {}
    numbers = range(n)
    if names is not None:
        places = dict(zip(names, range(n), strict=True))
        values = integer_names(names)
        if values is not None:
            numbers = values.tolist()
    return places | dict(zip(numbers, range(n), strict=True))


def _position_of_label(
    label: Label, places: Mapping[Label, int], names: Sequence[str] | None, event: str
) -> int:
    if isinstance(label, Place):
        return label
    is_name = isinstance(label, str)
    if isinstance(label, bool) or not (is_name or hasattr(label, "__index__")):
        raise TypeError(
            f"`events`: classes are given by name or position; got {label!r} in {event!r}"
        )
    if not isinstance(label, str):
        label = index(label)  # also of integers of other libraries
    if label in places:
        return places[label]
    if is_name and names is None:
        raise InputError(
            f"`events`: {event!r} names the class {label!r}, but the prediction has no class names",
            fix="class_names",
        )
    if is_name:
        known = suggest(label, names or ())
    else:
        known = f". Known: {listed([place for place in places if not isinstance(place, str)], 8)}"
    raise InputError(f"`events`: {event!r} names the unknown class {label!r}{known}")


Family = Events | Mapping[str, Iterable[Label]]
"""Events as given by users."""


@overload
def as_events(events: None) -> None: ...
@overload
def as_events(events: Family) -> Events: ...
def as_events(events: Family | None) -> Events | None:
    """Events from user input: ``None`` means the labels themselves, a mapping means `groups`."""
    if events is None or isinstance(events, Events):
        return events
    if isinstance(events, Mapping):
        return groups(events)
    raise TypeError(
        "`events` must be a mapping such as {'malignant': ['lung', 'lymphoma']}, or made by "
        "lw.events.ordinal(K), .tree({...}) or "
        f".one_vs_one(K); got {events!r}"
    )


def groups(mapping: Mapping[str, Iterable[Label]]) -> Events:
    """Named groups of classes, overlapping or not.

    >>> groups({"malignant": ["lung", "lymphoma"], "any": [0, 1, 2]}).names
    ('malignant', 'any')
    """
    if not mapping:
        raise InputError("`events` must name at least one event; got an empty mapping")
    inside = []
    for name, classes in mapping.items():
        if isinstance(classes, str | Mapping) or not isinstance(classes, Iterable):
            raise TypeError(
                f"`events`: {name!r} must be a list of classes, such as ['lung', 'lymphoma'] or "
                f"[0, 1]; got {classes!r}"
            )
        inside.append(tuple(classes))
        if not inside[-1]:
            raise InputError(
                f"`events`: {name!r} has no classes; an event that never occurs has no uncertainty"
            )
    return Events(distinct_names(mapping, "`events`"), tuple(inside))


def _labels_of_classes(classes: int | Sequence[str]) -> tuple[list[Label], list[str]]:
    """Classes as labels and as names."""
    if isinstance(classes, bool | str | Mapping) or not (
        hasattr(classes, "__index__") or isinstance(classes, Iterable)
    ):
        raise TypeError(
            "`classes` must be the number of classes or the sequence of their names; got "
            f"{classes!r}"
        )
    labels: list[Label]
    if isinstance(classes, Iterable):
        labels = list(classes)
    else:
        labels = list(map(Place, range(index(classes))))
    if len(labels) < 2:
        raise InputError(f"`classes` must be at least 2; got {classes!r}")
    return labels, list(distinct_names(labels, "`classes`"))


def ordinal(classes: int | Sequence[str]) -> Events:
    """The K − 1 cuts of an ordered scale: "at least grade 1", "at least grade 2", …

    ``classes`` is K, or the class names from lowest to highest.

    >>> ordinal(["none", "mild", "severe"]).names
    ('≥ mild', '≥ severe')
    """
    labels, words = _labels_of_classes(classes)
    names = tuple(f"≥ {word}" for word in words[1:])
    inside = tuple(tuple(labels[j:]) for j in range(1, len(labels)))
    return Events(names, inside, kind="ordinal", n_classes=len(labels))


def one_vs_one(classes: int | Sequence[str]) -> Events:
    """All pairs "i rather than j": Θ_i / (Θ_i + Θ_j). Where both are 0, even odds are assumed.

    >>> one_vs_one(3).names
    ('0 | 0, 1', '0 | 0, 2', '1 | 1, 2')
    """
    labels, words = _labels_of_classes(classes)
    names = tuple(f"{one} | {one}, {other}" for one, other in combinations(words, 2))
    pairs = tuple(combinations(labels, 2))
    inside = tuple((first,) for first, _ in pairs)
    return Events(names, inside, pairs, kind="one_vs_one", n_classes=len(labels))


def tree(spec: Mapping[str, Any], *, conditional: bool = False) -> Events:
    """The nodes of a label tree, inner nodes and leaves, except the root, which always occurs.

    ``spec`` maps each inner node to its children: another mapping, or a list of classes; a class
    that is a sibling of inner nodes is mapped to itself. With ``conditional`` each node is taken
    given its parent (nested dichotomies when every node has two children).

    >>> malignant = {"melanoma": "melanoma", "other": ["lung", "lymphoma"]}
    >>> tree({"malignant": malignant, "negative": "negative"}).names
    ('malignant', 'melanoma', 'other', 'lung', 'lymphoma', 'negative')
    """
    if not isinstance(spec, Mapping) or not spec:
        raise TypeError(
            f"`spec` must map node names to children, such as {{'malignant': ['lung', "
            f"'lymphoma']}}; got {spec!r}"
        )
    nodes = list(_nodes_of_label_tree(spec, _classes_below_node(spec, "the root")))
    names, inside, parents = zip(*nodes, strict=True)
    given = parents if conditional else None
    return Events(distinct_names(names, "the nodes of `spec`"), inside, given, kind="tree")


def _children_of_node(below: Any, node: Label) -> Mapping[Label, Any]:
    """What is below a node by name; a class is below itself."""
    if isinstance(below, Mapping):
        return below
    if isinstance(below, str) or hasattr(below, "__index__"):
        return {below: below}
    if not isinstance(below, Iterable):
        raise TypeError(
            f"`spec`: the children of {node!r} must be a mapping or a list of classes; got "
            f"{below!r}"
        )
    children: list[tuple[Label, Any]] = []
    for child in below:
        if isinstance(child, Iterable) and not isinstance(child, str | Mapping):
            raise TypeError(
                f"`spec`: every group needs a name; got {child!r} among the children of {node!r}"
            )
        children += _children_of_node(child, node).items()
    distinct_names([name for name, _ in children], f"`spec`: the children of {node!r}")
    return dict(children)


def _classes_below_node(below: Any, node: Label) -> tuple[Label, ...]:
    leaves: list[Label] = []
    for name, child in _children_of_node(below, node).items():
        leaves += (name,) if child == name else _classes_below_node(child, name)
    if not leaves:
        raise InputError(f"`spec`: {node!r} has no classes below it")
    return tuple(leaves)


def _nodes_of_label_tree(
    below: Any, parent: tuple[Label, ...]
) -> Iterator[tuple[Label, tuple[Label, ...], tuple[Label, ...]]]:
    """Each node with the classes below it and those below its parent."""
    for name, child in _children_of_node(below, "the root").items():
        leaves = _classes_below_node(child, name)
        yield name, leaves, parent
        if leaves != (name,):  # {"negative": "negative"} is a class without a group of its own
            yield from _nodes_of_label_tree(child, leaves)


def event_sums(x: Array, events: Events, names: Names | None) -> Pair:
    """Sums over the classes of each event and over those it is contrasted with: two arrays (...,
    E).
    """
    xp = namespace(x)
    resolved = events.resolve(x.shape[-1], names)
    sides = []
    for sets in zip(*resolved, strict=True):
        size = len(sets[0])
        if size > 0 and {len(positions) for positions in sets} == {size}:
            picked = xp.take(x, index_like(np.concatenate(sets), x), axis=-1)
            sides.append(xp.sum(xp.reshape(picked, (*x.shape[:-1], len(sets), size)), axis=-1))
            continue
        columns = []
        for positions in sets:
            column = 0 * x[..., 0]
            if positions:
                column = xp.sum(xp.take(x, index_like(positions, x), axis=-1), axis=-1)
            columns.append(column)
        sides.append(xp.stack(columns, axis=-1))
    return sides[0], sides[1]


def conditional_event_shares(inside: Array, rest: Array) -> Pair:
    """Both as shares of their sum; even where it is 0."""
    xp = namespace(inside)
    whole = inside + rest
    possible = whole > 0
    whole = xp.where(possible, whole, xp.ones_like(whole))
    even = xp.ones_like(whole) / 2
    return xp.where(possible, inside / whole, even), xp.where(possible, rest / whole, even)
