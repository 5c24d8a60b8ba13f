r"""The axioms, each as a comparison of the measure at Q with a bound.

A rule states that for every Q in its domain the measure at Q is in ``relation`` to a bound, which
``compare`` computes from Q (0, or the measure at a related Q') and from the contributions to the
measure at Q, (3, B, L). The search needs only the size of a violation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..distributions import Dirichlet, Ensemble
from .measures import Measure, Q
from .shifts import (
    atoms_and_weights,
    center_shift,
    direction_to_center,
    largest_step,
    largest_step_of_members,
    location_shift,
    mean_preserving_spread,
)

# Moves shorter than this are not tried, and equality after a move shorter than `PLAIN` proves
# nothing about strictness.
SHORTEST = 1e-4
PLAIN = 0.03


@dataclass(frozen=True)
class AxiomSetting:
    """What all candidates of one search share."""

    measure: Measure
    n_classes: int
    part: tuple[int, ...]
    """The first of two sets of classes."""

    @property
    def rest(self) -> tuple[int, ...]:
        """The second set."""
        return tuple(k for k in range(self.n_classes) if k not in self.part)

    def total(self, q: Q) -> np.ndarray:
        """The measure, contributions summed, (3, ...)."""
        return self.measure.contributions(q).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A batch of Q with the parameters to derive a Q' from each."""

    q: Ensemble
    """Members (M, B, K) with weights (M, B)."""
    up: np.ndarray
    """(M, B, K), nonnegative: where a move adds probability …"""
    down: np.ndarray
    """… and where it removes it."""
    share: np.ndarray
    """(M, B), in (0, 1]: length of a move as a share of the largest possible one."""
    p: np.ndarray
    """(M, B): probability of the first half of a split member."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The bound that a rule compares the measure at Q with."""

    bound: np.ndarray
    """(3, B), or (3, 1) if it is the same for all; NaN where a Q has no valid Q'."""
    others: tuple[Q, ...] = ()
    size: np.ndarray | float = 1.0
    """(B,): length of the move from Q to Q'; 1 without a move."""


