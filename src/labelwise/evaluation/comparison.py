"""Which measure of uncertainty serves best: all of them on the same cases, and which differences
are more than chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._engine.blocks import row_blocks
from .._errors import InputError, listed
from .._frames import Library, frame, same_rows
from .._resampling import Estimate, check_confidence, group_codes, t_interval
from .._tables import Tabular
from .._validation.arguments import Rng, as_rng, check_choice
from .._validation.labels import as_scores, same_length
from ..distributions import Distribution, Intervals
from ._forecasts import accuracy_and_confidence, forecasts
from .correlation import rank_correlation
from .detection import DetectionRanking
from .measures import measure_scores
from .ranking import RankedScores
from .votes import check_one_axis_of_cases, read_votes

BLOCKS = 50  # of the jackknife: enough for errors to 10 %, few enough to take seconds
DRAWS = 4000  # of the largest standardized error
More = Mapping[str, Callable[[Distribution], Any]]


Statistic = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""What a measure is worth, at most 1; higher is better. Of the scores (n,) of cases that are there
so many times, (replicates, n).
"""


@dataclass(frozen=True, eq=False)
class Criterion:
    """What all measures are worth in one respect; higher is better."""

    value: Estimate
    """Of each measure, (M,). All intervals hold at once with this confidence."""
    difference: Estimate
    """Row minus column, (M, M). All intervals hold at once with this confidence."""

    @property
    def real(self) -> np.ndarray:
        """Whether a difference is more than chance, (M, M)."""
        return (self.difference.low > 0) | (self.difference.high < 0)

    @property
    def beaten_by(self) -> np.ndarray:
        """How many measures are really better than each, (M,)."""
        return np.sum(self.difference.high < 0, axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class MeasureComparison(Tabular):
    """All measures on the same cases."""

    measures: tuple[str, ...]
    criteria: dict[str, Criterion]
    """``"rejection"``: area under the curve of the accuracy (for labels that may occur together
    the share of labels that are right) when the most uncertain are rejected. ``"detection"``, or
    the names given in ``ood``: AUROC. ``"votes"``: rank correlation with the share of pairs of
    people who disagree.
    """
    n: int
    _longest: ClassVar[int] = 100

    def _title(self) -> str:
        return f"{len(self.measures)} measures of uncertainty on {self.n:,} cases"

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"measure": self.measures}
        for name, criterion in self.criteria.items():
            columns |= criterion.value.columns(name)
            columns[f"{name}_beaten_by"] = criterion.beaten_by
        return columns

    def differences(self, criterion: str = "rejection", *, library: Library = "pandas") -> Any:
        """A row for each two measures, as a data frame of pandas or polars: the first minus the
        second, its interval, and whether it is ``real``, more than chance.
        """
        check_choice(criterion, "criterion", tuple(self.criteria))
        found = self.criteria[criterion]
        first, second = np.triu_indices(len(self.measures), 1)
        names = np.asarray(self.measures)
        columns = {"first": names[first], "second": names[second]}
        for name, table in {**found.difference.columns("difference"), "real": found.real}.items():
            columns[name] = table[first, second]
        return frame(columns, library)


