"""Whether the axiom search finds violations planted in regions of width 1e-5: one random place per
seed, for several axioms.

    python benchmarks/planted_violations.py [number of seeds, 200]

NumPy computes the last bits differently on other processors, which leads the search along other
ways. These environments imitate two older ones on a processor with AVX-512:

    NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL" python benchmarks/planted_violations.py
    NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL" python benchmarks/planted_violations.py
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

import labelwise as lw
from labelwise.axioms import check, search

WIDTH = 1e-5

# Each of the axioms whose search evolves, except A5: equality off the place leaves no slope to
# follow.
PLANTED = [("A0", "TU"), ("A1", "EU"), ("A2", "TU"), ("A3", "EU"), ("A4", "AU"), ("A7", "TU")]


def planted(axiom, place):
    """The measure of squared loss, changed so that one axiom fails only within `WIDTH` of
    ``place``.

    The place is one of the mean of class 0 (A4: of the range of class 0 over the members, which no
    shift changes).
    """

    def measure(q):
        u = lw.decompose(q, "squared").sum()
        total, aleatoric, epistemic = u.total, u.aleatoric, u.epistemic
        mean = q.mean()[..., 0]
        outside = np.abs(mean - place) - WIDTH
        if axiom == "A7":
            total = 2 - outside if q.n_classes == 4 else 1 + 0 * total
        elif q.n_classes == 2 and isinstance(q, lw.Ensemble):
            if axiom == "A0":
                total = outside
            elif axiom == "A1":
                epistemic = np.where(epistemic > 0, np.maximum(outside, 0), 0)
            elif axiom == "A2":
                total = 0.5 - outside  # that of the uniform distribution is 0.5
            elif axiom == "A3":
                epistemic = epistemic * outside
            elif axiom == "A4":
                aleatoric = 1 - np.abs(mean - 0.5) * (
                    np.abs(np.ptp(q.probs[..., 0], axis=0) - place) - WIDTH
                )
        return lw.Components(total, aleatoric, epistemic)

    return measure


def found(axiom, measure, seed):
    """Whether the search with this seed finds the violation, planted at a place of its own."""
    place = np.random.default_rng((seed, 1)).uniform(0.02, 0.98)
    return not check(planted(axiom, place), rng=seed)[axiom, measure].holds


if __name__ == "__main__":
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    rules = search.RULES
    for axiom, measure in PLANTED:
        search.RULES = tuple(
            rule if rule.axiom == axiom else replace(rule, measures=()) for rule in rules
        )  # the others cost time only
        missed = [seed for seed in seeds if not found(axiom, measure, seed)]
        print(
            f"{axiom}-{measure}: found for {len(seeds) - len(missed)} of {len(seeds)} seeds",
            *missed and [f"not for {missed}"],
            flush=True,
        )
