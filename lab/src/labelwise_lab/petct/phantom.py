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

import nibabel as nib
import numpy as np

from ..files import csv_text, write_file
from ..validation import as_seed
from .studies import FILES

Point = tuple[float, float, float]
ORIENTATIONS = ("RAS", "LPS", "LAS", "RPI", "PIR", "SRP", "ALI", "IPL")
"""Axis orientations of the files, used in turn."""
HELD_BACK = "bone metastases"
KINDS = ("negative", "lung cancer", "lymphoma", "melanoma", HELD_BACK)


@dataclass(frozen=True)
class Lesion:
    """A sphere in body coordinates, in millimeters."""

    center: Point
    radius: float
    suv: float
    hounsfield: float


# Millimeters from the center of the body, toward the right, front and head: (center, radii, HU,
# SUV).
_SOFT = (
    ((0, 0, 60), (165, 108, 245), -95, 0.35),
    ((0, -5, 215), (200, 75, 60), -95, 0.35),
    ((0, -5, -190), (178, 110, 120), -95, 0.35),
    ((-85, 0, -320), (78, 85, 175), -95, 0.35),
    ((85, 0, -320), (78, 85, 175), -95, 0.35),
    ((0, 0, 285), (58, 58, 95), -60, 0.5),
    ((0, 0, 60), (150, 93, 235), 45, 0.8),
    ((0, -5, 215), (185, 60, 48), 50, 0.7),
    ((0, -5, -190), (162, 95, 105), 50, 0.7),
    ((-85, 0, -320), (64, 70, 165), 55, 0.6),
    ((85, 0, -320), (64, 70, 165), 55, 0.6),
    ((0, 0, 285), (48, 48, 90), 50, 0.8),
)
_ORGANS = {
    "lung right": ((78, 0, 135), (58, 76, 112), -820, 0.4),
    "lung left": ((-78, 0, 135), (54, 76, 108), -820, 0.4),
    "heart": ((-28, 28, 85), (50, 42, 52), 42, 2.5),
    "liver": ((72, 12, -12), (88, 78, 62), 62, 2.2),
    "spleen": ((-105, -28, -5), (32, 38, 48), 50, 1.9),
    "kidney right": ((66, -50, -75), (27, 25, 48), 35, 4.5),
    "kidney left": ((-66, -50, -70), (27, 25, 48), 35, 4.5),
    "bladder": ((0, 22, -245), (36, 34, 34), 8, 12.0),
    "skull": ((0, 5, 375), (74, 92, 84), 750, 0.8),
    "brain": ((0, 5, 375), (64, 82, 74), 36, 7.0),
    "pelvis right": ((80, -20, -185), (38, 30, 62), 330, 1.0),
    "pelvis left": ((-80, -20, -185), (38, 30, 62), 330, 1.0),
    "hip right": ((98, -5, -255), (25, 25, 25), 450, 0.9),
    "hip left": ((-98, -5, -255), (25, 25, 25), 450, 0.9),
}
_SPINE = ((0, -66, 65), (21, 20, 262), 260, 1.6)
_FEMURS = (((90, 0, -350), (15, 15, 105), 700, 0.6), ((-90, 0, -350), (15, 15, 105), 700, 0.6))


# Lesion sites on the right side; all but the liver also occur mirrored.
_SITES: dict[str, Point] = {
    "upper lung": (80, 5, 175),
    "lower lung": (85, -5, 95),
    "hilum": (38, 5, 135),
    "mediastinum": (14, 15, 160),
    "neck": (38, 0, 290),
    "axilla": (150, 0, 190),
    "retroperitoneum": (20, -28, -105),
    "flank": (140, 15, 20),
    "back": (90, -80, 60),
    "leg": (85, 25, -335),
    "liver": (75, 20, -10),
    "ilium": (100, -15, -180),
    "sacrum": (12, -62, -185),
    "hip": (98, -5, -250),
    "lumbar spine": (6, -64, -60),
}
# Disease -> sites, range of radii in mm, HU.
_DISEASES = {
    "lung cancer": (("upper lung", "lower lung", "hilum"), (20, 32), 45),
    "lymphoma": (("mediastinum", "neck", "axilla", "retroperitoneum"), (16, 26), 50),
    "melanoma": (("flank", "back", "leg", "liver"), (14, 22), 45),
    HELD_BACK: (("ilium", "sacrum", "hip", "lumbar spine"), (16, 26), 45),
}
_SPREAD = 10.0
"""Maximum distance of a lesion from its site along each axis, in millimeters."""
_ELSEWHERE = 0.1
"""Probability of one more lesion at a site of another disease."""


