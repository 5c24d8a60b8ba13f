"""Where does aleatoric uncertainty track people? All comparisons with votes on one data set, as
plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from labelwise import Distribution, Ensemble, decompose
from labelwise.calibration import check_votes, fit_vote_calibration, score_votes, vote_reliability
from labelwise.typing import Estimate, Uncertainty, VoteCalibration

from ..statistics import group_codes, t_quantile
from ..text import PARTS, plain
from ..validation import as_rng, check_positive, to_numpy

_round = partial(plain, digits=5)
REFERENCE = "TU: mean, then isotonic"
"""What the other claims are compared with."""
TOLERANCE = 0.2
"""Relative error of a label's mean claim up to which it counts as equivalent to the votes."""


def benchmark_votes(
    q: Distribution,
    votes: Any,
    *,
    annotators: Sequence[str] | None = None,
    groups: Any = None,
    n_splits: int = 20,
    n_bootstrap: int = 100,
    rng: int | np.random.Generator | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Reliability, repair, held-out scores and test of the claims of ``q`` against votes.

    The cases (or groups) are split into halves ``n_splits`` times; claims are repaired on one half
    and judged on the other. Members that only predict classes claim no aleatoric uncertainty: for
    these only the total is compared.

    Parameters
    ----------
    q, votes, annotators, groups
        As for `vote_reliability`.
    n_splits : int
        Number of random splits.
    n_bootstrap : int
        Replicates of each test.
    rng
        Random seed or generator.
    progress : function, optional
        Called with the number of splits done and of all splits.

    Returns
    -------
    dict
        Plain numbers and lists, ready for JSON.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet([2, 2, 2], size=(3, 200))
    >>> votes = rng.multinomial(5, probs[rng.integers(3, size=200), np.arange(200)])
    >>> found = benchmark_votes(lw.Ensemble(probs), votes, n_splits=2, n_bootstrap=20, rng=0)
    >>> sorted(found)
    ['cases', 'class_names', 'entropy', 'hard', 'moved', 'reliability', 'scores', 'splits', 'test', 'votes_per_case']
    """  # noqa: E501
    check_positive(n_splits, "n_splits")
    rng = as_rng(rng)
    reliability = vote_reliability(q, votes, annotators=annotators, groups=groups)
    counts = _vote_counts(q, votes, annotators)
    keep = counts.sum(axis=1) >= 2
    claimed = decompose(q, "squared")
    hard = bool(np.all(to_numpy(claimed.aleatoric)[keep] == 0))
    parts = PARTS[:1] if hard else PARTS
    per_case = np.quantile(counts[keep].sum(axis=1), (0, 0.5, 1), method="nearest")
    result: dict[str, Any] = {
        "cases": int(keep.sum()),
        "votes_per_case": [int(x) for x in per_case],
        "class_names": list(reliability.class_names),
        "hard": hard,
        "reliability": {
            part: _claims(getattr(reliability, part).labels, getattr(reliability, part).summed)
            for part in parts
        },
        "splits": n_splits,
    }
    halves = [(a[keep[a]], b[keep[b]]) for a, b in _halves(len(counts), groups, n_splits, rng)]
    if hard:
        return result | {"total_scores": _totals(q, counts, halves)}
    claims = to_numpy(decompose(q[keep], "log").aleatoric).astype(float).mean(axis=0)
    result["entropy"] = _entropy(claims, reliability.aleatoric.labels.observed)
    fitted = fit_vote_calibration(q, votes, annotators=annotators)
    above = to_numpy(fitted(q).aleatoric)[keep] > to_numpy(claimed.total)[keep]
    result["moved"] = {
        "claimed": _round(fitted.claimed),
        "repaired": _round(fitted.repaired),
        "pooled": list(fitted.pooled),
        "repaired_above_total": _round(above.mean(axis=0)),
    }
    return result | _splits(q, counts, groups, halves, n_bootstrap, rng, progress)


def entropy_bounds(a: Any) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on E h(p), h the binary entropy in bits, given a = E p(1 − p): 4a from below, and from
    above (4a)^(1/ln 4) (Topsøe 2001, and Jensen's inequality).

    >>> [float(x.round(3)) for x in entropy_bounds(0.09)]  # h(0.1) is 0.469
    [0.36, 0.479]
    """
    x = np.clip(4 * np.asarray(a, float), 0, 1)
    return x, x ** (1 / np.log(4))


def _entropy(claimed: np.ndarray, observed: Estimate) -> dict[str, Any]:
    """Mean claims under log loss, and what the votes allow by their confidence bounds."""
    low, high = entropy_bounds(observed.low)[0], entropy_bounds(observed.high)[1]
    verdict = np.where(claimed < low, "too low", np.where(claimed > high, "too high", "possible"))
    return {
        "claimed": _round(claimed),
        "low": _round(low),
        "high": _round(high),
        "verdict": verdict.tolist(),
    }


def _vote_counts(q: Distribution, votes: Any, annotators: Sequence[str] | None) -> np.ndarray:
    """Number of votes for each class, (N, K); the input has been validated."""
    counts: np.ndarray = np.asarray(votes)
    if annotators is None:
        return counts
    return np.stack([(counts == k).sum(axis=1) for k in range(q.n_classes)], axis=-1)


def _splits(
    q: Distribution,
    votes: np.ndarray,
    groups: Any,
    halves: list[tuple[np.ndarray, np.ndarray]],
    n_bootstrap: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None,
) -> dict[str, Any]:
    scores: dict[str, list[list[np.ndarray]]] = {}
    test: dict[str, list[Any]] = {"claimed": [], "repaired": []}
    for split, (a, b) in enumerate(halves):
        one = split % (q.n_members or 1)
        for name, claims in candidates(q[a], votes[a], q[b], one).items():
            found = score_votes(claims, q[b], votes[b])
            scores.setdefault(name, []).append(
                [found.score.value, found.calibration, found.resolution]
            )
        of_a, of_b = (None if groups is None else np.asarray(groups)[part] for part in (a, b))
        for name, fitted_on in (("claimed", None), ("repaired", (q[a], votes[a], of_a))):
            check = check_votes(
                q[b],
                votes[b],
                groups=of_b,
                fitted_on=fitted_on,
                n_bootstrap=n_bootstrap,
                rng=rng,
            )
            test[name].append((not check.ok, check.within <= TOLERANCE, check.within))
        if progress is not None:
            progress(split + 1, len(halves))
    summary = {
        name: {
            "rejected": float(np.mean([x[0] for x in each])),
            "equivalent": float(np.mean([x[1] for x in each])),
            "within": float(np.median([x[2] for x in each])),
        }
        for name, each in test.items()
    }
    return {"scores": _summarized(scores), "test": summary}


def candidates(
    q: Distribution, votes: np.ndarray, new: Distribution, one: int = 0
) -> dict[str, np.ndarray]:
    """Claims (N, K) about the cases of ``new``, repaired on those of ``q``: those of the repair,
    and others under isotonic repair.

    ``one`` is the member that stands for a single network.
    """
    repair = fit_vote_calibration(q, votes)
    (repaired, raw), (new_repaired, new_raw) = (
        (_parts(repair(x)), _parts(decompose(x, "squared"))) for x in (q, new)
    )
    found = {
        "AU as claimed": new_raw["aleatoric"],
        "AU: mean, then share": new_repaired["aleatoric"],
    }
    features = {
        "AU: mean, then share, then isotonic": (repaired["aleatoric"], new_repaired["aleatoric"])
    }
    members = _member_variances(repair, q, new)
    if members is not None:
        each, new_each = members["repaired"]
        features["AU: mean of each member, then isotonic"] = (
            each.mean(axis=0),
            new_each.mean(axis=0),
        )
    features["TU: mean, then isotonic"] = repaired["total"], new_repaired["total"]
    for name, part in (("AU", "aleatoric"), ("TU", "total"), ("EU", "epistemic")):
        features[f"{name}: isotonic"] = raw[part], new_raw[part]
    if members is not None:
        each, new_each = members["raw"]
        features["one network's p(1 − p): isotonic"] = each[one], new_each[one]
    n = votes.sum(axis=1, keepdims=True)
    seen = votes * (n - votes) / (n * (n - 1))  # the disagreement of pairs of votes
    for name, (x, new_x) in features.items():
        found[name] = _isotonic(repair, x, seen, new_x)
    found["constant per label"] = np.broadcast_to(seen.mean(axis=0), new_raw["total"].shape)
    return found


def _parts(u: Uncertainty) -> dict[str, np.ndarray]:
    return {part: to_numpy(getattr(u, part)).astype(float) for part in PARTS}


def _member_variances(
    repair: VoteCalibration, q: Distribution, new: Distribution
) -> dict[str, list[np.ndarray]] | None:
    """p(1 − p) of each member on both sets, (M, N, K), with the mean repaired or not; ``None``
    without members, or if they have weights.
    """
    found: dict[str, list[np.ndarray]] = {"raw": [], "repaired": []}
    for x in (q, new):
        if not isinstance(x, Ensemble) or x.weights is not None:
            return None
        p = np.clip(to_numpy(x.probs).astype(float), 0, 1)
        mapped = np.stack([f(p[..., k]) for k, f in enumerate(repair.mean_maps)], axis=-1)
        found["raw"].append(p * (1 - p))
        found["repaired"].append(mapped * (1 - mapped))
    return found


def _isotonic(
    repair: VoteCalibration, x: np.ndarray, seen: np.ndarray, new: np.ndarray
) -> np.ndarray:
    """Isotonic regression of what was seen on ``x``, of each label, at ``new``; labels that the
    repair pools are pooled here too.
    """
    pooled = _nondecreasing(x.ravel(), seen.ravel()) if repair.pooled else None
    columns = []
    for k, name in enumerate(repair.class_names):
        if pooled is not None and name in repair.pooled:
            knots, values = pooled
        else:
            knots, values = _nondecreasing(x[:, k], seen[:, k])
        columns.append(np.interp(new[:, k], knots, values))
    return np.stack(columns, axis=-1)


def _nondecreasing(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nondecreasing function of ``x`` with the least squared error, by its knots; equal ``x``
    have equal values.
    """
    from scipy.optimize import isotonic_regression

    knots, which = np.unique(x, return_inverse=True)
    size = np.bincount(which)
    return knots, isotonic_regression(np.bincount(which, y) / size, weights=size).x


def _summarized(scores: dict[str, list[list[np.ndarray]]]) -> dict[str, Any]:
    """Means over the splits, for each label and summed; differences from the reference with
    intervals over the splits.
    """
    found: dict[str, Any] = {}
    reference = np.array([x[0] for x in scores[REFERENCE]])  # (splits, E)
    for name, each in scores.items():
        values = np.array(each)  # (splits, 3, E)
        total = values.sum(axis=-1)
        found[name] = {
            "score": _round(total[:, 0].mean()),
            "calibration": _round(total[:, 1].mean()),
            "resolution": _round(total[:, 2].mean()),
            "difference": _interval(total[:, 0] - reference.sum(axis=-1)),
            "labels": _round(values[:, 0].mean(axis=0)),
            "label_differences": [_interval(x) for x in (values[:, 0] - reference).T],
        }
    return found


def _interval(x: np.ndarray) -> list[float]:
    """Mean and 95 % t-interval over random halves, which share cases: the variance is that of one
    split times 1/n + 1 (Nadeau & Bengio 2003).
    """
    n = len(x)
    half = (
        float(t_quantile(n - 1, 0.95) * x.std(ddof=1) * np.sqrt(1 / n + 1))
        if n > 1
        else float("nan")
    )
    return [_round(x.mean()), _round(x.mean() - half), _round(x.mean() + half)]


def _totals(
    q: Distribution, votes: np.ndarray, halves: list[tuple[np.ndarray, np.ndarray]]
) -> dict[str, Any]:
    """Mean squared error of a vote, (v − θ̄)², summed over the labels: claimed and observed, before
    and after repair of the mean, held out.
    """
    found: dict[str, list[list[float]]] = {"claimed": [], "repaired": []}
    for a, b in halves:
        maps = fit_vote_calibration(q[a], votes[a]).mean_maps
        share = votes[b] / votes[b].sum(axis=1, keepdims=True)
        mean = np.clip(to_numpy(q[b].mean()).astype(float), 0, 1)
        repaired = np.stack([f(mean[:, k]) for k, f in enumerate(maps)], axis=-1)
        for name, m in (("claimed", mean), ("repaired", repaired)):
            error = share * (1 - m) ** 2 + (1 - share) * m**2
            found[name].append([(m * (1 - m)).sum(axis=1).mean(), error.sum(axis=1).mean()])
    return {name: _round(np.array(each).mean(axis=0)) for name, each in found.items()}


def _halves(
    n: int, groups: Any, n_splits: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    code, n_groups = group_codes(groups, n)
    of = np.arange(n) if code is None else code
    for _ in range(n_splits):
        first = np.isin(of, rng.permutation(n_groups)[: n_groups // 2])
        yield np.flatnonzero(first), np.flatnonzero(~first)


def _claims(labels: Any, summed: Any) -> dict[str, Any]:
    def triple(x: Estimate) -> list[Any]:
        return [_round(x.value), _round(x.low), _round(x.high)]

    both = {"labels": labels} | ({} if summed is None else {"sum": summed})
    return {
        name: {
            "claimed": _round(x.claimed),
            "observed": triple(x.observed),
            "gap": triple(x.gap),
            "ratio": triple(x.ratio),
        }
        for name, x in both.items()
    }
