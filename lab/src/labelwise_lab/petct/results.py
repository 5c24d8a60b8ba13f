"""Performance and uncertainty on the test patients, with intervals over patients."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labelwise import decompose
from labelwise.evaluation import clustered_mean, detection_scores
from labelwise.io import Predictions, load_predictions
from labelwise.typing import Estimate, Uncertainty

from ..text import PARTS, plain
from ..validation import to_numpy
from .manifest import FILE_PREFIXES, HELD_BACK, NEGATIVE, Part, Prepared


@dataclass(frozen=True, eq=False)
class Results:
    """Predictions for a part of the patients, and the uncertainty of its slices."""

    part: Part
    slices: Predictions
    studies: Predictions
    u: Uncertainty
    """Uncertainty of slices, (N, K)."""

    @property
    def uncertain_planes(self) -> dict[str, int]:
        """The most uncertain slice of each study, the most uncertain study first."""
        planes: dict[str, int] = {}
        for i in np.argsort(-to_numpy(self.u.sum().total), kind="stable").tolist():
            planes.setdefault(self.part.studies[i], i)
        return planes


def load_results(prepared: Prepared, trained: Path, loss: Any = "log") -> dict[str, Results]:
    """Load the predictions in ``trained`` for the test patients and, if there are some, for the
    held-back ones; check that they belong to the prepared slices.
    """
    results = {}
    for name, prefix in FILE_PREFIXES.items():
        path = trained / f"{prefix}slices.npz"
        if name == HELD_BACK and not path.is_file():
            continue
        part, slices = prepared.part(name), load_predictions(path)
        if not np.array_equal(np.asarray(slices.ids), part.ids):
            raise ValueError(
                f"{str(path)!r} does not belong to the slices in {str(prepared.folder)!r}: train "
                "again, or use the folder it was trained on"
            )
        studies = load_predictions(trained / f"{prefix}studies.npz")
        results[name] = Results(part, slices, studies, decompose(slices.distribution(), loss))
    return results


def predicted_class(predictions: Predictions) -> np.ndarray:
    """The class of the highest mean probability."""
    return np.asarray(to_numpy(predictions.distribution().mean()).argmax(axis=-1))


def summarize(results: dict[str, Results]) -> dict[str, Any]:
    """All numbers, JSON-serializable."""
    test = results["test"]
    numbers: dict[str, Any] = {"patients": len(np.unique(test.part.patients)), "diagnoses": []}
    for unit, predictions in {"slices": test.slices, "studies": test.studies}.items():
        y, patients = predictions.true_class, np.asarray(predictions.groups)
        found = predicted_class(predictions) == y
        numbers[unit] = {"n": len(y), "accuracy": mean_over_patients(found, patients)}
        for k in np.unique(y).tolist():
            own = y == k
            row = {
                "diagnosis": predictions.names[k],
                "unit": unit,
                "n": own.sum(),
                "found": found[own].sum(),
                "recall": mean_over_patients(found[own], patients[own]),
            }
            numbers["diagnoses"].append(row)
    if HELD_BACK in results:
        numbers["held_back"] = _detection(test, results[HELD_BACK])
    return dict(plain(numbers))


def mean_over_patients(hits: np.ndarray, patients: np.ndarray) -> dict[str, Any]:
    """Share of hits with an interval over patients, whose slices are dependent."""
    if len(np.unique(patients)) < 2:  # one patient says nothing about the others
        return asdict(Estimate(hits.mean(), 0.0, 1.0))
    return asdict(clustered_mean(hits, patients, bounds=(0.0, 1.0)))


def _detection(known: Results, unknown: Results) -> dict[str, Any]:
    """How well uncertainty detects held-back diagnoses: AUROC among studies with a disease and
    among slices with lesions, with intervals over patients.
    """
    ill = np.array(known.studies.names)[known.studies.true_class] != NEGATIVE
    units = {
        "studies": (known.studies[ill], unknown.studies),
        "slices with lesions": (
            known.slices[known.part.lesion_voxels > 0],
            unknown.slices[unknown.part.lesion_voxels > 0],
        ),
    }
    numbers = {}
    for unit, (inside, outside) in units.items():
        groups: dict[str, Any] = {"groups_in": inside.groups, "groups_out": outside.groups}
        # An interval over patients needs at least two on each side.
        if min(len(set(patients)) for patients in groups.values()) > 1:
            u = decompose(inside.distribution(), known.u.loss).sum()
            v = decompose(outside.distribution(), known.u.loss).sum()
            row: dict[str, Any] = {"known": len(inside), "held_back": len(outside)}
            for m in PARTS:
                auroc = detection_scores(getattr(u, m), getattr(v, m), **groups).auroc
                row[m] = asdict(auroc)
            numbers[unit] = row
    return numbers
