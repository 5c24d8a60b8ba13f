"""The predictions that come with the library, made from a run of the paper's experiment on
FashionMNIST.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from labelwise import Ensemble, decompose
from labelwise.io import Predictions

from ..files import write_file
from ..text import PARTS

OOD = ("mnist", "kmnist")
EVERY_INSIDE = 5  # every fifth image of each class: 200 of 1,000
EVERY_OUTSIDE = 20  # every twentieth, because the first half of MNIST is easier than the second
N_IMAGES = 400


def bundled_arrays(
    inside: Predictions, outside: Mapping[str, Predictions]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """What the file holds of the predictions, by name, and which of the test cases they are.

    Logarithms of probabilities are stored as float16: probabilities themselves would be rounded to
    1 from 0.9998 on, and to 0 below 3e-8.

    Parameters
    ----------
    inside : Predictions
        On the test set of FashionMNIST, with ``y_true`` and ``class_names``.
    outside : mapping
        On those of MNIST and KMNIST.
    """
    if inside.probs is None or inside.y_true is None or inside.class_names is None:
        raise ValueError("`inside` must have `probs`, `y_true` and `class_names`")
    y_true = np.asarray(inside.y_true)
    chosen = [np.flatnonzero(y_true == k)[::EVERY_INSIDE] for k in range(inside.n_classes)]
    cases = np.sort(np.concatenate(chosen))
    arrays = {
        "log_probs": _log(np.asarray(inside.probs)[:, cases]),
        "y_true": y_true[cases].astype(np.uint8),
        "class_names": np.array(inside.class_names),
    }
    for name in OOD:
        arrays[f"log_probs_{name}"] = _log(np.asarray(outside[name].probs)[:, ::EVERY_OUTSIDE])
    arrays["image_index"] = notable(Ensemble(np.asarray(inside.probs)[:, cases])).astype(np.uint16)
    return arrays, cases


def bundle(
    inside: Predictions, outside: Mapping[str, Predictions], images: np.ndarray, out: Path
) -> None:
    """Write the file that `labelwise.demo.load_fashion_ensemble` reads.

    ``images`` (N, 28, 28) are the test set of FashionMNIST, of which some are kept.
    """
    arrays, cases = bundled_arrays(inside, outside)
    arrays["images"] = np.asarray(images, np.uint8)[cases[arrays["image_index"]]]
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    write_file(out, content.getvalue())


def _log(probs: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(probs.astype(np.float64)).astype(np.float16)


def notable(q: Ensemble, n: int = N_IMAGES) -> np.ndarray:
    """``n`` cases: those with the highest total, aleatoric and epistemic uncertainty, at most n /
    2, and a random choice of the others.
    """
    u = decompose(q).sum()
    most = np.unique(
        [np.argsort(-np.asarray(getattr(u, part)), kind="stable")[: n // 6] for part in PARTS]
    )
    others = np.setdiff1d(np.arange(len(u.total)), most)
    chosen = np.random.default_rng(0).choice(others, n - len(most), replace=False)
    return np.sort(np.concatenate([most, chosen]))
