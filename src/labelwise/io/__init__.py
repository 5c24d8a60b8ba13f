"""Files: predictions of every format, read a block at a time, and results, written whole or not at
all.
"""

from __future__ import annotations

from .load import load_predictions
from .predictions import Predictions
from .save import check_format, save_predictions

__all__ = ["Predictions", "check_format", "load_predictions", "save_predictions"]
