"""The disentanglement error: 0 where each part follows its own cause only, 0.5 where nothing
follows anything.
"""

from __future__ import annotations

import numpy as np
import pytest

from labelwise_lab.votes import disentanglement_error

ERROR = np.array([0.1, 0.2, 0.4, 0.5])
FLAT = np.full(4, 0.3)


@pytest.mark.parametrize(
    ("size", "noise", "expected"),
    [
        ((ERROR, FLAT, ERROR), (ERROR, 2 * ERROR, FLAT), 0.0),
        ((ERROR, FLAT, FLAT), (ERROR, FLAT, FLAT), 0.5),
        ((ERROR, ERROR, ERROR), (ERROR, ERROR, ERROR), 0.5),
        ((ERROR, ERROR, FLAT), (ERROR, FLAT, ERROR), 1.0),
        ((ERROR, -ERROR, -ERROR), (ERROR, -ERROR, -ERROR), 1.5),
    ],
)
def test_by_hand(
    size: tuple[np.ndarray, ...], noise: tuple[np.ndarray, ...], expected: float
) -> None:
    assert disentanglement_error(size, noise) == pytest.approx(expected)


def test_mistakes_have_their_sentences() -> None:
    with pytest.raises(
        ValueError, match="`noise` must be three series of one length: error rate, mean AU, mean EU"
    ):
        disentanglement_error((ERROR, FLAT, FLAT), (ERROR, FLAT))
    with pytest.raises(ValueError, match="size"):
        disentanglement_error((ERROR, FLAT[:2], FLAT), (ERROR, FLAT, FLAT))
