"""Phantom patients: small synthetic PET/CT studies in the published layout, to try the pipeline
without patient data.

Bodies of ellipsoids with physiological uptake and lesions at the typical sites of each disease,
scanned from the skull base to mid-thigh. Every tenth patient has one more lesion at a typical site
of another disease, which makes single slices truly ambiguous.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from nibabel.affines import from_matvec

from ..files import csv_text, write_file
from ..validation import as_seed
from .studies import FILES

ORIENTATIONS = ("RAS", "LPS", "LAS", "RPI", "PIR", "SRP", "ALI", "IPL")
"""Axis orientations of the files, used in turn."""
HELD_BACK = "bone metastases"
KINDS = ("negative", "lung cancer", "lymphoma", "melanoma", HELD_BACK)

# Ellipsoids, drawn in this order: center and radii in millimeters from the center of the body
# toward the right, front and head; Hounsfield units; standardized uptake value.
_SOFT_TISSUE = """
trunk             0   0   60  165 108 245   -95  0.35
shoulders         0  -5  215  200  75  60   -95  0.35
hips              0  -5 -190  178 110 120   -95  0.35
left-thigh      -85   0 -320   78  85 175   -95  0.35
right-thigh      85   0 -320   78  85 175   -95  0.35
neck              0   0  285   58  58  95   -60  0.5
trunk             0   0   60  150  93 235    45  0.8
shoulders         0  -5  215  185  60  48    50  0.7
hips              0  -5 -190  162  95 105    50  0.7
left-thigh      -85   0 -320   64  70 165    55  0.6
right-thigh      85   0 -320   64  70 165    55  0.6
neck              0   0  285   48  48  90    50  0.8
"""
_ORGANS = """
right-lung       78   0  135   58  76 112  -820  0.4
left-lung       -78   0  135   54  76 108  -820  0.4
heart           -28  28   85   50  42  52    42  2.5
liver            72  12  -12   88  78  62    62  2.2
spleen         -105 -28   -5   32  38  48    50  1.9
right-kidney     66 -50  -75   27  25  48    35  4.5
left-kidney     -66 -50  -70   27  25  48    35  4.5
bladder           0  22 -245   36  34  34     8 12.0
skull             0   5  375   74  92  84   750  0.8
brain             0   5  375   64  82  74    36  7.0
right-pelvis     80 -20 -185   38  30  62   330  1.0
left-pelvis     -80 -20 -185   38  30  62   330  1.0
right-hip        98  -5 -255   25  25  25   450  0.9
left-hip        -98  -5 -255   25  25  25   450  0.9
"""
_FEMURS = """
right-femur      90   0 -350   15  15 105   700  0.6
left-femur      -90   0 -350   15  15 105   700  0.6
"""
# Lesion sites on the right side; all but the liver also occur mirrored.
_SITES = """
upper-lung       80   5  175
lower-lung       85  -5   95
hilum            38   5  135
mediastinum      14  15  160
neck             38   0  290
axilla          150   0  190
retroperitoneum  20 -28 -105
flank           140  15   20
back             90 -80   60
leg              85  25 -335
liver            75  20  -10
ilium           100 -15 -180
sacrum           12 -62 -185
hip              98  -5 -250
lumbar-spine      6 -64  -60
"""
# Disease -> sites, range of radii in mm, HU.
_DISEASES = {
    "lung cancer": ("upper-lung lower-lung hilum", (20, 32), 45),
    "lymphoma": ("mediastinum neck axilla retroperitoneum", (16, 26), 50),
    "melanoma": ("flank back leg liver", (14, 22), 45),
    HELD_BACK: ("ilium sacrum hip lumbar-spine", (16, 26), 45),
}
_SPREAD = 10.0  # maximum distance of a lesion from its site along each axis, in millimeters
_ELSEWHERE = 0.1  # probability of one more lesion at a site of another disease


def _table(text: str) -> list[tuple[str, np.ndarray]]:
    """The lines of a table as a name and its numbers."""
    rows = map(str.split, text.strip().splitlines())
    return [(name, np.array(numbers, dtype=float)) for name, *numbers in rows]


def place_lesions(kind: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Lesions at all sites of a disease, on one side for lung cancer, otherwise on both; none for
    ``"negative"``. Each is a sphere: its center and radius in millimeters, SUV and HU.
    """
    if kind == "negative":
        return []
    sites, (small, large), hounsfield = _DISEASES[kind]
    side = int(rng.choice([-1, 1]))
    sides = (side,) if kind == "lung cancer" else (-1, 1)
    chosen = [(site, s) for site in sites.split() for s in sides]
    if rng.random() < _ELSEWHERE:
        others = [own for other, (own, *_) in _DISEASES.items() if other not in (kind, HELD_BACK)]
        chosen.append((str(rng.choice(" ".join(others).split())), side))
    places = dict(_table(_SITES))
    lesions = []
    for site, s in chosen:
        mirrored = (1 if site == "liver" else s, 1, 1)
        center = places[site] * mirrored + rng.uniform(-_SPREAD, _SPREAD, 3)
        lesions.append(np.r_[center, rng.uniform(small, large), rng.uniform(5, 13), hounsfield])
    return lesions


