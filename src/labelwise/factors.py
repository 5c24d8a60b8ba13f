"""Named factors of an ensemble's members, and how much of their disagreement each explains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import factorial, prod
from typing import Any

import numpy as np

from ._results import Library
from ._tables import SHOWN, Shown, Summary, counted, frame, some
from ._validation import as_rng, check_positive
from .losses import LogLoss, Loss, SquaredLoss

__all__ = ["Factors", "Sources", "as_factors", "find_sources"]

Factors = Mapping[str, tuple[str, ...]]
"""For each factor the level of each member."""
INTERACTION, REPLICATES = "interaction", "replicates"
LEVEL = 0.05
_WEIGHT_TOLERANCE = 1e-6


def as_factors(factors: Any, n_members: int) -> Factors | None:
    """Validate the named factors of ``n_members`` members."""
    if factors is None:
        return None
    if not isinstance(factors, Mapping) or not factors:
        raise TypeError(f"`factors` must map the name of each factor to the levels of the members; got {type(factors).__name__}")
    found = {}
    for name, levels in factors.items():
        if not isinstance(name, str) or name in ("", INTERACTION, REPLICATES):
            raise ValueError(f"`factors`: a factor needs a name other than {INTERACTION!r} and {REPLICATES!r}; got {name!r}")
        given = tuple(str(x) for x in levels) if not isinstance(levels, str) else ()
        if len(given) != n_members:
            raise ValueError(f"`factors`: {name!r} must give one level for each of the {n_members} members; got {len(given)}")
        found[name] = given
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Sources(Shown):
    """Epistemic uncertainty by source, returned by ``u.sources()``."""

    names: tuple[str, ...]
    """The factors, then ``interaction`` (two factors or more) and ``replicates`` (several members in a cell)."""
    values: np.ndarray
    """(S, ..., K): what each source contributes; they add up to the epistemic uncertainty."""
    class_names: tuple[str, ...]
    variance: np.ndarray
    """(S, K): variance components of the probabilities, averaged over the instances and corrected for noise; values below 0 are noise.
    NaN where the design cannot separate them."""
    p_values: np.ndarray
    """(F,): permutation test that a factor has no main effect; NaN if there is nothing to compare with."""
    label_p_values: np.ndarray
    """(F, K): the same for each label, adjusted for all labels (largest share of the disagreement)."""
    smallest_p: np.ndarray
    """(F,): the smallest p-value that the design allows."""

    @property
    def factors(self) -> tuple[str, ...]:
        return self.names[: len(self.p_values)]

    @property
    def found(self) -> tuple[str, ...]:
        """Factors whose main effect is significant at the 5 % level."""
        return tuple(name for name, p in zip(self.factors, self.p_values, strict=True) if p <= LEVEL)

    @property
    def means(self) -> np.ndarray:
        """(S, K): means over the instances."""
        return np.asarray(self.values.reshape(len(self.names), -1, len(self.class_names)).mean(axis=1))

    def __getitem__(self, name: str) -> np.ndarray:
        """What one source contributes, (..., K)."""
        if name not in self.names:
            raise KeyError(f"no source {name!r}; there are {', '.join(self.names)}")
        return np.asarray(self.values[self.names.index(name)])

    def to_frame(self, *, library: Library = "pandas") -> Any:
        """A row for each source and label: mean contribution, its share of the epistemic uncertainty, variance component, p-value."""
        s, k = self.means.shape
        p = np.concatenate([self.label_p_values, np.full((s - len(self.p_values), k), np.nan)])
        return frame(
            {
                "source": np.repeat(np.asarray(self.names, object), k),
                "label": np.tile(np.asarray(self.class_names, object), s),
                "epistemic": self.means.ravel(),
                "share": _shares(self.means).ravel(),
                "variance": self.variance.ravel(),
                "p_value": p.ravel(),
            },
            library,
        )

    def _summary(self) -> Summary:
        whole = self.means.sum(axis=1)
        shares = _shares(whole[:, None])[:, 0]
        p = [f"{x:.3f}" if x == x else "–" for x in self.p_values] + ["–"] * (len(self.names) - len(self.p_values))
        rows = [
            (name, float(value), f"{share:.0%}", float(v), x)
            for name, value, share, v, x in zip(self.names, whole, shares, self.variance.sum(axis=1), p, strict=True)
        ]
        title = f"Sources of epistemic uncertainty: {counted(len(self.class_names), 'label')} ({some(self.class_names)})"
        return Summary(title, ("source", "mean", "share", "variance", "p"), rows[:SHOWN], self.sentence)

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if np.isnan(self.p_values).all():
            return "Without equal weights and replicates or a second factor, effects cannot be distinguished from noise."
        blind = [name for name, x in zip(self.factors, self.smallest_p, strict=True) if x > LEVEL]
        limits = f" The design has too few levels to detect an effect of {' or '.join(blind)}." if blind else ""
        if not self.found:
            return f"No factor explains more of the disagreement than chance (permutation test, {LEVEL:.0%} level).{limits}"
        return f"More than chance (permutation test, {LEVEL:.0%} level): {', '.join(self.found)}.{limits}"


def _shares(means: np.ndarray) -> np.ndarray:
    whole = means.sum(axis=0)
    return np.asarray(means / np.where(whole > 0, whole, 1))


@dataclass(frozen=True, eq=False)
class _Design:
    """Which cell and which levels each member belongs to; cells are in the order of their levels, the first factor slowest."""

    codes: np.ndarray
    """(F, M): the level of each member."""
    sizes: tuple[int, ...]
    weights: np.ndarray
    """(M,), summing to 1."""

    @property
    def cells(self) -> np.ndarray:
        return np.asarray(np.ravel_multi_index(tuple(self.codes), self.sizes))

    @property
    def n_cells(self) -> int:
        return prod(self.sizes)

    @property
    def balanced(self) -> bool:
        """Whether members weigh the same and cells have equally many."""
        return bool(np.ptp(self.weights) < _WEIGHT_TOLERANCE / len(self.weights) and np.ptp(np.bincount(self.cells)) == 0)

    def averages(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights (g,) of groups of members, and the matrix (g, M) that averages within them."""
        inside = (groups == np.arange(groups.max() + 1)[:, None]) * self.weights
        total = inside.sum(axis=1)
        return total, inside / total[:, None]