def compare_measures(
    q: Distribution,
    y_true: Any,
    *,
    ood: Distribution | Mapping[str, Distribution] | None = None,
    votes: Any = None,
    measures: More | None = None,
    groups: Any = None,
    confidence: float = 0.95,
    rng: Rng = 0,
) -> MeasureComparison:
    r"""All measures of uncertainty of the same cases: how well each tells where the prediction is
    wrong, what is out of distribution, and where people disagree.

    Standard errors are from a jackknife that leaves out one of 50 random blocks of cases at a time.
    The intervals are simultaneous (Hothorn, Bretz and Westfall 2008): standard errors times the
    quantile of the largest of all errors, which are multivariate t with the correlation of the
    jackknife. With probability ``confidence`` all measures (or all differences between two) lie in
    their intervals, so that the best of many is not found by looking at many. Measures on the same
    cases err alike: a difference can be real although the intervals of both measures overlap.

    Parameters
    ----------
    q : distribution
    y_true : array (N,) or bool array (N, K)
        True classes, or for each label whether it happened.
    ood : distribution, or mapping from names to distributions, optional
        Predictions for out-of-distribution cases.
    votes : array, optional
        People's votes, as for `calibration.vote_reliability`.
    measures : mapping from names to functions, optional
        More measures: each takes a distribution to an array (N,).
    groups : array (N,), optional
        Group of each case (patient); blocks consist of whole groups.
    confidence, rng
        Of each criterion. ``rng`` is the random seed or generator of blocks and draws.

    Examples
    --------
    >>> fashion = lw.demo.load_fashion_ensemble()
    >>> table = compare_measures(fashion.ensemble, fashion.y_true, ood=fashion.ood["kmnist"])
    >>> frame = table.to_frame().set_index("measure")
    >>> frame.loc["total, log", ["rejection", "detection"]].tolist()
    [0.9916..., 0.912...]
    >>> frame.loc["epistemic, log", ["rejection", "detection"]].tolist()
    [0.9902..., 0.942...]
    """
    check_one_axis_of_cases(q)
    if isinstance(q, Intervals):
        raise InputError("`q` must be a distribution: intervals have only lw.decompose(q)")
    if isinstance(ood, Distribution):
        ood = {"detection": ood}
    outside = dict(ood or {})
    _check_ood_predictions(q, outside)
    check_confidence(confidence)
    y_true, groups = same_rows(q, y_true=y_true, groups=groups)
    mean, happened, _, exclusive = forecasts(q, y_true)
    n = len(mean)
    right, _ = accuracy_and_confidence(mean, happened, exclusive)
    rng = as_rng(rng)
    more = measures or {}
    scores = _scores(q, more)
    group, n_groups = group_codes(groups, n)
    block = _blocks(group, rng)
    found = {"rejection": compare(rejection(right), scores, block, n_groups, confidence, rng)}
    for name, other in outside.items():
        outer = _scores(other, more)
        both = {key: np.append(score, outer[key]) for key, score in scores.items()}
        n_out = other.batch_shape[0]
        # In as many blocks as the smaller side has, which limits the degrees of freedom.
        independent = min(n_groups, n_out)
        sides = (group, np.arange(n_out))
        blocks = np.concatenate([_blocks(side, rng, independent) for side in sides])
        is_out = np.arange(len(blocks)) >= n
        found[name] = compare(detection(is_out), both, blocks, independent, confidence, rng)
    if votes is not None:
        read = read_votes(q, votes, groups=group)
        disagreement = read.observed[1].sum(axis=1)
        voted = {key: score[read.keep] for key, score in scores.items()}
        block = _blocks(read.code, rng)
        of_votes = agreement(disagreement)
        found["votes"] = compare(of_votes, voted, block, read.n_groups, confidence, rng, -1.0)
    return MeasureComparison(tuple(scores), found, n)


