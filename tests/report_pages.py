"""What the tests of the report page share: predictions to show."""

from __future__ import annotations

import numpy as np

import labelwise as lw

PARTS = ("total", "aleatoric", "epistemic")
LOSSES = ("log", "squared", "spherical", "zero_one")


def ensemble(n=300, members=5, k=5, seed=0, class_names=None, sharpness=20.0):
    """A plausible ensemble and labels drawn from its truth."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(k, 0.3), n)
    probs = np.stack([rng.dirichlet(0.05 + sharpness * t, members) for t in theta], axis=1)
    y = np.array([rng.choice(k, p=t) for t in theta])
    return lw.Ensemble(probs, class_names=class_names, member_axis=0), y
