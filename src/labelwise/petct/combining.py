"""From slices to studies: each member makes up its mind about a study first, then the members are compared.

The other way round, a mixture over slices, would count it as epistemic uncertainty that a head looks different from a hip.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import to_numpy

RULES = ("top", "noisy-or", "mean")


def aggregate(probs: Any, studies: Any, *, how: str = "top", k: int = 5, negative: int | None = 0) -> tuple[np.ndarray, np.ndarray]:
    r"""Class probabilities of whole studies, within each member.

    Parameters
    ----------
    probs : array (M, N, K)
        Of M members for N slices.
    studies : array (N,)
        The study of each slice.
    how : {"top", "noisy-or", "mean"}
        ``"mean"`` averages over all slices; a small lesion drowns in it. ``"top"`` averages over the ``k`` slices that the member finds most
        suspicious: with the lowest probability of "negative" (without such a class, with the highest of any). ``"noisy-or"`` says that a
        study has a disease if at least one slice shows it, independently, and that at most one disease is there:

        .. math:: \frac{P(k)}{P(\text{negative})} = \frac{1 - A_k}{A_k}, \qquad A_k = \prod_s (1 - p_{sk})

        Neighbouring slices are not independent, so that it is surer than it should be, in either direction.
    k : int
        For ``"top"``.
    negative : int, optional
        Position of the class that means "no lesion".

    Returns
    -------
    names, probs
        The studies in sorted order, (S,), and (M, S, K).

    Examples
    --------
    >>> probs = np.array([[[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]]])  # one member, three slices, of which one shows something
    >>> for how in ("mean", "top", "noisy-or"):
    ...     names, study = aggregate(probs, ["a", "a", "a"], how=how, k=1)
    ...     print(how, study.round(2))
    mean [[[0.67 0.33]]]
    top [[[0.2 0.8]]]
    noisy-or [[[0.16 0.84]]]
    """
    values = to_numpy(probs).astype(float)
    names, code = np.unique(to_numpy(studies), return_inverse=True)
    if values.ndim != 3 or code.shape != (values.shape[1],):
        raise ValueError(f"`probs` must be (members, slices, classes) with a study for each slice; got {values.shape} and {code.shape}")
    if how not in RULES:
        raise ValueError(f"`how` must be one of {', '.join(map(repr, RULES))}; got {how!r}")
    if how == "noisy-or" and negative is None:
        raise ValueError("`how` 'noisy-or' needs a class that means that there is no lesion; use 'top' or 'mean'")
    if k < 1:
        raise ValueError(f"`k` must be a positive number of slices; got {k}")
    result = np.empty((values.shape[0], len(names), values.shape[2]))
    for s in range(len(names)):
        slices = values[:, code == s]
        if how == "mean":
            result[:, s] = slices.mean(axis=1)
        elif how == "top":
            result[:, s] = _top(slices, k, negative)
        else:
            result[:, s] = _noisy_or(slices, int(negative or 0))
    return names, result


def _top(slices: np.ndarray, k: int, negative: int | None) -> np.ndarray:
    """Mean over the most suspicious slices of each member, (M, K)."""
    innocence = -slices.max(axis=2) if negative is None else slices[:, :, negative]
    chosen = np.argsort(innocence, axis=1, kind="stable")[:, :k]
    return np.asarray(np.take_along_axis(slices, chosen[:, :, None], axis=1).mean(axis=1))


def _noisy_or(slices: np.ndarray, negative: int) -> np.ndarray:
    """At least one slice shows it, and at most one disease is there, (M, K)."""
    hidden = -np.log1p(-np.minimum(slices, 1 - 1e-12)).sum(axis=1)  # −log A
    with np.errstate(divide="ignore"):
        log_odds = hidden + np.log1p(-np.exp(-hidden))
    log_odds[:, negative] = 0.0
    odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
