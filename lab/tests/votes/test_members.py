"""Members calibrated alike or separately."""

from __future__ import annotations

import numpy as np

import labelwise as lw
from labelwise_lab.votes import calibrate_members


def test_members_that_differ_in_calibration_only_are_told_apart_from_knowledge():
    rng = np.random.default_rng(4)
    z = 2 * rng.normal(size=(1500, 3))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    masquerade = calibrate_members(
        lw.Ensemble.from_logits(np.stack([0.3 * z, z, 4 * z])),
        y,
        groups=np.arange(1500) // 3,
        rng=0,
    )
    assert masquerade.best == "per member"
    assert masquerade.scores["per member"].epistemic < 0.05 * masquerade.scores["raw"].epistemic
    assert masquerade.scores["raw"].log_loss.low < float(masquerade.scores["raw"].log_loss)
    different = z + 3 * rng.normal(
        size=(5, *z.shape)
    )  # each member is sure and often wrong, the mean is better
    knowledge = calibrate_members(lw.Ensemble.from_logits(different), y, rng=0)
    assert knowledge.best == "shared"
    assert knowledge.scores["shared"].epistemic > 0.1
    assert knowledge(lw.Ensemble.from_logits(different)).n_members == 5
    assert "*" in str(knowledge)
