"""Find studies: in the published folder layout with its metadata, or in a user's table."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
    def files(self) -> dict[str, Path]:
        """The volumes that there are, by what they hold."""
        return {key: getattr(self, key) for key in FILES if getattr(self, key) is not None}


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
    if table is None:
        tables = sorted(root.glob("*.csv"))
        if len(tables) != 1:
            raise ValueError(
                f"{str(root)!r} must hold one .csv file with the diagnoses; found {len(tables)}. "
                "Choose one with --table"
            )
        table = tables[0]
    lines: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in _rows(table):
        lines.setdefault((row.get("patient", ""), row["study"]), []).append(row)
    folders = {}
    if not any("pet" in rows[0] for rows in lines.values()):
        for path in root.glob("*/*/**/*.nii.gz"):
            if path.name in FILES.values():
                folders[path.parts[-3], path.parts[-2]] = path.parent
    studies, skipped = [], []
    for (patient, name), rows in sorted(lines.items()):
        try:
            if any(row != rows[0] for row in rows):
                raise ValueError("the table has it twice, with different entries")
            row, folder = rows[0], folders.get((patient, name))
            studies.append(_study(patient, name, row, folder, table.parent, diagnoses))
        except ValueError as error:
            skipped.append(Skipped(patient, name, str(error)))
    for patient, name in folders.keys() - lines.keys():
        skipped.append(Skipped(patient, name, f"{table.name} has no diagnosis for it"))
    if not studies and not skipped:
        raise ValueError(
            f"there are no studies in {str(root)!r}: expected patient/study/{FILES['pet']}, or a "
            "table with the files"
        )
    # All studies of a patient are in one part, against leakage.
    parts: dict[str, str | None] = {}
    for study in studies:
        if parts.setdefault(study.patient, study.part) != study.part:
            raise ValueError(
                f"the table {str(table)!r} must give all studies of a patient the same part; "
                f"{study.patient!r} is in {parts[study.patient]!r} and in {study.part!r}"
            )
    if None in parts.values() and any(parts.values()):
        raise ValueError(f"the table {str(table)!r} must give a part to all studies or to none")
    return studies, skipped


def _rows(table: Path) -> list[dict[str, str]]:
    """The lines of the table by what their columns hold, each with a study."""
    held = {name: key for key, names in _COLUMNS.items() for name in names.split()}
    try:
        reader = csv.reader(table.read_text(encoding="utf-8-sig").splitlines())
        head = [held.get(re.sub("[^a-z]", "", name.lower()), "") for name in next(reader, [])]
        if not {"patient", "diagnosis"} <= set(head) or not {"study", "location"} & set(head):
            raise ValueError(
                "it must have the columns patient (or Subject ID), study (or File Location) and "
                "diagnosis"
            )
        rows = []
        for line in reader:
            row = {key: value.strip() for key, value in zip(head, line, strict=False) if key}
            # The folder below the patient's, as in ./FDG-PET-CT-Lesions/PETCT_0b57b247b6/05-02…/4.0
            _, _, below = row.pop("location", "").partition(f"/{row.get('patient', '')}/")
            row.setdefault("study", below.partition("/")[0])
            if any(row.values()):
                rows.append(row)
    except (csv.Error, ValueError) as error:
        raise ValueError(f"the table {str(table)!r} cannot be used: {error}") from error
    return rows


def _study(
    patient: str,
    study: str,
    row: dict[str, str],
    folder: Path | None,
    base: Path,
    diagnoses: Sequence[str],
) -> Study:
    """The study of a row; raises ValueError if it is unusable."""
    for key, name in (("patient", patient), ("study", study)):
        if not name or "/" in name or not name.isprintable():
            raise ValueError(f"its {key} must be printable text without '/'; got {name!r}")
    diagnosis = normal(row.get("diagnosis", ""))
    if diagnosis not in diagnoses:
        raise ValueError(
            f"its diagnosis {row.get('diagnosis', '')!r} is not one of "
            f"{', '.join(map(repr, diagnoses))}"
        )
    part = row.get("part") or None
    if part not in (*PARTS, None):
        raise ValueError(f"its part {part!r} is not one of {', '.join(map(repr, PARTS))}")
    if "pet" in row:
        files = {key: base / row[key] for key in FILES if row.get(key)}
    elif folder is not None:
        files = {key: folder / name for key, name in FILES.items()}
        if not files["seg"].exists():
            del files["seg"]
    else:
        raise ValueError("the table names it, but there is no folder for it")
    for key in ("ct", "pet", *files):
        path = files.get(key, Path(FILES[key]))
        if key not in files or not path.is_file():
            raise ValueError(f"{path.name} is missing")
    return Study(patient, study, diagnosis, files["ct"], files["pet"], files.get("seg"), part)
