"""Predictions, true classes and groups for prediction sets, from every kind of input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise.sets import fit_sets
from labelwise.sets._input import class_probabilities, one_class_each
from set_cases import NAMES, cases

MARGINAL: dict[str, Any] = {"guarantee": "marginal", "coverage": 0.8}


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
    named = fit_sets(lw.Ensemble(p[None], class_names=NAMES), [NAMES[k] for k in y], **MARGINAL)
    plain = fit_sets(p, y, **MARGINAL)
    np.testing.assert_array_equal(named.thresholds, plain.thresholds)
    assert (named.class_names, plain.class_names) == (tuple(NAMES), ("0", "1", "2", "3"))
    with pytest.raises(ValueError, match="may occur together"):
        one_class_each(lw.MultiLabelEnsemble(p[None]), "q")
    with pytest.raises(ValueError, match=r"mean probabilities \(N, K\); got shape \(4,\)"):
        class_probabilities(p[0], "q")
    with pytest.raises(ValueError, match="at least one case; got none"):
        fit_sets(p[:0], y[:0])
