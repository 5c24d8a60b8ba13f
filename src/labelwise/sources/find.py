"""Everything that is said about the sources of disagreement, from the members' probabilities."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from .._validation.arguments import as_rng, check_positive
from ..losses import LogLoss, Loss, SquaredLoss
from .components import variance_components
from .design import INTERACTION, REPLICATES, Design, Factors, averages_within, make_design
from .permutation import PermutationTest, permute_levels, permute_members
from .result import Sources


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
    n_permutations = check_positive(n_permutations, "n_permutations")
    rng = as_rng(rng)
    law, design, reweighted = _design_of(law, factors)
    if reweighted:
        warnings.warn(
            "The weight of a cell is not the product of its levels' weights, so each cell weighs "
            "the same here; the sources add up to the "
            "epistemic uncertainty of that ensemble. Pass `weights` that are such products to "
            "choose others",
            stacklevel=3,
        )
    values, level_values = _contributions_of_sources(law, design, loss)

    k, crossed = len(class_names), len(factors) > 1
    deviation = law.deviation.reshape(len(law.t), -1, k)
    means = design.cell_means(deviation)
    variance = np.full((1, k), np.nan)
    if crossed or design.replicated:
        variance = variance_components(design, deviation)
    if crossed:
        in_order = (means, means.swapaxes(0, 1))
        tests = [permute_levels(of_factor, n_permutations, rng) for of_factor in in_order]
    elif design.replicated:
        tests = [permute_members(deviation, design.codes[0], n_permutations, rng)]
    else:  # nothing to compare with
        tests = [PermutationTest(np.nan, np.full(k, np.nan), np.nan)]
    p_values, label_p_values, smallest_p = (np.array(x) for x in zip(*tests, strict=True))
    cell_sizes = design.cell_sizes
    return Sources(
        names=tuple(values),
        values=np.stack(list(values.values())),
        class_names=class_names,
        levels=design.levels,
        level_values=level_values,
        variance=variance,
        p_values=p_values,
        label_p_values=label_p_values,
        smallest_p=smallest_p,
        cell_sizes=(int(cell_sizes.min()), int(cell_sizes.max())),
        reweighted=reweighted,
    )


def _design_of(law: Any, factors: Factors) -> tuple[Any, Design, bool]:
    """The law of the members that have weight, their design, and whether they were reweighted."""
    if law.t.size == 0:
        raise ValueError("`sources` needs at least one instance")
    m = law.t.shape[0]
    weights = np.full(m, 1 / m) if law.weights is None else law.weights
    weights = weights.reshape(m, -1)
    if np.any(weights != weights[:, :1]):
        raise ValueError(
            "`sources` needs the same member weights for all instances, shape (M,). Where "
            "members have no answer for some instances, leave these out: "
            "q[(q.weights > 0).all(axis=0)]"
        )
    there = np.flatnonzero(weights[:, 0])  # the others are no part of the ensemble
    levels = {name: tuple(given[i] for i in there) for name, given in factors.items()}
    design, reweighted = make_design(levels, weights[there, 0])
    complement = None if law.complement is None else law.complement[there]
    law = replace(law, t=law.t[there], weights=design.weights, complement=complement)
    return law, design, reweighted


def _contributions_of_sources(
    law: Any, design: Design, loss: Loss
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    r"""What each source contributes, (..., K), and each level of the factors, (L, K): means over
    the instances, which add up to its main effect.

    The main effects are :math:`G(\bar\theta) - \mathbb{E}_A G(\bar\theta_A) = \mathbb{E}_A
    D(\bar\theta_A \Vert \bar\theta)`. The interaction is what the cells' disagreement exceeds them
    by, and replicates are what the members' exceeds that. Neither is negative, the interaction for
    squared loss by the analysis of variance, for log loss because independent factors tell at least
    as much about Y together as one by one.
    """
    mt, mc = law.mean

    def between(groups: np.ndarray) -> np.ndarray:
        """What each group of members adds to E D(group mean ‖ mean)."""
        total, average = averages_within(groups, design.weights)
        t, c, d = (np.tensordot(average, x, 1) for x in (law.t, law.c, law.deviation))
        divergence = loss.divergence(t, mt, c, mc, d)
        return total.reshape(-1, *[1] * (divergence.ndim - 1)) * divergence

    values, levels = {}, {}
    for name, codes in zip(design.levels, design.codes, strict=True):
        by_level = between(codes)
        values[name] = by_level.sum(axis=0)
        levels[name] = by_level.reshape(len(by_level), -1, by_level.shape[-1]).mean(axis=1)
    cells = between(design.cells).sum(axis=0)
    if len(values) > 1:
        values[INTERACTION] = np.maximum(cells - sum(values.values()), 0)
    if design.replicated:
        members = between(np.arange(len(law.t))).sum(axis=0)
        values[REPLICATES] = np.maximum(members - cells, 0)
    return values, levels
