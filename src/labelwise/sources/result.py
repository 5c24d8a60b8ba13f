"""How the sources of an ensemble's disagreement are shown: a table, a frame and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from .._format import fixed, number, percent
from .._tables import Summary, Tabular, counted, first_names
from .components import shares_of_sources

LEVEL = 0.05
OFF = 0.5  # the share of a main effect from which one of several levels is named


@dataclass(frozen=True, eq=False, repr=False)
class Sources(Tabular):
    """Epistemic uncertainty by source, returned by ``u.sources()``."""

    names: tuple[str, ...]
    """The factors, then ``interaction`` (two factors) and ``replicates`` (several members
    in a cell).
    """
    values: np.ndarray
    """(S, ..., K): what each source contributes; they add up to the epistemic uncertainty (if
    `reweighted`: to that of the ensemble in which each cell weighs the same).
    """
    class_names: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]
    """The levels of each factor, such as the prompts."""
    level_values: Mapping[str, np.ndarray]
    """(L, K): what each level contributes to the main effect of its factor, averaged over the
    instances: its weight times the divergence of its mean from that of all members.
    """
    variance: np.ndarray
    """(S, K): variance components of the probabilities, averaged over the instances and corrected
    for noise; values below 0 are noise. NaN where the design cannot separate them.
    """
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
    def estimates(self) -> np.ndarray:
        """(S,): the sources' shares of the variance of all labels, corrected for noise: what to
        expect of further levels like these.
        """
        return shares_of_sources(np.maximum(self.variance.sum(axis=1), 0))

    @property
    def found(self) -> tuple[str, ...]:
        """Factors whose main effect is significant at the 5 % level."""
        return self._factors_where(self.p_values <= LEVEL)

    def _factors_where(self, chosen: np.ndarray) -> tuple[str, ...]:
        return tuple(np.asarray(self.factors, object)[chosen])

    @property
    def means(self) -> np.ndarray:
        """(S, K): means over the instances."""
        instances = tuple(range(1, self.values.ndim - 1))
        return self.values.mean(axis=instances)

    def __getitem__(self, name: str) -> np.ndarray:
        """What one source contributes, (..., K)."""
        if name not in self.names:
            raise KeyError(f"no source {name!r}; there are {', '.join(self.names)}")
        return self.values[self.names.index(name)]

    def _columns(self) -> dict[str, Any]:
        """A row for each source and label: mean contribution, its share of the epistemic
        uncertainty, variance component, p-value.
        """
        means = self.means
        p = np.full_like(means, np.nan)
        p[: len(self.factors)] = self.label_p_values
        names = np.meshgrid(self.names, self.class_names, indexing="ij")
        columns = [*names, means, shares_of_sources(means), self.variance, p]
        header = ("source", "label", "epistemic", "share", "variance", "p_value")
        return dict(zip(header, map(np.ravel, columns), strict=True))

    def level_shares(self, factor: str) -> dict[str, float]:
        """The share of each level in the main effect of its factor, all labels together, largest
        first; for squared loss, a level that alone is off has (L − 1) / L of it.
        """
        if factor not in self.levels:
            raise KeyError(f"no factor {factor!r}; there are {', '.join(self.levels)}")
        shares = shares_of_sources(self.level_values[factor].sum(axis=1)).tolist()
        by_level = dict(zip(self.levels[factor], shares, strict=True))
        return dict(sorted(by_level.items(), key=lambda pair: -pair[1]))

    def _summary(self) -> Summary:
        whole = self.means.sum(axis=1)
        shares, corrected = shares_of_sources(whole), self.estimates
        rows = []
        tested = zip_longest(self.names, whole, shares, corrected, self.p_values, self.smallest_p)
        for name, mean, share, expected, p, smallest in tested:
            parts = percent(share, 0), percent(expected, 0)
            rows.append((name, float(mean), *parts, fixed(p, 3), number(smallest, 2)))
        title = (
            f"Sources of epistemic uncertainty: {counted(len(self.class_names), 'label')} "
            f"({first_names(self.class_names)})"
        )
        header = ("source", "mean", "share", "corrected", "p", "smallest p")
        return Summary(title, header, rows, self.sentence)

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if np.isnan(self.p_values).all():
            sentences = [
                "Without replicates or a second factor, effects cannot be distinguished from noise."
            ]
        else:
            found = ", ".join(self.found) or "no factor"
            sentences = [
                f"More than chance (permutation test, {percent(LEVEL, 0)} level): {found}."
            ]
            if len(self.found) < len(self.factors):
                sentences.append("This does not rule out effects of the others.")
            few = ", ".join(self._factors_where(self.smallest_p > LEVEL))
            if few:
                sentences.append(f"Too few levels or permutations to show an effect of: {few}.")
        for factor, levels in self.levels.items():
            level, share = next(iter(self.level_shares(factor).items()))
            # halfway between equal shares and a level that alone is off
            if len(levels) > 2 and share >= OFF:
                sentences.append(
                    f"Of {factor}, {level!r} differs most from the others ({percent(share, 0)} of "
                    "its main effect)."
                )
        fewest, most = self.cell_sizes
        if len(self.factors) > 1 and fewest < most:
            # Simulated: the level is .05 with 4 to 8 members, .07 with 1 to 16.
            sentences.append(
                f"The cells have {fewest} to {most} members; tests and estimates use the cells' "
                "means, and if the numbers are very different, p-values may be too small."
            )
        if self.reweighted:
            sentences.append("Each cell weighs the same here.")
        return " ".join(sentences)
