"""The manifest of prepared slices: studies, their parts, skipped studies with reasons.
Byte-identical for identical input.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..files import read_json
from .patient_split import split_patients
from .studies import Skipped, Study

FILE = "manifest.json"
SLICES = "slices"
FORMAT = 2
NEGATIVE = "negative"
HELD_BACK = "held back"
LESION_FREE = ("negative", "study", "skip")


class Slices:
    """Images of several studies, read when they are asked for: ``slices[3:7]``,
    ``slices[np.array([9, 2])]``.

    A uint8 array (N, S, S, 3) for `labelwise_lab.training.fit_ensemble`. It can be pickled: it
    knows files and planes, and maps a file for each image.
    """

    dtype = np.dtype(np.uint8)
    ndim = 4

    def __init__(self, places: Sequence[tuple[Path, int]], size: int, fingerprint: str) -> None:
        self.places, self.fingerprint = places, fingerprint
        self.shape = (len(places), size, size, 3)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any) -> np.ndarray:
        chosen = np.arange(len(self))[index]
        images = np.empty((np.size(chosen), *self.shape[1:]), self.dtype)
        for image, i in zip(images, np.atleast_1d(chosen), strict=True):
            image[...] = self._stored(i)[..., :3]
        return images.reshape(*np.shape(chosen), *self.shape[1:])

    def lesions(self, i: int) -> np.ndarray:
        """The expert's mask of slice ``i``, (S, S), bool."""
        return np.asarray(self._stored(i)[..., 3] > 0)

    def _stored(self, i: int) -> np.ndarray:
        path, plane = self.places[i]
        try:
            return np.asarray(np.load(path, mmap_mode="r")[plane])
        except (OSError, ValueError, IndexError) as error:
            raise ValueError(
                f"{str(path)!r} cannot be read ({error}); remove it, and run `labelwise-lab petct "
                "prepare` again"
            ) from error


@dataclass(frozen=True, eq=False)
class Part:
    """Slices of a part of the patients, with their metadata."""

    images: Slices
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
        rule, held_back = self.manifest["lesion_free"], self.manifest["held_back"]
        entries = [entry for entry in self.manifest["studies"] if entry["part"] == name]
        if name == HELD_BACK:
            entries = [entry for entry in entries if entry["diagnosis"] in held_back]
        places, rows, diagnoses = [], [], {}
        digest = hashlib.sha256()
        for entry in entries:
            study = f"{entry['patient']}/{entry['study']}"
            path = self.folder / SLICES / f"{entry['key']}.npy"
            if not path.is_file():
                raise ValueError(
                    f"slices of {study} are missing in {str(path.parent)!r}; run `labelwise-lab "
                    "petct prepare` again"
                )
            voxels = np.array(entry["lesion_voxels"])
            labels = slice_labels(entry["diagnosis"], voxels, self.class_names, rule)
            used = labels >= 0
            if name == HELD_BACK:
                used = (voxels > 0) | (rule != "skip")
            for i in np.flatnonzero(used).tolist():
                slice_id = f"{study}#{entry['planes'][i]}"
                places.append((path, i))
                rows.append((labels[i], entry["patient"], study, slice_id, voxels[i]))
            diagnoses[study] = entry["diagnosis"]
            digest.update(f"{entry['slices_sha256']} {np.flatnonzero(used).tolist()}".encode())
        y, patients, studies, ids, lesion_voxels = zip(*rows, strict=True) if rows else ((),) * 5
        return Part(
            Slices(places, self.size, digest.hexdigest()),
            np.array(y, dtype=np.int64),
            np.array(patients, dtype=str),
            np.array(studies, dtype=str),
            np.array(ids, dtype=str),
            np.array(lesion_voxels, dtype=np.int64),
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
    skipped: Sequence[Skipped],
    *,
    settings: dict[str, Any],
    diagnoses: Sequence[str],
    hold_back: Sequence[str],
    lesion_free: str,
    test_size: float,
    val_size: float,
    seed: int,
) -> dict[str, Any]:
    """The manifest: patient split, statistics of the training patients, and all inputs."""
    usable, skipped = _without_copies(records, skipped)
    # Patients with a held-back study are excluded from training: the network would have seen the
    # same body.
    held = {study.patient for study in usable if study.diagnosis in hold_back}
    free = [study for study in usable if study.patient not in held]
    if not free:
        why = f"; the first problem: {skipped[0]}" if skipped else ""
        raise ValueError(f"no study can be used{why}")
    parts = {study.patient: str(study.part) for study in free}
    given = free[0].part is not None
    if not given:
        pairs = [(study.patient, study.diagnosis) for study in free]
        parts = split_patients(pairs, test_size=test_size, val_size=val_size, rng=seed)
    parts |= dict.fromkeys(held, HELD_BACK)
    classes = [name for name in diagnoses if name in {study.diagnosis for study in free}]
    if lesion_free == "negative" and NEGATIVE not in classes:
        raise ValueError(
            "slices without a lesion cannot be called negative, because there is no negative "
            "study; use --lesion-free study or skip"
        )
    trained = [study for study in usable if parts[study.patient] == "train"]
    for name in classes:
        if name not in {study.diagnosis for study in trained}:
            raise ValueError(
                f"no training patient has the diagnosis {name!r}: too few patients to split; add "
                "studies, or hold the diagnosis back"
            )
    entries = []
    for study, record in usable.items():
        names = {"patient": study.patient, "study": study.study, "diagnosis": study.diagnosis}
        # What only the statistics and the next preparation need stays in the study's own record.
        listed = {key: x for key, x in record.items() if key not in ("made_from", "sums")}
        entries.append(names | {"part": parts[study.patient], "key": study.key} | listed)
    used = [
        np.array(usable[study]["sums"])[
            slice_labels(study.diagnosis, usable[study]["lesion_voxels"], classes, lesion_free) >= 0
        ]
        for study in trained
    ]
    return {
        "format": FORMAT,
        "settings": settings,
        "class_names": classes,
        "held_back": [name for name in diagnoses if name in hold_back],
        "lesion_free": lesion_free,
        "split": {"test_size": test_size, "val_size": val_size, "seed": seed, "given": given},
        "statistics": _statistics(np.concatenate(used), settings["size"] ** 2),
        "studies": entries,
        "skipped": [{"patient": s.patient, "study": s.study, "why": s.why} for s in skipped],
    }


