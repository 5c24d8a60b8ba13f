"""The evidence behind a Dirichlet distribution as one number for each instance."""

from __future__ import annotations

import numpy as np

from .._arrays import as_double
from ..distributions import Dirichlet


def vacuity(q: Dirichlet) -> np.ndarray:
    r"""Vacuity of the evidence behind a Dirichlet distribution, :math:`K / \sum_k \alpha_k`
    (subjective logic; Sensoy et al. 2018).

    With α = evidence + 1 it is 1 without any evidence and tends to 0 as evidence grows.

    >>> vacuity(lw.Dirichlet(np.array([[1.0, 1.0, 1.0], [28.0, 1.0, 1.0]])))
    array([1. , 0.1])
    """
    if not isinstance(q, Dirichlet):
        raise TypeError(
            "`q` must be an lw.Dirichlet: vacuity is a property of its concentrations; got "
            f"{type(q).__name__}"
        )
    return np.asarray(q.n_classes / as_double(q.alpha).sum(axis=-1))
