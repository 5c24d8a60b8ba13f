"""Keras models as members, in inference mode; on any backend."""

from __future__ import annotations

from typing import Any

from ._batches import Batch


def scores_of_keras_model(model: Any, batch: Batch) -> Any:
    """What a model of Keras 3 gives for a batch."""
    from keras import ops

    return ops.convert_to_numpy(model(batch.only, training=False))
