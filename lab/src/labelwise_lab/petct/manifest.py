"""The manifest of prepared slices: studies, their parts, skipped studies with reasons.
Byte-identical for identical input.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..files import read_json, reading
from .patient_split import split_patients
from .studies import Study

FILE = "manifest.json"
SLICES = "slices"
FORMAT = 2
NEGATIVE = "negative"
HELD_BACK = "held back"
FILE_PREFIXES = {"test": "", HELD_BACK: "held-back-"}
"""How the prediction files of a part begin."""
LESION_FREE = ("negative", "study", "skip")


@dataclass(frozen=True, eq=False)
class Part:
    """Slices of a part of the patients, with their metadata.

    The images look like a uint8 array (N, S, S, 3) and are read when they are asked for:
    ``part[3:7]``, ``part[np.array([9, 2])]``. It can be pickled: it knows files and rows, and maps
    a file for each image.
    """

    places: list[tuple[Path, int]]
    """File and row of each slice."""
    shape: tuple[int, ...]
    fingerprint: str
    y: np.ndarray
    """Class labels, (N,); −1 for held-back diagnoses."""
    patients: np.ndarray
    studies: np.ndarray
    """Study of each slice, "patient/study"."""
    ids: np.ndarray
    """"patient/study#plane"."""
    lesion_voxels: np.ndarray
    diagnoses: dict[str, str]
    """Diagnosis by "patient/study"."""

    dtype = np.dtype(np.uint8)
    ndim = 4

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any) -> np.ndarray:
        chosen = np.arange(len(self))[index]
        images = np.empty((*np.shape(chosen), *self.shape[1:]), self.dtype)
        for place, i in np.ndenumerate(chosen):
            images[place] = self._stored(i)[..., :3]
        return images

    def lesions(self, i: int) -> np.ndarray:
        """The expert's mask of slice ``i``, (S, S), bool."""
        return self._stored(i)[..., 3] > 0

    def _stored(self, i: int) -> np.ndarray:
        path, row = self.places[i]
        with reading(path):
            return np.asarray(np.load(path, mmap_mode="r")[row])


@dataclass(frozen=True, eq=False)
class Prepared:
    """A folder written by `prepare`."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def class_names(self) -> tuple[str, ...]:
        return tuple(self.manifest["class_names"])

    @property
    def statistics(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and standard deviation of each channel over the training patients, for values scaled
        to [0, 1].
        """
        statistics = self.manifest["statistics"]
        return tuple(statistics["mean"]), tuple(statistics["deviation"])

    @property
    def size(self) -> int:
        return int(self.manifest["settings"]["size"])

    def part(self, name: str) -> Part:
        """``"train"``, ``"val"``, ``"test"`` or ``"held back"``; slices without a label are
        excluded.

        ``"held back"`` has the studies with a held-back diagnosis, with the same planes as other
        studies: all, unless slices without a lesion are skipped. Other studies of these patients
        are in no part.
        """
        entries = [entry for entry in self.manifest["studies"] if entry["part"] == name]
        places, y, patients, studies, ids, lesion_voxels = [], [], [], [], [], []
        diagnoses = {}
        for entry in entries:
            study = f"{entry['patient']}/{entry['study']}"
            diagnoses[study] = entry["diagnosis"]
            path = self.folder / SLICES / entry["slices"]
            if not path.is_file():
                raise ValueError(
                    f"slices of {study} are missing in {str(path.parent)!r}; run `labelwise-lab "
                    "petct prepare` again"
                )
            for i, label in enumerate(entry["labels"]):
                if label is not None:
                    places.append((path, i))
                    y.append(label)
                    patients.append(entry["patient"])
                    studies.append(study)
                    ids.append(f"{study}#{entry['planes'][i]}")
                    lesion_voxels.append(entry["lesion_voxels"][i])
        content = [[entry["slices_sha256"], entry["labels"]] for entry in entries]
        fingerprint = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return Part(
            places,
            (len(places), self.size, self.size, 3),
            fingerprint,
            np.array(y),
            np.array(patients),
            np.array(studies),
            np.array(ids),
            np.array(lesion_voxels),
            diagnoses,
        )


