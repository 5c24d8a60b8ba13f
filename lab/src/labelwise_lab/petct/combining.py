"""From slices to studies: slices are combined within each member; uncertainty then compares the
members.

Treating slices as members would count the difference between a head and a hip as epistemic
uncertainty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..validation import to_numpy


def aggregate(
    probs: Any, studies: Any, *, k: int | None = 5, negative: int | None = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Class probabilities of whole studies: the mean of each member over its ``k`` most suspicious
    slices.

    Parameters
    ----------
    probs : array (M, N, K)
        Class probabilities of M members for N slices.
    studies : array (N,)
        The study of each slice.
    k : int, optional
        Number of slices; ``None`` averages over all, which dilutes a small lesion.
    negative : int, optional
        Index of the class that means "no lesion": the lower its probability, the more suspicious
        is a slice. Without one, those with the highest maximum probability are taken.

    Returns
    -------
    names, probs
        The studies in sorted order, (S,), and (M, S, K).

    Examples
    --------
    >>> probs = np.array([[[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]]])  # one member, three slices, one of them suspicious
    >>> for k in (None, 1):
    ...     names, study = aggregate(probs, ["a", "a", "a"], k=k)
    ...     print(study.round(2))
    [[[0.67 0.33]]]
    [[[0.2 0.8]]]
    """  # noqa: E501
    values = to_numpy(probs).astype(float)
    names, code = np.unique(to_numpy(studies), return_inverse=True)
    if values.ndim != 3 or code.shape != (values.shape[1],):
        raise ValueError(
            "`probs` must be (members, slices, classes) with a study for each slice; got "
            f"{values.shape} and {code.shape}"
        )
    if k is not None and k < 1:
        raise ValueError(f"`k` must be a positive number of slices; got {k}")
    suspicious_first = np.argsort(-suspicion(values, negative), axis=1, kind="stable")
    result = np.empty((values.shape[0], len(names), values.shape[2]))
    for member, order, studies_probs in zip(values, suspicious_first, result, strict=True):
        for s in range(len(names)):
            chosen = order[code[order] == s][:k]
            studies_probs[s] = member[chosen].mean(axis=0)
    return names, result


def suspicion(probs: np.ndarray, negative: int | None) -> np.ndarray:
    """How suspicious each slice is, (..., N); ``negative`` as for `aggregate`."""
    if negative is None:
        return np.asarray(probs.max(axis=-1))
    return 1 - probs[..., negative]
