"""Sets of a given shape: intervals of an ordered scale, and few nodes of a label tree.

A set is replaced by a larger one, so that coverage can only grow. Both shapes are monotone: a
higher level never removes a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .._validation import check_positive
from ..events import Events


@dataclass(frozen=True, eq=False)
class Ordinal:
    """Sets without gaps on a scale."""

    order: np.ndarray
    """Positions of the classes from lowest to highest, (K,)."""

    def fill(self, member: np.ndarray, p_values: np.ndarray) -> tuple[np.ndarray, None]:
        """Sets (N, K) without gaps."""
        inside = member[:, self.order]
        from_lowest = np.logical_or.accumulate(inside, axis=-1)
        to_highest = np.logical_or.accumulate(inside[:, ::-1], axis=-1)[:, ::-1]
        filled = np.empty_like(member)
        filled[:, self.order] = from_lowest & to_highest
        return filled, None


@dataclass(frozen=True, eq=False)
class Tree:
    """The classes of at most ``max_nodes`` nodes of a tree."""

    node_names: tuple[str, ...]
    nodes: np.ndarray
    """Which classes each node holds, (nodes, K), from small to large; the last is the root."""
    max_nodes: int

    def fill(
        self, member: np.ndarray, p_values: np.ndarray
    ) -> tuple[np.ndarray, tuple[tuple[str, ...], ...]]:
        """Sets (N, K) of whole nodes, given the p-values of the classes, and the nodes' names."""
        if self.max_nodes == 1:
            covers = self._single_nodes(member)
        else:
            covers = [self._cover(*case) for case in zip(member, p_values, strict=True)]
        filled = np.zeros_like(member)
        for i, nodes in enumerate(covers):
            for node in nodes:
                filled[i] |= self.nodes[node]
        return filled, tuple(tuple(self.node_names[node] for node in nodes) for nodes in covers)

    def _single_nodes(self, member: np.ndarray) -> list[list[int]]:
        """The smallest node that holds each set, as `_cover` finds it, for all cases at once."""
        n_outside = member.astype(int) @ (~self.nodes).T.astype(int)
        smallest = np.argmax(n_outside == 0, axis=-1).tolist()
        return [
            [node] if inside.any() else [] for node, inside in zip(smallest, member, strict=True)
        ]

    def _cover(self, member: np.ndarray, p_values: np.ndarray) -> list[int]:
        """At most ``max_nodes`` nodes: classes join in the order of their p-values; of too many
        nodes, the two merge with which the set stays smallest.

        The best cover of each set by itself would not be monotone; this sequence is, because nodes
        are only added and merged.
        """
        chosen: list[int] = []
        inside = np.flatnonzero(member)
        for k in inside[np.argsort(-p_values[inside], kind="stable")]:
            if any(self.nodes[node, k] for node in chosen):
                continue
            chosen.append(self._smallest_node(np.arange(len(member)) == k))
            if len(chosen) > self.max_nodes:
                merged = [self._merge(chosen, i, j) for i, j in combinations(chosen, 2)]
                union, *others = min(merged, key=lambda nodes: self.nodes[nodes].any(axis=0).sum())
                beside = self.nodes[others] & ~self.nodes[union]
                chosen = [union, *np.asarray(others)[beside.any(axis=1)].tolist()]
        return sorted(chosen)

    def _merge(self, chosen: list[int], i: int, j: int) -> list[int]:
        """The nodes after two of them became one, which comes first."""
        union = self._smallest_node(self.nodes[i] | self.nodes[j])
        return [union, *(node for node in chosen if node not in (i, j))]

    def _smallest_node(self, classes: np.ndarray) -> int:
        """The smallest node that holds these classes."""
        return int(np.argmax((self.nodes | ~classes).all(axis=-1)))


def as_shape(shape: Any, max_nodes: int, names: tuple[str, ...]) -> Ordinal | Tree | None:
    """A shape from events made by ``lw.events.ordinal`` or ``lw.events.tree``."""
    check_positive(max_nodes, "max_nodes")
    if shape is None:
        return None
    known = isinstance(shape, Events) and shape.kind in ("ordinal", "tree")
    if not known or shape.given is not None:
        raise TypeError(
            f"`shape` must be lw.events.ordinal(K) or lw.events.tree({{...}}); got {shape!r}"
        )
    k = len(names)
    inside = [classes for classes, _ in shape.resolve(k, names)]
    if shape.kind == "ordinal":
        first = next(c for c in range(k) if c not in inside[0])
        return Ordinal(np.asarray([first, *inside[0]]))
    masks = np.asarray([np.isin(np.arange(k), classes) for classes in inside])
    missing = np.flatnonzero(~masks.any(axis=0))
    if missing.size:
        raise ValueError(
            f"`shape`: the tree must contain every class; {names[missing[0]]!r} is missing"
        )
    masks = np.append(masks, np.ones((1, k), bool), axis=0)
    node_names = [*shape.names, "any class"]
    order = np.argsort(masks.sum(axis=1), kind="stable")
    return Tree(tuple(node_names[i] for i in order), masks[order], max_nodes)
