"""Predictions of fitted models, whatever library they come from; nothing is loaded before it is
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazily

__all__ = ["LabelwiseClassifier", "from_models"]

if TYPE_CHECKING:  # the same names for type checkers
    from .predict import from_models
    from .sklearn import LabelwiseClassifier
else:
    __getattr__, __dir__ = lazily(
        __name__, {"LabelwiseClassifier": "sklearn", "from_models": "predict"}
    )
