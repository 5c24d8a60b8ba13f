"""Predictions, true classes and groups for prediction sets, from every kind of input."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.sets._input import calibration_cases, class_probabilities, one_class_each
from set_cases import NAMES, cases


def test_distributions_predictions_and_arrays_give_the_same() -> None:
    p, _ = cases(20)
    probs = np.stack([p, p[::-1]])
    q = lw.Ensemble(probs, class_names=NAMES)
    for given in (q, lw.io.Predictions(probs=probs, class_names=tuple(NAMES)), probs.mean(0)):
        found, names, together = class_probabilities(given, "q")
        np.testing.assert_allclose(found, probs.mean(0))
        assert names == (None if isinstance(given, np.ndarray) else tuple(NAMES))
        assert not together


def test_cases_have_one_class_each() -> None:
    p, y = cases(20)
    found, labels, names = calibration_cases(
        lw.Ensemble(p[None], class_names=NAMES), [NAMES[k] for k in y]
    )
    np.testing.assert_array_equal(labels, y)
    assert (found.shape, names) == ((20, 4), tuple(NAMES))
    assert calibration_cases(p, y)[2] == ("0", "1", "2", "3")
    with pytest.raises(ValueError, match="may occur together"):
        one_class_each(lw.MultiLabelEnsemble(p[None]), "q")
    with pytest.raises(ValueError, match=r"mean probabilities \(N, K\); got shape \(4,\)"):
        class_probabilities(p[0], "q")
    with pytest.raises(ValueError, match="at least one case; got none"):
        calibration_cases(p[:0], y[:0])
