"""How often intervals contain the truth, and how often guarantees and tests fail, by simulation.

    python lab/studies/coverage.py            (--only NAME to repeat one simulation)

Writes coverage.json and coverage.md beside this file, and the same table into
docs/lab/coverage.md.
Cases of a group share a normal effect, of which ρ is the share of the variance.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr, softmax

import labelwise as lw
from labelwise.calibration import (
    calibration_errors,
    check_calibration,
    reliability_curves,
    vote_reliability,
)
from labelwise.decisions import Costs, choose_threshold, decide
from labelwise.evaluation import (
    brier_score,
    by_class,
    clustered_mean,
    compare_detection,
    detection_scores,
    rank_agreement,
    rejection_curve,
    uncertainty_intervals,
)
from labelwise.sets import fit_labels, fit_sets
from labelwise_lab import pages
from labelwise_lab.paper.human import over_classes
from labelwise_lab.paper.intervals import simultaneous, welch
from labelwise_lab.statistics import mean_over_runs, t_quantile

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/lab/coverage.md"
START, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
Row = tuple[str, str, str, float | None, Callable[[np.random.Generator], bool], int]
"""Method, cases, groups, nominal level (None: there is none), one simulation, number of
simulations.
"""


def grouped(
    rng: np.random.Generator, n_groups: int, size: int, rho: float
) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal values of cases, correlated by ``rho`` within groups, and the groups."""
    groups = np.repeat(np.arange(n_groups), size)
    return rho**0.5 * rng.normal(size=n_groups)[groups] + (1 - rho) ** 0.5 * rng.normal(
        size=len(groups)
    ), groups


def covers(estimate: Any, truth: float) -> bool:
    return bool(estimate.low <= truth <= estimate.high)


def auroc() -> Iterator[Row]:
    shift, truth = 1.2, float(ndtr(1.2 / 2**0.5))

    def independent(rng: np.random.Generator, n: int) -> bool:
        return covers(detection_scores(rng.normal(size=n), rng.normal(shift, 1, n)).auroc, truth)

    def clustered(rng: np.random.Generator, g: int) -> bool:
        (a, groups), (b, _) = grouped(rng, g, 10, 0.5), grouped(rng, g, 10, 0.5)
        found = detection_scores(a, b + shift, groups_in=groups, groups_out=groups + g)
        return covers(found.auroc, truth)

    for n in (20, 100, 1000):
        yield "AUROC, DeLong", f"{n} + {n}", "–", 0.95, lambda rng, n=n: independent(rng, n), 2000
    for g in (5, 8, 20, 40):
        yield (
            "AUROC, clustered DeLong",
            f"{10 * g} + {10 * g}",
            f"{g} + {g}",
            0.95,
            lambda rng, g=g: clustered(rng, g),
            1500,
        )

    def paired(rng: np.random.Generator, n: int) -> bool:
        """Two scores of the same instances: the second is the first and noise of the same
        variance.
        """
        a, b = (
            np.stack([x, x + rng.normal(size=n)])
            for x in (rng.normal(size=n), rng.normal(shift, 1, n))
        )
        return covers(compare_detection(a[0], b[0], a[1], b[1]), truth - float(ndtr(shift / 2)))

    for n in (20, 100, 1000):
        yield (
            "difference of two AUROCs, paired DeLong",
            f"{n} + {n}",
            "–",
            0.95,
            lambda rng, n=n: paired(rng, n),
            2000,
        )


def means() -> Iterator[Row]:
    def accuracy(rng: np.random.Generator, g: int, estimand: str) -> bool:
        """Large groups are wrong less often: two cases with accuracy .6, or eight with .9."""
        large = rng.random(g) < 0.5
        groups = np.repeat(np.arange(g), np.where(large, 8, 2))
        level = np.where(large, 1.2815515655446004, 0.2533471031357997)[groups]
        right = (
            0.7**0.5 * rng.normal(size=g)[groups] + 0.3**0.5 * rng.normal(size=len(groups)) < level
        )
        truth = {"case": (0.6 * 2 + 0.9 * 8) / 10, "group": 0.75}[estimand]
        return covers(clustered_mean(right, groups, estimand=estimand, bounds=(0, 1)), truth)

    def brier(rng: np.random.Generator, g: int) -> bool:
        """Forecast .7 of an outcome that happens with probability .7, the same within groups to
        some degree: 2 · .7 · .3.
        """
        x, groups = grouped(rng, g, 10, 0.4)
        happened = (ndtr(x) < 0.7).astype(int)
        return covers(
            brier_score(np.tile([0.3, 0.7], (len(x), 1)), happened, groups=groups),
            0.42,
        )

    for estimand in ("case", "group"):
        for g in (8, 10, 40):
            yield (
                f"accuracy of a random {estimand}, t",
                f"{5 * g}",
                str(g),
                0.95,
                lambda r, g=g, e=estimand: accuracy(r, g, e),
                2000,
            )
    for g in (8, 20, 40, 100):
        yield (
            "Brier score, t",
            f"{10 * g}",
            str(g),
            0.95,
            lambda rng, g=g: brier(rng, g),
            1000,
        )


