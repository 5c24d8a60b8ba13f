"""Fit prediction sets: which calibration cases speak for which classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .._errors import InputError, suggest
from .._frames import same_rows
from .._tables import some
from ..events import Events, as_events
from ._input import calibration_cases, codes_of
from ._predictor import EventScores, SetPredictor
from ._quantiles import as_level, fewest_cases
from ._shapes import order_of

PER = ("class", "marginal")
Pool = tuple[str, np.ndarray]
"""Name, and which classes are inside."""


def fit_sets(
    q_cal: Any,
    y_cal: Any,
    *,
    coverage: float = 0.9,
    per: Any = "class",
    groups: Any = None,
    cover: str = "case",
    shape: Events | None = None,
) -> SetPredictor:
    r"""Fit prediction sets that contain the true class with a guaranteed probability (split
    conformal prediction).

    The score of a class is −p, minus its mean probability (LAC: Sadinle, Lei, Wasserman 2019), which
    gives the smallest sets on average. For an event E (one class, a pool of classes, or all), the
    threshold :math:`t_E` is the score of rank :math:`\lceil (n_E + 1) \cdot \text{coverage} \rceil`
    among the :math:`n_E` calibration cases whose true class lies in E. A class is in the set if its
    score is at most its event's threshold. Then, for every model, sample size and distribution,

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
    per : {"class", "marginal"} or events
        For whom it holds: each class; all cases together; or each event of a mapping such as
        ``{"rare": ["lentigo", "angioma"]}`` or of ``lw.events`` (a class in no event is an event of
        its own). Events must be fixed without looking at the calibration cases, and guarantee
        P(Y ∈ C | Y ∈ E) for the event, not for each class in it. Sets per class hold under any
        class prevalences (label shift), the others only under those of the calibration cases.
    groups : array (N,), optional
        Which cases belong together, such as the images of a patient (hierarchical conformal
        prediction).
    cover : {"case", "group"}
        With ``groups``: a random case of a new group (every group counts the same), or all cases of
        a new group at once.
    shape : Events, optional
        ``lw.events.ordinal(...)``, for ordered classes: sets without gaps.

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
    kind, pools = _pools(per, names)
    own = -p[np.arange(len(y)), y]
    events = tuple(_event_scores(pool, own, y, code, cover) for pool in pools)
    check_enough(events, level, names, groups=code is not None)
    return SetPredictor(
        events,
        names,
        float(coverage),
        kind,
        None if code is None else cover,
        order_of(shape, names),
    )


def _pools(per: Any, names: Sequence[str]) -> tuple[str, list[Pool]]:
    """For whom the guarantee holds."""
    k = len(names)
    kinds = "'class', 'marginal' or events such as {'rare': [...]}"
    if isinstance(per, str):
        if per not in PER:
            raise ValueError(f"`per` must be {kinds}; got {per!r}{suggest(per, PER)}")
        if per == "marginal":
            return per, [("all classes", np.ones(k, bool))]
        return per, list(zip(names, np.eye(k, dtype=bool), strict=True))
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
    return "events", list(zip(events, masks, strict=True))


def _event_scores(
    pool: Pool, scores: np.ndarray, y: np.ndarray, code: np.ndarray | None, cover: str
) -> EventScores:
    """The scores of the calibration cases of one event; with groups each group weighs 1 (HCP: 1/N_g
    each case), or is its largest score.
    """
    name, inside = pool
    here = inside[y]
    s, n, w, n_groups = scores[here], int(here.sum()), None, None
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
    return EventScores(name, inside, s[order], None if w is None else w[order], n, n_groups)


def check_enough(
    events: Sequence[EventScores], level: Fraction, names: Sequence[str], *, groups: bool
) -> None:
    """Refuse a level for which an event has too few calibration cases (or groups) for any finite
    threshold.
    """
    needed = fewest_cases(level)
    few = [e for e in events if (e.n_groups if groups else e.n_cases) < needed]  # type: ignore[operator]
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
    rare = [names[k] for e in few for k in np.flatnonzero(e.inside).tolist()][:3]
    raise InputError(
        f"a coverage of {float(level):g} needs {formula} of each class or event; {words[0]!r} has "
        f"{have}"
        f"{f' ({len(words)} have too few: {some(words)})' if len(words) > 1 else ''}",
        fix="pool",
        rare=rare,
    )
