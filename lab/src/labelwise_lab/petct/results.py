"""Performance and uncertainty on the test patients, with intervals over patients."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labelwise import Uncertainty, decompose
from labelwise._resampling import mean_over_groups, share_estimate
from labelwise.evaluation import Estimate, by_class, detection_scores, rejection_curve
from labelwise.io import Predictions, load_predictions
from labelwise.losses import LossName

from ..text import PARTS
from ..validation import to_numpy
from .manifest import HELD_BACK, NEGATIVE, Part, Prepared, open_prepared


@dataclass(frozen=True, eq=False)
class Results:
    """Predictions for the test patients and their uncertainty."""

    prepared: Prepared
    part: Part
    slices: Predictions
    studies: Predictions
    u: Uncertainty
    """Uncertainty of slices, (N, K)."""
    mean: np.ndarray
    held_back: tuple[Part, Predictions, Predictions] | None
    """Slices, their predictions, and the predictions of studies."""

    @property
    def prediction(self) -> np.ndarray:
        return np.asarray(self.mean.argmax(axis=-1))

    @property
    def study_hits(self) -> np.ndarray:
        """Whether the predicted class of each study is right."""
        return np.asarray(
            to_numpy(self.studies.distribution().mean()).argmax(axis=-1) == self.studies.y_true
        )


def load_results(folder: str | Path, trained: str | Path, loss: LossName = "log") -> Results:
    """Load the predictions in ``trained`` and check that they belong to the slices in
    ``folder``.
    """
    prepared, trained = open_prepared(folder), Path(trained)
    part = prepared.part("test")
    slices, studies = (
        load_predictions(trained / "slices.npz"),
        load_predictions(trained / "studies.npz"),
    )
    _check_same(slices, part, trained / "slices.npz", folder)
    held = None
    if (trained / "held-back-slices.npz").is_file():
        other = prepared.part(HELD_BACK)
        predictions = load_predictions(trained / "held-back-slices.npz")
        _check_same(predictions, other, trained / "held-back-slices.npz", folder)
        held = other, predictions, load_predictions(trained / "held-back-studies.npz")
    q = slices.distribution()
    return Results(prepared, part, slices, studies, decompose(q, loss), to_numpy(q.mean()), held)


def _check_same(predictions: Predictions, part: Part, path: Path, folder: str | Path) -> None:
    if predictions.ids is None or not np.array_equal(predictions.ids, part.ids):
        raise ValueError(
            f"{str(path)!r} does not belong to the slices in {str(folder)!r}: train again, or use "
            "the folder it was trained on"
        )


def share(hits: np.ndarray, groups: np.ndarray, *, less: np.ndarray | None = None) -> Estimate:
    """Fraction of hits (minus that of ``less`` on the same instances), with an interval over
    patients, whose slices are dependent.
    """
    _, code = np.unique(groups, return_inverse=True)
    if less is None:
        return share_estimate(hits, code, 0.95)
    difference = hits.astype(float) - less.astype(float)
    return mean_over_groups(difference, code, 0.95, bounds=(-1.0, 1.0))


def summarize(results: Results, *, rng: int = 0) -> dict[str, Any]:
    """All numbers, JSON-serializable."""
    part, y = results.part, results.part.y
    correct = results.prediction == y
    majority = y == np.bincount(y).argmax()
    names, first = np.unique(part.studies, return_index=True)
    total = results.u.sum()
    found: dict[str, Any] = {
        "patients": len(np.unique(part.patients)),
        "slices": len(y),
        "accuracy": _plain(share(correct, part.patients)),
        "majority_class_accuracy": float(majority.mean()),
        "gain_over_majority_class": _plain(share(correct, part.patients, less=majority)),
        "studies": len(names),
        "study_accuracy": _plain(share(results.study_hits, part.patients[first])),
        "area_under_accuracy_rejection": {
            m: rejection_curve(getattr(total, m), correct=correct).area for m in PARTS
        },
        "diagnoses": _by_diagnosis(results, correct),
    }
    if results.held_back is not None:
        found["held_back"] = _held_back(results, *results.held_back, rng)
    return found


def _held_back(
    results: Results, other: Part, slices: Predictions, studies: Predictions, rng: int
) -> dict[str, Any]:
    """How well uncertainty detects held-back diagnoses, among slices with lesions and among studies
    with a disease.
    """
    part, loss = results.part, results.u.loss
    lesions = part.lesion_voxels > 0
    ill = np.array(
        [part.diagnoses[str(name)] != NEGATIVE for name in np.asarray(results.studies.ids)]
    )
    known = decompose(results.studies.distribution(), loss).sum()
    unknown = decompose(slices.distribution(), loss).sum()
    crossing = other.lesion_voxels > 0
    every = np.ones(len(np.asarray(studies.ids)), dtype=bool)
    scores = {
        "slices": (results.u.sum(), unknown, lesions, crossing, part.patients, other.patients),
        "studies": (
            known,
            decompose(studies.distribution(), loss).sum(),
            ill,
            every,
            _patients(results.studies),
            _patients(studies),
        ),
    }
    return {
        "diagnoses": results.prepared.manifest["held_back"],
        "patients": len(np.unique(other.patients)),
        **{
            unit: {
                "known": int(a.sum()),
                "held_back": int(b.sum()),
                "auroc": {
                    m: _plain(
                        _auroc(getattr(u, m)[a], getattr(v, m)[b], groups_in[a], groups_out[b], rng)
                    )
                    for m in PARTS
                },
            }
            for unit, (u, v, a, b, groups_in, groups_out) in scores.items()
            if a.any() and b.any()
        },
    }


def _auroc(
    known: np.ndarray, unknown: np.ndarray, groups_in: np.ndarray, groups_out: np.ndarray, rng: int
) -> Estimate | None:
    """AUROC with a bootstrap interval over patients."""
    return detection_scores(
        known, unknown, groups_in=groups_in, groups_out=groups_out, rng=rng, n_bootstrap=2000
    ).auroc_bootstrap


def _patients(studies: Predictions) -> np.ndarray:
    return np.array([str(name).partition("/")[0] for name in np.asarray(studies.ids)])


def _by_diagnosis(results: Results, correct: np.ndarray) -> list[dict[str, Any]]:
    part = results.part
    own = by_class(results.u, part.y).own
    study_truth, hits = np.asarray(results.studies.y_true), results.study_hits
    rows = []
    for k, name in enumerate(results.prepared.class_names):
        of = part.y == k
        row: dict[str, Any] = {
            "diagnosis": name,
            "studies": int((study_truth == k).sum()),
            "studies_found": int(hits[study_truth == k].sum()),
            "slices": int(of.sum()),
            "recall": _plain(share(correct[of], part.patients[of])) if of.any() else None,
        }
        for m in PARTS:
            row[m] = float(np.asarray(getattr(own, m).value)[k]) if own is not None else None
        rows.append(row)
    return rows


def _plain(estimate: Estimate | None) -> dict[str, float | None] | None:
    if estimate is None:
        return None
    low, high = float(estimate.low), float(estimate.high)
    return {
        "value": float(estimate),
        "low": low if np.isfinite(low) else None,
        "high": high if np.isfinite(high) else None,
    }
