"""The search for counterexamples: random distributions, then evolution of those closest to
violating a rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..distributions import Ensemble
from .candidates import decode, draw_parameters, mutate_parameters, round_parameters
from .measures import Measure
from .rules import PLAIN, RULES, SHORTEST, Comparison, Rule, Setting, any_q
from .shifts import support
from .table import MEASURES, AxiomResult, Counterexample

# Values that differ by no more than this share of the largest value encountered are equal.
TIE_TOLERANCE = 1e-12

# (K classes, M members, whether to evolve): few atoms and many. Rare failures show with few.
SHAPES = ((2, 2, True), (3, 2, False), (2, 3, False), (4, 3, True), (3, 4, False), (6, 15, False))
PROBABILITIES_PER_BATCH = 4000
MIN_BATCH, MAX_BATCH = 50, 1000  # bounds on its length
PARENTS, CHILDREN, GENERATIONS = 12, 3, 20  # children of each parent

# How far a child is from its parent: log-uniform from this to 1, so that the search converges
# geometrically, however narrow the region where a rule is violated, and keeps exploring.
SHORTEST_STEP = 1e-6


@dataclass
class Entry:
    """The state of the search for one axiom and one measure."""

    rule: Rule
    trials: int = 0
    counterexample: Counterexample | None = None
    tie: Counterexample | None = None

    def result(self, measure: str) -> AxiomResult:
        holds = self.counterexample is None
        strict = holds and self.tie is None if self.rule.two_versions else None
        return AxiomResult(
            self.rule.axiom,
            measure,
            self.rule.statement,
            holds,
            strict,
            self.trials,
            self.counterexample,
            self.tie if holds else None,
        )


def examine(measure: Measure, seed: int) -> Iterator[AxiomResult]:
    """Check each axiom for each measure it applies to."""
    entries = {(rule.axiom, m): Entry(rule) for rule in RULES for m in rule.measures}
    k = measure.n_classes
    shapes = SHAPES if k is None else {m: (k, m, evolving) for _, m, evolving in SHAPES}.values()
    for g, (n_classes, n_members, evolving) in enumerate(shapes):
        group = Group(measure, n_classes, n_members, (seed, g))
        for r, rule in enumerate(RULES):
            scores = group.judge(rule, group.params, entries)
            if evolving and rule.evolves:
                group.evolve(rule, scores, entries, np.random.default_rng((seed, g, r + 1)))
    return (entry.result(m) for (_, m), entry in entries.items())


class Group:
    """Candidates of one shape, from their own random stream."""

    def __init__(
        self, measure: Measure, n_classes: int, n_members: int, seed: tuple[int, int]
    ) -> None:
        rng = np.random.default_rng(seed)
        part = sorted(rng.permutation(n_classes)[: n_classes // 2].tolist())
        self.setting = Setting(measure, n_classes, tuple(part))
        batch = int(
            np.clip(PROBABILITIES_PER_BATCH // (n_classes * n_members), MIN_BATCH, MAX_BATCH)
        )
        self.params = draw_parameters(rng, n_members, batch, n_classes)
        self.values = measure(decode(self.params).q)
        self.scale = float(np.abs(self.values.sum(axis=-1)).max())

    def compare(self, rule: Rule, params: np.ndarray) -> tuple[Ensemble, np.ndarray, Comparison]:
        """Q, the measure at Q, and what the rule compares it with."""
        candidate = rule.domain(decode(params))
        value = self.values  # known for the first candidates as they are
        if params is not self.params or rule.domain is not any_q:
            value = self.setting.measure(candidate.q)
        return candidate.q, value.sum(axis=-1), rule.compare(self.setting, candidate, value)

    def judge(
        self, rule: Rule, params: np.ndarray, entries: dict[tuple[str, str], Entry]
    ) -> np.ndarray:
        """Evaluate candidates and record violations and ties; return how close each is to violating
        the rule, (3, B).
        """
        unbroken = _measures_without_counterexample(rule, entries)
        if not unbroken:
            return np.empty((3, 0))
        _, value, comparison = self.compare(rule, params)
        gaps = rule.gap(value, comparison.bound)
        for m in unbroken:
            entry, gap = entries[rule.axiom, m], gaps[MEASURES.index(m)]
            entry.trials += int(np.isfinite(gap).sum())
            best = int(np.argmax(gap))
            if self.breaks(rule, gap[best]):
                entry.counterexample = self.show(rule, m, params[:, [best]])
            elif rule.two_versions and entry.tie is None:
                far = np.where(comparison.size >= PLAIN, gap, -np.inf)
                best = int(np.argmax(far))
                if self.ties(far[best]):
                    entry.tie = self.show(rule, m, params[:, [best]])
        # relative to the length of the move, else the shortest moves would always come closest; a
        # violation is clearer for longer moves
        return np.where(gaps > 0, gaps, gaps / np.maximum(comparison.size, SHORTEST) ** rule.order)

    def breaks(self, rule: Rule, gap: float) -> bool:
        if rule.relation == ">":
            return self.ties(gap)
        return bool(gap > rule.tolerance * self.scale)

    def ties(self, gap: float) -> bool:
        return bool(gap >= -TIE_TOLERANCE * self.scale)

    def evolve(
        self,
        rule: Rule,
        scores: np.ndarray,
        entries: dict[tuple[str, str], Entry],
        rng: np.random.Generator,
    ) -> None:
        """Mutate the candidates closest to violating the rule, in steps of all lengths."""
        params = self.params
        for _ in range(GENERATIONS):
            rows = [MEASURES.index(m) for m in _measures_without_counterexample(rule, entries)]
            if not rows:
                return
            # Distinct scores: on a plateau, equal ones would crowd out those that can improve.
            best = [np.unique(scores[i], return_index=True)[1][-PARENTS:] for i in rows]
            parents = np.unique(np.concatenate(best))
            old = np.repeat(parents, CHILDREN)
            steps = np.exp(rng.uniform(np.log(SHORTEST_STEP), 0, old.size))
            children = mutate_parameters(rng, params[:, old], steps)
            new_scores = self.judge(rule, children, entries)
            params = np.concatenate([params[:, parents], children], axis=1)
            scores = np.concatenate([scores[:, parents], new_scores], axis=1)

    def show(self, rule: Rule, measure: str, params: np.ndarray) -> Counterexample:
        """One candidate as a counterexample, rounded to as few digits as still violate (or tie) the
        rule.
        """
        i = MEASURES.index(measure)

        def gap(x: np.ndarray) -> float:
            _, value, comparison = self.compare(rule, x)
            return float(rule.gap(value, comparison.bound)[i, 0])

        whole = gap(params)
        for digits in (1, 2, 3):
            simple = round_parameters(params, digits)
            if simple is None:
                continue
            left = gap(simple)
            same = left > whole / 2 if whole > rule.tolerance * self.scale else self.ties(left)
            if same and self.breaks(rule, left) == self.breaks(rule, whole):
                params = simple
                break
        q, value, comparison = self.compare(rule, params)
        here, bound = float(value[i, 0]), float(comparison.bound[i, 0])
        sign = "=" if self.ties(-abs(here - bound)) else ">" if here > bound else "<"
        sentence = rule.sentence.format(m=measure, value=here, sign=sign, bound=bound)
        others = tuple(
            _without_batch_axis(x) if isinstance(x, Ensemble) else x for x in comparison.others
        )
        return Counterexample(_without_batch_axis(q), others, here, bound, sentence)


def _measures_without_counterexample(
    rule: Rule, entries: dict[tuple[str, str], Entry]
) -> list[str]:
    """The measures for which no counterexample to the rule is known."""
    return [m for m in rule.measures if entries[rule.axiom, m].counterexample is None]


def _without_batch_axis(q: Ensemble) -> Ensemble:
    """A batch of one without the batch axis."""
    atoms, weights = support(q)
    return Ensemble(atoms[:, 0], weights=weights[:, 0], member_axis=0)
