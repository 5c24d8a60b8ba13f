"""What the tests of single losses share."""

from __future__ import annotations

import numpy as np
import pytest

from strategies import LOSSES, loss_id

EVERY = pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
GRID = np.concatenate(
    [10.0 ** np.arange(-8, -2), np.linspace(0.005, 0.995, 199), 1 - 10.0 ** np.arange(-8, -2)]
)
