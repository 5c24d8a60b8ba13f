"""Find studies: in the published folder layout with its metadata, or in a user's table."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import read_text
from ..validation import suggest

DIAGNOSES = ("negative", "lung cancer", "lymphoma", "melanoma")
"""Diagnoses of the published data set; the first means no lesion."""
FILES = {"ct": "CTres.nii.gz", "pet": "SUV.nii.gz", "seg": "SEG.nii.gz"}
PARTS = ("train", "val", "test")
# What a column holds -> its names, in lower-case letters.
_COLUMNS = {
    "patient": "subjectid patient patientid",
    "study": "study studyid",
    "location": "filelocation studylocation",
    "diagnosis": "diagnosis",
    "ct": "ct ctres",
    "pet": "pet suv",
    "seg": "seg",
    "part": "part split",
}


@dataclass(frozen=True)
class Study:
    """One examination of one patient, with the paths of its volumes."""

    patient: str
    study: str
    diagnosis: str
    ct: Path
    pet: Path
    seg: Path | None
    part: str | None = None
    """``"train"``, ``"val"`` or ``"test"`` if the table says so."""

    @property
    def name(self) -> str:
        return f"{self.patient}/{self.study}"

    @property
    def key(self) -> str:
        """A unique file name of harmless characters."""
        digits = hashlib.sha256(self.name.encode()).hexdigest()[:10]
        return f"{re.sub('[^A-Za-z0-9_-]+', '-', self.name)[:60]}-{digits}"

    @property
    def files(self) -> dict[str, Path]:
        """The volumes that there are, by what they hold."""
        paths = {"ct": self.ct, "pet": self.pet}
        if self.seg is not None:
            paths["seg"] = self.seg
        return paths


@dataclass(frozen=True)
class Skipped:
    """A study that is not used, and the reason."""

    patient: str
    study: str
    why: str

    def __str__(self) -> str:
        return f"{self.patient}/{self.study}: {self.why}"


def normal(diagnosis: str) -> str:
    """Normalize the name of a diagnosis: ``LUNG_CANCER`` is "lung cancer"."""
    return " ".join(diagnosis.replace("_", " ").lower().split())


def find_studies(
    root: Path, *, table: Path | None = None, diagnoses: Sequence[str] = DIAGNOSES
) -> tuple[list[Study], list[Skipped]]:
    """The studies in ``root``, sorted by name, and the unusable ones.

    Parameters
    ----------
    root : path
        Folder of the published layout, patient / study / CTres, SUV, SEG (.nii.gz), possibly one
        level deeper.
    table : path, optional
        A CSV file with the columns patient, study and diagnosis, and optionally ct, pet and seg
        (paths relative to the table; default: the published layout) and part (train, val or test).
        Defaults to the metadata CSV in ``root``, where the patient is the "Subject ID", the study
        is the folder in "File Location", and each series has a line.
    diagnoses : sequence of str
        Known diagnoses; studies with others are unusable.
    """
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {str(root)!r} with studies")
    table = table or _metadata(root)
    rows = _rows(table)
    folders = {}
    if not any("pet" in row for row in rows):
        folders = _folders(root)
    by_study: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        by_study.setdefault((row.get("patient", ""), row["study"]), []).append(row)
    studies, skipped = [], []
    for (patient, study), lines in sorted(by_study.items()):
        try:
            folder = folders.get((patient, study))
            studies.append(_study(patient, study, lines, folder, table.parent, diagnoses))
        except ValueError as error:
            skipped.append(Skipped(patient, study, str(error)))
    for name in folders.keys() - by_study.keys():
        skipped.append(Skipped(*name, f"{table.name} has no diagnosis for it"))
    if not studies and not skipped:
        raise ValueError(
            f"there are no studies in {str(root)!r}: expected patient/study/{FILES['pet']}, or a "
            "table with the files"
        )
    _check_parts(studies, table)
    return studies, sorted(skipped, key=lambda s: (s.patient, s.study))


def _metadata(root: Path) -> Path:
    tables = sorted(root.glob("*.csv"))
    if len(tables) != 1:
        raise ValueError(
            f"{str(root)!r} must hold one .csv file with the diagnoses; found {len(tables)}. "
            "Choose one with --table"
        )
    return tables[0]


def _rows(table: Path) -> list[dict[str, str]]:
    """The lines of the table by what their columns hold, each with a study."""
    if not table.exists():
        raise FileNotFoundError(f"there is no table {str(table)!r}")
    held = {name: key for key, names in _COLUMNS.items() for name in names.split()}
    try:
        reader = csv.reader(io.StringIO(read_text(table).removeprefix("\ufeff"), newline=""))
        head = [held.get(re.sub("[^a-z]", "", name.lower()), "") for name in next(reader, [])]
        if not {"patient", "diagnosis"} <= set(head) or not {"study", "location"} & set(head):
            raise ValueError(
                "it must have the columns patient (or Subject ID), study (or File Location) and "
                "diagnosis"
            )
        rows = []
        for line in reader:
            row = {key: value.strip() for key, value in zip(head, line, strict=False) if key}
            location = row.pop("location", "")
            row.setdefault("study", _study_folder(location, row.get("patient", "")))
            if any(row.values()):
                rows.append(row)
    except (csv.Error, ValueError) as error:
        raise ValueError(f"the table {str(table)!r} cannot be used: {error}") from error
    return rows


def _study_folder(location: str, patient: str) -> str:
    """The folder below the patient's in a path such as
    ``./FDG-PET-CT-Lesions/PETCT_0b57b247b6/05-02-2002-NA-PET-CT/4.000``.
    """
    folders = re.split(r"[\\/]", location)
    if patient not in folders[:-1]:
        return ""
    return folders[folders.index(patient) + 1]


def _folders(root: Path) -> dict[tuple[str, str], Path]:
    """Folders that hold at least one of the three volumes, by patient and study."""
    found: dict[tuple[str, str], Path] = {}
    for depth in ("*/*/", "*/*/*/"):
        for file in FILES.values():
            for path in root.glob(depth + file):
                found[path.parent.parent.name, path.parent.name] = path.parent
    return found


def _study(
    patient: str,
    study: str,
    lines: Sequence[dict[str, str]],
    folder: Path | None,
    base: Path,
    diagnoses: Sequence[str],
) -> Study:
    """The study of the lines of its series, which must agree; raises ValueError if it is
    unusable.
    """
    row = lines[0]
    for other in lines:
        for key, value in other.items():
            if row.get(key, "") != value:
                what = "diagnosis" if key == "diagnosis" else f"entry for `{key}`"
                raise ValueError(
                    f"the table has it twice, with {row.get(key, '')!r} and {value!r} as its {what}"
                )
    for what, name in (("patient", patient), ("study", study)):
        if not name or "/" in name or not name.isprintable():
            raise ValueError(f"its {what} must be printable text without '/'; got {name!r}")
    diagnosis = normal(row.get("diagnosis", ""))
    if diagnosis not in diagnoses:
        known = ", ".join(map(repr, diagnoses))
        raise ValueError(
            f"its diagnosis {row.get('diagnosis', '')!r} is not one of "
            f"{known}{suggest(diagnosis, diagnoses)}"
        )
    part = row.get("part") or None
    if part is not None and part not in PARTS:
        raise ValueError(f"its part {part!r} is not one of {', '.join(map(repr, PARTS))}")
    if "pet" in row:
        files = {key: base / row[key] for key in FILES if row.get(key)}
    elif folder is None:
        raise ValueError("the table names it, but there is no folder for it")
    else:
        files = {key: folder / name for key, name in FILES.items()}
        if not files["seg"].exists():
            del files["seg"]
    for key in ("ct", "pet", *files):
        if key not in files or not files[key].is_file():
            name = files[key].name if key in files else FILES[key]
            raise ValueError(f"{name} is missing")
    return Study(patient, study, diagnosis, files["ct"], files["pet"], files.get("seg"), part)


def _check_parts(studies: Sequence[Study], table: Path) -> None:
    """Check that all studies of a patient are in one part, against leakage."""
    parts: dict[str, str | None] = {}
    for study in studies:
        if parts.setdefault(study.patient, study.part) != study.part:
            raise ValueError(
                f"the table {str(table)!r} must give all studies of a patient the same part; "
                f"{study.patient!r} is in {parts[study.patient]!r} and in {study.part!r}"
            )
    if None in parts.values() and any(parts.values()):
        raise ValueError(f"the table {str(table)!r} must give a part to all studies or to none")
