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

from ..files import (
    FOLDER_LOCK,
    end_with_parent,
    locked,
    read_json,
    remove_all_leftovers,
    replacing,
    usable_cores,
    write_file,
)
from ..validation import as_seed, check_choice
from .manifest import FILE, LESION_FREE, NEGATIVE, SLICES, Prepared, build_manifest, open_prepared
from .slices import AIR, RULES, choose_planes, cut, fuse, to_bytes
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
    planes: str = "body"
    """``"all"``, ``"body"`` or ``"lesion"``: coronal planes that intersect this."""
    step: float = 3.0
    """Millimeters between planes; 0 takes every plane."""
    stretch: bool = False
    """Fill the square in both directions instead of keeping the patient's proportions."""

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
        check_choice(self.planes, "planes", RULES)
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
    held = tuple(normal(name) for name in hold_back)
    known = tuple(dict.fromkeys([*map(normal, diagnoses), *held]))
    studies, skipped = find_studies(root, table=table, diagnoses=known)
    (out / SLICES).mkdir(parents=True, exist_ok=True)
    with locked(out / FOLDER_LOCK, f"preparing slices in {str(out)!r}", "choose another folder"):
        remove_all_leftovers(out)
        remove_all_leftovers(out / SLICES)
        work = partial(prepare_study, settings=settings, out=out, lesion_free=lesion_free)
        records = {}
        results = _each(work, studies, n_jobs or usable_cores())
        for done, (study, result) in enumerate(zip(studies, results, strict=True), 1):
            if isinstance(result, Skipped):
                skipped.append(result)
            else:
                records[study] = result
            if progress is not None:
                progress(done, len(studies))
        manifest = build_manifest(
            records,
            skipped,
            settings=asdict(settings),
            diagnoses=known,
            hold_back=held,
            lesion_free=lesion_free,
            test_size=test_size,
            val_size=val_size,
            seed=as_seed(rng),
        )
        write_file(out / FILE, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return open_prepared(out)


def _each(
    work: Callable[[Study], Any], studies: Sequence[Study], n_jobs: int
) -> Iterator[dict[str, Any] | Skipped]:
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
    study: Study, *, settings: Settings, out: Path, lesion_free: str = "negative"
) -> dict[str, Any] | Skipped:
    """Write the slices of one study and return their record, or why it is skipped; an up-to-date
    record is reused.
    """
    path = out / SLICES / f"{study.key}.npy"
    record_file = path.with_suffix(".json")
    try:
        made_from = _made_from(study, settings)
        record = _read_record(record_file)
        if record.get("made_from") == made_from and path.is_file():
            _check_diagnosis(study, sum(record["lesion_voxels"]))
            return record
        slices, record = cut_study(study, settings, lesion_free)
    except (ValueError, OSError) as error:
        return Skipped(study.patient, study.study, str(error))
    record["made_from"] = made_from
    try:
        record_file.unlink(missing_ok=True)
        with replacing(path) as file:
            np.save(file, slices)
        # Last: a study with a record is finished.
        write_file(record_file, json.dumps(record))
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot store the slices of {study.name}: {error.strerror or error}. Finished studies "
            "are kept: free disk space, and run the same command again",
        ) from error
    return record


def _made_from(study: Study, settings: Settings) -> str:
    """What the slices depend on; they are regenerated when it changes."""
    files = {}
    for key, path in study.files.items():
        stat = path.stat()
        files[key] = [stat.st_size, stat.st_mtime_ns]
    return json.dumps({"settings": asdict(settings), "files": files})


