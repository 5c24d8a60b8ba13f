"""Calibrate all members alike or each separately? Both are judged on held-out data by their mean
and by what EU detects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from labelwise import Ensemble, MultiLabelEnsemble, decompose
from labelwise.calibration import fit_calibration
from labelwise.evaluation import brier_score, detection_scores, log_loss
from labelwise.typing import Calibration, Estimate

from ..statistics import group_codes
from ..validation import as_rng, to_numpy

Members = Ensemble | MultiLabelEnsemble
METHODS = ("temperature", "isotonic")


@dataclass(frozen=True, eq=False)
class SeparateCalibration:
    """A calibration of each member by itself."""

    members: tuple[Calibration, ...]

    def __call__(self, q: Members) -> Members:
        """The recalibrated ensemble."""
        probs = [f(q_one).probs[0] for f, q_one in zip(self.members, _one_by_one(q), strict=True)]
        kind: Any = type(q)
        options = {"weights": q.weights, "class_names": q.class_names}
        return cast("Members", kind(np.stack(probs), **options))


def fit_separately(q: Members, y_true: Any, *, method: Any) -> SeparateCalibration:
    """Calibrate each member by itself."""
    fits = [fit_calibration(one, y_true, method=method) for one in _one_by_one(q)]
    return SeparateCalibration(tuple(fits))


def _one_by_one(q: Members) -> list[Members]:
    """Ensembles of one member each."""
    kind: Any = type(q)
    return [kind(to_numpy(p)[None], class_names=q.class_names) for p in q.probs]


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Of one way to calibrate, on held-out data."""

    log_loss: Estimate
    """Of the mean prediction, in bits."""
    brier: Estimate
    epistemic: float
    """Mean epistemic uncertainty under log loss, summed over the labels. Less of it is no success
    by itself.
    """
    auroc: Estimate | None
    """How well epistemic uncertainty detects wrong predictions; ``None`` if none or all are
    wrong.
    """


@dataclass(frozen=True, eq=False)
class MemberCalibration:
    """A comparison of shared and separate calibration, returned by `calibrate_members`. Call it to
    apply the better one.
    """

    scores: dict[str, HeldOutScores]
    """``"raw"``, ``"shared"`` and ``"per member"``."""
    best: str
    """The one whose mean prediction has the lowest held-out log loss."""
    calibration: Calibration | SeparateCalibration | None
    """The best one, fitted to all cases; ``None`` for ``"raw"``."""

    def __call__(self, q: Members) -> Members:
        """The ensemble, calibrated in the best way."""
        return q if self.calibration is None else self.calibration(q)

    def __str__(self) -> str:
        lines = [f"{'held out':12}{'log loss':>10}{'Brier':>10}{'mean EU':>10}{'AUROC of EU':>13}"]
        for name, x in self.scores.items():
            auroc = "–" if x.auroc is None else f"{float(x.auroc):.3f}"
            lines.append(
                f"{name:12}{float(x.log_loss):10.4f}{float(x.brier):10.4f}{x.epistemic:10.4f}{auroc:>13}{' *' if name == self.best else ''}"  # noqa: E501
            )
        return "\n".join(lines)


def calibrate_members(
    q: Members,
    y_true: Any,
    *,
    method: Any = "temperature",
    test_size: float = 0.5,
    groups: Any = None,
    rng: int | np.random.Generator | None = None,
) -> MemberCalibration:
    """Calibrate each member, all alike, or none: whichever has the best mean on held-out data.

    Members that are miscalibrated in different ways disagree for that reason alone, which looks
    like epistemic uncertainty. Separate calibration removes this, but leaves the mean
    underconfident where the members disagree for good reasons. So the three are compared on cases
    that were not fitted: by log loss and Brier score of the mean, and by how well EU detects
    errors.

    Parameters
    ----------
    q, method
        As for `labelwise.calibration.fit_calibration`.
    y_true : array (N,), or (N, K) of 0 and 1
        Positions of the true classes, or 0/1 for each label.
    test_size : float
        Share of the cases, or groups, that are held out for the comparison. The result is fitted to
        all.
    groups : array (N,), optional
        Group of each case (patient): none is split, and intervals are over them.
    rng
        Random seed or generator of the split.

    Returns
    -------
    MemberCalibration

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = 2 * rng.normal(size=(600, 3))
    >>> y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    >>> q = lw.Ensemble.from_logits(np.stack([0.3 * z, z, 4 * z]))  # one member too cautious, one right, one overconfident
    >>> print(calibrate_members(q, y, rng=0))
    held out      log loss     Brier   mean EU  AUROC of EU
    raw             0.8771    0.3442    0.3119        0.375
    shared          0.8601    0.3416    0.3004        0.487
    per member      0.8562    0.3418    0.0000        0.312 *
    """  # noqa: E501
    if not 0 < test_size < 1:
        raise ValueError(f"`test_size` must lie between 0 and 1, such as 0.5; got {test_size!r}")
    rng = as_rng(rng)
    y = np.asarray(y_true)
    code, n_groups = group_codes(groups, len(y))
    if n_groups < 2 or q.batch_shape != (len(y),):
        raise ValueError(
            f"`y_true` must have one entry for each of at least 2 cases or groups; got {len(y)} "
            f"for cases of shape {q.batch_shape} in {n_groups} groups"
        )
    held = min(max(round(test_size * n_groups), 1), n_groups - 1)
    chosen = np.isin(code, rng.permutation(n_groups)[:held])
    of_held = None if groups is None else np.asarray(groups)[chosen]
    fits: dict[str, Any] = {"shared": fit_calibration, "per member": fit_separately}
    fitted = {name: fit(q[~chosen], y[~chosen], method=method) for name, fit in fits.items()}
    scores = {"raw": _scores(q[chosen], y[chosen], of_held)}
    scores |= {name: _scores(f(q[chosen]), y[chosen], of_held) for name, f in fitted.items()}
    best = min(scores, key=lambda name: float(scores[name].log_loss))
    calibration = None
    if best != "raw":
        calibration = fits[best](q, y, method=method)
    return MemberCalibration(scores, best, calibration)


def _scores(q: Members, y: np.ndarray, groups: Any) -> HeldOutScores:
    mean = to_numpy(q.mean())
    eu = to_numpy(decompose(q).sum().epistemic).astype(float)
    wrong = mean.argmax(axis=-1) != y if q.exclusive else ((mean > 0.5) != y).any(axis=-1)
    auroc = None
    if 0 < wrong.sum() < len(wrong):
        auroc = detection_scores(eu[~wrong], eu[wrong]).auroc
    losses = log_loss(q, y, groups=groups), brier_score(q, y, groups=groups)
    return HeldOutScores(*losses, float(eu.mean()), auroc)
