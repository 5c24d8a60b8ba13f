"""Faults of an ensemble's members that change uncertainty without an error: copies, other scales, permuted classes, constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import SUM_TOLERANCE, to_numpy
from .._checks import Check
from .._format import fixed, number, percent
from .._labels import as_labels
from .._tables import SHOWN, Shown, Summary, counted, enumerated, shortened, some
from ..distributions import Distribution
from ..io import Predictions

MOST = 4096
"""Maximum number of instances, evenly spaced, for all but the scale of arrays."""
NUMBERS = 1 << 22
"""Maximum number of probabilities to compare; with more than 32 members fewer, because all pairs are compared."""
SOFT = 5
"""Minimum number of probabilities other than 0 and 1 of a label that may be copied: votes of 0 and 1 may well be equal."""
LONGEST_NAME = 60
"""Characters of a class name that a sentence shows."""
SAID = 5
"""Maximum number of faults in a sentence."""
FEWEST = 20
"""Minimum number of instances for comparisons of members."""
MOST_CLASSES = 256
"""Maximum number of classes for the search for permutations."""
NEAR = 0.1
"""Near copies differ by less than this share of the median difference between members, in log-odds."""
SATURATED = 1e-6
"""Probabilities closer to 0 or 1 are compared as if they were this close."""
STILL = 0.01
"""A constant member varies by less than this share of the median variance of the members."""
GAIN = 0.25
"""Mean correlation gained per permuted class for which a permutation is reported."""
STANDARD_ERRORS = 4
"""…and that gain in standard errors, because the best of many permutations is taken."""
FOLDS = (
    "The members are folds of a cross-validation: they were trained on different data, so their disagreement mixes the effect of the data "
    "with that of the random seed, and is not that of a deep ensemble (arXiv:2605.18329). Several seeds for each fold and "
    "`factors={'fold': ..., 'seed': ...}` separate the two"
)


@dataclass(frozen=True)
class Finding:
    """One fault of some members."""

    fault: str
    """``not finite``, ``logits``, ``log-probabilities``, ``percentages``, ``off scale``, ``sums``, ``constant``, ``copies``,
    ``near copies``, ``copied labels``, ``permuted classes`` or ``folds``."""
    members: tuple[int, ...]
    """Positions of the members, from 0."""
    sentence: str


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleCheck(Check, Shown):
    """What `check_ensemble` found."""

    n_members: int
    findings: tuple[Finding, ...]
    effective_members: np.ndarray | None
    """(K,): the number of equally different members that would disagree as these do; ``None`` if fewer than 2 members are usable."""
    class_names: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __str__(self) -> str:
        members = counted(self.n_members, "member")
        if self.effective_members is None:
            number = ""
        else:
            lowest = int(np.argmin(self.effective_members))
            number = (
                f" Effective number of members: {fixed(self.effective_members.mean(), 1)} on average, lowest for "
                f"{_short(self.class_names[lowest])} ({fixed(self.effective_members[lowest], 1)})."
            )
        more = f" … and {counted(len(self.findings) - SAID, 'more fault')}." if len(self.findings) > SAID else ""
        found = " ".join(f"{x.sentence}." for x in self.findings[:SAID]) + more
        return f"{found or f'No faults found in {members}.'}{number}"

    def _summary(self) -> Summary:
        rows = [(x.fault, ", ".join(map(str, x.members)), x.sentence) for x in self.findings[:SHOWN]]
        title = f"{counted(self.n_members, 'member')}: {counted(len(self.findings), 'fault') if rows else 'no faults found'}"
        return Summary(title, ("fault", "members", "what") if rows else (), rows, "" if rows else str(self))


def check_ensemble(q: Any, y_true: Any = None, *, folds: Any = None) -> EnsembleCheck:
    """Look for members that are copies, constant, on another scale or with permuted classes.

    Such faults pass unnoticed because they leave valid probabilities, or refuse the whole array without naming the member. Copies lower the
    epistemic uncertainty; permuted classes and constant members raise it.

    Parameters
    ----------
    q : Ensemble, MultiLabelEnsemble, Predictions, or array (M, ..., K)
        Arrays are not validated first, so that members with logits or sums other than 1 are named.
    y_true : array (...) or, for labels that may occur together, (..., K), optional
        True classes. A member is compared with the mean of the others, and with these: then all members may be permuted alike.
    folds : array (...) of int, or True, optional
        Says that member m is the model of fold m of a cross-validation, and for each instance the fold in which it was held out (−1:
        no member was trained on it). A factor of ``q`` called "fold" says so too.

    Returns
    -------
    EnsembleCheck

    Examples
    --------
    >>> probs = np.random.default_rng(0).dirichlet([1, 1, 1], size=(4, 100))
    >>> probs[2] = probs[0]
    >>> print(check_ensemble(lw.Ensemble(probs)))
    Members 0 and 2 are identical. Effective number of members: 2.9 on average, lowest for '1' (2.9).
    """
    if isinstance(q, Predictions):  # files are not read whole
        rows = _spaced(len(q), q.n_members or 1, q.n_classes)
        y_true, folds = (x if x is None or x is True else np.asarray(to_numpy(x))[rows] for x in (y_true, folds))
        part = q[rows]
        y_true, q = part.y_true if y_true is None else y_true, part.distribution()
    probs, names, several, findings = _read(q)
    m, n, k = probs.shape
    shape = q.batch_shape if isinstance(q, Distribution) else tuple(to_numpy(q).shape[1:-1])
    truth = None if y_true is None else _truth(y_true, names, shape, k, several)
    told = any(name.lower() in ("fold", "folds") for name in getattr(q, "factors", None) or ())
    findings += _folds(folds, told, m, shape)
    rows = _spaced(n, m, k)
    faulty = {i for x in findings if x.fault != "folds" for i in x.members}
    usable = [i for i in range(m) if i not in faulty]
    x = probs[:, rows][usable].astype(float)
    if n >= FEWEST and usable:
        still = _constant(x)
        findings += [
            Finding("constant", tuple(who), f"{_and(who)} {'predicts' if len(who) == 1 else 'predict'} (nearly) the same for all instances")
            for who in [[usable[i] for i in still]]
            if who
        ]
        findings += list(_copies(x, usable, names, still))
        moving = [i for i in range(len(usable)) if i not in still]
        findings += list(_permuted(x[moving], [usable[i] for i in moving], None if truth is None else truth[rows], names))
    return EnsembleCheck(m, tuple(findings), _effective(x) if len(usable) > 1 and n else None, names)


def _read(q: Any) -> tuple[np.ndarray, tuple[str, ...], bool, list[Finding]]:
    """Probabilities (M, N, K), class names, whether labels may occur together, and what is wrong with the scale of members."""
    if isinstance(q, Distribution):
        if q.members is None:
            raise TypeError(f"`q` must be an ensemble with members; {type(q).__name__} has none")
        probs = np.asarray(to_numpy(q.members[0]))
        findings: list[Finding] = []
        exclusive, names = q.exclusive, q.class_names
    else:
        probs, exclusive, names = np.asarray(to_numpy(q)), True, None
        if probs.ndim < 3 or probs.dtype.kind != "f" or 0 in probs.shape:
            raise ValueError(
                f"`q` must be an ensemble, or a floating array (members, ..., classes); got {probs.dtype} of shape {probs.shape}"
            )
        findings = [x for i, member in enumerate(probs) if (x := _scale(member.reshape(-1, probs.shape[-1]), i)) is not None]
    k = probs.shape[-1]
    return probs.reshape(len(probs), -1, k), names or tuple(map(str, range(k))), not exclusive, findings


def _short(name: str) -> str:
    """A class name in a sentence."""
    return repr(shortened(name, LONGEST_NAME))


def _truth(y: Any, names: Sequence[str], shape: tuple[int, ...], k: int, several: bool) -> np.ndarray:
    """(N, K): 1 for the true labels."""
    if several:
        given = np.asarray(to_numpy(y))
        if given.shape != (*shape, k):
            raise ValueError(f"`y_true` must say 0 or 1 for each label, shape {(*shape, k)}; got shape {given.shape}")
        return given.reshape(-1, k).astype(float)
    return np.asarray(np.eye(k)[as_labels(y, "y_true", names, shape)])


def _folds(folds: Any, told: bool, m: int, shape: tuple[int, ...]) -> list[Finding]:
    if folds is None or folds is True:
        return [Finding("folds", tuple(range(m)), FOLDS)] if told or folds else []
    given = np.asarray(to_numpy(folds))
    if given.shape != shape or given.dtype.kind not in "iu" or (given.size and not -1 <= given.min() <= given.max() < m):
        raise ValueError(f"`folds` must give the fold of each instance, shape {shape}, from 0 to {m - 1} (−1: none), or be True")
    seen = int(np.count_nonzero(given >= 0))
    trained = f". {counted(seen, 'instance')} of {given.size:,} were in the training data of {m - 1} of the {m} members" if seen else ""
    return [Finding("folds", tuple(range(m)), FOLDS + trained)]


def _scale(x: np.ndarray, i: int) -> Finding | None:
    """What is wrong with the values (N, K) of member ``i``."""

    def found(fault: str, what: str) -> Finding:
        return Finding(fault, (i,), f"Member {i} {what}")

    bad = int(np.count_nonzero(~np.isfinite(x).all(axis=-1)))
    if bad:
        return found("not finite", f"has NaN or infinity in {bad:,} of {len(x):,} rows")
    tolerance = SUM_TOLERANCE[x.dtype.name]
    low, high, sums = float(x.min()), float(x.max()), x.sum(axis=-1, dtype=float)
    off = np.abs(sums - 1) > tolerance
    if low >= 0 and high <= 1 + tolerance and not off.any():
        return None
    scale = f"values from {number(low)} to {number(high)}"
    if high <= tolerance and np.abs(np.exp(x.astype(float)).sum(axis=-1) - 1).max() < 1e-2:
        return found("log-probabilities", f"holds log-probabilities ({scale}): take the exponential")
    if low >= 0 and np.abs(sums - 100).max() < 2:
        return found("percentages", f"holds percentages ({scale}): divide by 100")
    if low < 0 or high > 1 + tolerance:
        if (low < -1e-3 or high > 1.5) and np.abs(sums - 1).max() > 1e-2:
            return found("logits", f"seems to hold logits ({scale}): use lw.Ensemble.from_logits")
        return found("off scale", f"has {scale}, outside 0 to 1")
    share = f"{int(off.sum()):,} of {len(x):,} rows"
    return found("sums", f"has {share} that do not sum to 1 ({sums.min():.4g} to {sums.max():.4g}); for labels that may occur together use "
                 "lw.MultiLabelEnsemble")  # fmt: skip


def _constant(x: np.ndarray) -> list[int]:
    """Members that hardly vary between the instances, compared with the others."""
    spread = x.var(axis=1).sum(axis=-1)
    return np.flatnonzero(spread <= max(STILL * float(np.median(spread)), 1e-12)).tolist()


def _copies(x: np.ndarray, members: Sequence[int], names: Sequence[str], still: Sequence[int]) -> Iterator[Finding]:
    """Groups of members that are equal or nearly so, and pairs that are on single labels.

    Differences are between log-odds, where small probabilities count like large ones: a rare label does not look copied.
    """
    pairs = [(a, b) for a in range(len(x)) for b in range(a + 1, len(x)) if not (a in still and b in still)]
    if not pairs:
        return
    clipped = np.clip(x, SATURATED, 1 - SATURATED)
    odds = np.log(clipped) - np.log1p(-clipped)
    apart = np.stack([np.abs(odds[a] - odds[b]).mean(axis=0) for a, b in pairs])
    same = np.stack([(x[a] == x[b]).all(axis=0) for a, b in pairs])
    whole = np.asarray(same.all(axis=1))
    near = np.asarray(~whole & _unusual(apart.mean(axis=1)))
    for fault, chosen, words in (("copies", whole, "are identical"), ("near copies", near, "are nearly identical")):
        for group in _groups([pair for pair, yes in zip(pairs, chosen, strict=True) if yes]):
            who = [members[i] for i in group]
            more = "" if fault == "copies" else f" (difference below {percent(NEAR, 0)} of the usual)"
            yield Finding(fault, tuple(who), f"{_and(who)} {words}{more}")
    soft = ((x > SATURATED) & (x < 1 - SATURATED)).sum(axis=1) >= SOFT
    close = same | np.stack([_unusual(column) for column in apart.T], axis=1)
    for k, name in enumerate(names):
        equal = [pair for i, pair in enumerate(pairs) if close[i, k] and not whole[i] and not near[i] and soft[list(pair), k].all()]
        for group in _groups(equal):
            who = [members[i] for i in group]
            yield Finding("copied labels", tuple(who), f"{_and(who)} have (nearly) the same probabilities of {_short(name)}")


def _unusual(apart: np.ndarray) -> np.ndarray:
    """Which pairs of members differ much less than is usual among them; a single pair has nothing to be compared with."""
    differ = apart[apart > 1e-9]
    return np.asarray(apart < (NEAR * float(np.median(differ)) if len(apart) > 1 and len(differ) else 0.0))


def _groups(pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Connected members."""
    groups: list[set[int]] = []
    for pair in pairs:
        joined = {*pair}.union(*(g for g in groups if g & {*pair}))
        groups = [g for g in groups if not g & joined] + [joined]
    return [sorted(g) for g in groups]