@dataclass(frozen=True, eq=False)
class Body:
    """What varies from patient to patient."""

    scale: np.ndarray
    uptake: dict[str, float]
    """SUV of organs with variable physiological uptake."""
    bowel: np.ndarray
    """Center, radius and SUV of bowel loops, (8, 5)."""

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Body:
        scale = rng.uniform(0.92, 1.08, 3)
        ranges = {"heart": (1.2, 7), "bladder": (4, 25), "brain": (5, 9), "liver": (1.8, 2.7)}
        uptake = {organ: rng.uniform(*bounds) for organ, bounds in ranges.items()}
        low, high = (-80, 0, -170, 12, 1), (80, 60, -80, 22, 4.5)
        kidneys = rng.uniform(2.5, 7)
        bowel = rng.uniform(low, high, (8, 5))
        uptake |= {"right-kidney": kidneys, "left-kidney": kidneys * rng.uniform(0.9, 1.1)}
        return cls(scale, uptake, bowel)


def draw_anatomy(
    body: Body, lesions: Sequence[np.ndarray], grid: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Noise-free CT (HU), PET (SUV) and lesion mask on a grid of broadcastable world coordinates
    (x, y, z).
    """
    x, y, z = (axis / s for axis, s in zip(grid, body.scale, strict=True))
    shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
    ct, pet, mask = np.full(shape, -1000.0), np.zeros(shape), np.zeros(shape, dtype=bool)

    def ball(center: Any, radii: Any, power: int = 2) -> np.ndarray:
        """Approximate depth of each point in millimeters, positive inside."""
        (a, b, c), (p, q, r) = center, radii
        distance = (((x - a) / p) ** 2 + ((y - b) / q) ** 2 + np.abs((z - c) / r) ** power) ** 0.5
        return np.asarray((1 - distance) * min(radii))

    def paint(depth: np.ndarray, hounsfield: float, suv: float) -> None:
        share = np.clip(depth / 6 + 0.5, 0, 1)
        blurred = np.clip(depth / 10 + 0.5, 0, 1)  # PET has a lower resolution
        ct[...] += share * (hounsfield - ct)
        pet[...] += blurred * (suv - pet)

    def paint_all(table: str, power: int = 2) -> None:
        for name, numbers in _table(table):
            hounsfield, suv = numbers[6:]
            paint(ball(numbers[:3], numbers[3:6], power), hounsfield, body.uptake.get(name, suv))

    paint_all(_SOFT_TISSUE)
    cage = ball((0, 2, 125), (146, 92, 150))
    ribs = np.cos(2 * np.pi * (z + 0.5 * np.abs(y)) / 34) > 0.35
    paint(np.where(ribs, 5 - np.abs(cage - 2), -99), 240, 0.9)
    paint_all(_ORGANS)
    for *center, radius, suv in body.bowel:
        paint(ball(center, (radius,) * 3), 25, suv)
    spine = ball((0, -66, 65), (21, 20, 262), 10)
    vertebrae = np.cos(2 * np.pi * z / 30) > -0.6
    paint(spine, 130, 1.6)
    paint(np.where(vertebrae, spine, -99), 260, 1.6)
    paint_all(_FEMURS, power=10)
    for *center, radius, suv, hounsfield in lesions:
        depth = ball(center, (radius,) * 3)
        paint(depth, hounsfield, suv)
        mask |= depth > 0
    return ct, pet, mask


def scan(
    body: Body, lesions: Sequence[np.ndarray], rng: np.random.Generator, *, voxel: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A noisy scan with axes toward right, front, head: CT, PET, mask and their affine."""
    from scipy.ndimage import gaussian_filter

    spacing = voxel * rng.uniform(0.85, 1.15, 3)
    shape = np.maximum(4, np.ceil((440, 290, 700) / spacing).astype(int))
    origin = -(shape - 1) / 2 * spacing + rng.uniform(-8, 8, 3) + (0, 0, -10)
    axes = [
        start + step * np.arange(n) for start, step, n in zip(origin, spacing, shape, strict=True)
    ]
    ct, pet, mask = draw_anatomy(body, lesions, np.meshgrid(*axes, indexing="ij", sparse=True))
    ct += rng.normal(0, 14, ct.shape)
    noise = gaussian_filter(rng.normal(size=pet.shape), 0.8)
    noise /= noise.std()
    pet = np.clip(pet * (1 + 0.12 * noise) + 0.03 * noise, 0, None)
    affine = from_matvec(np.diag(spacing), origin)
    return ct.astype(np.float32), pet.astype(np.float32), mask, affine


def write_nifti(
    path: Path, values: np.ndarray, affine: np.ndarray, orientation: str = "RAS"
) -> None:
    """Write a volume (axes right, front, head) in another orientation, byte-reproducibly."""
    turn = nib.orientations.ornt_transform(
        nib.orientations.axcodes2ornt("RAS"), nib.orientations.axcodes2ornt(orientation)
    )
    image = nib.Nifti1Image(values, affine).as_reoriented(turn)
    image.header.set_xyzt_units("mm")
    write_file(path, gzip.compress(image.to_bytes(), compresslevel=4, mtime=0))


def write_phantoms(
    folder: Path,
    *,
    patients: int = 40,
    rng: int | np.random.Generator | None = 0,
    voxel: float = 8.0,
    kinds: Sequence[str] = KINDS,
) -> list[tuple[str, str, str]]:
    """Write phantom patients and their metadata table in the published layout.

    Parameters
    ----------
    folder : path
        A new or empty folder.
    patients : int
        Number of patients; ``kinds`` are used in turn. Every seventh patient has a second study,
        every other one after successful therapy (no lesions).
    rng : int, Generator or None
        Random seed or generator.
    voxel : float
        Mean voxel size in millimeters; varies by 15 % between scans and axes.
    kinds : sequence of str
        Diagnoses from ``KINDS``.

    Returns
    -------
    list of (patient, study, diagnosis)
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{str(folder)!r} is not empty; choose a new folder for the phantoms")
    written, rows, seed = [], [], as_seed(rng)
    for i in range(patients):
        rng = np.random.default_rng([seed, i])
        body = Body.draw(rng)
        patient = f"PETCT_{rng.integers(16**10):010x}"
        for visit in range(2 if i % 7 == 6 else 1):
            kind = "negative" if visit == 1 and i % 14 == 13 else kinds[i % len(kinds)]
            month, day, number = rng.integers(1, 13), rng.integers(1, 29), rng.integers(10**5)
            study = f"{month:02d}-{day:02d}-{2001 + visit}-NA-PET-CT phantom-{number:05d}"
            place = folder / patient / study
            place.mkdir(parents=True)
            ct, pet, mask, affine = scan(body, place_lesions(kind, rng), rng, voxel=voxel)
            orientation = ORIENTATIONS[(i + visit) % len(ORIENTATIONS)]
            volumes = {"ct": np.rint(ct).astype(np.int16), "pet": pet, "seg": mask.astype(np.uint8)}
            for key, values in volumes.items():
                write_nifti(place / FILES[key], values, affine, orientation)
            written.append((patient, study, kind))
            # One line per series, as in the published table.
            diagnosis = kind.upper().replace(" ", "_")
            for modality in ("CT", "PT", "SEG"):
                location = f"./phantom/{patient}/{study}/{modality}"
                rows.append((patient, modality, location, diagnosis))
    columns = ("Subject ID", "Modality", "File Location", "diagnosis")
    write_file(folder / "metadata.csv", csv_text(columns, rows))
    return written
