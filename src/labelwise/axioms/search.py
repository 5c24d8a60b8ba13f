"""The search for counterexamples among random distributions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..distributions import Ensemble
from .candidates import draw_candidates, one_candidate
from .measures import Measure
from .rules import PLAIN, RULES, AxiomRule, AxiomSetting, Candidate, Comparison
from .table import MEASURES, AxiomResult, Counterexample

# Values that differ by no more than this share of the largest value encountered are equal.
TIE_TOLERANCE = 1e-12

# (K classes, M members): few atoms and many. Rare failures show with few.
SHAPES: tuple[tuple[int, int], ...] = ((2, 2), (3, 2), (2, 3), (4, 3), (3, 4), (6, 15))
PROBABILITIES_PER_BATCH = 8000
MIN_BATCH, MAX_BATCH = 100, 2000  # bounds on its length


def examine(measure: Measure, seed: int) -> Iterable[AxiomResult]:
    """Check each axiom for each measure it applies to."""
    results = {}
    for rule in RULES:
        for m in rule.measures:
            results[rule.axiom, m] = AxiomResult(
                rule.axiom, m, rule.statement, two_versions=rule.two_versions
            )
    shapes = SHAPES
    if measure.n_classes is not None:
        shapes = tuple((measure.n_classes, m) for m in dict.fromkeys(m for _, m in SHAPES))
    for g, (n_classes, n_members) in enumerate(shapes):
        group = CandidateGroup(measure, n_classes, n_members, (seed, g))
        for rule in RULES:
            group.judge(rule, results)
    return results.values()


class CandidateGroup:
    """Candidates of one shape, from their own random stream."""

    def __init__(
        self, measure: Measure, n_classes: int, n_members: int, seed: tuple[int, int]
    ) -> None:
        rng = np.random.default_rng(seed)
        part = sorted(rng.permutation(n_classes)[: n_classes // 2].tolist())
        self.setting = AxiomSetting(measure, n_classes, tuple(part))
        batch = np.clip(PROBABILITIES_PER_BATCH // (n_classes * n_members), MIN_BATCH, MAX_BATCH)
        self.candidates = draw_candidates(rng, n_members, int(batch), n_classes)
        self.scale = np.abs(self.setting.total(self.candidates.q)).max()

    def compare(self, rule: AxiomRule, c: Candidate) -> tuple[Ensemble, np.ndarray, Comparison]:
        """Q, the measure at Q, and what the rule compares it with."""
        c = rule.domain(c)
        value = self.setting.measure.contributions(c.q)
        return c.q, value.sum(axis=-1), rule.compare(self.setting, c, value)

    def judge(self, rule: AxiomRule, results: dict[tuple[str, str], AxiomResult]) -> None:
        """Record the clearest violation, or else a tie, of each measure that has none yet."""
        unbroken = [m for m in rule.measures if results[rule.axiom, m].holds]
        if not unbroken:
            return
        _, value, comparison = self.compare(rule, self.candidates)
        gaps = rule.gap(value, comparison.bound)
        for m in unbroken:
            key, gap = (rule.axiom, m), gaps[MEASURES.index(m)]
            result = results[key]
            found: dict[str, Any] = {"trials": result.trials + int(np.isfinite(gap).sum())}
            best = int(np.argmax(gap))
            if self.breaks(rule, gap[best]):
                found |= {"counterexample": self.show(rule, m, best), "tie": None}
            elif rule.two_versions and result.tie is None:
                far = np.where(comparison.size >= PLAIN, gap, -np.inf)
                best = int(np.argmax(far))
                if self.ties(far[best]):
                    found["tie"] = self.show(rule, m, best)
            results[key] = replace(result, **found)

    def breaks(self, rule: AxiomRule, gap: float) -> bool:
        if rule.relation == ">":
            return self.ties(gap)
        return gap > rule.tolerance * self.scale

    def ties(self, gap: float) -> bool:
        return gap >= -TIE_TOLERANCE * self.scale

    def show(self, rule: AxiomRule, measure: str, place: int) -> Counterexample:
        """One candidate as a counterexample."""
        q, value, comparison = self.compare(rule, one_candidate(self.candidates, place))
        i = MEASURES.index(measure)
        here, bound = float(value[i, 0]), float(comparison.bound[i, 0])
        sign = "<" if here < bound else ">"
        if self.ties(-abs(here - bound)):
            sign = "="
        sentence = rule.sentence.format(m=measure, value=here, sign=sign, bound=bound)
        others = tuple(other[0] if other.batch_shape else other for other in comparison.others)
        return Counterexample(q[0], others, here, bound, sentence)