def shares() -> Iterator[Row]:
    """Shares over groups of 20 cases, whose own shares follow a beta distribution: ρ is the
    correlation of two cases of a group.
    """

    def groups_of(n_groups: int, size: int = 20) -> np.ndarray:
        return np.repeat(np.arange(n_groups), size)

    def drawn(rng: np.random.Generator, groups: np.ndarray, share: float, rho: float) -> np.ndarray:
        """Whether each case is a hit."""
        own = np.full(groups[-1] + 1, share)
        if rho > 0:
            own = rng.beta(share * (1 / rho - 1), (1 - share) * (1 / rho - 1), len(own))
        return rng.random(len(groups)) < own[groups]

    # Sets that are always {class 0}: cases of class 0 are covered, those of class 1 are missed.
    sets = fit_sets(
        np.tile([0.9, 0.1], (100, 1)),
        np.zeros(100, int),
        guarantee="marginal",
        groups=np.arange(100),
    )

    def covered(rng: np.random.Generator, groups: np.ndarray, share: float, rho: float) -> bool:
        missed = ~drawn(rng, groups, share, rho)
        row = sets.evaluate(
            np.tile([0.9, 0.1], (len(groups), 1)), missed.astype(int), groups=groups
        )["all classes"]
        return bool(row.low <= share <= row.high)

    for share in (0.9, 0.95, 0.99):
        for rho in (0.0, 0.1, 0.3):
            for g in (10, 20, 30, 100):
                setting = (groups_of(g), share, rho)
                yield (
                    f"sets over groups, share {share:g}, ρ = {rho:g}",
                    f"{20 * g}",
                    str(g),
                    0.95,
                    lambda r, a=setting: covered(r, *a),
                    1000,
                )
    for rho in (0.1, 0.3):
        setting = (groups_of(10, 5), 0.995, rho)
        yield (
            f"sets over groups, share 0.995 (mostly nothing missed), ρ = {rho:g}",
            "50",
            "10",
            0.95,
            lambda r, a=setting: covered(r, *a),
            1000,
        )

    # Thresholds at which a label of probability ½ is never missed; a present label of probability
    # .1 is.
    p = np.repeat([0.5, 0.1], 100)
    labels = fit_labels(
        lw.MultiLabelEnsemble(np.stack([p, p], -1)[None]),
        np.stack([p, p], -1) == 0.5,
        groups=np.arange(200),
    )

    def not_missed(rng: np.random.Generator, groups: np.ndarray, share: float, rho: float) -> bool:
        hits = drawn(rng, groups, share, rho)
        q = lw.MultiLabelEnsemble(np.where(hits, 0.5, 0.1)[None, :, None].repeat(2, axis=-1))
        missed = labels.evaluate(q, np.ones((len(groups), 2), bool), groups=groups).missed
        return bool(missed.low[0] <= 1 - share <= missed.high[0])

    def in_a_bin(rng: np.random.Generator, groups: np.ndarray, share: float, rho: float) -> bool:
        curve = reliability_curves(
            np.tile([0.1, 0.9], (len(groups), 1)),
            drawn(rng, groups, share, rho).astype(int),
            groups=groups,
        )["1"]
        return bool(curve.low[0] <= share <= curve.high[0])

    for name, one in (
        ("labels over groups, misses of 5 %", not_missed),
        ("frequency in a bin over groups, .95", in_a_bin),
    ):
        for rho in (0.1, 0.3):
            for g in (10, 30):
                setting = (groups_of(g), 0.95, rho)
                yield (
                    f"{name}, ρ = {rho:g}",
                    f"{20 * g}",
                    str(g),
                    0.95,
                    lambda r, f=one, a=setting: f(r, *a),
                    2000,
                )

    def kept(rng: np.random.Generator, n: int, size: int) -> bool:
        """Accuracy of the 4 % most certain. Of the 5 % most certain a share .98 is right, of the
        others .7.
        """
        score = rng.random(n)
        correct = rng.random(n) < np.where(score < 0.05, 0.98, 0.7)
        groups = None if size == 1 else np.arange(n) // size
        band = rejection_curve(
            score, correct=correct, grid=[0.0, 0.96], groups=groups, n_bootstrap=100, rng=rng
        ).band
        return band is not None and bool(band.low[1] <= 0.98 <= band.high[1])

    for n in (200, 1000):
        yield (
            "accuracy of the 4 % most certain, band",
            str(n),
            "–",
            0.95,
            lambda rng, n=n: kept(rng, n, 1),
            600,
        )


