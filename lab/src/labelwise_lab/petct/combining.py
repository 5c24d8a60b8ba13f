"""From slices to studies: slices are combined within each member; uncertainty then compares the
members.

Treating slices as members would count the difference between a head and a hip as epistemic
uncertainty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..validation import check_choice, to_numpy

RULES = ("top", "noisy-or", "mean")


def aggregate(
    probs: Any, studies: Any, *, how: str = "top", k: int = 5, negative: int | None = 0
) -> tuple[np.ndarray, np.ndarray]:
    r"""Class probabilities of whole studies, within each member.

    Parameters
    ----------
    probs : array (M, N, K)
        Class probabilities of M members for N slices.
    studies : array (N,)
        The study of each slice.
    how : {"top", "noisy-or", "mean"}
        ``"mean"`` averages over all slices, which dilutes a small lesion. ``"top"`` averages over
        the member's ``k`` most suspicious slices: those with the lowest probability of the class
        ``negative`` (without one, with the highest maximum probability). ``"noisy-or"`` assumes
        that slices are independent, that a study has a disease if at least one slice shows it, and
        that it has at most one disease:

        .. math:: \frac{P(k)}{P(\text{negative})} = \frac{1 - A_k}{A_k}, \qquad A_k = \prod_s (1 - p_{sk})

        Neighboring slices are dependent, so the result is overconfident.
    k : int
        Number of slices for ``"top"``.
    negative : int, optional
        Index of the class that means "no lesion".

    Returns
    -------
    names, probs
        The studies in sorted order, (S,), and (M, S, K).

    Examples
    --------
    >>> probs = np.array([[[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]]])  # one member, three slices, one of them suspicious
    >>> for how in ("mean", "top", "noisy-or"):
    ...     names, study = aggregate(probs, ["a", "a", "a"], how=how, k=1)
    ...     print(how, study.round(2))
    mean [[[0.67 0.33]]]
    top [[[0.2 0.8]]]
    noisy-or [[[0.16 0.84]]]
    """  # noqa: E501
    values = to_numpy(probs).astype(float)
    names, code = np.unique(to_numpy(studies), return_inverse=True)
    if values.ndim != 3 or code.shape != (values.shape[1],):
        raise ValueError(
            "`probs` must be (members, slices, classes) with a study for each slice; got "
            f"{values.shape} and {code.shape}"
        )
    check_choice(how, "how", RULES)
    if how == "noisy-or" and negative is None:
        raise ValueError(
            "`how` 'noisy-or' needs a class without lesions (`negative`); use 'top' or 'mean'"
        )
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
    """Mean over the ``k`` most suspicious slices of each member, (M, K)."""
    innocence = -slices.max(axis=2) if negative is None else slices[:, :, negative]
    chosen = np.argsort(innocence, axis=1, kind="stable")[:, :k]
    return np.asarray(np.take_along_axis(slices, chosen[:, :, None], axis=1).mean(axis=1))


def _noisy_or(slices: np.ndarray, negative: int) -> np.ndarray:
    """Noisy-or over slices, conditional on at most one disease, (M, K)."""
    hidden = -np.log1p(-np.minimum(slices, 1 - 1e-12)).sum(axis=1)  # −log A
    with np.errstate(divide="ignore"):
        log_odds = hidden + np.log1p(-np.exp(-hidden))
    log_odds[:, negative] = 0.0
    odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
