"""The instances embedded in the page: rounding is measured, draws represent continuous
distributions.
"""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.report import build_report
from report_pages import LOSSES


def test_members_that_agree_have_no_epistemic_uncertainty_on_the_page() -> None:
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 30)
    error = build_report(lw.Ensemble(np.stack([p] * 4))).data["sample"]["error"]
    assert all(0 <= error[loss] < 5e-5 for loss in LOSSES)


def test_other_distributions() -> None:
    rng = np.random.default_rng(0)
    mixture = lw.DirichletMixture(rng.gamma(2, 1, (3, 20, 3)) + 0.1, weights=[1, 2, 3])
    normal = lw.LogisticNormal(rng.normal(size=(20, 3)), np.full((20, 3), 0.5))
    for q in (mixture, normal):
        data = build_report(q).data
        assert data["losses"][0]["mean"]["total"] == pytest.approx(
            lw.decompose(q).sum().total.mean(), rel=1e-6
        )
        assert data["members"] is None
