"""Where does aleatoric uncertainty track people? All comparisons with votes on one data set, as
plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from labelwise import Distribution
from labelwise.calibration import check_votes, fit_vote_calibration, vote_reliability
from labelwise.calibration.votes import read_votes
from labelwise.calibration.votes_intervals import Claim
from labelwise.calibration.votes_repair import fit_maps
from labelwise.calibration.votes_scores import candidates, member_probabilities, score_claims
from labelwise.evaluation import Estimate

from ..statistics import group_codes, t_quantile
from ..text import PARTS, plain
from ..validation import as_rng, check_positive, to_numpy

_round = partial(plain, digits=5)
REFERENCE = "TU: mean, then isotonic"
"""What the other claims are compared with."""


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
    read = read_votes(q, votes, annotators=annotators, groups=groups)
    hard = bool(np.all(read.claimed[1] == 0))
    parts = PARTS[:1] if hard else PARTS
    result: dict[str, Any] = {
        "cases": len(read.n),
        "votes_per_case": [int(x) for x in np.quantile(read.n, (0, 0.5, 1), method="nearest")],
        "class_names": list(read.class_names),
        "hard": hard,
        "reliability": {
            part: _claims(getattr(reliability, part).labels, getattr(reliability, part).summed)
            for part in parts
        },
        "splits": n_splits,
    }
    halves = list(_halves(len(read.keep), groups, n_splits, rng))
    if hard:
        return result | {"total_scores": _totals(q, votes, annotators, halves)}
    bounds = vote_reliability(q, votes, "log", annotators=annotators, groups=groups)
    result["entropy"] = {
        "claimed": _round(bounds.claimed),
        "low": _round(bounds.low.low),
        "high": _round(bounds.high.high),
        "verdict": list(bounds.verdict),
    }
    fitted = fit_vote_calibration(q, votes, annotators=annotators)
    above = np.mean(to_numpy(fitted(q).aleatoric)[read.keep] > read.claimed[0], axis=0)
    result["moved"] = {
        "claimed": _round(fitted.claimed),
        "repaired": _round(fitted.repaired),
        "pooled": list(fitted.pooled),
        "repaired_above_total": _round(above),
    }
    return result | _splits(q, votes, annotators, groups, halves, n_bootstrap, rng, progress)


def _splits(
    q: Distribution,
    votes: Any,
    annotators: Sequence[str] | None,
    groups: Any,
    halves: list[tuple[np.ndarray, np.ndarray]],
    n_bootstrap: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None,
) -> dict[str, Any]:
    votes = np.asarray(votes)
    scores: dict[str, list[list[np.ndarray]]] = {}
    test: dict[str, list[Any]] = {"claimed": [], "repaired": []}
    for split, (a, b) in enumerate(halves):
        fit, held = (read_votes(q[part], votes[part], annotators=annotators) for part in (a, b))
        own = member_probabilities(q[a], fit), member_probabilities(q[b], held)
        members = None if own[0] is None or own[1] is None else (own[0], own[1])
        for name, claims in candidates(fit, held, members, split % (q.n_members or 1)).items():
            found = score_claims(claims, held)
            scores.setdefault(name, []).append(
                [found.score.value, found.calibration, found.resolution]
            )
        of = [
            None if groups is None else np.asarray(groups)[part][read.keep]
            for part, read in ((a, fit), (b, held))
        ]
        pair = (q[a][fit.keep], fit.yes, of[0])
        for name, fitted_on in (("claimed", None), ("repaired", pair)):
            check = check_votes(
                q[b][held.keep],
                held.yes,
                groups=of[1],
                fitted_on=fitted_on,
                n_bootstrap=n_bootstrap,
                rng=rng,
            )
            test[name].append((not check.ok, check.equivalent, check.within))
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
    q: Distribution,
    votes: Any,
    annotators: Sequence[str] | None,
    halves: list[tuple[np.ndarray, np.ndarray]],
) -> dict[str, Any]:
    """Mean squared error of a vote, (v − θ̄)², summed over the labels: claimed and observed, before
    and after repair of the mean, held out.
    """
    found, votes = [], np.asarray(votes)
    for a, b in halves:
        fit, held = (read_votes(q[part], votes[part], annotators=annotators) for part in (a, b))
        maps = fit_maps(fit, "isotonic")[0]
        repaired = np.stack([f(held.mean[:, k]) for k, f in enumerate(maps)], axis=-1)
        for mean in (held.mean, repaired):
            error = held.share * (1 - mean) ** 2 + (1 - held.share) * mean**2
            found.append([(mean * (1 - mean)).sum(axis=1).mean(), error.sum(axis=1).mean()])
    claimed, repaired = (np.array(found[i::2]).mean(axis=0) for i in (0, 1))
    return {"claimed": _round(claimed), "repaired": _round(repaired)}


def _halves(
    n: int, groups: Any, n_splits: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    code, n_groups = group_codes(groups, n)
    of = np.arange(n) if code is None else code
    for _ in range(n_splits):
        first = np.isin(of, rng.permutation(n_groups)[: n_groups // 2])
        yield np.flatnonzero(first), np.flatnonzero(~first)


def _claims(labels: Claim, summed: Claim | None) -> dict[str, Any]:
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
