"""Predictions that come with the package: an ensemble trained on FashionMNIST, on its test set and
on two out-of-distribution sets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..distributions import Ensemble
from ..io.atomic import replacing
from ..io.npz import read_npz

FILE = Path(__file__).with_name("fashion_ensemble.npz")
OOD = ("mnist", "kmnist")
STEPS = ((-8.0, 1 / 16), (-16.0, 1 / 2))
"""Logarithms below the first number are stored in multiples of the second: of probabilities under
0.0003 and 1e-7, whose further digits move no AUROC by more than 2e-5 but fill a quarter of the
file.
"""


@dataclass(frozen=True, eq=False)
class FashionEnsemble:
    """Five members on the 10,000 test images of FashionMNIST, ``ensemble`` (``probs`` (5, 10000,
    10), float32), with the true classes ``y_true``.

    ``ood`` are the same members on 10,000 out-of-distribution images each, ``"mnist"`` and
    ``"kmnist"``. ``images`` are some of the test images, uint8 (n, 28, 28): the most uncertain ones
    and a random choice; ``image_index`` are their positions in ``y_true``, rising.
    """

    ensemble: Ensemble
    y_true: np.ndarray
    class_names: tuple[str, ...]
    ood: Mapping[str, Ensemble]
    images: np.ndarray
    image_index: np.ndarray


def load_fashion_ensemble() -> FashionEnsemble:
    """Real predictions to try things on: a deep ensemble trained on FashionMNIST, and what it says
    about digits and Japanese characters.

    Five CNNs as in the paper's experiments (run 0 of ``labelwise-lab reproduce ood``). They were
    trained by this package; the images and labels are FashionMNIST's, © 2017 Zalando SE, MIT
    license. Nothing is downloaded. The file holds logarithms of the probabilities, as float16:
    probabilities themselves would be rounded to 1 from 0.9998 on, and to 0 below 3e-8, which moves
    AUROCs in their third digit. Probabilities under 0.0003 are exact to 3 %, those under 1e-7 to
    about a third, so that the file is small; this moves no AUROC by more than 2e-5.

    Examples
    --------
    >>> fashion = lw.demo.load_fashion_ensemble()
    >>> fashion.ensemble.probs.shape, fashion.class_names[:2]
    ((5, 10000, 10), ('T-shirt/top', 'trouser'))
    >>> inside, outside = (lw.decompose(q).sum().epistemic for q in (fashion.ensemble, fashion.ood["kmnist"]))
    >>> print(lw.evaluation.detection_scores(inside, outside).auroc)
    0.943 (95 % interval 0.940 to 0.946)
    """  # noqa: E501
    if not FILE.is_file():
        raise FileNotFoundError(
            f"{FILE.name} is missing from the installed package; install labelwise again"
        )
    stored = read_npz(
        FILE,
        [
            "log_probs",
            *(f"log_probs_{name}" for name in OOD),
            "y_true",
            "class_names",
            "images",
            "image_index",
        ],
    )
    names = tuple(str(name) for name in stored["class_names"])
    return FashionEnsemble(
        Ensemble(unpacked(from_planes(stored["log_probs"])), class_names=names),
        stored["y_true"].astype(np.int64),
        names,
        {
            name: Ensemble(unpacked(from_planes(stored[f"log_probs_{name}"])), class_names=names)
            for name in OOD
        },
        stored["images"],
        stored["image_index"].astype(np.int64),
    )


def packed(probs: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities as float16, small ones in `STEPS`; that of 0 is −∞."""
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.asarray(probs, np.float64)).astype(np.float16)
    for below, step in STEPS:
        log_probs = np.where(
            log_probs < below, np.round(log_probs / np.float16(step)) * np.float16(step), log_probs
        )
    return log_probs


def unpacked(log_probs: np.ndarray) -> np.ndarray:
    """Probabilities, float32, that sum to 1."""
    scores = np.exp(log_probs.astype(np.float32)).astype(np.float64)
    return np.asarray(scores / scores.sum(axis=-1, keepdims=True), np.float32)


def to_planes(log_probs: np.ndarray) -> np.ndarray:
    """The bytes of float16 numbers (members, N, K) in an order that compresses well and unpacks
    fast, uint8 (2, K, N, members).

    First all high bytes, members side by side; then the low bytes, sorted by their high bytes:
    rounded numbers have few low bytes, others all.
    """
    bits = log_probs.astype(np.float16).view(np.uint16).transpose(2, 1, 0)
    high, low = (bits >> 8).astype(np.uint8), bits.astype(np.uint8)
    return np.stack(
        [high, low.reshape(-1)[np.argsort(high, axis=None, kind="stable")].reshape(high.shape)]
    )


def from_planes(planes: np.ndarray) -> np.ndarray:
    """The numbers of `to_planes`."""
    high, stored = planes
    low = np.empty(high.size, np.uint16)
    low[np.argsort(high, axis=None, kind="stable")] = stored.reshape(-1)
    bits = high.astype(np.uint16) << 8 | low.reshape(high.shape)
    return np.ascontiguousarray(bits.transpose(2, 1, 0)).view(np.float16)


def write_fashion_ensemble(
    path: str | os.PathLike[str],
    probs: np.ndarray,
    y_true: np.ndarray,
    ood: Mapping[str, np.ndarray],
    images: np.ndarray,
    image_index: np.ndarray,
    class_names: tuple[str, ...],
) -> None:
    """Write the file that `load_fashion_ensemble` reads; ``images`` are those at
    ``image_index``.
    """
    arrays = {
        "log_probs": to_planes(packed(probs)),
        **{f"log_probs_{name}": to_planes(packed(ood[name])) for name in OOD},
        "y_true": y_true.astype(np.uint8),
        "class_names": np.array(class_names),
        "images": images.astype(np.uint8),
        "image_index": image_index.astype(np.uint16),
    }
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
