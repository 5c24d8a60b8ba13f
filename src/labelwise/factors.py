"""Named factors of an ensemble's members, and how much of their disagreement each explains."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from math import factorial, prod
from typing import Any, NamedTuple

import numpy as np

from ._format import MISSING, fixed, number, percent
from ._results import Library
from ._tables import SHOWN, Shown, Summary, counted, frame, some
from ._validation import as_rng, check_positive
from .losses import LogLoss, Loss, SquaredLoss

__all__ = ["Factors", "Sources", "as_factors", "find_sources"]

Factors = Mapping[str, tuple[str, ...]]
"""For each factor the level of each member."""
INTERACTION, REPLICATES = "interaction", "replicates"
LEVEL = 0.05
CONFIDENCE = 0.95
_WEIGHT_TOLERANCE = 1e-6
_N_DRAWS = (
    4000  # of the mean squares, for intervals: an end moves by less than a point between seeds
)
Term = tuple[int, ...]
"""Which factors an effect depends on: ``(0,)`` is a main effect, ``(0, 2)`` an interaction."""


def as_factors(factors: Any, n_members: int) -> Factors | None:
    """Validate the named factors of ``n_members`` members."""
    if factors is None:
        return None
    if not isinstance(factors, Mapping) or not factors:
        raise TypeError(
            "`factors` must map the name of each factor to the levels of the members; got "
            f"{type(factors).__name__}"
        )
    found = {}
    for name, levels in factors.items():
        if not isinstance(name, str) or name in ("", INTERACTION, REPLICATES):
            raise ValueError(
                f"`factors`: a factor needs a name other than {INTERACTION!r} and {REPLICATES!r}; "
                f"got {name!r}"
            )
        given = tuple(str(x) for x in levels) if not isinstance(levels, str) else ()
        if len(given) != n_members:
            raise ValueError(
                f"`factors`: {name!r} must give one level for each of the {n_members} members; got "
                f"{len(given)}"
            )
        found[name] = given
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Sources(Shown):
    """Epistemic uncertainty by source, returned by ``u.sources()``."""

    names: tuple[str, ...]
    """The factors, then ``interaction`` (two factors or more) and ``replicates`` (several members
    in a cell).
    """
    values: np.ndarray
    """(S, ..., K): what each source contributes; they add up to the epistemic uncertainty (if
    `reweighted`: to that of the ensemble in which each cell weighs the same).
    """
    class_names: tuple[str, ...]
    variance: np.ndarray
    """(S, K): variance components of the probabilities, averaged over the instances and corrected
    for noise; values below 0 are noise. NaN where the design cannot separate them.
    """
    estimates: np.ndarray
    """(S,): the sources' shares of the variance of all labels, corrected for noise: what to expect
    of further levels like these.
    """
    intervals: np.ndarray
    """(F, 2): 95 % intervals of the factors' `estimates`, for normally distributed effects."""
    p_values: np.ndarray
    """(F,): permutation test that a factor has no main effect; NaN if there is nothing to compare
    with.
    """
    label_p_values: np.ndarray
    """(F, K): the same for each label, adjusted for all labels (the largest statistic of any
    label).
    """
    smallest_p: np.ndarray
    """(F,): the smallest p-value that the design and the number of permutations allow."""
    farthest: tuple[tuple[str, float] | None, ...]
    """For each factor the level without which the others vary least, and by which share the
    variance between levels is then smaller. A description, not a test; ``None`` for two levels.
    """
    cell_sizes: tuple[int, int]
    """The fewest and the most members in a cell."""
    reweighted: bool = False
    """Whether cells were given equal weights, because the ensemble's weights of cells are not
    products of their levels' weights.
    """

    @property
    def factors(self) -> tuple[str, ...]:
        return self.names[: len(self.p_values)]

    @property
    def found(self) -> tuple[str, ...]:
        """Factors whose main effect is significant at the 5 % level."""
        return tuple(
            name for name, p in zip(self.factors, self.p_values, strict=True) if p <= LEVEL
        )

    @property
    def means(self) -> np.ndarray:
        """(S, K): means over the instances."""
        return np.asarray(
            self.values.reshape(len(self.names), -1, len(self.class_names)).mean(axis=1)
        )

    def __getitem__(self, name: str) -> np.ndarray:
        """What one source contributes, (..., K)."""
        if name not in self.names:
            raise KeyError(f"no source {name!r}; there are {', '.join(self.names)}")
        return np.asarray(self.values[self.names.index(name)])

    def to_frame(self, *, library: Library = "pandas") -> Any:
        """A row for each source and label: mean contribution, its share of the epistemic
        uncertainty, variance component, p-value.
        """
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
        shares = _shares(whole)
        rows = []
        for i, name in enumerate(self.names):
            row = [name, float(whole[i]), percent(shares[i], 0), percent(self.estimates[i], 0)]
            if i < len(self.factors):
                row += [
                    self._interval(i),
                    fixed(self.p_values[i], 3),
                    number(self.smallest_p[i], 2),
                ]
            else:
                row += [MISSING] * 3
            rows.append(row)
        title = (
            f"Sources of epistemic uncertainty: {counted(len(self.class_names), 'label')} "
            f"({some(self.class_names)})"
        )
        header = ("source", "mean", "share", "corrected", "95 % interval", "p", "smallest p")
        return Summary(title, header, rows[:SHOWN], "\n  ".join(self._sentences()))

    def _interval(self, i: int) -> str:
        low, high = self.intervals[i]
        return f"{percent(low, 0)} to {percent(high, 0)}" if low == low else MISSING

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        return " ".join(self._sentences())

    def _sentences(self) -> list[str]:
        return [*self._tested(), *self._estimated(), *self._assumed()]

    def _tested(self) -> Iterator[str]:
        if np.isnan(self.p_values).all():
            yield (
                "Without replicates or a second factor, effects cannot be distinguished from noise."
            )
            return
        if self.found:
            yield (
                f"More than chance (permutation test, {percent(LEVEL, 0)} level): "
                f"{', '.join(self.found)}."
            )
        open_, blind = [], []
        for name, p, smallest in zip(self.factors, self.p_values, self.smallest_p, strict=True):
            if smallest > LEVEL:
                blind.append(f"{name} (p cannot be below {number(smallest, 2)} here)")
            elif p > LEVEL:
                open_.append(
                    f"{name} (p = {fixed(p, 3)}, the smallest possible is {number(smallest, 2)})"
                )
        if open_:
            yield (
                f"Not shown at the {percent(LEVEL, 0)} level, which does not rule out an effect: "
                f"{', '.join(open_)}."
            )
        if blind:
            yield f"Too few levels or permutations to show an effect of {' or '.join(blind)}."

    def _estimated(self) -> Iterator[str]:
        if np.isnan(self.intervals).all():
            return
        each = [
            f"{name} {percent(self.estimates[i], 0)} ({self._interval(i)})"
            for i, name in enumerate(self.factors)
        ]
        yield (
            f"Estimated share of the variance, corrected for noise, with {percent(CONFIDENCE, 0)} "
            f"interval: {', '.join(each)}."
        )
        shares = _shares(self.means.sum(axis=1))
        for name, share, farthest in zip(self.factors, shares, self.farthest, strict=False):
            # of a factor that hardly matters, or whose levels all differ, no level needs a name
            if farthest is not None and farthest[1] >= 0.5 and (share >= 0.5 or name in self.found):
                level, smaller = farthest
                yield (
                    f"Without {level!r}, the variance between levels of {name} would be "
                    f"{percent(smaller, 0)} smaller (described, not tested)."
                )

    def _assumed(self) -> Iterator[str]:
        fewest, most = self.cell_sizes
        if (
            fewest < most and len(self.factors) > 1
        ):  # the members of one factor are permuted themselves
            yield (
                f"The cells have {fewest} to {most} members; tests and estimates use the cells' "
                "means."
            )
        if (
            most > 2 * fewest and len(self.factors) > 1
        ):  # simulated: the level is .05 with 4 to 8 members, .07 with 1 to 16
            yield (
                "Means of so different numbers of members are not equally noisy, so that p-values "
                "may be somewhat too small."
            )
        if self.reweighted:
            yield "The sources are those of an ensemble in which each cell weighs the same."