def _read_record(path: Path) -> dict[str, Any]:
    """The record of a finished study; empty if there is none that can be read."""
    try:
        record = read_json(path)
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def cut_study(
    study: Study, settings: Settings, lesion_free: str
) -> tuple[np.ndarray, dict[str, Any]]:
    """Slices (N, S, S, 4) as PET, CT, fusion and mask, and their record; at most one volume and one
    mask are in memory at a time.
    """
    mask = None
    if study.seg is not None:
        volume = read_volume(study.seg, order=0)
        mask = replace(volume, values=volume.values > 0.5)
    elif study.diagnosis != NEGATIVE and lesion_free != "study":
        raise ValueError(
            f"{FILES['seg']} is missing, so slices with lesions are unknown; use --lesion-free "
            "study"
        )
    ct = read_volume(study.ct, outside=AIR)
    if ct.values.min() > -500:
        raise ValueError(
            f"{study.ct.name} is not in Hounsfield units: no voxel has the density of air"
        )
    if mask is None:
        mask = replace(ct, values=np.zeros(ct.values.shape, dtype=bool))
    _check_grid(mask, ct, study.seg or study.ct, study.ct)
    _check_diagnosis(study, int(mask.values.sum()))
    planes = choose_planes(ct, mask.values, rule=settings.planes, step=settings.step)
    if len(planes) == 0:
        sought = "a lesion" if settings.planes == "lesion" else "a body"
        raise ValueError(f"no coronal plane of {study.ct.name} intersects {sought}")
    slices = np.empty((len(planes), settings.size, settings.size, 4), np.uint8)
    cut_planes = partial(cut, planes=planes, size=settings.size, stretch=settings.stretch)
    slices[..., 1] = to_bytes(cut_planes(ct, outside=AIR), *settings.window)
    stored = ct.stored
    del ct
    pet = read_volume(study.pet)
    _check_grid(pet, mask, study.pet, study.ct)
    mean = float(pet.values.mean(dtype=np.float64))
    if mean > settings.suv_max:
        raise ValueError(
            f"{study.pet.name} is not in SUV: its mean is {mean:.4g}; perhaps it holds activity "
            "counts"
        )
    slices[..., 0] = to_bytes(cut_planes(pet, outside=0.0), 0.0, settings.suv_max)
    slices[..., 2] = fuse(slices[..., 0], slices[..., 1])
    # A lesion smaller than a pixel fills at least half of none: mark the pixels with most of it.
    share = cut_planes(mask, outside=0.0)
    enough = np.minimum(0.5, 0.99 * share.max(axis=(1, 2), keepdims=True))
    slices[..., 3] = (share > 0) & (share >= enough)
    images = slices[..., :3]
    sums = images.sum(axis=(1, 2), dtype=np.int64)
    squares = np.einsum("nijc,nijc->nc", images, images, dtype=np.int64, casting="unsafe")
    record = {
        "files": {key: _file_record(path) for key, path in study.files.items()},
        "orientation": stored,
        "shape": list(mask.values.shape),
        "spacing": mask.spacing.round(6).tolist(),
        "planes": planes.tolist(),
        "lesion_voxels": np.count_nonzero(mask.values[:, planes], axis=(0, 2)).tolist(),
        "slices_sha256": hashlib.sha256(slices.data).hexdigest(),
        "sums": np.stack([sums, squares], axis=1).tolist(),
    }
    return slices, record


def _file_record(path: Path) -> dict[str, str]:
    with path.open("rb") as file:
        return {"name": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _check_diagnosis(study: Study, lesion_voxels: int) -> None:
    if study.diagnosis == NEGATIVE and lesion_voxels > 0:
        raise ValueError(
            f"its diagnosis is negative, but the segmentation marks {lesion_voxels:,} voxels as "
            "lesion"
        )


def _check_grid(a: Volume, b: Volume, a_path: Path, b_path: Path) -> None:
    """Refuse volumes that are not on the same grid, to a tenth of a voxel."""
    if a.values.shape != b.values.shape:
        shapes = [" × ".join(map(str, volume.values.shape)) for volume in (a, b)]
        raise ValueError(
            f"{a_path.name} has {shapes[0]} voxels and {b_path.name} {shapes[1]}; they must be on "
            "one grid"
        )
    apart = np.abs([a.origin - b.origin, a.end - b.end]).max()
    if apart > 0.1 * a.spacing.min():
        raise ValueError(
            f"{a_path.name} and {b_path.name} differ in origin or voxel size; they must be on one "
            "grid"
        )
