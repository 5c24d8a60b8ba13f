"""Simulated votes: are the pair estimators unbiased, do the intervals cover, does the test keep its
level?

    python lab/studies/votes_simulation.py          about ten minutes of one core; writes
    votes_simulation.json and .md

The truth is an ensemble: for each case one member is drawn, and all votes of the case are drawn
from that member. Its claims are right by construction.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import labelwise as lw
from labelwise.evaluation.votes import pair_statistics
from labelwise_lab.pages import table

HERE = Path(__file__).parent
VOTES = (2, 3, 5, 50)
MEMBERS, CLASSES = 5, 3


def predictions(rng: np.random.Generator, n: int, scale: float = 1.0) -> lw.Ensemble:
    """Ensembles that differ from case to case; ``scale`` multiplies the logits: above 1 the claims
    are overconfident.
    """
    base = np.log(rng.dirichlet(np.ones(CLASSES), size=n) + 1e-9)
    return lw.Ensemble.from_logits(scale * (base + 0.7 * rng.normal(size=(MEMBERS, n, CLASSES))))


def voted(rng: np.random.Generator, q: lw.Ensemble, n_votes: int) -> np.ndarray:
    """Votes (N, K) from one member per case."""
    n = q.batch_shape[0]
    return rng.multinomial(n_votes, q.probs[rng.integers(q.n_members, size=n), np.arange(n)])


def unbiased(rng: np.random.Generator, replicates: int) -> list[dict]:
    """Means of the pair statistics minus the truth, in standard errors, for given p and θ̄; and how
    exactly they add up.
    """
    found = []
    for n_votes in VOTES:
        worst, sums = 0.0, 0.0
        for p, mean in ((0.5, 0.4), (0.1, 0.3), (0.02, 0.01), (0.9, 0.2)):
            yes = rng.binomial(n_votes, p, size=replicates).astype(float)
            total, au, eu = pair_statistics(
                yes, np.full(replicates, float(n_votes)), np.full(replicates, mean)
            )
            truth = (p * (1 - p) + (p - mean) ** 2, p * (1 - p), (p - mean) ** 2)
            z = [
                (x.mean() - t) / (x.std() / np.sqrt(replicates))
                for x, t in zip((total, au, eu), truth, strict=True)
            ]
            worst, sums = (
                max(worst, float(np.abs(z).max())),
                max(sums, float(np.abs(total - au - eu).max())),
            )
        found.append(
            {
                "votes": n_votes,
                "largest z of 12": round(worst, 2),
                "largest TU − AU − EU": float(f"{sums:.1e}"),
            }
        )
    return found


def coverage(rng: np.random.Generator, replicates: int) -> list[dict]:
    """How often 95 % intervals of gap (truth 0) and ratio (truth 1) cover, over labels and for the
    sum.
    """
    found = []
    for n, n_votes, size in ((200, 2, 1), (200, 5, 1), (1000, 2, 1), (1000, 50, 1), (400, 5, 10)):
        hits: dict[str, list] = {
            "AU gap": [],
            "AU ratio": [],
            "EU gap": [],
            "TU gap": [],
            "AU ratio of the sum": [],
        }
        for _ in range(replicates):
            q = predictions(rng, n // size)
            q, groups = (
                lw.Ensemble(np.repeat(q.probs, size, axis=1)),
                np.repeat(np.arange(n // size), size),
            )
            member = np.repeat(
                rng.integers(MEMBERS, size=n // size), size
            )  # one member for the whole group
            votes = rng.multinomial(n_votes, q.probs[member, np.arange(n)])
            r = lw.calibration.vote_reliability(q, votes, groups=groups)
            for key, x, truth in (
                ("AU gap", r.aleatoric.labels.gap, 0),
                ("AU ratio", r.aleatoric.labels.ratio, 1),
                ("EU gap", r.epistemic.labels.gap, 0),
                ("TU gap", r.total.labels.gap, 0),
                ("AU ratio of the sum", r.aleatoric.summed.ratio, 1),
            ):
                hits[key].append(np.mean((x.low <= truth) & (truth <= x.high)))
        found.append(
            {
                "cases": n,
                "votes": n_votes,
                "cases per group": size,
                **{key: round(float(np.mean(x)), 3) for key, x in hits.items()},
            }
        )
    return found


def annotator_coverage(rng: np.random.Generator, replicates: int) -> list[dict]:
    """The same for observed disagreement between annotators with habits of their own: σ(logit p +
    b), b ~ N(0, 0.5²).
    """

    def chances(n: int, a: int) -> np.ndarray:
        z = rng.normal(0, 1.5, size=(n, 1)) + rng.normal(0, 0.5, size=(1, a))
        return 1 / (1 + np.exp(-z))

    big = [chances(2000, 200) for _ in range(50)]
    truth = float(
        np.mean(
            [(x.sum(1) * (1 - x).sum(1) - (x * (1 - x)).sum(1)).mean() / (200 * 199) for x in big]
        )
    )
    found = []
    for a in (3, 5, 10):
        hits: dict[str, list] = {"by case and annotator": [], "by case only": []}
        for _ in range(replicates):
            p = chances(400, a)
            labels = (rng.random(p.shape) < p).astype(int)
            q = lw.Ensemble(np.full((2, 400, 2), 0.5))
            counts = np.stack([a - labels.sum(1), labels.sum(1)], axis=1)
            names = list(map(str, range(a)))
            named = lw.calibration.vote_reliability(q, labels, annotators=names)
            for key, r in (
                ("by case and annotator", named),
                ("by case only", lw.calibration.vote_reliability(q, counts)),
            ):
                x = r.aleatoric.labels.observed
                hits[key].append(float(x.low[0] <= truth <= x.high[0]))
        found.append(
            {"annotators": a, **{key: round(float(np.mean(x)), 3) for key, x in hits.items()}}
        )
    return found


def rejections(rng: np.random.Generator, replicates: int, n_bootstrap: int) -> list[dict]:
    """How often the test rejects: the level where claims are right or were repaired on the same
    kind of case, the power elsewhere.
    """
    found = []
    for n, n_votes, scale, fitted, runs in (
        (200, 2, 1.0, None, 3 * replicates),
        (200, 5, 1.0, None, 3 * replicates),
        (1000, 2, 1.0, None, 3 * replicates),
        (1000, 50, 1.0, None, 3 * replicates),
        (1000, 2, 1.2, None, replicates),
        (1000, 2, 1.5, None, replicates),
        (1000, 50, 1.2, None, replicates),
        (300, 2, 1.0, 1.0, replicates // 2),
        (300, 5, 1.0, 1.0, replicates // 2),
        (600, 5, 1.5, 1.5, replicates // 2),
        (600, 5, 1.1, 1.0, replicates // 4),
        (600, 5, 1.25, 1.0, replicates // 4),
    ):
        shares = []
        for _ in range(runs):
            drawn = []
            for times in (scale,) if fitted is None else (scale, fitted):
                q = predictions(rng, n)
                drawn.append(
                    (
                        lw.Ensemble.from_logits(times * np.log(np.maximum(q.probs, 1e-300))),
                        voted(rng, q, n_votes),
                    )
                )
            fitted_on = None if fitted is None else drawn[1]
            shares.append(
                not lw.calibration.check_votes(
                    *drawn[0], fitted_on=fitted_on, n_bootstrap=n_bootstrap, rng=rng
                ).ok
            )
        kind = "as claimed" if fitted is None else f"repaired, fitted at × {fitted:g}"
        found.append(
            {
                "claims": kind,
                "cases": n,
                "votes": n_votes,
                "logits ×": scale,
                "rejected": round(float(np.mean(shares)), 3),
                "runs": runs,
            }
        )
        print(found[-1], flush=True)
    return found


def page(results: dict) -> str:
    """The results as Markdown."""

    def rows(found: list[dict]) -> str:
        return table(list(found[0]), [[str(x) for x in row.values()] for row in found])

    lines = [
        "# Votes, simulated: results",
        "",
        f"`{results['command']}`, {sum(results['minutes'].values()):.1f} min of one core.",
        "",
    ]
    lines += [
        "One member is drawn per case and all its votes from that member, so that claims are right.",  # noqa: E501
        "",
    ]
    lines += ["## The pair estimators are unbiased and add up", "", rows(results["unbiased"])]
    lines += ["## Coverage of the 95 % intervals", "", rows(results["coverage"])]
    lines += [
        "Observed disagreement of named annotators with habits of their own (400 cases):",
        "",
        rows(results["annotators"]),
    ]
    lines += ["## How often the test rejects at the 5 % level", "", rows(results["rejections"])]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--n-bootstrap", type=int, default=100)
    parser.add_argument(
        "--only", choices=["unbiased", "coverage", "annotators", "rejections"], action="append"
    )
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    path = options.output / "votes_simulation.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["command"] = (
        f"python lab/studies/votes_simulation.py --replicates {options.replicates} --n-bootstrap "
        f"{options.n_bootstrap}"
    )
    parts = {
        "unbiased": lambda rng: unbiased(rng, 400_000),
        "coverage": lambda rng: coverage(rng, options.replicates),
        "annotators": lambda rng: annotator_coverage(rng, options.replicates),
        "rejections": lambda rng: rejections(rng, options.replicates, options.n_bootstrap),
    }
    for name in options.only or parts:
        start = time.process_time()
        results[name] = parts[name](np.random.default_rng(0))
        results.setdefault("minutes", {})[name] = round((time.process_time() - start) / 60, 1)
        path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (options.output / "votes_simulation.md").write_text(page(results))


if __name__ == "__main__":
    main()