def _shares(means: np.ndarray) -> np.ndarray:
    whole = means.sum(axis=0)
    return np.asarray(means / np.where(whole > 0, whole, 1))


@dataclass(frozen=True, eq=False)
class _Design:
    """Which cell and which levels each member belongs to; cells are in the order of their levels,
    the first factor slowest.
    """

    levels: tuple[tuple[str, ...], ...]
    """Their names, for each factor."""
    codes: np.ndarray
    """(F, M): the level of each member."""
    weights: np.ndarray
    """(M,), summing to 1; the weight of a cell is the product of its levels' weights."""

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(names) for names in self.levels)

    @property
    def cells(self) -> np.ndarray:
        return np.asarray(np.ravel_multi_index(tuple(self.codes), self.sizes))

    @property
    def cell_sizes(self) -> np.ndarray:
        """(C,): how many members are in each cell."""
        return np.bincount(self.cells, minlength=prod(self.sizes))

    def averages(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights (g,) of groups of members, and the matrix (g, M) that averages within
        them.
        """
        inside = (groups == np.arange(groups.max() + 1)[:, None]) * self.weights
        total = inside.sum(axis=1)
        return total, inside / total[:, None]

    def cell_means(self, values: np.ndarray) -> np.ndarray:
        """(C, ...): the plain means of the members (M, ...) of each cell."""
        inside = (self.cells == np.arange(prod(self.sizes))[:, None]) / self.cell_sizes[:, None]
        return np.tensordot(inside, values, 1)


def _design(factors: Factors, weights: np.ndarray) -> tuple[_Design, bool]:
    """The design, and whether cells had to be given equal weights."""
    levels = {name: list(dict.fromkeys(given)) for name, given in factors.items()}
    alone = [name for name, names in levels.items() if len(names) < 2]
    if alone:
        raise ValueError(
            f"`factors`: {alone[0]!r} has only one level, so it explains nothing. Leave it out"
        )
    codes = np.array([[levels[name].index(x) for x in given] for name, given in factors.items()])
    full = np.zeros(tuple(len(names) for names in levels.values()))
    np.add.at(full, tuple(codes), weights)
    missing = np.argwhere(full == 0)
    if len(missing):
        cell = ", ".join(
            f"{name} {levels[name][i]!r}" for name, i in zip(levels, missing[0], strict=True)
        )
        raise ValueError(
            f"`factors` must be completely crossed: {counted(len(missing), 'cell')} of {full.size} "
            f"{'has' if len(missing) == 1 else 'have'} "
            f"no member, such as {cell}. Predict these, or leave out a level"
        )
    product_of_levels = np.ones(())
    for axis in range(full.ndim):
        product_of_levels = np.multiply.outer(
            product_of_levels, full.sum(axis=tuple(i for i in range(full.ndim) if i != axis))
        )
    # with other weights, main effects overlap and do not add up
    overlap = bool(np.abs(full - product_of_levels).max() > _WEIGHT_TOLERANCE * full.max())
    if overlap:
        weights = weights / full[tuple(codes)] / full.size
    return _Design(tuple(tuple(names) for names in levels.values()), codes, weights), overlap


def find_sources(
    law: Any,
    factors: Factors,
    loss: Loss,
    class_names: tuple[str, ...],
    *,
    n_permutations: int = 999,
    rng: Any = None,
) -> Sources:
    """Contributions, variance components and permutation tests; ``law`` is the `Atoms` of the
    events, in NumPy and double precision.
    """
    if not isinstance(loss, LogLoss | SquaredLoss):
        raise ValueError(
            "`sources` needs log or squared loss, where interactions cannot be negative; got "
            f"{type(loss).__name__}"
        )
    n_permutations, rng, m = (
        check_positive(n_permutations, "n_permutations"),
        as_rng(rng),
        law.t.shape[0],
    )
    if law.weights is not None and law.weights.ndim > 1:
        raise ValueError("`sources` needs the same member weights for all instances, shape (M,)")
    if law.t.size == 0:
        raise ValueError("`sources` needs at least one instance")
    weights = np.full(m, 1 / m) if law.weights is None else law.weights
    design, reweighted = _design(factors, weights)
    if reweighted:
        warnings.warn(
            "The weight of a cell is not the product of its levels' weights, so each cell weighs "
            "the same here; the sources add up to the "
            "epistemic uncertainty of that ensemble. Pass `weights` that are such products to "
            "choose others",
            stacklevel=3,
        )
        law = replace(law, weights=design.weights)
    if (weights == 0).any():  # such members are no part of the ensemble
        there = weights > 0
        design = replace(design, codes=design.codes[:, there], weights=design.weights[there])
        complement = None if law.complement is None else law.complement[there]
        law = replace(law, t=law.t[there], weights=design.weights, complement=complement)
    sizes, cell_sizes = design.sizes, design.cell_sizes
    replicated = bool(cell_sizes.max() > 1)
    names = (
        *factors,
        *((INTERACTION,) if len(factors) > 1 else ()),
        *((REPLICATES,) if replicated else ()),
    )
    deviation = law.deviation.reshape(len(law.t), -1, len(class_names))
    cell_means = design.cell_means(deviation)
    gram = _gram(cell_means)
    if replicated or len(factors) > 1:
        squares = _mean_squares(gram, sizes)
        noise = _noise(design, deviation - cell_means[design.cells]) if replicated else None
        of_labels = {term: square.values for term, square in squares.items()}
        variance = _variance_components(
            of_labels, None if noise is None else noise.values, cell_sizes, sizes
        )
        estimates, intervals = _shares_of_variance(
            squares, noise, cell_sizes, sizes, variance.sum(axis=1)
        )
        if len(factors) > 1:
            tests = [_test_factor(gram, sizes, i, n_permutations, rng) for i in range(len(factors))]
        else:
            tests = [_test_members(_gram(deviation), design.codes[0], n_permutations, rng)]
    else:
        variance = np.full((1, len(class_names)), np.nan)
        estimates, intervals = np.full(1, np.nan), np.full((1, 2), np.nan)
        tests = [_Test(np.nan, np.full(len(class_names), np.nan), np.nan)]
    return Sources(
        names=names,
        values=_contributions(law, design, loss, replicated),
        class_names=class_names,
        variance=variance,
        estimates=estimates,
        intervals=intervals,
        p_values=np.array([test.p for test in tests]),
        label_p_values=np.stack([test.label_p for test in tests]),
        smallest_p=np.array([test.smallest for test in tests]),
        farthest=tuple(_farthest_level(gram.sum(axis=0), design, i) for i in range(len(factors))),
        cell_sizes=(int(cell_sizes.min()), int(cell_sizes.max())),
        reweighted=reweighted,
    )


def _contributions(law: Any, design: _Design, loss: Loss, replicated: bool) -> np.ndarray:
    r"""Main effects :math:`G(\bar\theta) - \mathbb{E}_A G(\bar\theta_A) = \mathbb{E}_A
    D(\bar\theta_A \Vert \bar\theta)`, and the rest.

    The interaction is what the cells' disagreement exceeds the main effects by. It is not negative:
    for squared loss by the analysis of variance, for log loss because independent factors tell at
    least as much about Y together as one by one.
    """
    mt, mc = law.mean

    def between(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """E D(group mean ‖ mean), and the groups' means: of the event, its complement and the
        deviation.
        """
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


def _averaging(n: int) -> np.ndarray:
    return np.full((n, n), 1 / n)


def _centering(n: int) -> np.ndarray:
    return np.eye(n) - 1 / n


def _farthest_level(gram: np.ndarray, design: _Design, factor: int) -> tuple[str, float] | None:
    """The level without which the variance between levels is smallest, and by which share it is
    smaller.
    """
    n = design.sizes[factor]
    if n < 3:
        return None
    code = np.unravel_index(np.arange(len(gram)), design.sizes)[factor]
    average = (code == np.arange(n)[:, None]) * (n / len(gram))
    products = average @ gram @ average.T
    squares = np.diag(products)
    distances = squares[:, None] + squares - 2 * products
    pairs = distances.sum() / 2
    if pairs <= 0:
        return None
    without = pairs - distances.sum(axis=1)
    smaller = 1 - without / ((n - 1) * (n - 2)) / (pairs / (n * (n - 1)))
    level = int(np.argmax(smaller))
    return design.levels[factor][level], float(min(smaller[level], 1.0))


# Variance components


class _MeanSquare(NamedTuple):
    """A mean square of the analysis of variance of the cells' means."""

    values: np.ndarray
    """(K,)"""
    freedom: int
    """Of one label and instance."""
    dependence: float
    """Squared correlation of two independent contrasts: 1 if all labels and instances move as one,
    0 if each by itself.
    """


def _mean_squares(gram: np.ndarray, sizes: tuple[int, ...]) -> dict[Term, _MeanSquare]:
    """The mean square of each main effect and interaction, the highest interaction first."""
    squares = {}
    for order in range(len(sizes), 0, -1):
        for term in combinations(range(len(sizes)), order):
            projection = np.ones((1, 1))
            for j, n in enumerate(sizes):
                projection = np.kron(projection, _centering(n) if j in term else _averaging(n))
            freedom = prod(sizes[j] - 1 for j in term)
            values = np.tensordot(gram, projection, 2) / freedom
            squares[term] = _MeanSquare(
                values, freedom, _dependence(projection @ gram.sum(axis=0) @ projection, freedom)
            )
    return squares


def _noise(design: _Design, residuals: np.ndarray) -> _MeanSquare:
    """The mean square within cells, of the members' deviations (M, N, K) from the means of their
    cells.
    """
    freedom = len(residuals) - prod(design.sizes)
    flat = residuals.reshape(len(residuals), -1)
    values = (residuals**2).mean(axis=1).sum(axis=0) / freedom
    return _MeanSquare(values, freedom, _dependence(flat @ flat.T, freedom))


def _dependence(products: np.ndarray, freedom: int) -> float:
    r"""How much of a mean square's spread over instances and labels is common to all:
    :math:`\mathrm{tr}\Sigma^2 / (\mathrm{tr}\Sigma)^2`.

    From the products of ``freedom`` independent normal vectors with covariance Σ, by the first two
    moments. Few vectors tell little, so one of them counts as if all of its values moved together:
    at least 1 / ``freedom``.
    """
    trace = np.trace(products)
    if freedom == 1 or trace <= 0:
        return 1.0
    ratio = float((products**2).sum() / trace**2)
    estimate = (ratio * freedom - 1) / (freedom + 1 - 2 * ratio)
    return ((freedom - 1) * min(max(estimate, 0.0), 1.0) + 1) / freedom


def _variance_components(
    squares: Mapping[Term, np.ndarray],
    noise: np.ndarray | None,
    cell_sizes: np.ndarray,
    sizes: tuple[int, ...],
) -> np.ndarray:
    r"""Variance components (S, ...) of the random-effects model with all interactions, from the
    mean squares (...) of the cells' means.

    :math:`\mathbb{E}\,\mathrm{MS}_S = \sum_{T \supseteq S} \sigma_T^2 \prod_{j \notin T} n_j`, where the highest interaction
    includes the noise of a cell's mean; solved from the top.
    """  # noqa: E501
    factors = range(len(sizes))
    components: dict[Term, np.ndarray] = {}
    for term, square in squares.items():
        rest = np.zeros_like(square)
        for other, x in components.items():
            if {*term} < {*other}:
                rest = rest + x * prod(sizes[j] for j in factors if j not in other)
        components[term] = (square - rest) / prod(sizes[j] for j in factors if j not in term)
    if noise is not None:
        components[tuple(factors)] = components[tuple(factors)] - noise * np.mean(1 / cell_sizes)
    sources = [components[(j,)] for j in factors]
    if len(sizes) > 1:
        sources.append(np.sum([x for term, x in components.items() if len(term) > 1], axis=0))
    if noise is not None:
        sources.append(noise)
    return np.stack(sources)


def _shares_of_variance(
    squares: Mapping[Term, _MeanSquare],
    noise: _MeanSquare | None,
    cell_sizes: np.ndarray,
    sizes: tuple[int, ...],
    variance: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Each source's share (S,) of the variance, and generalized confidence intervals (F, 2) of the
    factors'.

    A mean square is its expectation times χ²/df for normal effects, where df counts as many
    independent labels and instances as `_dependence` tells. The interval takes the quantiles of the
    shares when each expectation is drawn as its mean square · df/χ² (Weerahandi, 1993). The draws
    are always the same, so that equal designs have equal intervals.
    """
    rng = np.random.default_rng(0)

    def draw(square: _MeanSquare) -> np.ndarray:
        freedom = square.freedom / square.dependence
        return np.asarray(square.values.sum() * freedom / rng.chisquare(freedom, _N_DRAWS))

    drawn = {term: draw(square) for term, square in squares.items()}
    components = _variance_components(
        drawn, None if noise is None else draw(noise), cell_sizes, sizes
    )
    estimates = _shares(np.maximum(variance, 0))
    shares = _shares(np.maximum(components, 0))[: len(sizes)]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(shares, (tail, 1 - tail), axis=1)
    factors = estimates[: len(sizes)]
    return estimates, np.stack([np.minimum(low, factors), np.maximum(high, factors)], axis=1)


# Permutation tests


class _Test(NamedTuple):
    p: float
    label_p: np.ndarray
    smallest: float


def _test_factor(
    gram: np.ndarray,
    sizes: tuple[int, ...],
    factor: int,
    n_permutations: int,
    rng: np.random.Generator,
) -> _Test:
    """The p-value of a factor's main effect, of each label's, and the smallest possible; two
    factors or more.

    For each other factor B, the factor's levels are permuted within each level of B, together with
    all cells that they have there. Without a main effect that changes nothing if all of the
    factor's interactions include B, so the largest p-value over B is exact if it interacts with one
    factor only. The statistic is unbiased and studentized for any interactions, so that the test is
    approximate, not wrong, if it interacts with several.
    """
    tests = [
        _test_within(gram, sizes, factor, other, n_permutations, rng)
        for other in range(len(sizes))
        if other != factor
    ]
    label_p = np.max([test.label_p for test in tests], axis=0)
    return _Test(max(test.p for test in tests), label_p, max(test.smallest for test in tests))


def _test_within(
    gram: np.ndarray,
    sizes: tuple[int, ...],
    factor: int,
    other: int,
    n_permutations: int,
    rng: np.random.Generator,
) -> _Test:
    """Permute the levels of ``factor`` within each level of ``other``."""
    n, blocks = sizes[factor], sizes[other]
    orders = _orders(n, blocks, n_permutations, rng)
    rest = [j for j in range(len(sizes)) if j not in (factor, other)]
    main, interactions = np.empty(0), []
    for order in range(len(rest) + 1):
        for term in combinations(rest, order):
            products = _margin(gram, sizes, factor, other, term)
            # cells of the same level in two blocks: only their products change
            within = np.einsum("ibibk->k", products)
            across = sum(
                products[orders[:, b], b, orders[:, c], c].sum(axis=1)
                for b, c in combinations(range(blocks), 2)
            )
            between = np.maximum((within + 2 * across) / blocks, 0)
            freedom = (n - 1) * prod(sizes[j] - 1 for j in term)
            square = between / freedom
            if term:
                interactions.append((square, freedom, len(term)))
            else:
                main = square
            freedom_with_other = freedom * (blocks - 1)
            interactions.append(
                (
                    np.maximum(within - between, 0) / freedom_with_other,
                    freedom_with_other,
                    len(term) + 1,
                )
            )
    return _p_values(_studentized(main, n - 1, interactions), 1 / len(orders))


def _margin(
    gram: np.ndarray, sizes: tuple[int, ...], factor: int, other: int, term: Term
) -> np.ndarray:
    """Products (n, blocks, n, blocks, K + 1) of the cells of two factors, the last of all labels
    together.

    Over the factors in ``term`` they are centered, over the rest averaged; ``factor`` is centered
    in each level of ``other``.
    """
    gram = np.concatenate([gram, gram.sum(axis=0, keepdims=True)])
    products = gram.reshape(-1, *sizes, *sizes)
    for j in reversed(range(len(sizes))):
        if j not in (factor, other):
            matrix = _centering(sizes[j]) if j in term else _averaging(sizes[j])
            products = np.tensordot(
                products, matrix, axes=([1 + j, products.ndim // 2 + 1 + j], [0, 1])
            )
    order = (1, 2, 3, 4, 0) if factor < other else (2, 1, 4, 3, 0)
    products = products.transpose(order)
    products = products - products.mean(axis=0, keepdims=True)
    return np.asarray(products - products.mean(axis=2, keepdims=True))


def _orders(n: int, blocks: int, n_permutations: int, rng: np.random.Generator) -> np.ndarray:
    """(P, blocks, n): orders of the levels in each block, the first one as observed; all of them
    where there are few.

    The first block keeps its order, because permuting all blocks alike changes nothing.
    """
    observed = np.broadcast_to(np.arange(n), (blocks, n))
    if factorial(n) ** (blocks - 1) <= n_permutations + 1:
        orders = list(permutations(range(n)))
        return np.array([(orders[0], *chosen) for chosen in product(orders, repeat=blocks - 1)])
    drawn = rng.permuted(np.broadcast_to(observed, (n_permutations, blocks, n)), axis=2)
    drawn[:, 0] = observed[0]
    return np.concatenate([observed[None], drawn])


def _test_members(
    gram: np.ndarray, codes: np.ndarray, n_permutations: int, rng: np.random.Generator
) -> _Test:
    """Permute the members of one factor."""
    counts = np.bincount(codes)
    n, m = len(counts), len(codes)
    assignments = _assignments(codes, n_permutations, rng)
    gram = np.concatenate([gram, gram.sum(axis=0, keepdims=True)])
    gram = _centering(m) @ gram @ _centering(m)
    inside = (assignments[:, None, :] == np.arange(n)[:, None]) / np.sqrt(counts)[
        :, None
    ]  # (P, n, M)
    between = np.stack([np.einsum("pau,pau->p", inside @ g, inside) for g in gram], axis=-1)
    total = np.einsum("kuu->k", gram)
    noise = np.maximum(total - between, 0) / (m - n)
    # levels with equally many members can change places
    same = prod(factorial(x) for x in np.bincount(counts).tolist())
    groupings = _n_assignments(counts) // same
    return _p_values(
        _studentized(between / (n - 1), n - 1, [(noise, m - n, 1)]),
        max(1 / groupings, 1 / len(assignments)),
    )


def _n_assignments(counts: np.ndarray) -> int:
    return factorial(int(counts.sum())) // prod(factorial(x) for x in counts.tolist())


def _assignments(codes: np.ndarray, n_permutations: int, rng: np.random.Generator) -> np.ndarray:
    """(P, M): levels of the members, the first one as observed; all of them where there are few."""
    counts = np.bincount(codes)
    if _n_assignments(counts) > n_permutations + 1:
        return np.concatenate(
            [
                codes[None],
                rng.permuted(np.broadcast_to(codes, (n_permutations, len(codes))), axis=1),
            ]
        )
    found = [np.full(len(codes), -1)]
    for level, count in enumerate(counts):
        longer = []
        for given in found:
            for chosen in combinations(np.flatnonzero(given < 0), count):
                filled = given.copy()
                filled[list(chosen)] = level
                longer.append(filled)
        found = longer
    others = [x for x in found if not np.array_equal(x, codes)]
    return np.stack([codes, *others])


def _studentized(
    main: np.ndarray, freedom: int, interactions: Sequence[tuple[np.ndarray, int, int]]
) -> np.ndarray:
    """A main effect in standard errors, put into −1 to 1; for permutations and labels (P, K).

    Its mean square is compared with what the interactions of the factor make it on average (mean
    square, degrees of freedom and number of other factors of each). The variances are those of
    normal effects, but for a common scale.
    """
    expected = sum((-1) ** (order + 1) * square for square, _, order in interactions)
    effect = main - expected
    variance = np.maximum(expected, 0) ** 2 / freedom + sum(
        square**2 / df for square, df, _ in interactions
    )
    scale = np.sqrt(variance + effect**2)
    # a label on which all members agree has no effect
    return np.asarray(np.where(scale > 0, effect / np.where(scale > 0, scale, 1), -1))


def _p_values(statistic: np.ndarray, smallest: float) -> _Test:
    """From the statistic (P, K + 1) of all arrangements, the observed one first; labels are
    adjusted by the largest of all labels.
    """
    reached = statistic[0] - 1e-9
    label_p = (statistic[:, :-1].max(axis=1)[:, None] >= reached[:-1]).mean(axis=0)
    return _Test(float((statistic[:, -1] >= reached[-1]).mean()), label_p, smallest)
