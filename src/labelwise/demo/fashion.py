"""Five networks on FashionMNIST, and on two sets that they were not trained for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np

from ..distributions import Ensemble

__all__ = ["FashionEnsemble", "load_fashion_ensemble"]

OOD = ("mnist", "kmnist")


@dataclass(frozen=True, eq=False)
class FashionEnsemble:
    """Five members on 2,000 test images of FashionMNIST, 200 of each class: ``ensemble`` (``probs``
    (5, 2000, 10), float32), with the true classes ``y_true``.

    ``ood`` are the same members on 500 out-of-distribution images each, ``"mnist"`` and
    ``"kmnist"``. ``images`` are some of the test images, uint8 (n, 28, 28): the most uncertain ones
    and a random choice; ``image_index`` are their positions in ``y_true``, ascending.
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

    Five CNNs as in the paper's experiments (run 0 of ``labelwise-lab reproduce ood``, of which
    ``labelwise-lab reproduce bundle`` takes every fifth case). The images and labels are
    FashionMNIST's, © 2017 Zalando SE, MIT license. Nothing is downloaded. The file holds logarithms
    of the probabilities as float16, which keeps three digits of large and of small ones.

    Examples
    --------
    >>> fashion = lw.demo.load_fashion_ensemble()
    >>> fashion.ensemble.probs.shape, fashion.class_names[:2]
    ((5, 2000, 10), ('T-shirt/top', 'trouser'))
    >>> inside = lw.decompose(fashion.ensemble).sum().epistemic
    >>> outside = lw.decompose(fashion.ood["kmnist"]).sum().epistemic
    >>> print(lw.evaluation.detection_scores(inside, outside).auroc)
    0.943 (95 % interval 0.930 to 0.953)
    """
    with as_file(files(__package__) / "fashion.npz") as path, np.load(path) as loaded:
        arrays = dict(loaded)
    names = tuple(arrays["class_names"].tolist())

    def ensemble(log_probs: np.ndarray) -> Ensemble:
        scores = np.exp(log_probs.astype(np.float64))
        probs = scores / scores.sum(axis=-1, keepdims=True)
        return Ensemble(probs.astype(np.float32), class_names=names)

    return FashionEnsemble(
        ensemble(arrays["log_probs"]),
        arrays["y_true"].astype(np.int64),
        names,
        {name: ensemble(arrays[f"log_probs_{name}"]) for name in OOD},
        arrays["images"],
        arrays["image_index"].astype(np.int64),
    )