def _without_copies(
    records: Mapping[Study, dict[str, Any]], skipped: Sequence[Skipped]
) -> tuple[dict[Study, dict[str, Any]], list[Skipped]]:
    """Keep the first of identical volumes: copies could end up in different parts."""
    first: dict[str, str] = {}
    usable, skipped = {}, list(skipped)
    for study in sorted(records, key=lambda study: (study.patient, study.study)):
        name = first.setdefault(records[study]["files"]["pet"]["sha256"], study.name)
        if name == study.name:
            usable[study] = records[study]
        else:
            why = f"its {study.pet.name} is the same file as that of {name}"
            skipped.append(Skipped(study.patient, study.study, why))
    return usable, sorted(skipped, key=lambda s: (s.patient, s.study))


def _statistics(sums: np.ndarray, pixels: int) -> dict[str, Any]:
    """Mean and standard deviation of each channel, from the sums and the sums of squares of each
    slice, (N, 2, 3).
    """
    if not len(sums):
        raise ValueError("no training slice has a label")
    mean, square = sums.sum(axis=0) / (len(sums) * pixels)
    deviation = np.sqrt(square - mean**2)
    return {
        "mean": (mean / 255).tolist(),
        "deviation": (deviation / 255).tolist(),
        "pixels": len(sums) * pixels,
    }


def open_prepared(folder: str | Path) -> Prepared:
    """Open a folder written by `prepare`."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"there are no prepared slices in {str(folder)!r}: {FILE} is missing; run "
            "`labelwise-lab petct prepare` first"
        )
    try:
        manifest = read_json(path)
        if manifest["format"] != FORMAT:
            raise ValueError(
                f"it has format {manifest['format']}, not {FORMAT}; run `labelwise-lab petct "
                "prepare` again"
            )
        prepared = Prepared(Path(folder), manifest)
        # Read what every use needs, so that a lack is noticed before any work is done.
        for name in ("class_names", "statistics", "size"):
            getattr(prepared, name)
    except (ValueError, KeyError, TypeError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{str(path)!r} cannot be used: {reason}") from error
    return prepared
