"""Keras models as members, in inference mode; on any backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._adapter import Adapter, each_model
from ._batches import Batch


def keras_adapter(models: Sequence[Any]) -> Adapter:
    """Models of Keras 3."""
    from keras import ops

    def predict(model: Any, batch: Batch) -> Any:
        return ops.convert_to_numpy(model(batch.only, training=False))

    return Adapter(each_model(models, predict), "unknown", batch_size=1024)