def place_lesions(kind: str, rng: np.random.Generator) -> list[Lesion]:
    """Lesions at all sites of a disease, on one side for lung cancer, otherwise on both; none for
    ``"negative"``.
    """
    if kind == "negative":
        return []
    sites, (small, large), hounsfield = _DISEASES[kind]
    side = int(rng.choice([-1, 1]))
    chosen = [(site, s) for site in sites for s in ((side,) if kind == "lung cancer" else (-1, 1))]
    if rng.random() < _ELSEWHERE:
        others = [
            site
            for other, (theirs, *_) in _DISEASES.items()
            if other not in (kind, HELD_BACK)
            for site in theirs
        ]
        chosen.append((str(rng.choice(others)), side))
    lesions = []
    for site, s in chosen:
        x, y, z = np.array(_SITES[site]) * (1 if site == "liver" else s, 1, 1) + rng.uniform(
            -_SPREAD, _SPREAD, 3
        )
        lesions.append(
            Lesion(
                (float(x), float(y), float(z)),
                rng.uniform(small, large),
                rng.uniform(5, 13),
                hounsfield,
            )
        )
    return lesions


@dataclass(frozen=True)
class Body:
    """What varies from patient to patient."""

    scale: Point
    uptake: dict[str, float]
    """SUV of organs with variable physiological uptake."""
    bowel: tuple[tuple[Point, float, float], ...]
    """Center, radius and SUV of bowel loops."""

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Body:
        sx, sy, sz = rng.uniform(0.92, 1.08, 3)
        uptake = {
            "heart": rng.uniform(1.2, 7),
            "bladder": rng.uniform(4, 25),
            "brain": rng.uniform(5, 9),
            "liver": rng.uniform(1.8, 2.7),
        }
        kidneys = rng.uniform(2.5, 7)
        loops = [
            (
                (rng.uniform(-80, 80), rng.uniform(0, 60), rng.uniform(-170, -80)),
                rng.uniform(12, 22),
                rng.uniform(1, 4.5),
            )
            for _ in range(8)
        ]
        return cls(
            (sx, sy, sz),
            uptake | {"kidney right": kidneys, "kidney left": kidneys * rng.uniform(0.9, 1.1)},
            tuple(loops),
        )


