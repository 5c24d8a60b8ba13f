"""From volumes to slices on disk: in parallel, resumable after an interruption."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..files import read_json, replacing, usable_cores, write_file
from ..validation import as_seed, check_choice
from .manifest import FILE, LESION_FREE, NEGATIVE, SLICES, Prepared, build_manifest, open_prepared
from .slices import AIR, choose_planes, cut, to_bytes
from .studies import DIAGNOSES, FILES, Skipped, Study, find_studies, normal
from .volumes import Volume, read_volume


@dataclass(frozen=True)
class Settings:
    """How slices are generated; use the same to compare networks."""

    size: int = 400
    """Pixels along each side."""
    window: tuple[float, float] = (-160.0, 240.0)
    """Hounsfield units drawn black and white in the CT channel."""
    suv_max: float = 20.0
    """Standardized uptake value (SUV) drawn white in the PET channel; 0 is black."""
    step: float = 3.0
    """Millimeters between planes; 0 takes every plane."""

    def __post_init__(self) -> None:
        drawable = self.window[0] < self.window[1] and self.suv_max > 0
        if not (drawable and 8 <= self.size <= 4096 and self.step >= 0):
            raise ValueError(
                "`size` must be 8 to 4096 pixels, `window` two numbers of Hounsfield units in "
                "increasing order, `suv_max` positive and `step` 0 or more millimeters; got "
                f"{self}"
            )


def prepare(
    root: Path,
    out: Path,
    *,
    table: Path | None = None,
    settings: Settings | None = None,
    diagnoses: Sequence[str] = DIAGNOSES,
    hold_back: Sequence[str] = (),
    lesion_free: str = "negative",
    test_size: float = 0.2,
    val_size: float = 0.15,
    rng: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Prepared:
    """Cut every study into slices, split the patients, and write the manifest.

    After an interruption (Ctrl-C, ``kill -9``, a full disk), the same call resumes after the last
    finished study and gives the same manifest. Unusable studies are skipped, with the reason in the
    manifest.

    Parameters
    ----------
    root, table
        As for `find_studies`.
    out : path
        Folder for the slices (``slices``, one .npy file for each study) and ``manifest.json``.
    settings : Settings, optional
    diagnoses : sequence of str
        Diagnoses, in the order of the classes.
    hold_back : sequence of str
        Diagnoses to exclude from training, validation and test, to evaluate them as
        out-of-distribution.
    lesion_free : {"negative", "study", "skip"}
        Label of a slice without a lesion in a study with a diagnosis; see `slice_labels`.
    test_size, val_size, rng
        As for `split_patients`; ignored if the table has a column "part".
    n_jobs : int, optional
        Number of threads, one study each at a time; defaults to the number of processors.
    progress : callable, optional
        Called with the number of finished studies and their total.
    """
    settings = settings or Settings()
    check_choice(lesion_free, "lesion_free", LESION_FREE)
    held = [normal(name) for name in hold_back]
    known = list(dict.fromkeys([*map(normal, diagnoses), *held]))
    studies, skipped = find_studies(root, table=table, diagnoses=known)
    (out / SLICES).mkdir(parents=True, exist_ok=True)
    work = partial(prepare_study, settings=settings, folder=out / SLICES, lesion_free=lesion_free)
    records: dict[Study, dict[str, Any]] = {}
    first_with: dict[str, str] = {}
    with ThreadPoolExecutor(n_jobs or usable_cores()) as pool:
        results = zip(studies, pool.map(work, studies), strict=True)
        for done, (study, result) in enumerate(results, 1):
            if isinstance(result, dict):
                # Of identical volumes the first is kept: copies could end up in different parts.
                first = first_with.setdefault(result["sha256"]["pet"], study.name)
                if first != study.name:
                    result = f"its {study.pet.name} is the same file as that of {first}"
            if isinstance(result, dict):
                records[study] = result
            else:
                skipped.append(Skipped(study.patient, study.study, result))
            if progress is not None:
                progress(done, len(studies))
    skipped.sort(key=str)
    if not records:
        raise ValueError(f"no study can be used; the first problem: {skipped[0]}")
    split = {"test_size": test_size, "val_size": val_size, "rng": as_seed(rng)}
    manifest = build_manifest(records, known, held, lesion_free, split)
    manifest["settings"] = asdict(settings)
    manifest["skipped"] = [asdict(study) for study in skipped]
    write_file(out / FILE, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return open_prepared(out)


def prepare_study(
    study: Study, *, settings: Settings, folder: Path, lesion_free: str = "negative"
) -> dict[str, Any] | str:
    """Write the slices of one study to ``folder`` and return their record, or why it is skipped.

    The name of the files is a fingerprint of the settings and the input (sizes and times), so that
    a finished study is found again, and never one of another preparation.
    """
    try:
        if study.seg is None and study.diagnosis != NEGATIVE and lesion_free != "study":
            raise ValueError(
                f"{FILES['seg']} is missing, so slices with lesions are unknown; use --lesion-free "
                "study"
            )
        stats = [path.stat() for path in study.files.values()]
        files = [(stat.st_size, stat.st_mtime_ns) for stat in stats]
        made_from = json.dumps([study.name, asdict(settings), files])
        fingerprint = hashlib.sha256(made_from.encode()).hexdigest()[:20]
        target, record_file = folder / f"{fingerprint}.npy", folder / f"{fingerprint}.json"
        if not (record_file.is_file() and target.is_file()):
            slices, record = cut_study(study, settings)
            with replacing(target) as file:
                np.save(file, slices)
            # Last: a study with a record is finished.
            write_file(record_file, json.dumps(record | {"slices": target.name}))
        record = read_json(record_file)
        lesion_voxels = sum(record["lesion_voxels"])
        if study.diagnosis == NEGATIVE and lesion_voxels > 0:
            raise ValueError(
                f"its diagnosis is negative, but the segmentation marks {lesion_voxels:,} voxels "
                "as lesion"
            )
    except ValueError as error:
        return str(error)
    return dict(record)


def cut_study(study: Study, settings: Settings) -> tuple[np.ndarray, dict[str, Any]]:
    """Slices (N, S, S, 4) as PET, CT, fusion and mask, and their record; at most one volume and one
    mask are in memory at a time.
    """
    ct = read_volume(study.ct, outside=AIR)
    if ct.values.min() > -500:
        raise ValueError(
            f"{study.ct.name} is not in Hounsfield units: no voxel has the density of air"
        )
    mask = np.zeros(ct.values.shape, dtype=bool)
    if study.seg is not None:
        seg = read_volume(study.seg, order=0)
        _check_grid(seg, ct, study.seg, study.ct)
        mask = seg.values > 0.5
        del seg
    planes = choose_planes(ct, mask, settings.step)
    slices = np.empty((len(planes), settings.size, settings.size, 4), np.uint8)
    slices[..., 1] = to_bytes(cut(ct, planes, settings.size, AIR), *settings.window)
    ct = replace(ct, values=mask)
    pet = read_volume(study.pet)
    _check_grid(pet, ct, study.pet, study.ct)
    mean = pet.values.mean(dtype=np.float64)
    if mean > settings.suv_max:
        raise ValueError(
            f"{study.pet.name} is not in SUV: its mean is {mean:.4g}; perhaps it holds activity "
            "counts"
        )
    slices[..., 0] = to_bytes(cut(pet, planes, settings.size, 0.0), 0.0, settings.suv_max)
    # PET over CT at half opacity: the rounded mean of the two.
    slices[..., 2] = (slices[..., 0].astype(int) + slices[..., 1] + 1) // 2
    # A lesion smaller than a pixel fills at least half of none: mark the pixels with most of it.
    share = cut(ct, planes, settings.size, 0.0)
    enough = np.minimum(0.5, 0.99 * share.max(axis=(1, 2), keepdims=True))
    slices[..., 3] = (share > 0) & (share >= enough)
    images = slices[..., :3]
    squares = np.einsum("nijc,nijc->nc", images, images, dtype=np.int64, casting="unsafe")
    moments = [images.mean(axis=(1, 2)) / 255, squares / (255 * settings.size) ** 2]
    return slices, {
        "sha256": {
            key: hashlib.sha256(path.read_bytes()).hexdigest() for key, path in study.files.items()
        },
        "slices_sha256": hashlib.sha256(slices.data).hexdigest(),
        "planes": planes.tolist(),
        "lesion_voxels": np.count_nonzero(mask[:, planes], axis=(0, 2)).tolist(),
        "moments": np.stack(moments, axis=1).tolist(),
    }


def _check_grid(a: Volume, b: Volume, a_path: Path, b_path: Path) -> None:
    """Refuse volumes that are not on the same grid, to a tenth of a voxel."""
    same_corners = np.allclose([a.origin, a.end], [b.origin, b.end], 0, 0.1 * a.spacing.min())
    if a.values.shape != b.values.shape or not same_corners:
        raise ValueError(
            f"{a_path.name} and {b_path.name} must be on one grid; they differ in shape "
            f"({a.values.shape}, {b.values.shape}), origin or voxel size"
        )
