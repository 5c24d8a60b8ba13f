"""The manifest of prepared slices: studies, their parts, skipped studies with reasons.
Byte-identical for identical input.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..files import read_json, write_file
from .patient_split import split_patients
from .store import GROUP, Slices, is_whole
from .studies import Skipped, Study

FILE = "manifest.json"
NEGATIVE = "negative"
HELD_BACK = "held back"
LESION_FREE = ("negative", "study", "skip")
_LONGEST, _LARGEST_SIZE = 1 << 28, 4096


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
        return tuple(self.manifest["statistics"]["mean"]), tuple(
            self.manifest["statistics"]["deviation"]
        )

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
        rule, held = self.manifest["lesion_free"], self.manifest["held_back"]
        chosen = [
            s
            for s in self.manifest["studies"]
            if s["part"] == name and (name != HELD_BACK or s["diagnosis"] in held)
        ]
        root = self.folder / GROUP
        kept, labels, rows = [], [], []
        digest = hashlib.sha256()
        for study in chosen:
            if not is_whole(root, study["key"], len(study["planes"])):
                raise ValueError(
                    f"slices of {study['patient']}/{study['study']} are missing in {str(root)!r}; "
                    "run `labelwise-lab petct prepare` again"
                )
            label = slice_labels(study["diagnosis"], study["lesion_voxels"], self.class_names, rule)
            use = np.flatnonzero(
                label >= 0
                if name != HELD_BACK
                else (rule != "skip") | (np.array(study["lesion_voxels"]) > 0)
            )
            kept.append((study["key"], use))
            labels.append(label[use])
            rows += [(study, int(i)) for i in use]
            digest.update(f"{study['slices_sha256']} {use.tolist()}".encode())
        names = [f"{s['patient']}/{s['study']}" for s, _ in rows]
        return Part(
            Slices(root, kept, self.size, digest.hexdigest()),
            np.concatenate([*labels, np.zeros(0, dtype=np.int64)]).astype(np.int64),
            np.array([s["patient"] for s, _ in rows], dtype=str),
            np.array(names, dtype=str),
            np.array(
                [f"{name}#{s['planes'][i]}" for name, (s, i) in zip(names, rows, strict=True)],
                dtype=str,
            ),
            np.array([s["lesion_voxels"][i] for s, i in rows], dtype=np.int64),
            {f"{s['patient']}/{s['study']}": s["diagnosis"] for s in chosen},
        )


def slice_labels(
    diagnosis: str, lesion_voxels: Sequence[int], classes: Sequence[str], lesion_free: str
) -> np.ndarray:
    """Label of each slice of a study, −1 for slices without one.

    A slice that intersects a lesion has the study's diagnosis. The label of any other slice depends
    on ``lesion_free``: "negative", the study's diagnosis (``"study"``), or none (``"skip"``). In a
    negative study it is always negative.

    >>> slice_labels("lymphoma", [0, 12, 0], ("negative", "lymphoma"), "negative")
    array([0, 1, 0])
    """
    own = list(classes).index(diagnosis) if diagnosis in classes else -1
    other = {
        "negative": list(classes).index(NEGATIVE) if NEGATIVE in classes else -1,
        "study": own,
        "skip": -1,
    }[lesion_free]
    if diagnosis == NEGATIVE or own < 0:
        other = own
    return np.where(np.asarray(lesion_voxels) > 0, own, other).astype(np.int64)


def build(
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
    known = [(study, record) for study, record in usable if study.diagnosis not in hold_back]
    held = {study.patient for study, _ in usable if study.diagnosis in hold_back}
    # Patients with a held-back study are excluded from training: the network would have seen the
    # same body.
    free = [(study, record) for study, record in known if study.patient not in held]
    if not free:
        why = f"; the first problem: {skipped[0]}" if skipped else ""
        raise ValueError(f"no study can be used{why}")
    if free[0][0].part is not None:
        parts = {study.patient: str(study.part) for study, _ in free}
    else:
        parts = split_patients(
            [(study.patient, study.diagnosis) for study, _ in free],
            test_size=test_size,
            val_size=val_size,
            rng=seed,
        )
    present = {study.diagnosis for study, _ in free}
    classes = [name for name in diagnoses if name in present]
    if lesion_free == "negative" and NEGATIVE not in classes:
        raise ValueError(
            "slices without a lesion cannot be called negative, because there is no negative "
            "study; use --lesion-free study or skip"
        )
    entries = [
        _entry(study, record, HELD_BACK if study.patient in held else parts[study.patient])
        for study, record in usable
    ]
    _every_class_is_trained(entries, classes)
    return {
        "format": 1,
        "settings": settings,
        "class_names": classes,
        "held_back": [name for name in diagnoses if name in hold_back],
        "lesion_free": lesion_free,
        "split": {
            "test_size": test_size,
            "val_size": val_size,
            "seed": seed,
            "given": free[0][0].part is not None,
        },
        "statistics": _statistics(entries, [record for _, record in usable], classes, lesion_free),
        "studies": entries,
        "skipped": [{"patient": s.patient, "study": s.study, "why": s.why} for s in skipped],
    }


def _without_copies(
    records: Mapping[Study, dict[str, Any]], skipped: Sequence[Skipped]
) -> tuple[list[tuple[Study, dict[str, Any]]], list[Skipped]]:
    """Keep the first of identical volumes: copies could end up in different parts."""
    first: dict[str, str] = {}
    usable, left = [], list(skipped)
    for study, record in sorted(records.items(), key=lambda pair: (pair[0].patient, pair[0].study)):
        content = record["files"]["pet"]["sha256"]
        if content in first:
            left.append(
                Skipped(
                    study.patient,
                    study.study,
                    f"its {study.pet.name} is the same file as that of {first[content]}",
                )
            )
        else:
            first[content] = study.name
            usable.append((study, record))
    return usable, sorted(left, key=lambda s: (s.patient, s.study))


def _entry(study: Study, record: dict[str, Any], part: str) -> dict[str, Any]:
    keys = ("files", "orientation", "shape", "spacing", "planes", "lesion_voxels", "slices_sha256")
    return {
        "patient": study.patient,
        "study": study.study,
        "diagnosis": study.diagnosis,
        "part": part,
        "key": study.key,
        **{key: record[key] for key in keys},
    }


def _every_class_is_trained(entries: Sequence[dict[str, Any]], classes: Sequence[str]) -> None:
    trained = {entry["diagnosis"] for entry in entries if entry["part"] == "train"}
    for name in classes:
        if name not in trained:
            raise ValueError(
                f"no training patient has the diagnosis {name!r}: too few patients to split; add "
                "studies, or hold the diagnosis back"
            )


def _statistics(
    entries: Sequence[dict[str, Any]],
    records: Sequence[dict[str, Any]],
    classes: Sequence[str],
    lesion_free: str,
) -> dict[str, Any]:
    """Exact mean and standard deviation of each channel over the labeled training slices, from
    integer sums.
    """
    n, total, squares = 0, [0, 0, 0], [0, 0, 0]
    for entry, record in zip(entries, records, strict=True):
        if entry["part"] == "train":
            used = (
                slice_labels(entry["diagnosis"], entry["lesion_voxels"], classes, lesion_free) >= 0
            )
            for i in np.flatnonzero(used):
                n += record["pixels"]
                total = [a + b for a, b in zip(total, record["sums"][i], strict=True)]
                squares = [a + b for a, b in zip(squares, record["squares"][i], strict=True)]
    if n == 0:
        raise ValueError("no training slice has a label")
    deviation = [math.sqrt(n * q - s * s) / n / 255 for s, q in zip(total, squares, strict=True)]
    return {"mean": [s / n / 255 for s in total], "deviation": deviation, "pixels": n}


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest atomically."""
    write_file(folder / FILE, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def open_prepared(folder: str | Path) -> Prepared:
    """Open and validate a folder written by `prepare`."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"there are no prepared slices in {str(folder)!r}: {FILE} is missing; run "
            "`labelwise-lab petct prepare` first"
        )
    try:
        manifest = read_json(path)
        if manifest["format"] != 1:
            raise ValueError(
                f"it has format {manifest['format']}, which this version does not support"
            )
        _check(manifest)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{str(path)!r} cannot be used: {what}") from error
    return Prepared(Path(folder), manifest)


def _check(manifest: dict[str, Any]) -> None:
    """Raise for a manifest that `build` could not have written."""
    statistics, settings = manifest["statistics"], manifest["settings"]
    for key in ("mean", "deviation"):
        if len(statistics[key]) != 3 or not all(_is_number(x) for x in statistics[key]):
            raise ValueError(
                f"the {key} of its statistics must be three numbers; got {statistics[key]!r:.100}"
            )
    if not 0 < settings["size"] <= _LARGEST_SIZE:
        raise ValueError(
            f"its slices must have a size of 1 to {_LARGEST_SIZE}; got {settings['size']!r}"
        )
    for key in ("class_names", "held_back"):
        if not isinstance(manifest[key], list) or not all(
            isinstance(name, str) for name in manifest[key]
        ):
            raise ValueError(f"its `{key}` must be a list of names; got {manifest[key]!r:.100}")
    if manifest["lesion_free"] not in LESION_FREE:
        raise ValueError(
            f"its `lesion_free` must be one of {', '.join(LESION_FREE)}; got "
            f"{manifest['lesion_free']!r:.100}"
        )
    for study in manifest["studies"]:
        for key in ("patient", "study", "diagnosis", "part", "key", "slices_sha256"):
            if not isinstance(study[key], str):
                raise ValueError(f"the `{key}` of a study must be text; got {study[key]!r:.100}")
        if not re.fullmatch("[A-Za-z0-9_-]+", study["key"]):
            raise ValueError(
                f"the `key` of a study must be the name of its folder; got {study['key']!r:.100}"
            )
        planes, voxels = study["planes"], study["lesion_voxels"]
        if len(planes) != len(voxels) or not all(
            type(x) is int and 0 <= x < 2**62 for x in (*planes, *voxels)
        ):
            raise ValueError(
                f"study {study['study']!r:.100} must have an integer number of lesion voxels for "
                "each of its planes"
            )


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)
