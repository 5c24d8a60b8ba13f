"""Yes, no or unsure for each label, with control of its miss rate and its false alarms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, ClassVar

import numpy as np

from .._frames import same_rows
from .._resampling import Estimate, check_confidence, group_codes, share_estimate
from .._validation.labels import check_fitted_classes, outcomes_by_class
from ._input import class_probabilities, groups_to_evaluate
from ._label_results import LabelAnswers, LabelEvaluation
from ._quantiles import as_guarantee_level, conformal_threshold, fewest_cases
from ._storage import LABELS, Fitted


@dataclass(frozen=True, eq=False, repr=False)
class LabelThresholds(Fitted):
    """A label is present (yes) from ``upper`` on, absent (no) below ``lower``, and unsure between;
    made by `fit_labels`.
    """

    _format: ClassVar[str] = LABELS

    lower: np.ndarray
    upper: np.ndarray
    class_names: tuple[str, ...]
    miss_rate: float
    false_alarm_rate: float
    n_present: np.ndarray
    n_absent: np.ndarray
    grouped: bool = False

    @property
    def guarantee(self) -> str:
        """What is guaranteed, for whom, and on average over what."""
        what = (
            f"a present label is answered no with probability at most {self.miss_rate:g}, and an "
            f"absent one yes with at most {self.false_alarm_rate:g}"
        )
        who = "a random case of a new group" if self.grouped else "a new case"
        return (
            f"For each label, on average over calibration samples, in {who}: {what} (conformal "
            "risk control)."
        )

    def predict(self, q: Any) -> LabelAnswers:
        """Yes, no or unsure for each label of each case."""
        p, names, _ = class_probabilities(q, "q")
        check_fitted_classes(p.shape[-1], names, self.class_names)
        answer = np.full(p.shape, -1, np.int8)
        answer[p < self.lower] = 0
        answer[p >= self.upper] = 1
        return LabelAnswers(answer, self.class_names, self.guarantee)

    def evaluate(
        self, q: Any, y_true: Any, *, groups: Any = None, confidence: float = 0.95
    ) -> LabelEvaluation:
        """For each label the shares of misses, false alarms and unsure answers among labeled cases,
        with intervals.

        Parameters
        ----------
        q : distribution, Predictions or mean probabilities (N, K)
            Cases that were used neither for training nor for calibration.
        y_true : array (N, K) of 0 and 1, or (N,) of classes
        groups : array (N,), optional
            Which cases belong together; needed if the thresholds were fitted with groups, and the
            shares are then those of a random case of a random group, as guaranteed. Otherwise they
            are those of a random case.
        confidence : float
            Of the intervals: Clopper–Pearson, or t-intervals over groups on the logit scale. Where
            nothing was missed, they are exact for as many independent groups.
        """
        check_confidence(confidence)
        y_true, groups = same_rows(q, y_true=y_true, groups=groups)
        answers = self.predict(q).answer
        present = outcomes_by_class(y_true, self.class_names, answers.shape[:-1])
        answer = answers.reshape(present.shape)
        code, estimand, note = groups_to_evaluate(groups, len(present), self.grouped)

        def shares(hits: np.ndarray, among: np.ndarray) -> Estimate:
            """The share of hits among the chosen cases of each label."""
            found = []
            for of_label, here in zip(hits.T, among.T, strict=True):
                share = share_estimate(of_label[here], code[here], confidence, estimand=estimand)
                found.append((share.value, share.low, share.high))
            value, low, high = np.transpose(found)
            return Estimate(value, low, high, confidence, share.method)

        return LabelEvaluation(
            shares(answer == 0, present),
            shares(answer == 1, ~present),
            shares(answer == -1, np.ones_like(present)).value,
            present.sum(axis=0),
            (~present).sum(axis=0),
            self.class_names,
            self.guarantee + note,
        )

    def _title(self) -> str:
        return f"Yes, no or unsure. {self.guarantee}"

    def _columns(self) -> dict[str, Any]:
        return {
            "label": self.class_names,
            "n_present": self.n_present,
            "n_absent": self.n_absent,
            "no_below": self.lower,
            "yes_from": self.upper,
        }


def fit_labels(
    q_cal: Any,
    y_cal: Any,
    *,
    miss_rate: float = 0.1,
    false_alarm_rate: float = 0.1,
    groups: Any = None,
) -> LabelThresholds:
    r"""Thresholds that answer yes, no or unsure for each label and bound its miss rate and its
    false alarms.

    .. math:: P(\text{no} \mid \text{present}) \le \text{miss rate}, \qquad
              P(\text{yes} \mid \text{absent}) \le \text{false alarm rate}

    On average over calibration samples (conformal risk control: Angelopoulos et al. 2024).

    Parameters
    ----------
    q_cal : distribution, Predictions or mean probabilities (N, K)
        Calibration cases; a `MultiLabelEnsemble` where labels may occur together, else the one true
        class of a case is its only label.
    y_cal : array (N, K) of 0 and 1, or (N,) of classes
    miss_rate, false_alarm_rate : float
    groups : array (N,), optional
        Which cases belong together; then the rates are those of a random case of a new group.

    Returns
    -------
    LabelThresholds

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((500, 2))
    >>> y = rng.random((500, 2)) < p
    >>> labels = fit_labels(lw.MultiLabelEnsemble(p[None], class_names=["edema", "mass"]), y)
    >>> labels.lower.round(2), labels.upper.round(2)
    (array([0.37, 0.32]), array([0.69, 0.72]))
    >>> print(labels.guarantee.partition(":")[0])
    For each label, on average over calibration samples, in a new case
    """
    miss, alarm = (
        as_guarantee_level(miss_rate, "miss_rate"),
        as_guarantee_level(false_alarm_rate, "false_alarm_rate"),
    )
    p, found, _ = class_probabilities(q_cal, "q_cal")
    names = found or tuple(map(str, range(p.shape[-1])))
    y_cal, groups = same_rows(q_cal, y_cal=y_cal, groups=groups)
    present = outcomes_by_class(y_cal, names, p.shape[:-1])
    p, k = p.reshape(present.shape), len(names)
    code, _ = group_codes(groups, len(p))
    lower, upper = np.empty(k), np.empty(k)
    unit = "cases" if groups is None else "groups"
    for j, name in enumerate(names):
        here, scores = present[:, j], p[:, j]
        whom = f"{unit} with the label {name!r}"
        lower[j] = -_label_threshold(-scores[here], 1 - miss, code[here], "miss_rate", whom)
        whom = f"{unit} without the label {name!r}"
        above = _label_threshold(scores[~here], 1 - alarm, code[~here], "false_alarm_rate", whom)
        upper[j] = np.nextafter(above, inf)
    both = lower > upper  # no doubt is left: any cut between them keeps both rates
    lower[both] = upper[both] = (lower[both] + upper[both]) / 2
    counts = present.sum(axis=0)
    return LabelThresholds(
        lower,
        upper,
        names,
        float(miss_rate),
        float(false_alarm_rate),
        counts,
        len(p) - counts,
        groups is not None,
    )


def _label_threshold(
    scores: np.ndarray, level: Fraction, code: np.ndarray, option: str, whom: str
) -> float:
    """The threshold that a share ``level`` of new scores does not exceed, on average."""
    threshold, n = conformal_threshold(scores, level, code)
    needed = fewest_cases(level)
    if n < needed:
        raise ValueError(
            f"`{option}` {float(1 - level):g} needs at least {needed} calibration {whom}; got {n}. "
            "Collect more, or allow a higher rate"
        )
    return threshold