def _design(factors: Factors, weights: np.ndarray) -> _Design:
    levels = {name: list(dict.fromkeys(given)) for name, given in factors.items()}
    alone = [name for name, names in levels.items() if len(names) < 2]
    if alone:
        raise ValueError(f"`factors`: {alone[0]!r} has only one level, so it explains nothing. Leave it out")
    codes = np.array([[levels[name].index(x) for x in given] for name, given in factors.items()])
    sizes = tuple(len(names) for names in levels.values())
    full = np.zeros(sizes)
    np.add.at(full, tuple(codes), weights)
    missing = np.argwhere(full == 0)
    if len(missing):
        cell = ", ".join(f"{name} {levels[name][i]!r}" for name, i in zip(levels, missing[0], strict=True))
        raise ValueError(
            f"`factors` must be completely crossed: {counted(len(missing), 'cell')} of {full.size} {'has' if len(missing) == 1 else 'have'} "
            f"no member, such as {cell}. Predict these, or leave out a level"
        )
    product = np.ones(())
    for axis in range(full.ndim):
        product = np.multiply.outer(product, full.sum(axis=tuple(i for i in range(full.ndim) if i != axis)))
    if np.abs(full - product).max() > _WEIGHT_TOLERANCE * full.max():
        raise ValueError(
            "`factors` need cells whose weight is the product of their levels' weights, else the effects overlap; got "
            f"{full.min():.3g} to {full.max():.3g}. Give each cell equally many members, or pass `weights`"
        )
    return _Design(codes, sizes, weights)


def find_sources(
    law: Any, factors: Factors, loss: Loss, class_names: tuple[str, ...], *, n_permutations: int = 999, rng: Any = None
) -> Sources:
    """Contributions, variance components and permutation tests; ``law`` is the `Atoms` of the events, in NumPy and double precision."""
    if not isinstance(loss, LogLoss | SquaredLoss):
        raise ValueError(f"`sources` needs log or squared loss, where interactions cannot be negative; got {type(loss).__name__}")
    n_permutations, rng, m = check_positive(n_permutations, "n_permutations"), as_rng(rng), law.t.shape[0]
    if law.weights is not None and law.weights.ndim > 1:
        raise ValueError("`sources` needs the same member weights for all instances, shape (M,)")
    if law.t.size == 0:
        raise ValueError("`sources` needs at least one instance")
    design = _design(factors, np.full(m, 1 / m) if law.weights is None else law.weights)
    replicated = design.n_cells < m
    names = (*factors, *((INTERACTION,) if len(factors) > 1 else ()), *((REPLICATES,) if replicated else ()))
    deviation = law.deviation.reshape(m, -1, len(class_names))
    variance = np.full((len(names), len(class_names)), np.nan)
    p, p_labels, smallest = (np.full((len(factors), n), np.nan) for n in (1, len(class_names), 1))
    if design.balanced:
        variance = _variance_components(design, deviation, replicated)
        if replicated or len(factors) > 1:
            for i in range(len(factors)):
                p[i], p_labels[i], smallest[i] = _permutation_test(design, i, deviation, n_permutations, rng)
    return Sources(names, _contributions(law, design, loss, replicated), class_names, variance, p[:, 0], p_labels, smallest[:, 0])