def rejection(right: np.ndarray) -> Statistic:
    """Area under the curve of what is right when the most uncertain are rejected."""

    def area(score: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Mean over j of the mean of the j most certain. Within a tie of ``size`` cases the
        expected sum grows linearly, so that its terms have a closed form.
        """
        ranked = RankedScores(score)
        n, sums = ranked.sums(counts), ranked.sums(counts * right)
        harmonic = np.cumsum(np.append(0.0, 1 / np.arange(1, n.max() + 1)))  # 1 + 1/2 + … + 1/j
        size, gain = np.diff(n, prepend=0), np.diff(sums, prepend=0)
        at_start = sums - gain - (n - size) * gain / np.maximum(size, 1)
        terms = gain + at_start * (harmonic[n] - harmonic[n - size])
        return terms.sum(axis=-1) / n[..., -1]

    return area


def detection(is_out: np.ndarray) -> Statistic:
    """AUROC."""

    def auroc(score: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return DetectionRanking(score, is_out).numbers(counts)[:, 0]

    return auroc


def agreement(disagreement: np.ndarray) -> Statistic:
    """Rank correlation with people's disagreement."""
    ranked = RankedScores(disagreement)

    def correlation(score: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return rank_correlation(RankedScores(score), ranked, counts)

    return correlation


def _check_ood_predictions(q: Distribution, outside: Mapping[str, Distribution]) -> None:
    """Refuse what cannot be compared, and names that are taken."""
    for name, other in outside.items():
        check_one_axis_of_cases(other, "ood")
        if type(other) is not type(q) or other.n_classes != q.n_classes:
            raise InputError(
                f"`ood` must be predictions of the same model, {type(q).__name__} of "
                f"{q.n_classes} classes; {name!r} is {type(other).__name__} of {other.n_classes}"
            )
        if q.class_names and other.class_names and q.class_names != other.class_names:
            raise InputError(
                f"`ood` must have the classes of `q`, in this order: {listed(q.class_names)}; "
                f"{name!r} has {listed(other.class_names)}"
            )
        if name in ("rejection", "votes"):
            raise InputError(f"`ood` needs another name than {name!r}, which is a criterion")


def _scores(q: Distribution, more: More) -> dict[str, np.ndarray]:
    scores = measure_scores(q)
    for name, measure in more.items():
        if name in scores:
            raise InputError(f"`measures` needs another name than {name!r}, which is there already")
        score = as_scores(measure(q), name)
        scores[name] = same_length(score, name, q.batch_shape[0], "q").astype(float)
    return scores


def _blocks(group: np.ndarray, rng: np.random.Generator, most: int = BLOCKS) -> np.ndarray:
    """The block of each case: groups 0, 1, … at random, as many in each."""
    n_groups = group.max() + 1
    n_blocks = min(BLOCKS, most, n_groups)
    if n_blocks < 2:
        raise InputError(f"the comparison needs at least 2 independent cases; got {n_blocks}")
    return (rng.permutation(n_groups) % n_blocks)[group]


def compare(
    statistic: Statistic,
    scores: Mapping[str, np.ndarray],
    block: np.ndarray,
    n_independent: int,
    confidence: float,
    rng: np.random.Generator,
    lowest: float = 0.0,
) -> Criterion:
    """Simultaneous intervals of the statistic of each measure and of all differences, by leaving
    out one block, 0, 1, …, at a time; none is below ``lowest``.
    """
    from scipy.special import stdtr

    b = block.max() + 1
    values = np.empty((b + 1, len(scores)))
    for rows in row_blocks(b + 1, len(block)):
        left_out = np.arange(-1, b)[rows]
        counts = (block != left_out[:, None]).astype(np.int64)
        values[rows] = np.stack([statistic(score, counts) for score in scores.values()], axis=1)
    value = values[0]
    deviations = (values[1:] - values[1:].mean(axis=0)) * np.sqrt((b - 1) / b)
    scale = np.sqrt(rng.chisquare(b - 1, size=(DRAWS, 1)) / (b - 1))
    draws = rng.standard_normal((DRAWS, b)) / scale

    def spread(deviations: np.ndarray) -> tuple[np.ndarray, float]:
        """Standard errors, and how many of them the largest of all errors is."""
        se = np.sqrt(np.sum(deviations**2, axis=0))
        known = se > 1e-12  # what is always 0 or unknown does not count
        errors = np.abs(draws @ deviations[:, known]) / se[known]
        return se, float(np.quantile(np.max(errors, axis=-1, initial=0), confidence))

    se, quantile = spread(deviations)
    # whose t-interval is so many errors wide; never less than of a single measure
    pointwise = max(confidence, 2 * stdtr(b - 1, quantile) - 1)
    ends = t_interval(value, se, b - 1, pointwise, (lowest, 1.0), n_independent)
    first, second = np.triu_indices(len(value), 1)
    se_of_pairs, quantile = spread(deviations[:, first] - deviations[:, second])
    half = np.zeros((len(value), len(value)))
    half[first, second] = half[second, first] = quantile * se_of_pairs
    difference = value[:, None] - value
    method = "simultaneous, jackknife"
    return Criterion(
        Estimate(value, *ends, confidence, method),
        Estimate(difference, difference - half, difference + half, confidence, method),
    )
