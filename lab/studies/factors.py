"""Factors planted into simulated and trained ensembles: level and power of the permutation test.

    python lab/studies/factors.py

Writes factors.json, factors.md and the tables of docs/lab/members.md. Logits of 3
classes are normal with standard deviation 2 between instances, plus effects of the factors (an own
normal value for each level, instance and class) and noise of standard deviation 0.4. Trained
ensembles: the 25 FashionMNIST networks under results/.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_softmax

import labelwise as lw
from labelwise.sources import as_factors
from labelwise.sources.design import make_design
from labelwise.sources.permutation import permute_levels, permute_members
from labelwise_lab.pages import between, table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/lab/members.md"
START, END = "<!-- factors: begin -->", "<!-- factors: end -->"
RUNS, FEWER_RUNS, PERMUTATIONS = 2000, 400, 199
NOISE = 0.4
LEVEL = 0.05

Draw = Callable[[np.random.Generator], lw.Ensemble]
SMALL, MIDDLE, LARGE = 0.1, 0.2, 0.4

# Null settings: design, replicates, standard deviations of the effects, options of `draw_logits`.
# Factor A has no main effect in any of them.
NULLS: list[tuple[tuple[int, ...], Any, dict[str, float], dict[str, Any]]] = [
    *(((3, 4), 1, {"AB": sd}, {}) for sd in (0, LARGE)),
    ((3, 3), 1, {}, {}),
    ((5, 5), 1, {}, {}),
    ((5, 5), 1, {"AB": LARGE}, {"common": True}),
    ((2, 6), 1, {}, {}),
    ((3, 4), 3, {"AB": MIDDLE}, {}),
    *(((3, 4), "4/6/8 by level of A", {"AB": sd}, {}) for sd in (0, MIDDLE)),
    *(((3, 4), "4 to 8 in cells", {"AB": sd}, {}) for sd in (0, MIDDLE)),
    ((3, 4), "1/4/16 by level of A", {}, {}),
    ((3, 4), 1, {}, {"noisy": 3.0}),
    ((3,), "4/6/8 by level of A", {}, {}),
    ((2,), 6, {}, {}),
]
# Levels of A that differ much in their noise are not exchangeable, which the test assumes: too many
# reports, at most these shares.
BEYOND = {
    ("3 × 4, 1/4/16 by level of A", "none"): 0.1,
    ("3 × 4", "one level 3 times as noisy"): 0.2,
}
POWER: list[tuple[tuple[int, ...], Any, dict[str, float], dict[str, Any]]] = [
    *(((3, 4), 1, {"A": sd}, {}) for sd in (MIDDLE, LARGE)),
    ((3, 4), 1, {"A": LARGE, "AB": LARGE}, {}),
    *(((5, 5), 1, {"A": sd}, {}) for sd in (SMALL, MIDDLE)),
    ((3, 4), "4 to 8 in cells", {"A": MIDDLE, "AB": MIDDLE}, {}),
    ((3,), "4/6/8 by level of A", {"A": MIDDLE}, {}),
]


def members(sizes: tuple[int, ...], replicates: Any, rng: np.random.Generator) -> np.ndarray:
    """(F, M): the levels of each member."""
    cells = np.array(list(product(*map(range, sizes))))
    if isinstance(replicates, int):
        counts = np.full(len(cells), replicates)
    elif replicates == "4 to 8 in cells":
        counts = rng.choice([4, 6, 8], len(cells))
    else:
        by_level = [int(x) for x in replicates.split()[0].split("/")]
        counts = np.array(by_level)[cells[:, 0]]
    return np.repeat(cells, counts, axis=0).T


def named(codes: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip("AB", codes, strict=False))


def draw_logits(
    rng: np.random.Generator,
    sizes: tuple[int, ...],
    replicates: Any,
    effects: Mapping[str, float],
    *,
    n: int = 20,
    common: bool = False,
    noisy: float = 1.0,
) -> lw.Ensemble:
    """Effects of these sizes on ``n`` instances, ``common`` to all of them or of each one; the
    noise of the last level of A is ``noisy`` times as large as the others'.
    """
    codes = members(sizes, replicates, rng)
    noise = NOISE * np.where(codes[0] == sizes[0] - 1, noisy, 1.0)
    z = 2 * rng.normal(size=(n, 3)) + noise[:, None, None] * rng.normal(size=(codes.shape[1], n, 3))
    for term, sd in effects.items():
        axes = ["AB".index(letter) for letter in term]
        values = sd * rng.normal(size=(*(sizes[j] for j in axes), 1 if common else n, 3))
        z = z + values[tuple(codes[axes])]
    return lw.Ensemble.from_logits(z, member_axis=0, factors=named(codes))


def reported(draw: Draw, runs: int) -> dict[str, Any]:
    """Shares of draws in which A and the other factors are reported, and in which any label of A
    is.
    """
    found, labels, share = 0, 0, 0.0
    for i in range(runs):
        u = lw.decompose(draw(np.random.default_rng(i)), "squared")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # cells are reweighted
            s = u.sources(n_permutations=PERMUTATIONS, rng=i)
        found = found + (s.p_values <= LEVEL)
        labels += bool(s.label_p_values[0].min() <= LEVEL)
        share += float(s.means[0].sum() / s.means.sum())
    rates = (np.asarray(found) / runs).tolist()
    return {
        "A": rates[0],
        "others": rates[1:],
        "any label of A": labels / runs,
        "share of A": share / runs,
        "smallest p": float(s.smallest_p[0]),
        "runs": runs,
    }


def falsely_reported(draw: Draw, runs: int) -> dict[str, Any]:
    """The same for A alone, by its test without the rest of `sources`, which would take six times
    as long.
    """
    found = labels = 0
    for i in range(runs):
        q = draw(np.random.default_rng(i))
        probs = np.asarray(q.probs)
        design, _ = make_design(
            as_factors(q.factors, len(probs)), np.full(len(probs), 1 / len(probs))
        )
        deviation = probs - probs.mean(axis=0)
        rng = np.random.default_rng(i)
        if len(design.sizes) > 1:
            test = permute_levels(design.cell_means(deviation), PERMUTATIONS, rng)
        else:
            test = permute_members(deviation, design.codes[0], PERMUTATIONS, rng)
        found += test.p <= LEVEL
        labels += bool(test.label_p.min() <= LEVEL)
    return {
        "A": found / runs,
        "any label of A": labels / runs,
        "smallest p": test.smallest,
        "runs": runs,
    }


def setting(
    sizes: tuple[int, ...],
    replicates: Any,
    effects: Mapping[str, float],
    options: Mapping[str, Any],
) -> dict[str, str]:
    """Its names in the tables."""
    design = " × ".join(map(str, sizes))
    if replicates != 1:
        design += f", {replicates} replicates" if isinstance(replicates, int) else f", {replicates}"
    special = []
    if options.get("common"):
        special.append("same in all instances")
    if "n" in options:
        special.append(f"{options['n']} instances")
    if "noisy" in options:
        special.append(f"one level {options['noisy']:g} times as noisy")
    planted = [f"{' × '.join(term)} {sd:g}" for term, sd in effects.items() if sd > 0]
    return {"design": design, "effects": ", ".join([*planted, *special]) or "none"}


def simulated(
    settings: list[Any], runs: int, measure: Callable[[Draw, int], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    for sizes, replicates, effects, options in settings:

        def draw(
            rng: np.random.Generator,
            args: Any = (sizes, replicates, effects),
            options: Any = options,
        ) -> lw.Ensemble:
            return draw_logits(rng, *args, **options)

        yield setting(sizes, replicates, effects, options) | measure(draw, runs)


def networks() -> Iterator[dict[str, Any]]:
    """25 networks that differ only in their seeds, in random order on a grid; then five networks,
    each at three temperatures and with noise in its logits; B is the network, whose effect is real.
    """
    paths = sorted(ROOT.glob("lab/results/fashion-mnist-paper/run-*/fashion-mnist.npz"))
    log_probs = np.concatenate(
        [np.load(path, allow_pickle=False)["log_probs"][:, :200] for path in paths]
    ).astype(float)
    log_probs = np.maximum(log_softmax(log_probs, axis=-1), -30)

    def shuffled(rng: np.random.Generator) -> lw.Ensemble:
        return lw.Ensemble.from_logits(
            log_probs[rng.permutation(25)], factors=named(members((5, 5), 1, rng))
        )

    yield {"design": "25 networks at random on 5 × 5", "effects": "none"} | reported(shuffled, RUNS)
    for size in (0, 0.2, 0.5):

        def tempered(rng: np.random.Generator, size: float = size) -> lw.Ensemble:
            own = log_probs[rng.permutation(25)[:5]] + 0.5 * rng.normal(
                size=(3, 5, *log_probs.shape[1:])
            )
            z = own * np.array([1 - size, 1, 1 + size])[:, None, None, None]
            return lw.Ensemble.from_logits(
                z.reshape(15, *log_probs.shape[1:]), factors=named(members((3, 5), 1, rng))
            )

        row = {
            "design": "3 temperatures × 5 networks, logits with noise",
            "effects": f"temperatures ± {size:g}" if size else "none",
        }
        yield row | reported(tempered, RUNS if size == 0 else FEWER_RUNS)


def components() -> Iterator[dict[str, Any]]:
    """Mean variance components of probabilities with known standard deviations (3 × 4, 1 to 3
    members in a cell, two classes).
    """
    true = {"A": 0.02, "B": 0.0, "interaction": 0.03, "replicates": 0.05}
    codes = np.repeat(members((3, 4), 1, np.random.default_rng(0)), np.tile([1, 2, 3], 4), axis=1)
    found = np.zeros((FEWER_RUNS, 4))
    for i in range(FEWER_RUNS):
        rng = np.random.default_rng(i)
        p = (
            0.5
            + true["A"] * rng.normal(size=(3, 200))[codes[0]]
            + true["B"] * rng.normal(size=(4, 200))[codes[1]]
        )
        p = p + true["interaction"] * rng.normal(size=(3, 4, 200))[codes[0], codes[1]]
        p = np.clip(p + true["replicates"] * rng.normal(size=(codes.shape[1], 200)), 0, 1)
        q = lw.Ensemble(np.stack([p, 1 - p], axis=-1), member_axis=0, factors=named(codes))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found[i] = lw.decompose(q, "squared").sources(n_permutations=1, rng=0).variance[:, 0]
    for j, (name, sd) in enumerate(true.items()):
        error = float(found[:, j].std(ddof=1) / FEWER_RUNS**0.5)
        yield {
            "source": name,
            "true": sd**2,
            "mean": float(found[:, j].mean()),
            "standard error": error,
        }


def rates(x: Mapping[str, Any]) -> list[str]:
    others = ", ".join(f"{rate:.3f}" for rate in x["others"]) or "–"
    return [
        x["design"],
        x["effects"],
        f"{x['A']:.3f}",
        f"{x['any label of A']:.3f}",
        others,
        f"{x['share of A']:.0%}",
        f"{x['smallest p']:.2g}",
        f"{x['runs']:,}",
    ]


def tables(results: Mapping[str, Any]) -> str:
    nulls = [
        [
            x["design"],
            x["effects"],
            f"{x['A']:.3f}",
            f"{x['any label of A']:.3f}",
            f"{x['smallest p']:.2g}",
            f"{x['runs']:,}",
        ]
        for x in results["levels"]
    ]
    power = [rates(x) for x in [*results["power"], *results["networks"]]]
    parts = [
        [x["source"], *(f"{x[key]:.5f}" for key in ("true", "mean", "standard error"))]
        for x in results["components"]
    ]
    lines = [
        (
            f"Level (nominal {LEVEL:g}): A has no main effect. With 1/4/16 members or a noisier "
            "level, the levels of A are not exchangeable."
        ),
        "",
        table(
            ["design", "planted", "A reported", "any label of A", "smallest p", "runs"],
            nulls,
        ),
        (
            "Power, and trained networks (B is the network, whose effect is real in all rows but "
            "the first of them):"
        ),
        "",
        table(
            [
                "design",
                "planted",
                "A reported",
                "any label of A",
                "other factors",
                "mean share of A",
                "smallest p",
                "runs",
            ],
            power,
        ),
        "Variance components, 1 to 3 members in a cell:",
        "",
        table(["source", "true", "mean estimate", "standard error"], parts),
    ]
    return "\n".join(lines).rstrip() + "\n"


def insert(page: str, results: Mapping[str, Any]) -> str:
    return between(page, START, END, f"\n{tables(results)}")


def summary(results: Mapping[str, Any]) -> str:
    return (
        "# Planted factors: results\n\n`python lab/studies/factors.py`, "
        f"{PERMUTATIONS} permutations.\n\n"
        f"{tables(results)}"
    )


def main() -> None:
    results: dict[str, Any] = {
        "levels": list(simulated(NULLS, RUNS, falsely_reported)),
        "power": list(simulated(POWER, FEWER_RUNS, reported)),
        "networks": list(networks()),
        "components": list(components()),
    }
    (HERE / "factors.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (HERE / "factors.md").write_text(summary(results))
    if PAGE.is_file():
        PAGE.write_text(insert(PAGE.read_text(), results))


if __name__ == "__main__":
    main()