def _and(members: Sequence[int]) -> str:
    return f"Member{'s' if len(members) > 1 else ''} {enumerated([str(i) for i in members])}"


def _spaced(n: int, m: int, k: int) -> np.ndarray:
    """Evenly spaced positions of some of n instances."""
    most = min(MOST, max(FEWEST, NUMBERS // (m * k * max(1, m // 32))))
    return np.linspace(0, n - 1, most).astype(int) if n > most else np.arange(n)


def _permuted(x: np.ndarray, members: Sequence[int], truth: np.ndarray | None, names: Sequence[str]) -> Iterator[Finding]:
    """Members whose classes agree better with the reference in another order."""
    m, _, k = x.shape
    if k > MOST_CLASSES or (m < 2 and truth is None):
        return
    for i in range(m):
        references = [] if truth is None else [("the true classes", truth)]
        if m > 1:
            other = f"member {members[1 - i]}" if m == 2 else "the other members"
            references.append((other, (x.sum(axis=0) - x[i]) / (m - 1)))
        for other, reference in references:
            order = _better_order(_standardized(reference), _standardized(x[i]))
            if order is not None:
                moved = some([f"{_short(names[a])} as {_short(names[b])}" for a, b in enumerate(order) if a != b])
                what = f"Member {members[i]} has its classes in another order than {other}: {moved}"
                yield Finding("permuted classes", (members[i],), what)
                break


def _better_order(reference: np.ndarray, member: np.ndarray) -> np.ndarray | None:
    """For each class of ``reference`` (N, K) the class of ``member`` that corresponds to it, if that is not the same one."""
    from scipy.optimize import linear_sum_assignment

    correlation = reference.T @ member / len(reference)
    order: np.ndarray = linear_sum_assignment(correlation, maximize=True)[1]
    moved = np.flatnonzero(order != np.arange(len(order)))
    if not len(moved):
        return None
    gain = (reference[:, moved] * (member[:, order[moved]] - member[:, moved])).mean(axis=1)
    standard_error = float(gain.std(ddof=1)) / len(gain) ** 0.5
    if gain.mean() < max(GAIN, STANDARD_ERRORS * standard_error):
        return None
    return order


def _standardized(x: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1; constant ones 0."""
    spread = x.std(axis=0)
    return np.asarray((x - x.mean(axis=0)) / np.where(spread > 1e-9, spread, np.inf))


def _effective(x: np.ndarray) -> np.ndarray:
    r"""(K,): :math:`1 + (\operatorname{tr} C)^2 / \operatorname{tr} C^2` with the M × M matrix C of mean products of the deviations from the mean.

    M for independent members that differ equally; copies count once, and a member that differs alone makes it 2.
    """
    d = x - x[:1]  # exactly 0 where they agree
    d = np.ascontiguousarray((d - d.mean(axis=0)).transpose(2, 0, 1))
    products = d @ d.transpose(0, 2, 1)
    square = np.einsum("kab,kab->k", products, products)
    return np.asarray(1 + np.einsum("kaa->k", products) ** 2 / np.where(square > 0, square, np.inf))
