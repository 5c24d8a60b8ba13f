"""Do aleatoric and epistemic uncertainty respond to what they are about, and to nothing else?"""

from __future__ import annotations

from typing import Any

import numpy as np


def disentanglement_error(size: tuple[Any, Any, Any], noise: tuple[Any, Any, Any]) -> float:
    r"""Disentanglement error (de Jong et al., arXiv 2408.12175): 0 is best, and 0.5 if nothing
    correlates with anything.

    .. math:: \tfrac14 \big( |r^\text{size}_\mathrm{AU}| + |r^\text{size}_\mathrm{EU} - 1| + |r^\text{noise}_\mathrm{AU} - 1| + |r^\text{noise}_\mathrm{EU}| \big)

    r are Pearson correlations of mean uncertainty with the error rate over a series of models. Less
    training data should raise epistemic uncertainty alone, noise in the labels aleatoric
    uncertainty alone. A correlation of a constant is 0.

    Parameters
    ----------
    size : tuple of arrays (R,)
        Error rate, mean AU and mean EU of models trained on more or fewer data.
    noise : tuple of arrays (R,)
        The same of models trained (and tested) with more or fewer wrong labels.

    Examples
    --------
    >>> error = [0.1, 0.2, 0.3]
    >>> disentanglement_error((error, [0.5, 0.5, 0.5], [1, 2, 3]), (error, [1, 2, 3], [0.2, 0.2, 0.2]))
    0.0
    """  # noqa: E501
    parts = []
    for name, series, wanted in (("size", size, (0, 1)), ("noise", noise, (1, 0))):
        columns = [np.asarray(x, float) for x in series]
        if len(columns) != 3 or len({x.shape for x in columns}) > 1 or columns[0].ndim != 1:
            raise ValueError(
                f"`{name}` must be three series of one length: error rate, mean AU, mean EU; got "
                f"shapes {', '.join(str(x.shape) for x in columns)}"
            )
        error = columns[0]
        parts += [abs(_pearson(x, error) - r) for x, r in zip(columns[1:], wanted, strict=True)]
    return float(np.mean(parts))


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
