"""From volumes to slices on disk: in parallel, resumable after an interruption."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..files import end_with_parent, read_json, replacing, usable_cores, write_file
from ..validation import as_seed, check_choice
from .manifest import FILE, LESION_FREE, NEGATIVE, SLICES, Prepared, build_manifest, open_prepared
from .slices import AIR, choose_planes, cut, fuse, to_bytes
from .studies import DIAGNOSES, FILES, Skipped, Study, find_studies, normal
from .volumes import Volume, read_volume

Progress = Callable[[int, int], None]
"""Called with the number of finished studies and their total."""


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
        if not 8 <= self.size <= 4096:
            raise ValueError(f"`size` must be 8 to 4096 pixels; got {self.size}")
        if not self.window[0] < self.window[1]:
            raise ValueError(
                "`window` must be two numbers of Hounsfield units in increasing order; got "
                f"{self.window}"
            )
        if not self.suv_max > 0:
            raise ValueError(f"`suv_max` must be positive; got {self.suv_max}")
        if not self.step >= 0:
            raise ValueError(f"`step` must be 0 or more millimeters; got {self.step}")


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
    progress: Progress | None = None,
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
        Number of processes, one study each at a time; defaults to the number of processors.
    progress : callable, optional
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
    results = _each(work, studies, n_jobs or usable_cores())
    for done, (study, result) in enumerate(zip(studies, results, strict=True), 1):
        if isinstance(result, dict):
            # Of identical volumes the first is kept: copies could end up in different parts.
            first = first_with.setdefault(result["files"]["pet"]["sha256"], study.name)
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


def _each(
    work: Callable[[Study], Any], studies: Sequence[Study], n_jobs: int
) -> Iterator[dict[str, Any] | str]:
    """The result of each study, in order, from up to ``n_jobs`` processes."""
    if min(n_jobs, len(studies)) <= 1:
        yield from map(work, studies)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, mp_context=context, initializer=end_with_parent) as pool:
        try:
            yield from pool.map(work, studies)
        except BrokenProcessPool as error:
            raise ChildProcessError(
                "a worker process was killed (perhaps out of memory: try fewer --n-jobs). Finished "
                "studies are kept: run the same command again"
            ) from error


def prepare_study(
    study: Study, *, settings: Settings, folder: Path, lesion_free: str = "negative"
) -> dict[str, Any] | str:
    """Write the slices of one study to ``folder`` and return their record, or why it is skipped.

    The names of the files have a fingerprint of the settings and the input (sizes and times), so
    that a finished study is found again, and never one of another preparation.
    """
    try:
        if study.seg is None and study.diagnosis != NEGATIVE and lesion_free != "study":
            raise ValueError(
                f"{FILES['seg']} is missing, so slices with lesions are unknown; use --lesion-free "
                "study"
            )
        made_from = [asdict(settings)]
        for path in study.files.values():
            made_from.append([path.stat().st_size, path.stat().st_mtime_ns])
        fingerprint = hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:10]
        target = folder / f"{study.key}-{fingerprint}.npy"
        record_file = target.with_suffix(".json")
        slices = None
        if record_file.is_file() and target.is_file():
            record = read_json(record_file)
        else:
            slices, record = cut_study(study, settings)
        if study.diagnosis == NEGATIVE and sum(record["lesion_voxels"]) > 0:
            raise ValueError(
                "its diagnosis is negative, but the segmentation marks "
                f"{sum(record['lesion_voxels']):,} voxels as lesion"
            )
    except (ValueError, OSError) as error:
        return str(error)
    record["slices"] = target.name
    if slices is not None:
        try:
            with replacing(target) as file:
                np.save(file, slices)
            # Last: a study with a record is finished.
            write_file(record_file, json.dumps(record))
        except OSError as error:
            raise OSError(
                error.errno,
                f"cannot store the slices of {study.name}: {error.strerror or error}. Finished "
                "studies are kept: free disk space, and run the same command again",
            ) from error
    return record


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
    slices[..., 2] = fuse(slices[..., 0], slices[..., 1])
    # A lesion smaller than a pixel fills at least half of none: mark the pixels with most of it.
    share = cut(ct, planes, settings.size, 0.0)
    enough = np.minimum(0.5, 0.99 * share.max(axis=(1, 2), keepdims=True))
    slices[..., 3] = (share > 0) & (share >= enough)
    files = {}
    for key, path in study.files.items():
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        files[key] = {"name": path.name, "sha256": digest}
    images = slices[..., :3]
    squares = np.einsum("nijc,nijc->nc", images, images, dtype=np.int64, casting="unsafe")
    return slices, {
        "files": files,
        "orientation": ct.stored,
        "planes": planes.tolist(),
        "lesion_voxels": np.count_nonzero(mask[:, planes], axis=(0, 2)).tolist(),
        "slices_sha256": hashlib.sha256(slices.data).hexdigest(),
        "means": (images.mean(axis=(1, 2)) / 255).tolist(),
        "mean_squares": (squares / (255 * settings.size) ** 2).tolist(),
    }


def _check_grid(a: Volume, b: Volume, a_path: Path, b_path: Path) -> None:
    """Refuse volumes that are not on the same grid, to a tenth of a voxel."""
    corners = np.array([a.origin - b.origin, a.end - b.end])
    if a.values.shape != b.values.shape or np.abs(corners).max() > 0.1 * a.spacing.min():
        raise ValueError(
            f"{a_path.name} and {b_path.name} must be on one grid; they differ in shape "
            f"({a.values.shape}, {b.values.shape}), origin or voxel size"
        )