def _contributions(law: Any, design: _Design, loss: Loss, replicated: bool) -> np.ndarray:
    r"""Main effects :math:`G(\bar\theta) - \mathbb{E}_A G(\bar\theta_A) = \mathbb{E}_A D(\bar\theta_A \Vert \bar\theta)`, and the rest.

    The interaction is what the cells' disagreement exceeds the main effects by. It is not negative: for squared loss by the analysis of
    variance, for log loss because independent factors tell at least as much about Y together as one by one.
    """
    mt, mc = law.mean

    def between(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """E D(group mean ‖ mean), and the groups' means: of the event, its complement and the deviation."""
        total, average = design.averages(groups)
        t, c, d = (np.tensordot(average, x, 1) for x in (law.t, law.c, law.deviation))
        return np.tensordot(total, loss.divergence(t, mt, c, mc, d), 1), t, c, d

    found = [between(codes)[0] for codes in design.codes]
    cells, t, c, d = between(design.cells)
    if len(found) > 1:
        found.append(np.maximum(cells - sum(found), 0))
    if replicated:
        own = design.cells
        inside = loss.divergence(law.t, t[own], law.c, c[own], law.deviation - d[own])
        found.append(np.tensordot(design.weights, inside, 1))
    return np.stack(found)


def _gram(deviation: np.ndarray) -> np.ndarray:
    """(K, U, U): mean products over the instances of the deviations (U, N, K)."""
    x = np.ascontiguousarray(deviation.transpose(2, 0, 1))
    return np.asarray(x @ x.transpose(0, 2, 1) / x.shape[2])


def _variance_components(design: _Design, deviation: np.ndarray, replicated: bool) -> np.ndarray:
    r"""Variance components (S, K) of the random-effects model with all interactions, from the mean squares of a balanced crossing.

    With cells' means, :math:`\mathbb{E}\,\mathrm{MS}_S = \sum_{T \supseteq S} \sigma_T^2 \prod_{j \notin T} n_j`, where the highest
    interaction includes the noise of a cell's mean; solved from the top.
    """
    cell_means = np.tensordot(design.averages(design.cells)[1], deviation, 1)
    gram, sizes, factors = _gram(cell_means), design.sizes, range(len(design.sizes))
    components: dict[tuple[int, ...], np.ndarray] = {}
    for size in range(len(sizes), 0, -1):
        for chosen in combinations(factors, size):
            projection = np.ones((1, 1))
            for j in factors:
                mean = np.full((sizes[j], sizes[j]), 1 / sizes[j])
                projection = np.kron(projection, np.eye(sizes[j]) - mean if j in chosen else mean)
            square = np.einsum("kuv,uv->k", gram, projection) / prod(sizes[j] - 1 for j in chosen)
            above = {other: x for other, x in components.items() if {*chosen} < {*other}}
            rest = sum((x * prod(sizes[j] for j in factors if j not in other) for other, x in above.items()), np.zeros_like(square))
            components[chosen] = (square - rest) / prod(sizes[j] for j in factors if j not in chosen)
    noise = np.full(gram.shape[0], np.nan)
    if replicated:
        inside = ((deviation - cell_means[design.cells]) ** 2).mean(axis=1).sum(axis=0)
        noise = inside / (len(deviation) - design.n_cells)
        components[tuple(factors)] = components[tuple(factors)] - noise * design.n_cells / len(deviation)
    elif len(sizes) == 1:
        components[(0,)] = noise  # the only factor and the noise are the same thing
    found = [components[(j,)] for j in factors]
    if len(sizes) > 1:
        found.append(np.sum([x for chosen, x in components.items() if len(chosen) > 1], axis=0))
    return np.stack([*found, *([noise] if replicated else [])])


def _permutation_test(
    design: _Design, factor: int, deviation: np.ndarray, n_permutations: int, rng: np.random.Generator
) -> tuple[float, np.ndarray, float]:
    """The p-value of a factor's main effect, of each label's, and the smallest possible.

    Without a main effect the cells of one combination of the other factors are exchangeable, also under interaction, so their levels
    are permuted there; with one factor the members are. The statistic is the main effect under squared loss.
    """
    n = design.sizes[factor]
    if len(design.sizes) > 1:
        units = np.tensordot(design.averages(design.cells)[1], deviation, 1)
        order = np.moveaxis(np.arange(design.n_cells).reshape(design.sizes), factor, -1).reshape(-1, n)  # (blocks, levels)
        levels = np.broadcast_to(np.arange(n), order.shape)
        arrangements = factorial(n) ** (len(order) - 1)
    else:
        units, order, levels = deviation, np.arange(len(deviation))[None], design.codes
        size = len(deviation) // n
        arrangements = factorial(len(deviation)) // (factorial(size) ** n * factorial(n))
    gram = _gram(units[order.ravel()])
    size = order.size // n
    drawn = np.stack([levels, *(rng.permuted(levels, axis=1) for _ in range(n_permutations))]).reshape(n_permutations + 1, -1)
    inside = (drawn[:, None, :] == np.arange(n)[:, None]) / size  # (P + 1, levels, units)
    effect = np.stack([np.einsum("pau,pau->p", inside @ g, inside) for g in gram], axis=-1) / n
    largest = np.einsum("kuu->k", gram)  # does not change
    share = effect / np.where(largest > 0, largest, 1)
    smallest = max(1 / arrangements, 1 / (n_permutations + 1))
    labels = np.mean(share[1:].max(axis=1)[:, None] >= share[0] * (1 - 1e-9), axis=0)
    total = np.mean(effect[1:].sum(axis=1) >= effect[0].sum() * (1 - 1e-9))
    one = 1 / (n_permutations + 1)
    return float(total * (1 - one) + one), np.asarray(labels * (1 - one) + one), smallest