def slice_labels(
    diagnosis: str, lesion_voxels: Any, classes: Sequence[str], lesion_free: str
) -> np.ndarray:
    """Label of each slice of a study, −1 for slices without one.

    A slice that intersects a lesion has the study's diagnosis. The label of any other slice depends
    on ``lesion_free``: "negative", the study's diagnosis (``"study"``), or none (``"skip"``). In a
    negative study it is always negative.

    >>> slice_labels("lymphoma", [0, 12, 0], ("negative", "lymphoma"), "negative")
    array([0, 1, 0])
    """
    position = {name: k for k, name in enumerate(classes)}
    own = other = position.get(diagnosis, -1)
    if own >= 0 and diagnosis != NEGATIVE and lesion_free != "study":
        other = position.get(NEGATIVE, -1) if lesion_free == "negative" else -1
    return np.where(np.asarray(lesion_voxels) > 0, own, other).astype(np.int64)


def build_manifest(
    records: Mapping[Study, dict[str, Any]],
    diagnoses: Sequence[str],
    hold_back: Sequence[str],
    lesion_free: str,
    split: dict[str, Any],
) -> dict[str, Any]:
    """The patient split (``split`` has the options of `split_patients`), labels, statistics of the
    training patients, and all inputs.
    """
    # Patients with a held-back study are excluded from training: the network would have seen the
    # same body.
    held = {study.patient for study in records if study.diagnosis in hold_back}
    free = [study for study in records if study.patient not in held]
    parts = {study.patient: study.part for study in free}
    if None in parts.values():
        parts |= split_patients([(study.patient, study.diagnosis) for study in free], **split)
    classes = [name for name in diagnoses if name in {study.diagnosis for study in free}]
    if not classes:
        raise ValueError("no study is left to train on: all patients are held back")
    if lesion_free == "negative" and NEGATIVE not in classes:
        raise ValueError(
            "slices without a lesion cannot be called negative, because there is no negative "
            "study; use --lesion-free study or skip"
        )
    entries, moments, trained = [], [], set()
    for study, record in records.items():
        part = parts.get(study.patient, HELD_BACK)
        voxels = np.array(record["lesion_voxels"])
        labels = slice_labels(study.diagnosis, voxels, classes, lesion_free)
        used = labels >= 0
        if part == HELD_BACK:
            used = (study.diagnosis in hold_back) & ((voxels > 0) | (lesion_free != "skip"))
        elif part == "train":
            trained.add(study.diagnosis)
            moments.append(np.array(record["moments"])[used])
        entry = {"patient": study.patient, "study": study.study, "diagnosis": study.diagnosis}
        listed = labels.astype(object)
        listed[~used] = None
        entry |= {"part": part, "labels": listed.tolist()} | record
        del entry["moments"]
        entries.append(entry)
    for name in classes:
        if name not in trained:
            raise ValueError(
                f"no training patient has the diagnosis {name!r}: too few patients to split; add "
                "studies, or hold the diagnosis back"
            )
    mean, square = np.concatenate(moments).mean(axis=0)
    deviation = np.sqrt(square - mean**2)
    return {
        "format": FORMAT,
        "class_names": classes,
        "held_back": hold_back,
        "lesion_free": lesion_free,
        "split": split,
        "statistics": {"mean": mean.tolist(), "deviation": deviation.tolist()},
        "studies": entries,
    }


def open_prepared(folder: str | Path) -> Prepared:
    """Open a folder written by `prepare`."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"there are no prepared slices in {str(folder)!r}: {FILE} is missing; run "
            "`labelwise-lab petct prepare` first"
        )
    manifest = read_json(path)
    needed = {"format", "class_names", "statistics", "settings", "studies"}
    missing = sorted(needed.difference(manifest))
    if missing or manifest["format"] != FORMAT:
        reason = f"it has no {missing[0]!r}" if missing else "it is of another version"
        raise ValueError(
            f"{str(path)!r} cannot be used: {reason}; run `labelwise-lab petct prepare` again"
        )
    return Prepared(Path(folder), manifest)