def draw_anatomy(
    body: Body, lesions: Sequence[Lesion], grid: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Noise-free CT (HU), PET (SUV) and lesion mask on a grid of broadcastable world coordinates
    (x, y, z).
    """
    x, y, z = (axis / s for axis, s in zip(grid, body.scale, strict=True))
    shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
    ct, pet, mask = np.full(shape, -1000.0), np.zeros(shape), np.zeros(shape, dtype=bool)

    def ball(center: Sequence[float], radii: Sequence[float], power: int = 2) -> np.ndarray:
        """Approximate depth of each point in millimeters, positive inside."""
        (a, b, c), (p, q, r) = center, radii
        distance = (((x - a) / p) ** 2 + ((y - b) / q) ** 2 + np.abs((z - c) / r) ** power) ** 0.5
        return np.asarray((1 - distance) * min(radii))

    def paint(depth: np.ndarray, hounsfield: float, suv: float) -> None:
        share = np.clip(depth / 6 + 0.5, 0, 1)
        blurred = np.clip(depth / 10 + 0.5, 0, 1)  # PET has a lower resolution
        ct[...] += share * (hounsfield - ct)
        pet[...] += blurred * (suv - pet)

    for center, radii, hounsfield, suv in _SOFT:
        paint(ball(center, radii), hounsfield, suv)
    cage = ball((0, 2, 125), (146, 92, 150))
    paint(
        np.where(np.cos(2 * np.pi * (z + 0.5 * np.abs(y)) / 34) > 0.35, 5 - np.abs(cage - 2), -99),
        240,
        0.9,
    )
    for name, (center, radii, hounsfield, suv) in _ORGANS.items():
        paint(ball(center, radii), hounsfield, body.uptake.get(name, suv))
    for place, radius, suv in body.bowel:
        paint(ball(place, (radius,) * 3), 25, suv)
    center, radii, hounsfield, suv = _SPINE
    paint(ball(center, radii, 10), 0.5 * hounsfield, suv)
    paint(
        np.where(np.cos(2 * np.pi * z / 30) > -0.6, ball(center, radii, 10), -99), hounsfield, suv
    )
    for center, radii, hounsfield, suv in _FEMURS:
        paint(ball(center, radii, 10), hounsfield, suv)
    for lesion in lesions:
        depth = ball(lesion.center, (lesion.radius,) * 3)
        paint(depth, lesion.hounsfield, lesion.suv)
        mask |= depth > 0
    return ct, pet, mask


def scan(
    body: Body, lesions: Sequence[Lesion], rng: np.random.Generator, *, voxel: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A noisy scan with axes toward right, front, head: CT, PET, mask and their affine."""
    from scipy.ndimage import gaussian_filter

    spacing = voxel * rng.uniform(0.85, 1.15, 3)
    extent = np.array([440.0, 290.0, 700.0])
    shape = np.maximum(4, np.ceil(extent / spacing).astype(int))
    origin = -(shape - 1) / 2 * spacing + rng.uniform(-8, 8, 3) + (0, 0, -10)
    grid = [
        (origin[i] + spacing[i] * np.arange(shape[i])).reshape(
            [-1 if i == j else 1 for j in range(3)]
        )
        for i in range(3)
    ]
    ct, pet, mask = draw_anatomy(body, lesions, grid)
    ct += rng.normal(0, 14, ct.shape)
    noise = gaussian_filter(rng.normal(size=pet.shape), 0.8)
    pet = np.clip(pet * (1 + 0.12 * noise / noise.std()) + 0.03 * noise / noise.std(), 0, None)
    affine = np.diag([*spacing, 1.0])
    affine[:3, 3] = origin
    return ct.astype(np.float32), pet.astype(np.float32), mask, affine


def write_nifti(
    path: Path, values: np.ndarray, affine: np.ndarray, orientation: str = "RAS"
) -> None:
    """Write a volume (axes right, front, head) in another orientation, byte-reproducibly."""
    turn = nib.orientations.ornt_transform(
        nib.orientations.axcodes2ornt("RAS"), nib.orientations.axcodes2ornt(orientation)
    )
    stored = nib.orientations.apply_orientation(values, turn)
    image = nib.Nifti1Image(stored, affine @ nib.orientations.inv_ornt_aff(turn, values.shape))
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
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise ValueError(
            f"`kinds` must be some of {', '.join(map(repr, KINDS))}; got {list(kinds)}"
        )
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{str(folder)!r} is not empty; choose a new folder for the phantoms")
    folder.mkdir(parents=True, exist_ok=True)
    written, seed = [], as_seed(rng)
    for i in range(patients):
        rng = np.random.default_rng([seed, i])
        body = Body.draw(rng)
        patient = f"PETCT_{rng.integers(16**10):010x}"
        for visit in range(2 if i % 7 == 6 else 1):
            kind = "negative" if visit == 1 and i % 14 == 13 else kinds[i % len(kinds)]
            study = (
                f"{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}-{2001 + visit}-NA-PET-CT "
                f"phantom-{rng.integers(10**5):05d}"
            )
            place = folder / patient / study
            place.mkdir(parents=True)
            ct, pet, mask, affine = scan(body, place_lesions(kind, rng), rng, voxel=voxel)
            orientation = ORIENTATIONS[(i + visit) % len(ORIENTATIONS)]
            for name, values in (
                (FILES["ct"], np.rint(ct).astype(np.int16)),
                (FILES["pet"], pet),
                (FILES["seg"], mask.astype(np.uint8)),
            ):
                write_nifti(place / name, values, affine, orientation)
            written.append((patient, study, kind))
    _write_metadata(folder / "metadata.csv", written)
    return written


def _write_metadata(path: Path, studies: Sequence[tuple[str, str, str]]) -> None:
    """One line per series, as in the published table."""
    rows = [
        (
            patient,
            modality,
            f"./phantom/{patient}/{study}/{modality}",
            kind.upper().replace(" ", "_"),
        )
        for patient, study, kind in studies
        for modality in ("CT", "PT", "SEG")
    ]
    write_file(
        path,
        csv_text(("Subject ID", "Modality", "File Location", "diagnosis"), rows),
    )
