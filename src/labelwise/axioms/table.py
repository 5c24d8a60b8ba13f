"""Results of the axiom checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._tables import Sentences, Tabular
from ..distributions import Ensemble
from .measures import Q
from .shifts import atoms_and_weights

MEASURES = ("TU", "AU", "EU")


@dataclass(frozen=True, eq=False, repr=False)
class Counterexample(Sentences):
    """A Q at which an axiom (or its strict version) fails, and the distributions it is compared
    with.

    ``print`` shows it; ``lw.decompose(c.q, loss).sum()`` and the same for ``c.others`` verify it.
    """

    q: Ensemble
    """Q with M members and no batch axis: ``q.probs`` (M, K), ``q.weights`` (M,)."""
    others: tuple[Q, ...]
    """Q' of A3–A5, the uniform distribution of A2, the two coarsened distributions of A7; else
    empty.
    """
    value: float
    """The measure at Q."""
    other_value: float
    """The value it is compared with: the measure at Q' (for A7 the sum over both), or 0."""
    sentence: str
    """The comparison in one sentence."""

    def __str__(self) -> str:
        names = ["Q", "Q'"] if len(self.others) == 1 else ["Q", "Q1", "Q2"]
        parts = []
        for name, q in zip(names, (self.q, *self.others), strict=False):
            parts.append(f"{name} = {_distribution_in_words(q)}")
        return "; ".join([*parts, self.sentence])


def _distribution_in_words(q: Q) -> str:
    if not q.finite:
        return f"uniform on the simplex of {q.n_classes} classes"
    atoms, weights = atoms_and_weights(q)
    shown = []
    for atom, weight in zip(atoms[:6], weights, strict=False):
        numbers = ", ".join(f"{x:.4g}" for x in atom)
        shown.append(f"{weight:.4g} δ({numbers})")
    if len(atoms) > 6:
        shown.append(f"… ({len(atoms)} atoms)")
    return " + ".join(shown)


@dataclass(frozen=True, eq=False, repr=False)
class AxiomResult(Sentences):
    """Whether one axiom holds for one of TU, AU, EU."""

    axiom: str
    measure: str
    statement: str
    """The statement of the axiom."""
    trials: int = 0
    """Number of distributions (or pairs) tried."""
    counterexample: Counterexample | None = None
    """A Q at which the axiom fails; ``None`` if it holds."""
    tie: Counterexample | None = None
    """A Q at which equality holds, so only the weak version does; ``None`` if there is no strict
    version or it holds.
    """
    two_versions: bool = False
    """Whether the axiom has a strict and a weak version."""

    @property
    def holds(self) -> bool:
        """Whether no counterexample was found."""
        return self.counterexample is None

    @property
    def strict(self) -> bool | None:
        """Whether the strict version (>) holds; ``None`` for axioms with one version."""
        return self.holds and self.tie is None if self.two_versions else None

    @property
    def verdict(self) -> str:
        """``"holds"`` or ``"fails"``; ``"strict"`` or ``"weak"`` where a holding axiom has two
        versions.
        """
        if not self.holds:
            return "fails"
        return {None: "holds", True: "strict", False: "weak"}[self.strict]

    def __str__(self) -> str:
        head = f"{self.axiom} ({self.statement})"
        if self.counterexample is not None:
            return f"{head} fails for {self.measure}: {self.counterexample}"
        version = {"holds": "", "strict": ", strictly", "weak": ", weakly"}[self.verdict]
        text = f"{head} holds for {self.measure}{version}, in {self.trials} trials"
        return text if self.tie is None else f"{text}; equality for example at {self.tie}"


@dataclass(frozen=True, eq=False, repr=False)
class AxiomTable(Tabular):
    """Axiom × measure: ``table["A3", "EU"]`` is one result, ``print(table)`` shows all."""

    name: str
    """Name of the measure."""
    results: tuple[AxiomResult, ...]

    def __iter__(self) -> Iterator[AxiomResult]:
        return iter(self.results)

    def __getitem__(self, key: tuple[str, str]) -> AxiomResult:
        """The result for one axiom and one of ``"TU"``, ``"AU"``, ``"EU"``."""
        by_key = self._by_key()
        if key in by_key:
            return by_key[key]
        axiom, measure = key if isinstance(key, tuple) and len(key) == 2 else (None, None)
        others = [other for of_axiom, other in by_key if of_axiom == axiom]
        if others and measure in MEASURES:
            raise KeyError(
                f"axiom {axiom} is not about {measure}, only about {' and '.join(others)}"
            )
        raise KeyError(
            "ask for an axiom (A0 … A7) and a measure (TU, AU, EU), as table['A3', 'EU']; got "
            f"{key!r}"
        )

    def _by_key(self) -> dict[tuple[str, str], AxiomResult]:
        return {(result.axiom, result.measure): result for result in self.results}

    def _title(self) -> str:
        return self.name

    def _columns(self) -> dict[str, Any]:
        by_key = self._by_key()
        axioms = list(dict.fromkeys(axiom for axiom, _ in by_key))
        columns = {"axiom": axioms}
        for measure in MEASURES:
            found = [by_key.get((axiom, measure)) for axiom in axioms]
            columns[measure] = ["-" if result is None else result.verdict for result in found]
        return columns
