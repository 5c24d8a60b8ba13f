"""Gradient boosting: catboost's virtual ensembles. The scikit-learn classes of xgboost, lightgbm
and catboost need nothing special.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._adapter import Adapter
from ._batches import Batch

VIRTUAL_ENSEMBLES = 10


def catboost_adapter(model: Any, n_samples: int | None) -> Adapter:
    """The virtual ensemble of one catboost classifier that was trained with
    ``posterior_sampling=True``: logits (Malinin et al. 2021).
    """
    count = n_samples or VIRTUAL_ENSEMBLES

    def predict(batch: Batch) -> list[np.ndarray]:
        scores = model.virtual_ensembles_predict(
            batch.only, prediction_type="VirtEnsembles", virtual_ensembles_count=count
        )
        return list(np.moveaxis(np.asarray(scores), 1, 0))

    return Adapter(predict, "logits", tuple(map(str, model.classes_)))
