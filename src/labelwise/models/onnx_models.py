"""ONNX Runtime sessions as members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._arrays import to_numpy
from ._batches import Batch

_ONNX_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
}


def scores_of_session(session: Any, batch: Batch) -> np.ndarray:
    """The last output that is no label, as exported from scikit-learn (also with ZipMap) or from
    torch.
    """
    feed = {}
    for i, wanted in enumerate(session.get_inputs()):
        if wanted.name in batch.kwargs:
            value = batch.kwargs[wanted.name]
        elif i < len(batch.args):
            value = batch.args[i]
        else:
            raise ValueError(
                f"the session needs the input {wanted.name!r}; pass a mapping of arrays by name as "
                "`X`"
            )
        feed[wanted.name] = np.ascontiguousarray(
            to_numpy(value), dtype=_ONNX_TYPES.get(wanted.type)
        )
    for output in reversed(session.run(None, feed)):
        if isinstance(output, list) and output and isinstance(output[0], Mapping):  # ZipMap
            return np.array([[row[key] for key in sorted(row)] for row in output])
        scores = np.asarray(output)
        if scores.dtype.kind == "f":
            return scores
    raise ValueError(
        "the session has no output of class scores, only labels; export the model with its "
        "probabilities"
    )