def votes() -> Iterator[Row]:
    """Right claims about a rare label: one member is drawn per case (or group), and its votes from
    that member.
    """

    def draw(
        rng: np.random.Generator, n: int, size: int, share: float, spread: float
    ) -> lw.Ensemble:
        base = np.clip(rng.beta(share * spread, (1 - share) * spread, n // size), 1e-9, 1 - 1e-9)
        theta = np.repeat(expit(logit(base) + 0.7 * rng.normal(size=(5, n // size))), size, axis=1)
        return lw.Ensemble(np.stack([theta, 1 - theta], axis=-1))

    def covered(
        rng: np.random.Generator,
        n: int,
        size: int,
        n_votes: int,
        share: float,
        spread: float,
        part: str,
        number: str,
        truth: float,
    ) -> bool:
        q, groups = draw(rng, n, size, share, spread), np.arange(n) // size
        member = rng.integers(5, size=n // size)[groups]
        yes = rng.binomial(n_votes, q.probs[member, np.arange(n), 0])
        found = vote_reliability(
            q,
            np.stack([yes, n_votes - yes], axis=1),
            groups=groups,
        )
        estimate = getattr(getattr(found, part).labels, number)
        return bool(estimate.low[0] <= truth <= estimate.high[0])

    for share, spread, words in (
        (0.01, 20.0, "1 % in every case"),
        (0.01, 1.0, "1 %, in few cases"),
        (0.05, 2.0, "5 %"),
    ):
        everything = lw.decompose(
            draw(np.random.default_rng(9), 1_000_000, 1, share, spread), "squared"
        )
        for n, size, n_votes in ((100, 1, 2), (400, 1, 5), (400, 10, 5)):
            for part, number in (
                ("aleatoric", "observed"),
                ("aleatoric", "gap"),
                ("total", "observed"),
                ("epistemic", "observed"),
            ):
                truth = (
                    float(getattr(everything, part)[:, 0].mean()) if number == "observed" else 0.0
                )
                setting = (n, size, n_votes, share, spread, part, number, truth)
                alike = ", alike in a group" if size > 1 else ""
                name = f"votes, {n_votes} each, label of {words}{alike}: {part}, {number}"
                yield (
                    name,
                    str(n),
                    str(n // size) if size > 1 else "–",
                    0.95,
                    lambda r, a=setting: covered(r, *a),
                    600,
                )


def savings() -> Iterator[Row]:
    """Mean saving of `decide` over the most probable class, with calibrated probabilities."""
    settings = {
        "5 % cost 20": ([7.6, 0.4], [[0, 1], [20, 0]]),
        "1 % cost 100": ([2.97, 0.03], [[0, 1], [100, 0]]),
        "three classes, 5 % cost 20": ([3, 0.7, 0.2], [[0, 1, 1], [1, 0, 1], [20, 20, 0]]),
        "all costs similar": ([1, 1, 1], [[0, 1, 2], [1, 0, 3], [2, 1, 0]]),
    }

    def saving(
        rng: np.random.Generator, n: int, alpha: list[float], costs: Costs
    ) -> tuple[float, float, float]:
        theta = rng.dirichlet(alpha, n)
        y = np.minimum((theta.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), len(alpha) - 1)
        found = decide(lw.Ensemble(theta[None]), costs, task="multiclass").summary(y).saving
        return float(found.value), float(found.low), float(found.high)

    for name, (alpha, matrix) in settings.items():
        costs = Costs(matrix)
        truth = saving(np.random.default_rng(9), 1_000_000, alpha, costs)[0]

        def one(
            rng: np.random.Generator,
            n: int,
            alpha: list[float] = alpha,
            costs: Costs = costs,
            truth: float = truth,
        ) -> bool:
            _, low, high = saving(rng, n, alpha, costs)
            return low <= truth <= high

        for n in (20, 50, 200, 1000):
            yield (
                f"saving per case, {name}",
                str(n),
                "–",
                0.95,
                lambda rng, n=n, one=one: one(rng, n),
                1000,
            )


def families() -> Iterator[Row]:
    def family(rng: np.random.Generator, method: str) -> bool:
        """Means of twelve correlated measures on 60 cases."""
        x = 0.5**0.5 * rng.normal(size=(60, 1)) + 0.5**0.5 * rng.normal(size=(60, 12))
        family = {"Bonferroni": 12, "ordinary": 1}[method]
        half = t_quantile(59, 1 - 0.05 / family) * x.std(0, ddof=1) / 60**0.5
        return bool(np.all(np.abs(x.mean(0)) <= half))

    for method, name in (
        ("ordinary", "all of 12 ordinary intervals"),
        ("Bonferroni", "all of 12, Bonferroni"),
    ):
        yield name, "60", "–", 0.95, lambda rng, m=method: family(rng, m), 2000

    def correlation(rng: np.random.Generator, n: int, rho: float) -> bool:
        x = rng.normal(size=n)
        y = rho * x + (1 - rho**2) ** 0.5 * rng.normal(size=n)
        return covers(
            rank_agreement(x, y, n_bootstrap=100, rng=rng), 6 / np.pi * np.arcsin(rho / 2)
        )

    def fisher(rng: np.random.Generator, n: int, rho: float) -> bool:
        x = rng.normal(size=n)
        y = rho * x + (1 - rho**2) ** 0.5 * rng.normal(size=n)
        found = over_classes(float(rank_agreement(x, y)), n)
        return bool(found["low"] <= 6 / np.pi * np.arcsin(rho / 2) <= found["high"])

    for rho in (0.0, 0.9):
        yield (
            f"Spearman {rho:g} of class means, bootstrap",
            "10",
            "–",
            0.95,
            lambda rng, rho=rho: correlation(rng, 10, rho),
            200,
        )
    for rho in (0.0, 0.9):
        yield (
            f"Spearman {rho:g} of class means, Fisher",
            "10",
            "–",
            0.95,
            lambda rng, rho=rho: fisher(rng, 10, rho),
            2000,
        )


def classes() -> Iterator[Row]:
    def draw(
        rng: np.random.Generator, sizes: Sequence[int]
    ) -> tuple[lw.typing.Uncertainty, np.ndarray]:
        """Predictions of five members for so many cases of three classes; the members differ most
        about the third.
        """
        y = np.repeat([0, 1, 2], sizes)
        logits = (
            2 * np.eye(3)[y]
            + rng.normal(size=(5, len(y), 3)) * np.array([0.5, 0.5, 1.0])[y][:, None]
        )
        return lw.decompose(lw.Ensemble.from_logits(logits)), y

    u, y = draw(np.random.default_rng(9), [50_000] * 3)
    truth = np.array([u.epistemic[y == k, k].mean() for k in range(3)])

    def one(rng: np.random.Generator, rare: int) -> bool:
        found = by_class(*draw(rng, [60, 40, rare]), intervals=True)
        assert found.own is not None
        return bool(found.own.epistemic.low[2] <= truth[2] <= found.own.epistemic.high[2])

    for rare in (2, 3, 5, 10):
        name = f"by_class, mean EU of the rare class, {rare} cases of the rare"
        yield name, str(100 + rare), "–", 0.95, lambda rng, rare=rare: one(rng, rare), 1000


def runs() -> Iterator[Row]:
    """Intervals over training runs, as in docs/lab/claims.md."""

    def together(rng: np.random.Generator) -> bool:
        """Means over five runs of nine independent differences."""
        found = [
            simultaneous({"mean": 0.0, "runs": x}, 9) for x in rng.normal(size=(9, 5)).tolist()
        ]
        return all(x["low"] <= 0 <= x["high"] for x in found)

    def printed(rng: np.random.Generator, n: int, ratio: float) -> bool:
        """``n`` runs against a mean and deviation of five, rounded to three digits; ours vary
        ``ratio`` times as much.
        """
        theirs = rng.normal(0.9, 0.004, 5)
        rounded = float(theirs.mean().round(3)), float(theirs.std().round(3))
        found = welch(rng.normal(0.9, 0.004 * ratio, n).tolist(), rounded, rounding=0.001**2 / 12)
        return bool(found["low"] <= 0 <= found["high"])

    def log_ratio(rng: np.random.Generator) -> bool:
        """Logarithms of ratios of two areas, of which one is sometimes small: t with five degrees
        of freedom, and a skewed part.
        """
        x = 0.3 * rng.standard_t(5, 100) + 0.3 * (rng.exponential(size=100) - 1)
        return covers(mean_over_runs(x), 0.0)

    yield "t over 5 runs, all of 9 with Bonferroni", "5", "–", 0.95, together, 2000
    for n, ratio, words in ((5, 1.0, ""), (5, 3.0, ", ours vary 3 times as much"), (1, 1.0, "")):
        name = f"Welch, {n} run{'s' * (n > 1)} against printed mean and deviation of 5{words}"
        yield name, f"{n} + 5", "–", 0.95, lambda rng, a=(n, ratio): printed(rng, *a), 4000
    yield "t of the mean of log ratios over runs", "100", "–", 0.95, log_ratio, 4000


def thresholds() -> Iterator[Row]:
    def chosen(
        rng: np.random.Generator, g: int, size: int, rho: float, scores: float, with_groups: bool
    ) -> tuple[bool, bool]:
        """Whether there is a threshold, and whether it violates the target.

        The probability of a mistake is .2 u² at the score u, whose distribution is uniform; u ≤ λ
        has the error .2 λ² / 3.
        """
        (x, groups), (s, _) = grouped(rng, g, size, rho), grouped(rng, g, size, scores)
        u = ndtr(s)
        found = choose_threshold(
            u,
            ndtr(x) >= 0.2 * u**2,
            target=0.05,
            confidence=0.95,
            groups=groups if with_groups else None,
        )
        return bool(found.found), bool(found.found and 0.2 * min(found.value, 1) ** 2 / 3 > 0.05)

    cases = [
        (300, 1, 0.0, 0.0, "independent"),
        (400, 20, 0.5, 0.0, "ρ = .5"),
        (400, 20, 0.8, 0.8, "ρ = .8, scores too"),
    ]
    for g, size, rho, scores, words in cases:
        for with_groups in (False,) if size == 1 else (False, True):
            name = f"choose_threshold{' with groups' if with_groups else ''}, {words}"
            setting, n, in_groups = (
                (g, size, rho, scores, with_groups),
                str(g * size),
                str(g) if size > 1 else "–",
            )
            yield (
                f"{name}: violated",
                n,
                in_groups,
                0.05,
                lambda r, a=setting: chosen(r, *a)[1],
                400,
            )
            yield f"{name}: found", n, in_groups, None, lambda r, a=setting: chosen(r, *a)[0], 100

    def at_target(rng: np.random.Generator) -> bool:
        """Groups all right or all wrong, with an error just above the target at every score."""
        groups = np.repeat(np.arange(200), 10)
        bad = rng.random(200) < 0.0501
        return choose_threshold(
            rng.random(2000), ~bad[groups], target=0.05, confidence=0.95, groups=groups
        ).found  # type: ignore[union-attr]

    yield (
        "choose_threshold with groups, ρ = 1, error just above the target: violated",
        "2000",
        "200",
        0.05,
        at_target,
        600,
    )


def calibration() -> Iterator[Row]:
    def draw(
        rng: np.random.Generator, n: int, size: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Calibrated forecasts; all cases of a group have the same forecast, and outcomes that come
        from the same draw half of the time.
        """
        g = n // size
        p = rng.dirichlet([1, 1, 1], g)
        groups = np.repeat(np.arange(g), size)
        own, shared = rng.random(n), rng.random(g)[groups]
        u = np.where(rng.random(n) < 0.5, shared, own) if size > 1 else own
        y = (u[:, None] >= np.cumsum(p, axis=1)[groups][:, :2]).sum(axis=1)
        return p[groups], y, groups if size > 1 else None

    def alarm(
        rng: np.random.Generator, n: int, size: int, tolerance: float, with_groups: bool = True
    ) -> bool:
        p, y, groups = draw(rng, n, size)
        return not check_calibration(
            p,
            y,
            groups=groups if with_groups else None,
            n_bootstrap=100,
            rng=rng,
            tolerance=tolerance,
        ).ok

    def ece(rng: np.random.Generator) -> bool:
        p, y, _ = draw(rng, 500, 1)
        found = calibration_errors(p, y, n_bootstrap=100, rng=rng).ece
        return found is not None and covers(found, 0.0)

    for n, size, tolerance, runs in (
        (200, 1, 0.05, 200),
        (500, 1, 0.0, 1000),
        (400, 10, 0.0, 1500),
        (100, 10, 0.0, 1500),
    ):
        words = "" if tolerance else ", no tolerance"
        groups = str(n // size) if size > 1 else "–"
        yield (
            f"check_calibration{words}: false alarm",
            str(n),
            groups,
            0.05,
            lambda r, a=(n, size, tolerance): alarm(r, *a),
            runs,
        )
    name = "check_calibration, no tolerance, groups not given: false alarm"
    yield name, "400", "(40)", 0.05, lambda rng: alarm(rng, 400, 10, 0.0, False), 200
    yield "ECE of calibrated forecasts, bootstrap", "500", "–", 0.95, ece, 200


def members() -> Iterator[Row]:
    base = np.random.default_rng(7).normal(size=(20, 3))

    def ensemble(rng: np.random.Generator, m: int, failed: float) -> lw.Ensemble:
        noise = np.where(rng.random((m, 1, 1)) < failed, 4.0, 0.7) * rng.normal(size=(m, 20, 3))
        return lw.Ensemble(softmax(base + noise, axis=-1))

    for m, failed in ((5, 0.0), (10, 0.0), (5, 0.1), (10, 0.1)):
        rng = np.random.default_rng(8)
        truth = float(
            np.mean(
                [lw.decompose(ensemble(rng, m, failed)).epistemic[:, 0].mean() for _ in range(1000)]
            )
        )

        def one(
            rng: np.random.Generator, m: int = m, failed: float = failed, truth: float = truth
        ) -> bool:
            found = uncertainty_intervals(ensemble(rng, m, failed)).epistemic
            return bool(found.low[0] <= truth <= found.high[0])

        words = ", 10 % of members failed" if failed else ""
        yield (
            f"uncertainty_intervals over {m} members{words}",
            "20",
            "–",
            0.95,
            one,
            200 if failed else 1000,
        )


STUDIES = {
    f.__name__: f
    for f in (
        auroc,
        means,
        shares,
        votes,
        savings,
        families,
        classes,
        runs,
        thresholds,
        calibration,
        members,
    )
}


def simulate(name: str) -> list[dict[str, Any]]:
    rows = []
    for i, (method, n, groups, nominal, one, runs) in enumerate(STUDIES[name]()):
        rng = np.random.default_rng([*name.encode(), i])
        observed = float(np.mean([one(rng) for _ in range(runs)]))
        rows.append(
            {
                "method": method,
                "n": n,
                "groups": groups,
                "nominal": nominal,
                "observed": round(observed, 4),
                "runs": runs,
            }
        )
        print(f"{method:75} {n:>11} {groups:>9} {observed:.3f}", flush=True)
    return rows


def table(results: dict[str, Any]) -> str:
    """All simulations as Markdown; levels of guarantees and tests are upper limits."""
    rows = []
    for study in results["studies"].values():
        for r in study:
            level = "–"
            if r["nominal"] is not None:
                level = f"{'≤ ' * (r['nominal'] < 0.5)}{r['nominal']:g}"
            about = [r["method"], str(r["n"]), str(r["groups"])]
            rows.append([*about, level, f"{r['observed']:.3f}", str(r["runs"])])
    columns = ["method", "n", "groups", "nominal", "observed", "simulations"]
    return pages.table(columns, rows)


def insert(page: str, results: dict[str, Any]) -> str:
    """The page with the table between its marks."""
    return pages.between(page, START, END, f"\n\n{table(results)}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=STUDIES, help="repeat one simulation and keep the others")
    options = parser.parse_args()
    path = HERE / "coverage.json"
    results: dict[str, Any] = (
        json.loads(path.read_text()) if options.only else {"minutes": {}, "studies": {}}
    )
    results["command"] = "python lab/studies/coverage.py"
    for name in [options.only] if options.only else STUDIES:
        start = time.process_time()
        results["studies"][name] = simulate(name)
        results["minutes"][name] = round((time.process_time() - start) / 60, 1)
    path.write_text(json.dumps(results, indent=1) + "\n")
    minutes = sum(results["minutes"].values())
    (HERE / "coverage.md").write_text(
        f"# Coverage: results\n\n`{results['command']}`, {minutes:.0f} min of one "
        f"core.\n\n{table(results)}"
    )
    PAGE.write_text(insert(PAGE.read_text(), results))


if __name__ == "__main__":
    main()
