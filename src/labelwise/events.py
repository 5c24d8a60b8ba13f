"""Which questions are asked of the classes: single labels, groups, ordinal cuts, trees, pairs.

An event A is a set of classes with probability Θ_A = Σ_{k∈A} Θ_k; the paper's labels are the events {k}. A conditional event
"A given B" has probability Θ_A / Θ_B. The measures need nothing else, so everything works for every family of events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._words import suggest

Label = str | int
"""A class by name or by position."""


@dataclass(frozen=True)
class Events:
    """A family of events; made by `groups`, `ordinal`, `tree` and `one_vs_one`."""

    names: tuple[str, ...]
    inside: tuple[tuple[Label, ...], ...]
    """The classes of each event."""
    given: tuple[tuple[Label, ...], ...] | None = None
    """The classes each event is conditioned on; ``None``: all of them."""
    kind: str = "groups"
    n_classes: int | None = None
    """How many classes the family was made for, if that is fixed."""

    def resolve(self, n: int, names: Sequence[str] | None) -> list[tuple[list[int], list[int]]]:
        """For each event the positions of its classes and of those it is told apart from."""
        if self.n_classes is not None and self.n_classes != n:
            raise ValueError(f"`events` ({self.kind}) were made for {self.n_classes} classes; the prediction has K = {n}")
        result = []
        for i, event in enumerate(self.names):
            inside = [_position(label, n, names, event) for label in self.inside[i]]
            if len(set(inside)) != len(inside):
                raise ValueError(f"`events`: {event!r} names a class twice: {list(self.inside[i])}")
            if self.given is None:
                rest = [k for k in range(n) if k not in inside]
            else:
                given = [_position(label, n, names, event) for label in self.given[i]]
                rest = [k for k in given if k not in inside]
            result.append((inside, rest))
        return result

    def summable(self, n: int, names: Sequence[str] | None) -> bool:
        """Whether a plain sum over the family means something: each class (or cut, or pair) counts once."""
        return self.kind in ("ordinal", "one_vs_one") or self.is_partition(n, names)

    def is_partition(self, n: int, names: Sequence[str] | None) -> bool:
        """Whether exactly one of the events happens."""
        if self.given is not None:
            return False
        positions = sorted(k for inside, _ in self.resolve(n, names) for k in inside)
        return positions == list(range(n))


def _position(label: Label, n: int, names: Sequence[str] | None, event: str) -> int:
    if isinstance(label, str):
        if names is None:
            raise ValueError(f"`events`: {event!r} names the class {label!r}, but the prediction has no class names. Pass `names` to it")
        if label in names:
            return list(names).index(label)
        raise ValueError(f"`events`: {event!r} names the unknown class {label!r}{suggest(label, names)}")
    if isinstance(label, bool) or not hasattr(label, "__index__"):
        raise TypeError(f"`events`: classes are given by name or position; got {label!r} in {event!r}")
    if not 0 <= int(label) < n:
        raise ValueError(f"`events`: {event!r} names class {label}, but the positions run from 0 to {n - 1}")
    return int(label)


def as_events(events: Events | Mapping[str, Sequence[Label]] | None) -> Events | None:
    """The family a user means: ``None`` are the labels themselves, a mapping is `groups`."""
    if events is None or isinstance(events, Events):
        return events
    if isinstance(events, Mapping):
        return groups(events)
    raise TypeError(
        f"`events` must be a mapping from event names to classes, or one of lw.events.ordinal, .tree, .one_vs_one; got {type(events).__name__}"
    )


def groups(mapping: Mapping[str, Sequence[Label]]) -> Events:
    """Named groups of classes, overlapping or not.

    >>> groups({"malignant": ["lung", "lymphoma"], "any": [0, 1, 2]}).names
    ('malignant', 'any')
    """
    if not mapping:
        raise ValueError("`events` must name at least one event; got an empty mapping")
    for name, classes in mapping.items():
        if isinstance(classes, str) or not isinstance(classes, Sequence):
            raise TypeError(f"`events`: {name!r} must be a list of classes; got {classes!r}")
        if not classes:
            raise ValueError(f"`events`: {name!r} has no classes")
    return Events(tuple(map(str, mapping)), tuple(tuple(classes) for classes in mapping.values()))


def _labels(classes: int | Sequence[str]) -> tuple[list[Label], list[str]]:
    """Classes as labels and as words."""
    if isinstance(classes, int):
        if classes < 2:
            raise ValueError(f"a family of events needs at least 2 classes; got {classes}")
        return list(range(classes)), [str(k) for k in range(classes)]
    if isinstance(classes, str) or len(classes) < 2:
        raise ValueError(f"a family of events needs at least 2 classes; got {classes!r}")
    return list(classes), [str(name) for name in classes]


def ordinal(classes: int | Sequence[str]) -> Events:
    """The K − 1 cuts of an ordered scale: "at least grade 1", "at least grade 2", …

    ``classes`` is K, or the class names from lowest to highest.

    >>> ordinal(["none", "mild", "severe"]).names
    ('≥ mild', '≥ severe')
    """
    labels, words = _labels(classes)
    cuts = range(1, len(labels))
    return Events(tuple(f"≥ {words[j]}" for j in cuts), tuple(tuple(labels[j:]) for j in cuts), kind="ordinal", n_classes=len(labels))


def one_vs_one(classes: int | Sequence[str]) -> Events:
    """All pairs "i rather than j": Θ_i / (Θ_i + Θ_j). Where both are 0 the odds are undefined and taken as even.

    >>> one_vs_one(3).names
    ('0 | 0, 1', '0 | 0, 2', '1 | 1, 2')
    """
    labels, words = _labels(classes)
    pairs = [(i, j) for i in range(len(labels)) for j in range(i + 1, len(labels))]
    return Events(
        tuple(f"{words[i]} | {words[i]}, {words[j]}" for i, j in pairs),
        tuple((labels[i],) for i, _ in pairs),
        tuple((labels[i], labels[j]) for i, j in pairs),
        kind="one_vs_one",
        n_classes=len(labels),
    )


def tree(spec: Mapping[str, Any], *, conditional: bool = False) -> Events:
    """The nodes of a label tree, inner nodes and leaves; the root, which always happens, is left out.

    ``spec`` maps each inner node to its children: another mapping, or a list of classes. With ``conditional`` each node is
    taken given its parent (nested dichotomies when every node has two children).

    >>> tree({"malignant": {"skin": ["melanoma"], "other": ["lung", "lymphoma"]}, "healthy": ["negative"]}).names
    ('malignant', 'skin', 'melanoma', 'other', 'lung', 'lymphoma', 'healthy', 'negative')
    """
    if not isinstance(spec, Mapping) or not spec:
        raise TypeError(f"`spec` must map node names to children; got {spec!r}")
    nodes = list(_walk(spec, _leaves(spec)))
    names = [str(name) for name, _, _ in nodes]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"`spec` has two nodes called {twice!r}; every node needs its own name")
    inside = tuple(leaves for _, leaves, _ in nodes)
    return Events(tuple(names), inside, tuple(parent for _, _, parent in nodes) if conditional else None, kind="tree")


def _leaves(children: Any) -> tuple[Label, ...]:
    if isinstance(children, Mapping):
        return tuple(leaf for child in children.values() for leaf in _leaves(child))
    if isinstance(children, str | int):
        return (children,)
    return tuple(children)


def _walk(children: Any, parent: tuple[Label, ...]) -> Iterator[tuple[Label, tuple[Label, ...], tuple[Label, ...]]]:
    if isinstance(children, Mapping):
        for name, below in children.items():
            yield name, _leaves(below), parent
            yield from _walk(below, _leaves(below))
    else:
        for leaf in _leaves(children):
            yield leaf, (leaf,), parent
