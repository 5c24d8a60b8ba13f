"""Sets of a given shape: intervals of an ordered scale, and few nodes of a label tree.

A set is replaced by a larger one, so that coverage can only grow. Both shapes are monotone: a
higher level never removes a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import check_positive
from ..events import Events


@dataclass(frozen=True, eq=False)
class Shape:
    """The order of the classes, or the nodes of a tree with the root."""

    kind: str
    """``"ordinal"`` or ``"tree"``."""
    order: np.ndarray
    """Positions of the classes from lowest to highest, (K,); empty for a tree."""
    node_names: tuple[str, ...]
    nodes: np.ndarray
    """Which classes each node holds, (nodes, K), from small to large; no rows for an ordinal
    scale.
    """
    max_nodes: int = 1


def as_shape(shape: Any, max_nodes: int, names: tuple[str, ...]) -> Shape | None:
    """A shape from events made by ``lw.events.ordinal`` or ``lw.events.tree``."""
    check_positive(max_nodes, "max_nodes")
    k = len(names)
    if shape is None:
        return None
    if (
        not isinstance(shape, Events)
        or shape.kind not in ("ordinal", "tree")
        or shape.given is not None
    ):
        raise TypeError(
            f"`shape` must be lw.events.ordinal(K) or lw.events.tree({{...}}); got {shape!r}"
        )
    inside = [found for found, _ in shape.resolve(k, names)]
    if shape.kind == "ordinal":
        first = next(c for c in range(k) if c not in inside[0])
        return Shape("ordinal", np.asarray([first, *inside[0]]), (), np.zeros((0, k), bool))
    masks = [*(np.isin(np.arange(k), found) for found in inside), np.ones(k, bool)]
    node_names = (*shape.names, "any class")
    missing = [names[c] for c in range(k) if not any(mask[c] for mask in masks[:-1])]
    if missing:
        raise ValueError(f"`shape`: the tree must contain every class; {missing[0]!r} is missing")
    order = np.argsort([mask.sum() for mask in masks], kind="stable")
    return Shape(
        "tree",
        np.zeros(0, int),
        tuple(node_names[i] for i in order),
        np.stack(masks)[order],
        max_nodes,
    )


def shaped(
    shape: Shape, member: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, tuple[tuple[str, ...], ...] | None]:
    """Sets (N, K) in the shape, given the p-values of the classes; for a tree also the names of the
    nodes.
    """
    if shape.kind == "ordinal":
        inside = member[:, shape.order]
        up, down = (
            np.logical_or.accumulate(inside, axis=-1),
            np.logical_or.accumulate(inside[:, ::-1], axis=-1)[:, ::-1],
        )
        hull = np.empty_like(member)
        hull[:, shape.order] = up & down
        return hull, None
    chosen = (
        _one_node(shape, member)
        if shape.max_nodes == 1
        else [_few_nodes(shape, row, q) for row, q in zip(member, p, strict=True)]
    )
    sets = (
        np.stack([shape.nodes[list(nodes)].any(axis=0) for nodes in chosen]) if chosen else member
    )
    return sets, tuple(tuple(shape.node_names[i] for i in nodes) for nodes in chosen)


def _one_node(shape: Shape, member: np.ndarray) -> list[tuple[int, ...]]:
    """The smallest node that holds the set."""
    outside = member.astype(np.int64) @ (~shape.nodes).T.astype(np.int64)
    smallest = np.argmax(outside == 0, axis=-1)
    return [(int(i),) if row.any() else () for i, row in zip(smallest, member, strict=True)]


def _few_nodes(shape: Shape, row: np.ndarray, p: np.ndarray) -> tuple[int, ...]:
    """At most ``max_nodes`` nodes: classes join in the order of their p-values; of too many nodes,
    the two whose union is smallest merge.

    The best cover of each set by itself would not be monotone; this sequence is, because nodes are
    only added and merged.
    """
    chosen: list[int] = []
    for c in sorted(np.flatnonzero(row).tolist(), key=lambda c: (-p[c], c)):
        if any(shape.nodes[i, c] for i in chosen):
            continue
        chosen.append(_holding(shape, np.arange(len(row)) == c))
        if len(chosen) > shape.max_nodes:
            pairs = [(i, j) for a, i in enumerate(chosen) for j in chosen[a + 1 :]]
            merged = [_holding(shape, shape.nodes[i] | shape.nodes[j]) for i, j in pairs]
            best = min(
                range(len(pairs)),
                key=lambda m: int(
                    shape.nodes[[merged[m], *_others(chosen, pairs[m])]].any(axis=0).sum()
                ),
            )
            chosen = [
                merged[best],
                *(
                    i
                    for i in _others(chosen, pairs[best])
                    if not (shape.nodes[i] <= shape.nodes[merged[best]]).all()
                ),
            ]
    return tuple(sorted(chosen))


def _others(chosen: Sequence[int], pair: tuple[int, int]) -> list[int]:
    return [i for i in chosen if i not in pair]


def _holding(shape: Shape, classes: np.ndarray) -> int:
    """The smallest node that holds these classes."""
    return int(np.argmax((shape.nodes | ~classes).all(axis=-1)))