@dataclass(frozen=True)
class AxiomRule:
    """One axiom, or one half of it."""

    axiom: str
    statement: str
    measures: tuple[str, ...]
    relation: str
    """Required relation of the measure at Q to the bound: ``<=``, ``>=``, ``==`` or ``>``."""
    sentence: str
    """Template for a counterexample: {m} is the measure, {value} its value at Q, {sign} and {bound}
    the comparison.
    """
    compare: Callable[[AxiomSetting, Candidate, np.ndarray], Comparison]
    domain: Callable[[Candidate], Candidate] = lambda c: c
    two_versions: bool = False
    """Whether the axiom has a strict and a weak version."""
    tolerance: float = 1e-9
    """A violation must exceed this share of the largest value encountered, so that it cannot be
    rounding.
    """

    def gap(self, value: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Size of the violation: positive if violated, −∞ without a valid comparison."""
        gap = bound - value
        if self.relation == "==":
            gap = np.abs(gap)
        elif self.relation == "<=":
            gap = -gap
        return np.where(np.isnan(bound), -np.inf, gap)


def dirac(c: Candidate) -> Candidate:
    """All members agree."""
    atoms, weights = atoms_and_weights(c.q)
    agreeing = np.broadcast_to(atoms[:1], atoms.shape)
    return replace(c, q=Ensemble(agreeing, weights=weights, member_axis=0))


def corners(c: Candidate) -> Candidate:
    """Each member is certain of one class: the mixtures of Dirac measures on Dirac measures."""
    atoms, weights = atoms_and_weights(c.q)
    certain = np.eye(atoms.shape[-1])[atoms.argmax(axis=-1)]
    return replace(c, q=Ensemble(certain, weights=weights, member_axis=0))


def zero(setting: AxiomSetting, c: Candidate, value: np.ndarray) -> Comparison:
    """0."""
    return Comparison(np.zeros((3, 1)))


def zero_unless_dirac(setting: AxiomSetting, c: Candidate, value: np.ndarray) -> Comparison:
    """0, for those Q that are clearly not Dirac measures."""
    atoms, weights = atoms_and_weights(c.q)
    size = np.sqrt(np.sum(weights * np.sum((atoms - c.q.mean()) ** 2, axis=-1), axis=0))
    return Comparison(np.where(size < PLAIN, np.nan, np.zeros((3, 1))), size=size)


def uniform(setting: AxiomSetting, c: Candidate, value: np.ndarray) -> Comparison:
    """The uniform distribution on the simplex."""
    other = Dirichlet(np.ones(setting.n_classes))
    return Comparison(setting.total(other)[:, None], (other,))


def spread(setting: AxiomSetting, c: Candidate, value: np.ndarray) -> Comparison:
    """A mean-preserving spread."""
    atoms, weights = atoms_and_weights(c.q)
    # along the face of the simplex that contains the member
    z = _direction_from_to(c.down * (atoms > 0), c.up * (atoms > 0))
    p = c.p[..., None]
    factor = np.minimum(
        largest_step_of_members(atoms, (1 - p) * z), largest_step_of_members(atoms, -p * z)
    )
    z = (c.share * np.where(np.isfinite(factor), factor, 0.0))[..., None] * z
    size = np.sqrt(np.sum(weights * c.p * (1 - c.p) * np.sum(z * z, axis=-1), axis=0))
    return _compare_with_moved(
        setting,
        c,
        value,
        size,
        lambda q, rows: mean_preserving_spread(q, z[:, rows], p=c.p[:, rows]),
    )


def shift(setting: AxiomSetting, c: Candidate, value: np.ndarray) -> Comparison:
    """A location shift."""
    # a class with probability 0 for some member cannot become less probable
    free = np.all(atoms_and_weights(c.q)[0] > 0, axis=0)
    z = _direction_from_to(c.down[0] * free, c.up[0])
    factor = largest_step(c.q, z)
    z = (c.share[0] * np.where(np.isfinite(factor), factor, 0.0))[:, None] * z
    return _compare_with_moved(
        setting, c, value, np.linalg.norm(z, axis=-1), lambda q, rows: location_shift(q, z[rows])
    )


def center(setting: AxiomSetting, c: Candidate, value: np.ndarray) -> Comparison:
    """A center shift."""
    z = direction_to_center(c.q)
    step = c.share[0] * np.minimum(largest_step(c.q, z), 0.9)
    return _compare_with_moved(
        setting,
        c,
        value,
        step * np.linalg.norm(z, axis=-1),
        lambda q, rows: center_shift(q, 1 - step[rows]),
    )


def restricted(setting: AxiomSetting, c: Candidate, value: np.ndarray) -> Comparison:
    """The sum over two sets of labels: an identity for label-wise measures."""
    if value.shape[-1] != setting.n_classes:
        return Comparison(np.full((3, 1), np.nan))
    bound = value[..., setting.part].sum(axis=-1) + value[..., setting.rest].sum(axis=-1)
    return Comparison(bound, (c.q, c.q))


def coarsened(setting: AxiomSetting, c: Candidate, value: np.ndarray) -> Comparison:
    """The sum over two sets of classes, the classes outside each set merged into one."""
    atoms, weights = atoms_and_weights(c.q)
    part, rest = setting.part, setting.rest
    bound, coarse = np.zeros(()), []
    for inside, outside in ((part, rest), (rest, part)):
        merged = atoms[..., outside].sum(axis=-1, keepdims=True)
        probs = np.concatenate([atoms[..., inside], merged], axis=-1)
        q = Ensemble(probs.clip(0, 1), weights=weights, member_axis=0)
        bound = bound + setting.measure.merged(inside).contributions(q).sum(axis=-1)
        coarse.append(q)
    return Comparison(bound, tuple(coarse))


def _compare_with_moved(
    setting: AxiomSetting,
    c: Candidate,
    value: np.ndarray,
    size: np.ndarray,
    move: Callable[[Ensemble, np.ndarray], Ensemble],
) -> Comparison:
    """The measure at Q' = move(Q), where the move is long enough."""
    rows = np.flatnonzero(size >= SHORTEST)
    bound = np.full(value.shape[:2], np.nan)
    if rows.size == 0:
        return Comparison(bound, size=size)
    atoms, weights = atoms_and_weights(c.q)
    other = move(Ensemble(atoms[:, rows], weights=weights[:, rows], member_axis=0), rows)
    bound[:, rows] = setting.total(other)
    return Comparison(bound, (other,), size)


def _direction_from_to(down: np.ndarray, up: np.ndarray) -> np.ndarray:
    """The direction that moves probability from classes in proportion to ``down`` to classes in
    proportion to ``up``; 0 if impossible.
    """
    give, take = up.sum(axis=-1, keepdims=True), down.sum(axis=-1, keepdims=True)
    possible = (give > 0) & (take > 0)
    z = up / np.where(possible, give, 1) - down / np.where(possible, take, 1)
    plain = np.abs(z).max(axis=-1, keepdims=True) > 1e-3  # else rounding errors would be amplified
    return np.where(possible & plain, z, 0.0)


_A1 = "0 if and only if Q is a Dirac measure"
_A7 = "at most the sum over two sets of classes"
_AGAINST_0 = "{m}(Q) = {value:.6g} {sign} 0"
_AGAINST_OTHER = "{m}(Q) = {value:.6g} {sign} {m}(Q') = {bound:.6g}"
_AGAINST_PARTS = "{m}(Q) = {value:.6g} {sign} {m}(Q1) + {m}(Q2) = {bound:.6g}"

# A6 is more tolerant, because a custom loss is evaluated near 1, not at 1: √(1 − f) leaves 1e-8.
RULES = (
    AxiomRule("A0", "nonnegative", ("TU", "AU", "EU"), ">=", _AGAINST_0, zero),
    AxiomRule(
        "A1",
        _A1,
        ("EU",),
        "==",
        "EU(Q) = {value:.6g}, though Q is a Dirac measure",
        zero,
        dirac,
    ),
    AxiomRule(
        "A1",
        _A1,
        ("EU",),
        ">",
        "EU(Q) = {value:.6g}, though Q is not a Dirac measure",
        zero_unless_dirac,
    ),
    AxiomRule(
        "A2",
        "largest for the uniform distribution on the simplex",
        ("TU", "EU"),
        "<=",
        _AGAINST_OTHER,
        uniform,
    ),
    AxiomRule(
        "A3",
        "not lower after a mean-preserving spread",
        ("TU", "EU"),
        "<=",
        _AGAINST_OTHER,
        spread,
        two_versions=True,
    ),
    AxiomRule(
        "A4",
        "not lower after a shift toward the center",
        ("TU", "AU"),
        "<=",
        _AGAINST_OTHER,
        center,
        two_versions=True,
    ),
    AxiomRule("A5", "the same after a location shift", ("EU",), "==", _AGAINST_OTHER, shift),
    AxiomRule(
        "A6",
        "0 where each member is certain of a class",
        ("AU",),
        "==",
        _AGAINST_0,
        zero,
        corners,
        tolerance=1e-7,
    ),
    AxiomRule("A7", _A7, ("TU", "AU", "EU"), "<=", _AGAINST_PARTS, restricted),
    AxiomRule("A7", _A7, ("TU", "AU", "EU"), "<=", _AGAINST_PARTS, coarsened),
)
