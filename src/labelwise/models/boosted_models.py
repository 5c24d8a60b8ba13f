"""Gradient boosting: boosters of xgboost and lightgbm, and catboost's virtual ensembles. Their
scikit-learn classes need nothing special.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._adapter import Adapter, each_model
from ._batches import Batch

VIRTUAL_ENSEMBLES = 10


def xgboost_adapter(models: Sequence[Any]) -> Adapter:
    """Boosters of xgboost trained with a probabilistic objective (``binary:logistic``,
    ``multi:softprob``).
    """
    from xgboost import DMatrix

    predict = each_model(models, lambda model, batch: model.predict(DMatrix(batch.only)))
    return Adapter(predict, "unknown")


def lightgbm_adapter(models: Sequence[Any]) -> Adapter:
    """Boosters of lightgbm trained with a probabilistic objective (``binary``, ``multiclass``)."""
    return Adapter(each_model(models, lambda model, batch: model.predict(batch.only)), "unknown")


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
