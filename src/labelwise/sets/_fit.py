"""Fit prediction sets: which calibration cases speak for which classes, and with which weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .._errors import InputError
from .._frames import same_rows
from .._suggestions import check_choice, suggest
from .._tables import some
from .._validation import as_rng
from ..events import Events, as_events
from ._input import calibration_cases, codes_of
from ._predictor import EventScores, SetPredictor, check_seed
from ._quantiles import as_level, fewest_cases
from ._scores import SCORES, class_scores
from ._shapes import as_shape
from .clusters import Clusters
from .shift import shift_weights

PER = ("class", "marginal")
Pool = tuple[str, np.ndarray, np.ndarray]
"""Name, classes inside, classes that use its threshold."""


def fit_sets(
    q_cal: Any,
    y_cal: Any,
    *,
    coverage: float = 0.9,
    per: Any = "class",
    score: str = "lac",
    groups: Any = None,
    cover: str = "case",
    prevalence: Any = None,
    source_prevalence: Any = None,
    shape: Events | None = None,
    max_nodes: int = 1,
    smoothed: bool = False,
    rng: Any = None,
) -> SetPredictor:
    r"""Fit prediction sets that contain the true class with a guaranteed probability (split
    conformal prediction).

    For an event E (one class, a pool of classes, or all), the threshold :math:`t_E` is the score of
    rank :math:`\lceil (n_E + 1) \cdot \text{coverage} \rceil` among the :math:`n_E` calibration
    cases whose true class lies in E. A class is in the set if its score is at most its event's
    threshold. Then, for every model, sample size and distribution,

    .. math:: P(Y \in C(X) \mid Y \in E) \ge \text{coverage}

    for calibration and new cases from the same population (exchangeable), on average over both.
    Given the calibration cases, the coverage varies: it follows a Beta(r, n_E + 1 − r) law, r the
    rank, if scores are continuous.

    Parameters
    ----------
    q_cal : distribution, Predictions or mean probabilities (N, K)
        Calibration cases, used neither for training nor for choosing the model. Sets depend on the
        mean only.
    y_cal : array (N,)
        True classes, names or positions.
    coverage : float
        Between 0 and 1.
    per : {"class", "marginal"}, events or Clusters
        For whom it holds: each class; all cases together; each event of a mapping such as
        ``{"rare": ["lentigo", "angioma"]}`` or of ``lw.events`` (a class in no event is an event of
        its own); or clusters of `cluster_classes`. Events must be fixed without looking at the
        calibration cases, and guarantee P(Y ∈ C | Y ∈ E) for the event, not for each class in it.
    score : {"lac", "aps"}
        ``"lac"`` (least ambiguous): the probability of the class; smallest sets on average.
        ``"aps"`` (adaptive): the probability of all classes at least as probable; larger sets for
        hard cases, smaller ones for easy cases.
    groups : array (N,), optional
        Which cases belong together, such as the images of a patient (hierarchical conformal
        prediction).
    cover : {"case", "group"}
        With ``groups``: a random case of a new group (every group counts the same), or all cases of
        a new group at once.
    prevalence : mapping, array (K,) or Prevalence, optional
        Class prevalences of the new cases if they differ (label shift). Only for
        ``per="marginal"``: sets per class hold under any prevalences. An estimate
        (`estimate_prevalence`) gives an approximate guarantee.
    source_prevalence : mapping or array (K,), optional
        Class prevalences of the population of the calibration cases, where known; defaults to their
        frequencies (approximate).
    shape : Events, optional
        ``lw.events.ordinal(...)``: sets without gaps; ``lw.events.tree(...)``: the classes of at
        most ``max_nodes`` nodes.
    max_nodes : int
        With a tree.
    smoothed : bool
        Randomize ties (and APS) so that the coverage is exactly the level, not just at least
        (except for events that share classes, which get the largest threshold); needs ``rng`` here
        and in `predict`.
    rng : int or Generator
        Random seed, for ``smoothed`` APS.

    Returns
    -------
    SetPredictor

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([0.5, 0.5, 0.5], 600)
    >>> y = (p.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)
    >>> sets = fit_sets(p[:300], y[:300], coverage=0.9)
    >>> sets.thresholds.round(3)
    array([-0.2  , -0.225, -0.184])
    >>> print(sets.guarantee)
    With probability at least 90 %, the set of a new case of each class contains its true class, on average over new cases and calibration cases from the same population.
    >>> sets.predict(p[300:303])[0]
    ('1', '2')
    """  # noqa: E501
    level = as_level(coverage)
    check_choice(score, "score", SCORES)
    y_cal, groups = same_rows(q_cal, y_cal=y_cal, groups=groups)
    p, y, names = calibration_cases(q_cal, y_cal)
    code = codes_of(groups, len(y))
    if cover not in ("case", "group"):
        raise ValueError(
            "`cover` must be 'case' (a random case of a new group) or 'group' (all cases of a new "
            f"group); got {cover!r}"
        )
    if cover == "group" and code is None:
        raise ValueError("`cover` 'group' needs `groups`: the group of each calibration case")
    if smoothed and (code is not None or prevalence is not None):
        raise ValueError(
            "`smoothed` sets are exact for exchangeable cases with equal weights: not with "
            "`groups` or `prevalence`"
        )
    kind, pools = _pools(per, names)
    if prevalence is not None and kind != "marginal":
        raise ValueError(
            "`prevalence` is for per='marginal'. Sets per class are valid under any prevalences "
            "already; those of a pool are if the mix within it stays"
        )
    if prevalence is not None and code is not None:
        raise ValueError(
            "`prevalence` cannot be combined with `groups`; sets per class (per='class') with "
            "`groups` hold under any prevalences"
        )
    if source_prevalence is not None and prevalence is None:
        raise ValueError(
            "`source_prevalence` is of use only with `prevalence`, that of the new cases"
        )
    uniform = None
    if smoothed:
        check_seed(rng)
        # A stream of its own: `predict` with the same seed must not draw the same numbers.
        uniform = as_rng(rng).spawn(1)[0].random(len(y))
    own = class_scores(score, p, uniform)[np.arange(len(y)), y]
    weights = new_weight = how = None
    if prevalence is not None:
        per_class, how = shift_weights(prevalence, source_prevalence, y, names)
        weights, new_weight = per_class[y], per_class
    events = tuple(_event_scores(pool, own, y, code, cover, weights) for pool in pools)
    check_enough(events, level, names, groups=code is not None)
    made = as_shape(shape, max_nodes, names)
    return SetPredictor(
        events,
        names,
        float(coverage),
        score,
        kind,
        smoothed,
        None if code is None else cover,
        new_weight,
        how,
        made,
    )


def _pools(per: Any, names: Sequence[str]) -> tuple[str, list[Pool]]:
    """For whom the guarantee holds."""
    k = len(names)
    if isinstance(per, Clusters):
        return "clusters", per.pools(names)
    kinds = (
        "'class', 'marginal', events such as {'rare': [...]} or clusters of lw.sets.cluster_classes"
    )
    if isinstance(per, str):
        if per not in PER:
            raise ValueError(f"`per` must be {kinds}; got {per!r}{suggest(per, PER)}")
        if per == "marginal":
            return per, [("all classes", np.ones(k, bool), np.ones(k, bool))]
        single = np.eye(k, dtype=bool)
        return per, list(zip(names, single, single, strict=True))
    if not isinstance(per, Events | Mapping):
        raise TypeError(f"`per` must be {kinds}; got {per!r}")
    family = as_events(per)
    assert family is not None  # noqa: S101 - as_events returns None for None only
    if family.given is not None:
        raise ValueError(
            "`per`: conditional events (A given B) are no groups of cases; use unconditional ones"
        )
    masks = [np.isin(np.arange(k), inside) for inside, _ in family.resolve(k, names)]
    alone = np.flatnonzero(~np.any(masks, axis=0)).tolist()
    masks += list(np.eye(k, dtype=bool)[alone])
    events = [*family.names, *(names[i] for i in alone)]
    return "events", list(zip(events, masks, masks, strict=True))


def _event_scores(
    pool: Pool,
    scores: np.ndarray,
    y: np.ndarray,
    code: np.ndarray | None,
    cover: str,
    weights: np.ndarray | None,
) -> EventScores:
    """The scores of the calibration cases of one event; with groups each group weighs 1 (HCP: 1/N_g
    each case), or is its largest score.
    """
    name, inside, used_by = pool
    here = inside[y]
    s, n, n_groups = scores[here], int(here.sum()), None
    w = None if weights is None else weights[here]
    if code is not None:
        found, group, count = np.unique(code[here], return_inverse=True, return_counts=True)
        n_groups = len(found)
        if cover == "group":
            largest = np.full(n_groups, -np.inf)
            np.maximum.at(largest, group, s)
            s = largest
        else:
            w = 1.0 / count[group]
    order = np.argsort(s, kind="stable")
    return EventScores(
        name, inside, used_by, s[order], None if w is None else w[order], n, n_groups
    )


def check_enough(
    events: Sequence[EventScores], level: Fraction, names: Sequence[str], *, groups: bool
) -> None:
    """Refuse a level for which an event has too few calibration cases (or groups) for any finite
    threshold.
    """
    needed = fewest_cases(level)
    few = [e for e in events if e.used_by.any() and (e.n_groups if groups else e.n_cases) < needed]  # type: ignore[operator]
    if not few:
        return
    what = "group" if groups else "calibration case"
    have = few[0].n_groups if groups else few[0].n_cases
    formula = f"at least ⌈1/(1 − {float(level):g})⌉ − 1 = {needed} {what}s"
    if len(events) == 1:
        raise InputError(
            f"a coverage of {float(level):g} needs {formula}; got {have}", fix="more_cases"
        )
    words = [e.name for e in few]
    rare = [names[k] for e in few for k in np.flatnonzero(e.used_by).tolist()][:3]
    raise InputError(
        f"a coverage of {float(level):g} needs {formula} of each class or event; {words[0]!r} has "
        f"{have}"
        f"{f' ({len(words)} have too few: {some(words)})' if len(words) > 1 else ''}",
        fix="pool",
        rare=rare,
    )
