"""Factors planted into simulated and trained ensembles: level and power of the permutation test, bias of the variance components.

    python benchmarks/studies/factors.py

Writes factors.json, and the tables of factors.md and docs/ensembles.md. Logits of 4 classes are normal with standard deviation 2 between instances,
plus effects of the factors (an own normal value for each level, instance and class) and noise of standard deviation 0.3. Trained ensembles: the
25 FashionMNIST networks under results/.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_softmax
from tables import between

import labelwise as lw

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/ensembles.md"
START, END = "<!-- factors: begin -->", "<!-- factors: end -->"
RUNS, PERMUTATIONS, N = 200, 199, 30
NOISE = 0.3


def levels(a: int, b: int, r: int) -> dict[str, np.ndarray]:
    return {"A": np.repeat(np.arange(a), b * r), "B": np.tile(np.repeat(np.arange(b), r), a)}


def simulated(rng: np.random.Generator, a: int, b: int, r: int, main: float, interaction: float) -> lw.Ensemble:
    """Factor A has an effect of size ``main``, B none."""
    effects = main * rng.normal(size=(a, 1, 1, N, 4)) + interaction * rng.normal(size=(a, b, 1, N, 4))
    z = 2 * rng.normal(size=(N, 4)) + effects + NOISE * rng.normal(size=(a, b, r, N, 4))
    return lw.Ensemble.from_logits(z.reshape(-1, N, 4), factors=levels(a, b, r))


def reported(draw: Any, runs: int) -> dict[str, Any]:
    """Shares of draws in which each factor is reported, and the largest error of the sums."""
    found, share, error = np.zeros(2), np.zeros(2), 0.0
    for i in range(runs):
        u = lw.decompose(draw(np.random.default_rng(i)))
        s = u.sources(n_permutations=PERMUTATIONS, rng=i)
        found += [name in s.found for name in s.factors]
        share += s.means.sum(axis=1)[:2] / s.means.sum()
        error = max(error, float(np.abs(s.values.sum(axis=0) - u.epistemic).max()))
    return {
        "A": found[0] / runs,
        "B": found[1] / runs,
        "share A": share[0] / runs,
        "share B": share[1] / runs,
        "error": error,
        "runs": runs,
    }


def planted() -> Iterator[dict[str, Any]]:
    for a, b, r in ((3, 3, 1), (5, 3, 1), (5, 5, 1), (3, 3, 3)):
        for main, interaction in ((0, 0), (0, 0.3), (0.05, 0), (0.1, 0), (0.2, 0), (0.3, 0.3)):

            def draw(rng: np.random.Generator, args: Any = (a, b, r, main, interaction)) -> lw.Ensemble:
                return simulated(rng, *args)

            yield {"design": f"{a} × {b}" + (f" × {r} replicates" if r > 1 else ""), "main": main, "interaction": interaction} | reported(
                draw, RUNS
            )


def networks() -> Iterator[dict[str, Any]]:
    """25 networks that differ only in their seeds, put in random order on a grid; then five networks, each at three temperatures and with noise in
    its logits; B is the network, whose effect is real."""
    paths = sorted(ROOT.glob("results/fashion-mnist-paper/run-*/fashion-mnist.npz"))
    log_probs = np.concatenate([np.load(path, allow_pickle=False)["log_probs"][:, :500] for path in paths]).astype(float)
    log_probs = np.maximum(log_softmax(log_probs, axis=-1), -30)

    def shuffled(rng: np.random.Generator) -> lw.Ensemble:
        return lw.Ensemble.from_logits(log_probs[rng.permutation(25)], factors=levels(5, 5, 1))

    yield {"design": "25 networks at random on 5 × 5", "main": 0, "interaction": 0} | reported(shuffled, RUNS)
    for size in (0, 0.2, 0.5):

        def tempered(rng: np.random.Generator, size: float = size) -> lw.Ensemble:
            own = log_probs[rng.permutation(25)[:5]] + 0.5 * rng.normal(size=(3, 5, *log_probs.shape[1:]))
            z = own * np.array([1 - size, 1, 1 + size])[:, None, None, None]
            return lw.Ensemble.from_logits(z.reshape(15, *log_probs.shape[1:]), factors=levels(3, 5, 1))

        yield {"design": "3 temperatures × 5 networks, logits with noise", "main": size, "interaction": 0} | reported(tempered, RUNS)


def components() -> Iterator[dict[str, Any]]:
    """Mean variance components of probabilities with known standard deviations (3 × 4 × 2, two classes)."""
    true = {"A": 0.02, "B": 0.0, "interaction": 0.03, "replicates": 0.05}
    shapes = {"A": (3, 1, 1), "B": (1, 4, 1), "interaction": (3, 4, 1), "replicates": (3, 4, 2)}
    found = np.zeros((RUNS, 4))
    for i in range(RUNS):
        rng = np.random.default_rng(i)
        p = 0.5 + sum(true[name] * rng.normal(size=(*shape, 200)) for name, shape in shapes.items())
        p = np.clip(p, 0, 1).reshape(-1, 200)
        q = lw.Ensemble(np.stack([p, 1 - p], axis=-1), factors=levels(3, 4, 2))
        found[i] = lw.decompose(q, "squared").sources(n_permutations=1, rng=0).variance[:, 0]
    for j, (name, sd) in enumerate(true.items()):
        error = float(found[:, j].std(ddof=1) / RUNS**0.5)
        yield {"source": name, "true": sd**2, "mean": float(found[:, j].mean()), "standard error": error}


def tables(results: dict[str, Any]) -> str:
    lines = ["| design | effect of A | interaction | A reported | B reported | mean share A | B |", "|---|---|---|---|---|---|---|"]
    for x in [*results["planted"], *results["networks"]]:
        lines.append(
            f"| {x['design']} | {x['main']:g} | {x['interaction']:g} | {x['A']:.2f} | {x['B']:.2f} | {x['share A']:.0%} | {x['share B']:.0%} |"
        )
    lines += ["", "| variance component | true | mean estimate | standard error |", "|---|---|---|---|"]
    for x in results["components"]:
        lines.append(f"| {x['source']} | {x['true']:.5f} | {x['mean']:.5f} | {x['standard error']:.5f} |")
    return "\n".join(lines) + "\n"


def insert(page: str, results: dict[str, Any]) -> str:
    return between(page, START, END, f"\n{tables(results)}")


def summary(results: dict[str, Any]) -> str:
    worst = max(x["error"] for x in [*results["planted"], *results["networks"]])
    return (
        f"# Planted factors: results\n\n`python benchmarks/studies/factors.py`, {results['seconds']:.0f} s of one core. {RUNS} draws each, "
        f"{PERMUTATIONS} permutations, level 0.05; the sources add up to the epistemic uncertainty within {worst:.0e}.\n\n{tables(results)}"
    )


def main() -> None:
    start = time.perf_counter()
    results: dict[str, Any] = {"planted": list(planted()), "networks": list(networks()), "components": list(components())}
    results["seconds"] = time.perf_counter() - start
    (HERE / "factors.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (HERE / "factors.md").write_text(summary(results))
    if PAGE.is_file():
        PAGE.write_text(insert(PAGE.read_text(), results))


if __name__ == "__main__":
    main()
