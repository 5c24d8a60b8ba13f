"""The predictions that come with the package, made from a run of the paper's experiment on
FashionMNIST.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from labelwise import Ensemble, decompose
from labelwise.demo.fashion import FILE, OOD, packed, unpacked, write_fashion_ensemble
from labelwise.io import Predictions

from ..files import write_file
from ..text import PARTS
from .scores import MEASURES, accuracy_and_areas, aurocs, scores

N_IMAGES = 400
LARGEST = 2_100_000
"""Bytes."""


def bundle(
    inside: Predictions, outside: dict[str, Predictions], *, images: np.ndarray, out: Path = FILE
) -> dict[str, float]:
    """Write the bundled file, if rounding changes no number as it is printed and it is small
    enough; returns those numbers.

    Parameters
    ----------
    inside : Predictions
        On the test set of FashionMNIST, with ``y_true`` and ``class_names``.
    outside : dict
        On those of MNIST and KMNIST.
    images : array (N, 28, 28)
        The test set of FashionMNIST, of which some are kept.
    out : path
    """
    if inside.probs is None or inside.y_true is None or inside.class_names is None:
        raise ValueError("`inside` must have `probs`, `y_true` and `class_names`")
    probs = {"": inside.probs, **{name: outside[name].probs for name in OOD}}
    exact, stored = (
        published_numbers({name: f(np.asarray(x)) for name, x in probs.items()}, inside.y_true)
        for f in (lambda x: x, lambda x: unpacked(packed(x)))
    )
    changed = [
        name for name in exact if as_printed(name, exact[name]) != as_printed(name, stored[name])
    ]
    if changed:
        raise ValueError(
            f"rounding changes a printed digit of {', '.join(changed)}; these predictions cannot "
            "be bundled as they are"
        )
    index = notable(Ensemble(inside.probs, class_names=inside.class_names), N_IMAGES)
    others = {name: probs[name] for name in OOD}
    with tempfile.TemporaryDirectory() as folder:
        beside = Path(folder) / out.name
        write_fashion_ensemble(
            beside, inside.probs, inside.y_true, others, images[index], index, inside.class_names
        )
        content = beside.read_bytes()
    if len(content) > LARGEST:
        raise ValueError(
            f"{out.name} would have {len(content):,} bytes; at most {LARGEST:,} go into the package"
        )
    write_file(out, content)
    return exact


def published_numbers(probs: dict[str, np.ndarray], y_true: np.ndarray) -> dict[str, float]:
    """Accuracy, areas under the rejection curves and AUROCs of all measures, as the results page
    prints them.
    """
    q = Ensemble(probs[""])
    inside = scores(q)
    accuracy, areas = accuracy_and_areas(q, inside, y_true)
    numbers = {
        "accuracy": accuracy,
        **{f"arc {measure} {part}": areas[measure, part] for measure in MEASURES for part in PARTS},
    }
    for name in OOD:
        found = aurocs(inside, scores(Ensemble(probs[name])))
        numbers |= {
            f"{name} {measure} {part}": found[measure, part]
            for measure in MEASURES
            for part in PARTS
        }
    return numbers


def as_printed(name: str, value: float) -> str:
    """With as many digits as on the results page: four for accuracies, three for AUROCs."""
    return f"{value:.4f}" if name.startswith(("accuracy", "arc")) else f"{value:.3f}"


def notable(q: Ensemble, n: int, *, rng: int | np.random.Generator | None = 0) -> np.ndarray:
    """``n`` instances: those with the highest total, aleatoric and epistemic uncertainty, at most n
    / 2, and a random choice of the others.
    """
    u = decompose(q).sum()
    most = {
        int(i)
        for part in PARTS
        for i in np.argsort(-np.asarray(getattr(u, part)), kind="stable")[: n // 6]
    }
    others = np.setdiff1d(np.arange(len(u.total)), sorted(most))
    chosen = np.random.default_rng(rng).choice(others, n - len(most), replace=False)
    return np.sort(np.concatenate([sorted(most), chosen]).astype(np.int64))
