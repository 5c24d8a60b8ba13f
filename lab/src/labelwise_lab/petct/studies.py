"""Find studies: in the published folder layout with its metadata, or in a user's table."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import read_text
from ..validation import suggest

DIAGNOSES = ("negative", "lung cancer", "lymphoma", "melanoma")
"""Diagnoses of the published data set; the first means no lesion."""
FILES = {"ct": "CTres.nii.gz", "pet": "SUV.nii.gz", "seg": "SEG.nii.gz"}
PARTS = ("train", "val", "test")
# Column name in lower-case letters -> what it holds.
_COLUMNS = {
    "subjectid": "patient",
    "patient": "patient",
    "patientid": "patient",
    "study": "study",
    "studyid": "study",
    "filelocation": "location",
    "studylocation": "location",
    "diagnosis": "diagnosis",
    "ct": "ct",
    "ctres": "ct",
    "pet": "pet",
    "suv": "pet",
    "seg": "seg",
    "part": "part",
    "split": "part",
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
    rows, skipped = _merged(_rows(table))
    own = any("pet" in row for row in rows.values())
    folders = {} if own else _folders(root)
    studies = []
    for (patient, study), row in sorted(rows.items()):
        try:
            studies.append(
                _study(
                    patient,
                    study,
                    row,
                    None if own else folders.pop((patient, study), None),
                    table,
                    diagnoses,
                )
            )
        except ValueError as error:
            skipped.append(Skipped(patient, study, str(error)))
    known = {(s.patient, s.study) for s in skipped}
    skipped += [
        Skipped(*name, f"{table.name} has no diagnosis for it")
        for name in sorted(folders)
        if name not in known
    ]
    if not studies and not skipped:
        raise ValueError(
            f"there are no studies in {str(root)!r}: expected patient/study/{FILES['pet']}, or a "
            "table with the files"
        )
    _one_part_each(studies, table)
    return studies, sorted(skipped, key=lambda s: (s.patient, s.study))


def _metadata(root: Path) -> Path:
    tables = sorted(root.glob("*.csv"))
    if len(tables) != 1:
        raise ValueError(
            f"{str(root)!r} must hold one .csv file with the diagnoses; found {len(tables)}. "
            "Choose one with --table"
        )
    return tables[0]


LONGEST_TABLE = 1 << 26
FIELD_SIZE = 10_000
"""Maximum length of a field in characters."""


def _rows(table: Path) -> Iterator[dict[str, str]]:
    """The lines of the table, with normalized column names."""
    if not table.exists():
        raise FileNotFoundError(f"there is no table {str(table)!r}")
    try:
        with io.StringIO(read_text(table).removeprefix("\ufeff"), newline="") as file:
            reader = csv.reader(file)
            head = [
                _COLUMNS.get(re.sub("[^a-z]", "", name.lower()), "") for name in next(reader, [])
            ]
            if not {"patient", "diagnosis"} <= set(head) or not {"study", "location"} & set(head):
                raise ValueError(
                    "it must have the columns patient (or Subject ID), study (or File Location) "
                    "and diagnosis"
                )
            for line in reader:
                if (
                    max(map(len, line), default=0) > FIELD_SIZE
                ):  # csv's own limit is global, and other code may raise it
                    raise ValueError(
                        f"a field in line {reader.line_num} has more than {FIELD_SIZE:,} characters"
                    )
                row = {key: value.strip() for key, value in zip(head, line, strict=False) if key}
                if "study" not in row:
                    row["study"] = _study_folder(row.pop("location", ""), row.get("patient", ""))
                row.pop("location", None)
                if any(row.values()):
                    yield row
    except (csv.Error, ValueError) as error:
        raise ValueError(f"the table {str(table)!r} cannot be used: {error}") from error


def _study_folder(location: str, patient: str) -> str:
    """The folder below the patient's in a path such as
    ``./FDG-PET-CT-Lesions/PETCT_0b57b247b6/05-02-2002-NA-PET-CT/4.000``.
    """
    parts = re.split(r"[\\/]", location)
    after = parts[parts.index(patient) + 1 :] if patient in parts else []
    return after[0] if after else ""


def _merged(
    rows: Iterable[dict[str, str]],
) -> tuple[dict[tuple[str, str], dict[str, str]], list[Skipped]]:
    """One row per study; the rows of its series must agree."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    conflicts: dict[tuple[str, str], str] = {}
    for row in rows:
        name = row.get("patient", ""), row.get("study", "")
        before = found.setdefault(name, row)
        for key, value in row.items():
            if before.get(key, "") != value and name not in conflicts:
                what = "diagnosis" if key == "diagnosis" else f"entry for `{key}`"
                conflicts[name] = (
                    f"the table has it twice, with {before.get(key, '')!r} and {value!r} as its "
                    f"{what}"
                )
    return {name: row for name, row in found.items() if name not in conflicts}, [
        Skipped(*name, why) for name, why in conflicts.items()
    ]


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
    row: dict[str, str],
    folder: Path | None,
    table: Path,
    diagnoses: Sequence[str],
) -> Study:
    """The study of a row; raises ValueError if it is unusable."""
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
        paths: dict[str, Path | None] = {
            key: table.parent / row[key] if row.get(key) else None for key in FILES
        }
    elif folder is None:
        raise ValueError("the table names it, but there is no folder for it")
    else:
        paths = {key: folder / name for key, name in FILES.items()}
        if not (folder / FILES["seg"]).exists():
            paths["seg"] = None
    for key, path in paths.items():
        if (path is None and key != "seg") or (path is not None and not path.is_file()):
            raise ValueError(f"{FILES[key] if path is None else path.name} is missing")
    chosen: Any = paths
    return Study(patient, study, diagnosis, chosen["ct"], chosen["pet"], chosen["seg"], part)


def _one_part_each(studies: list[Study], table: Path) -> None:
    """Check that all studies of a patient are in one part, against leakage."""
    parts: dict[str, str | None] = {}
    for study in studies:
        if parts.setdefault(study.patient, study.part) != study.part:
            raise ValueError(
                f"the table {str(table)!r} must give all studies of a patient the same part; "
                f"{study.patient!r} is in {parts[study.patient]!r} and in {study.part!r}"
            )
    if len({part is None for part in parts.values()}) > 1:
        raise ValueError(f"the table {str(table)!r} must give a part to all studies or to none")
