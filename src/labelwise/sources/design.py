"""The factors of an ensemble's members, and the crossed design that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Factors = Mapping[str, tuple[str, ...]]
"""For each factor the level of each member."""
INTERACTION, REPLICATES = "interaction", "replicates"
MAX_FACTORS = 2
WEIGHT_TOLERANCE = 1e-6


def as_factors(factors: Any, n_members: int) -> Factors | None:
    """Validate the named factors of ``n_members`` members."""
    if factors is None:
        return None
    if not isinstance(factors, Mapping) or not factors:
        raise TypeError(
            "`factors` must map the name of each factor to the levels of the members; got "
            f"{type(factors).__name__}"
        )
    checked = {}
    for name, levels in factors.items():
        if not isinstance(name, str) or name in ("", INTERACTION, REPLICATES):
            raise ValueError(
                f"`factors`: a factor needs a name other than {INTERACTION!r} and {REPLICATES!r}; "
                f"got {name!r}"
            )
        given = () if isinstance(levels, str) else tuple(map(str, levels))
        if len(given) != n_members:
            raise ValueError(
                f"`factors`: {name!r} must give one level for each of the {n_members} members; got "
                f"{len(given)}"
            )
        checked[name] = given
    return checked


@dataclass(frozen=True, eq=False)
class Design:
    """Which cell and which levels each member belongs to; cells are in the order of their levels,
    the first factor slowest.
    """

    levels: dict[str, tuple[str, ...]]
    """The names of the levels of each factor."""
    codes: np.ndarray
    """(F, M): the level of each member."""
    weights: np.ndarray
    """(M,), summing to 1; the weight of a cell is the product of its levels' weights."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many levels each factor has."""
        return tuple(map(len, self.levels.values()))

    @property
    def cells(self) -> np.ndarray:
        """(M,): the cell of each member."""
        return np.ravel_multi_index(tuple(self.codes), self.sizes)

    @property
    def cell_sizes(self) -> np.ndarray:
        """(C,): how many members are in each cell."""
        return np.bincount(self.cells)

    @property
    def replicated(self) -> bool:
        """Whether a cell has several members."""
        return bool(self.cell_sizes.max() > 1)

    def cell_means(self, values: np.ndarray) -> np.ndarray:
        """(*sizes, ...): the plain means of the members (M, ...) of each cell."""
        _, average = averages_within(self.cells, np.ones(len(values)))
        return np.tensordot(average, values, 1).reshape(*self.sizes, *values.shape[1:])


def averages_within(groups: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weights (g,) of groups of members, and the matrix (g, M) that averages within them."""
    inside = (groups == np.arange(groups.max() + 1)[:, None]) * weights
    total = inside.sum(axis=1)
    return total, inside / total[:, None]


def make_design(factors: Factors, weights: np.ndarray) -> tuple[Design, bool]:
    """The design, and whether cells had to be given equal weights."""
    if len(factors) > MAX_FACTORS:
        raise ValueError(
            f"`sources` compares one or two factors; got {len(factors)} ({', '.join(factors)}). "
            "Leave out the others: members that differ only in these are then replicates"
        )
    levels, codes = {}, []
    for name, given in factors.items():
        names = tuple(dict.fromkeys(given))
        if len(names) < 2:
            raise ValueError(
                f"`factors`: {name!r} has only one level, so it explains nothing. Leave it out"
            )
        levels[name] = names
        codes.append([names.index(level) for level in given])
    cells = np.zeros([len(names) for names in levels.values()])
    np.add.at(cells, tuple(codes), weights)
    missing = np.argwhere(cells == 0)
    if len(missing):
        cell = [names[i] for names, i in zip(levels.values(), missing[0], strict=True)]
        raise ValueError(
            f"`factors` must be completely crossed: no member is in {len(missing)} of {cells.size} "
            f"cells, such as {' / '.join(cell)}. Predict these, or leave out a level"
        )
    # With weights that are not the products of the levels' weights, main effects overlap and do not
    # add up.
    overlap = False
    if cells.ndim == 2:
        products = np.outer(cells.sum(axis=1), cells.sum(axis=0))
        overlap = bool(np.abs(cells - products).max() > WEIGHT_TOLERANCE * cells.max())
    if overlap:
        weights = weights / cells[tuple(codes)] / cells.size
    return Design(levels, np.array(codes), weights), overlap
