"""Prediction files, written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._validation.labels import plain_labels
from .atomic import replacing
from .overwriting import refuse_overwriting_source
from .predictions import FACTOR, KEYS, Predictions


def save_predictions(
    path: str | os.PathLike[str], predictions: Predictions | None = None, **arrays: Any
) -> Path:
    """Write a prediction file; when that fails, a file that was there before is still there,
    unchanged.

    Parameters
    ----------
    path : path
        Ending in .npz, or in .npy for ``probs`` alone. Arrays are stored uncompressed, so that
        `load_predictions` can map large ones; memory maps are copied in pieces.
    predictions : Predictions, optional
        What to write; or give its fields by name. The file that they were read from is refused as
        the output.
    **arrays
        ``probs``, ``alpha``, ``y_true``, ``class_names``, ``factors`` and so on.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "preds.npz")
    ...     _ = save_predictions(path, probs=np.full((5, 3, 2), 0.5), class_names=["no", "yes"])
    ...     lw.load_predictions(path).class_names
    ('no', 'yes')
    """
    path = Path(path)
    kind = check_format(path)
    if predictions is None:
        for key, x in arrays.items():
            if x is not None and key not in ("class_names", "member_names", "factors"):
                arrays[key] = to_numpy(x)
        predictions = Predictions(**arrays)
    elif arrays:
        raise TypeError(
            f"give `predictions` or its fields by name, not both; got {', '.join(arrays)} as well"
        )
    elif not isinstance(predictions, Predictions):
        raise TypeError(
            f"`predictions` must be Predictions; got {type(predictions).__name__}. Give its fields "
            "by name, such as probs=q.probs, class_names=q.class_names"
        )
    refuse_overwriting_source(path, predictions.path)
    present = {}
    for key in KEYS:
        x = getattr(predictions, key)
        if x is not None:
            present[key] = np.asanyarray(x)
            if present[key].dtype.hasobject:  # texts of pandas, which would be pickled
                present[key] = plain_labels(x, key)
    if predictions.q is not None:
        raise TypeError(
            "a prediction file holds numbers; save the arrays of the distribution by name, such as "
            "probs=q.probs"
        )
    for name, levels in (predictions.factors or {}).items():
        present[FACTOR + name] = np.asarray(levels, str)
    if kind == ".npy" and set(present) != {"probs"}:
        raise ValueError(
            f"a .npy file holds `probs` alone; got {', '.join(present)}. Save to .npz instead"
        )
    with replacing(path) as file:
        if kind == ".npz":
            np.savez(file, **present)
        else:
            np.save(file, present["probs"], allow_pickle=False)
    return path


def check_format(path: Path) -> str:
    """The ending of a prediction file, if it is one that can be written."""
    if path.suffix not in (".npz", ".npy"):
        raise ValueError(f"a prediction file must end in .npz or .npy; got {path.name!r}")
    return path.suffix
