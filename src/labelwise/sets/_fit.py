"""Fit prediction sets: which calibration cases speak for which classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from .._errors import InputError, did_you_mean
from .._frames import same_rows
from .._resampling import group_codes
from .._validation.labels import as_labels
from ..events import Events, as_events
from ._input import one_class_each
from ._predictor import EventThreshold, SetPredictor
from ._quantiles import as_guarantee_level, conformal_threshold, fewest_cases

GUARANTEES = ("class", "marginal")


def fit_sets(
    q_cal: Any,
    y_cal: Any,
    *,
    coverage: float = 0.9,
    guarantee: Any = "class",
    groups: Any = None,
) -> SetPredictor:
    r"""Fit prediction sets that contain the true class with a guaranteed probability (split
    conformal prediction).

    The score of a class is −p, minus its mean probability (LAC: Sadinle, Lei, Wasserman 2019),
    which gives the smallest sets on average. For an event E (one class, a pool of classes, or all),
    the threshold :math:`t_E` is the score of rank :math:`\lceil (n_E + 1) \cdot \text{coverage}
    \rceil` among the :math:`n_E` calibration cases whose true class lies in E. A class is in the
    set if its score is at most its event's threshold. Then, for every model, sample size and
    distribution,

    .. math:: P(Y \in C(X) \mid Y \in E) \ge \text{coverage}

    for calibration and new cases from the same population (exchangeable), on average over both.
    Given the calibration cases, the coverage varies: it follows a Beta(r, n_E + 1 − r) law, r the
    rank, if scores are continuous.

    Parameters
    ----------
    q_cal : distribution, Predictions or mean probabilities (N, K)
        Calibration cases, used neither for training nor for choosing the model. Sets depend on the
        mean only. Memory: the mean, O(N K); the members are read in blocks.
    y_cal : array (N,)
        True classes, names or positions.
    coverage : float
        Between 0 and 1.
    guarantee : {"class", "marginal"} or events
        For whom it holds: each class; all cases together; or each event of a mapping such as
        ``{"rare": ["lentigo", "angioma"]}`` or of ``lw.events`` (a class in no event is an event of
        its own). Events must be fixed without looking at the calibration cases, and guarantee
        P(Y ∈ C | Y ∈ E) for the event, not for each class in it. Sets per class hold under any
        class prevalences (label shift), the others only under those of the calibration cases.
    groups : array (N,), optional
        Which cases belong together, such as the images of a patient (hierarchical conformal
        prediction). The guarantee is then about a random case of a new group; every group counts
        the same.

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
    >>> print(sets.guarantee.partition(", on average")[0])
    With probability at least 90 %, the set of a new case of each class contains its true class
    >>> sets.predict(p[300:303])[0]
    ('1', '2')
    """
    level = as_guarantee_level(coverage)
    y_cal, groups = same_rows(q_cal, y_cal=y_cal, groups=groups)
    p, found = one_class_each(q_cal, "q_cal")
    names = found or tuple(map(str, range(p.shape[-1])))
    y = as_labels(y_cal, "y_cal", names, p.shape[:-1])
    if not len(y):
        raise ValueError("`y_cal` must have at least one case; got none")
    p = p.reshape(len(y), -1)
    code, _ = group_codes(groups, len(y))
    kind, pools = _events_with_guarantee(guarantee, names)
    own = -p[np.arange(len(y)), y]
    fitted = []
    for name, classes in pools:
        here = np.isin(y, classes)
        threshold, n_groups = conformal_threshold(own[here], level, code[here])
        of_groups = None if groups is None else n_groups
        fitted.append(EventThreshold(name, classes, threshold, int(here.sum()), of_groups))
    _check_enough_calibration_cases(fitted, level, names)
    thresholds = np.full(len(names), -inf)
    for event in fitted:
        inside = list(event.classes)
        thresholds[inside] = np.maximum(thresholds[inside], event.threshold)
    return SetPredictor(
        thresholds=thresholds,
        events=tuple(fitted),
        class_names=names,
        coverage=float(coverage),
        kind=kind,
        grouped=groups is not None,
    )


def _events_with_guarantee(
    guarantee: Any, names: Sequence[str]
) -> tuple[str, list[tuple[str, tuple[int, ...]]]]:
    """For whom the guarantee holds: names and classes of the events."""
    k = len(names)
    alone: list[tuple[str, tuple[int, ...]]] = [(name, (i,)) for i, name in enumerate(names)]
    if guarantee == "marginal":
        return guarantee, [("all classes", tuple(range(k)))]
    if guarantee == "class":
        return guarantee, alone
    if not isinstance(guarantee, Events | Mapping):
        raise ValueError(
            "`guarantee` must be 'class', 'marginal' or events such as {'rare': [...]}; got "
            f"{guarantee!r}{did_you_mean(guarantee, GUARANTEES)}"
        )
    family: Any = as_events(guarantee)
    if family.given is not None:
        raise ValueError(
            "`guarantee`: conditional events (A given B) are no groups of cases; use unconditional "
            "ones"
        )
    pools = []
    for name, (inside, _) in zip(family.names, family.resolve(k, names), strict=True):
        pools.append((name, tuple(sorted(inside))))
    in_an_event = {i for _, inside in pools for i in inside}
    pools += [pool for i, pool in enumerate(alone) if i not in in_an_event]
    return "events", pools


def _check_enough_calibration_cases(
    events: Sequence[EventThreshold], level: Fraction, names: Sequence[str]
) -> None:
    """Refuse a level for which an event has too few calibration cases (or groups) for any finite
    threshold.
    """
    needed = fewest_cases(level)
    for event in events:
        n, units = event.n_cases, "calibration cases"
        if event.n_groups is not None:
            n, units = event.n_groups, "groups"
        if n >= needed:
            continue
        sentence = (
            f"a coverage of {float(level):g} needs at least ⌈1/(1 − {float(level):g})⌉ − 1 = "
            f"{needed} {units}"
        )
        if len(events) == 1:
            raise InputError(f"{sentence}; got {n}", fix="more_cases")
        sentence += f" of each class or event; {event.name!r} has {n}"
        raise InputError(sentence, fix="pool", rare=[names[k] for k in event.classes[:3]])
