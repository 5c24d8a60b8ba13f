"""From volumes to slices on disk: in parallel, with bounded memory, resumable after an
interruption.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import multiprocessing
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
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
    usable_cores,
    write_file,
)
from ..validation import as_seed, check_choice
from . import manifest as listing
from .slices import AIR, RULES, choose_planes, cut, fuse, to_bytes
from .store import GROUP, is_whole, write_slices, zarr
from .studies import DIAGNOSES, FILES, Skipped, Study, find_studies, normal
from .volumes import Volume, nibabel, read_volume, same_grid

_PLANES_AT_ONCE = 16
_LONGEST_RECORD = 1 << 26
_RECORDED = {
    "files",
    "orientation",
    "shape",
    "spacing",
    "planes",
    "lesion_voxels",
    "slices_sha256",
    "pixels",
    "sums",
    "squares",
}
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
) -> listing.Prepared:
    """Cut every study into slices, split the patients, and write the manifest.

    After an interruption (Ctrl-C, ``kill -9``, a full disk), the same call resumes after the last
    finished study and gives the same manifest. Unusable studies are skipped, with the reason in the
    manifest.

    Parameters
    ----------
    root, table
        As for `find_studies`.
    out : path
        Folder for the slices (``slices.zarr``) and ``manifest.json``.
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
    nibabel(), zarr()
    settings = settings or Settings()
    check_choice(lesion_free, "lesion_free", listing.LESION_FREE)
    held = tuple(normal(name) for name in hold_back)
    known = tuple(dict.fromkeys([*map(normal, diagnoses), *held]))
    studies, skipped = find_studies(root, table=table, diagnoses=known)
    out.mkdir(parents=True, exist_ok=True)
    with locked(out / FOLDER_LOCK, f"preparing slices in {str(out)!r}", "choose another folder"):
        results = _prepare_all(
            partial(prepare_study, settings=settings, out=out, lesion_free=lesion_free),
            studies,
            out,
            n_jobs,
            progress,
        )
        content = listing.build(
            {study: result for study, result in results.items() if not isinstance(result, Skipped)},
            [*skipped, *(result for result in results.values() if isinstance(result, Skipped))],
            settings=json.loads(json.dumps(asdict(settings))),
            diagnoses=known,
            hold_back=held,
            lesion_free=lesion_free,
            test_size=test_size,
            val_size=val_size,
            seed=as_seed(rng),
        )
        listing.write_manifest(out, content)
    return listing.open_prepared(out)


def _prepare_all(
    work: Callable[[Study], Any],
    studies: Sequence[Study],
    out: Path,
    n_jobs: int | None,
    progress: Progress | None,
) -> dict[Study, dict[str, Any] | Skipped]:
    """The record of each study, after what killed processes have left in ``out`` is gone."""
    (out / "studies").mkdir(exist_ok=True)
    zarr().open_group(out / GROUP, mode="a")
    for folder in (out, out / "studies", out / GROUP):
        remove_all_leftovers(folder)
    results = {}
    for study, result in _each(work, studies, n_jobs):
        results[study] = result
        if progress is not None:
            progress(len(results), len(studies))
    return results


def _each(
    work: Callable[[Study], Any], studies: Sequence[Study], n_jobs: int | None
) -> Iterator[tuple[Study, Any]]:
    """Yield each study with its result, in order of completion."""
    n_jobs = min(n_jobs or usable_cores(), len(studies))
    if n_jobs <= 1:
        yield from ((study, work(study)) for study in studies)
        return
    pool = ProcessPoolExecutor(
        n_jobs, mp_context=multiprocessing.get_context("spawn"), initializer=end_with_parent
    )
    try:
        futures = {pool.submit(work, study): study for study in studies}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a worker process was killed (perhaps out of memory: try fewer --n-jobs). Finished "
            "studies are kept: run the same command again"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def prepare_study(
    study: Study, *, settings: Settings, out: Path, lesion_free: str = "negative"
) -> dict[str, Any] | Skipped:
    """Write the slices of one study and return their record, or why it is skipped; an up-to-date
    record is reused.
    """
    record_file = out / "studies" / f"{study.key}.json"
    try:
        made_from = _made_from(study, settings)
        record = _read_record(record_file, made_from)
        if record is not None and is_whole(out / GROUP, study.key, len(record["planes"])):
            _check_against_diagnosis(study, record["lesion_voxels"])
            return record
        images, lesions, record = _slices(study, settings, lesion_free)
    except (ValueError, OSError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        return Skipped(study.patient, study.study, why)
    try:
        record_file.unlink(missing_ok=True)
        write_slices(out / GROUP, study.key, images, lesions)
        write_file(record_file, json.dumps({"made_from": made_from, **record}))
    except OSError as error:
        raise OSError(
            error.errno,
            (
                f"cannot store the slices of {study.name}: {error.strerror or error}. Finished "
                "studies are kept: free disk space, and run the same command again"
            ),
        ) from error
    return {"made_from": made_from, **record}


def _made_from(study: Study, settings: Settings) -> dict[str, Any]:
    """What the slices depend on; they are regenerated when it changes."""
    files = {key: path.stat() for key in FILES if (path := getattr(study, key)) is not None}
    known = {
        "settings": asdict(settings),
        "files": {key: [stat.st_size, stat.st_mtime_ns] for key, stat in files.items()},
    }
    return dict(json.loads(json.dumps(known)))


def _read_record(path: Path, made_from: dict[str, Any]) -> dict[str, Any] | None:
    try:
        record = read_json(path)
    except (OSError, ValueError):
        return None
    if (
        not isinstance(record, dict)
        or record.get("made_from") != made_from
        or not record.keys() >= _RECORDED
    ):
        return None
    per_plane = [record[key] for key in ("planes", "lesion_voxels", "sums", "squares")]
    return (
        record
        if all(isinstance(x, list) and len(x) == len(per_plane[0]) for x in per_plane)
        else None
    )


def _check_against_diagnosis(study: Study, lesion_voxels: Sequence[int]) -> None:
    if study.diagnosis == listing.NEGATIVE and sum(lesion_voxels) > 0:
        raise ValueError(
            f"its diagnosis is negative, but the segmentation marks {sum(lesion_voxels):,} voxels "
            "as lesion"
        )


def _slices(
    study: Study, settings: Settings, lesion_free: str
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Images, masks and the record; at most one volume and one mask are in memory at a time."""
    mask = None
    if study.seg is not None:
        volume = read_volume(study.seg, order=0)
        mask = replace(volume, values=volume.values > 0.5)
        del volume
    elif study.diagnosis != listing.NEGATIVE and lesion_free != "study":
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
        mask = replace(ct, values=np.zeros(ct.values.shape, dtype=bool), sha256="")
    _check_grid(mask, ct, study.seg or study.ct, study.ct)
    _check_against_diagnosis(study, [int(mask.values.sum())])
    planes = choose_planes(ct, mask.values, rule=settings.planes, step=settings.step)
    if len(planes) == 0:
        raise ValueError(
            f"no coronal plane of {study.ct.name} intersects "
            f"{'a lesion' if settings.planes == 'lesion' else 'a body'}"
        )
    images = np.empty((len(planes), settings.size, settings.size, 3), np.uint8)
    for part, cuts in _cuts(ct, planes, settings, AIR):
        images[part, ..., 1] = to_bytes(cuts, *settings.window)
    grid, ct_sha256 = replace(ct, values=mask.values), ct.sha256
    del ct
    pet = read_volume(study.pet)
    _check_grid(pet, grid, study.pet, study.ct)
    if float(pet.values.mean(dtype=np.float64)) > settings.suv_max:
        raise ValueError(
            f"{study.pet.name} is not in SUV: its mean is {pet.values.mean(dtype=np.float64):.4g}; "
            "perhaps it holds activity counts"
        )
    for part, cuts in _cuts(pet, planes, settings, 0.0):
        images[part, ..., 0] = to_bytes(cuts, 0.0, settings.suv_max)
    hashes = {"ct": ct_sha256, "pet": pet.sha256, "seg": mask.sha256}
    del pet
    images[..., 2] = fuse(images[..., 0], images[..., 1])
    lesions = np.empty(images.shape[:3], dtype=bool)
    for part, share in _cuts(mask, planes, settings, 0.0):
        # A lesion smaller than a pixel fills at least half of none: mark the pixels with most of
        # it.
        enough = np.minimum(0.5, 0.99 * share.max(axis=(1, 2), keepdims=True))
        lesions[part] = (share > 0) & (share >= enough)
    paths = {key: path for key in FILES if (path := getattr(study, key)) is not None}
    return (
        images,
        lesions,
        {
            "files": {
                key: {"name": path.name, "bytes": path.stat().st_size, "sha256": hashes[key]}
                for key, path in paths.items()
            },
            "orientation": grid.stored,
            "shape": list(grid.values.shape),
            "spacing": [round(s, 6) for s in grid.spacing],
            "planes": planes.tolist(),
            "lesion_voxels": np.count_nonzero(mask.values[:, planes], axis=(0, 2)).tolist(),
            "slices_sha256": hashlib.sha256(images.data).hexdigest(),
            "pixels": settings.size**2,
            **_sums(images),
        },
    )


def _check_grid(a: Volume, b: Volume, a_path: Path, b_path: Path) -> None:
    if a.values.shape != b.values.shape:
        shapes = [" × ".join(map(str, volume.values.shape)) for volume in (a, b)]
        raise ValueError(
            f"{a_path.name} has {shapes[0]} voxels and {b_path.name} {shapes[1]}; they must be on "
            "one grid"
        )
    if not same_grid(a, b):
        raise ValueError(
            f"{a_path.name} and {b_path.name} differ in origin or voxel size; they must be on one "
            "grid"
        )


def _cuts(
    volume: Volume, planes: np.ndarray, settings: Settings, outside: float
) -> Iterator[tuple[slice, np.ndarray]]:
    """Slices of a few planes at a time, to bound the memory."""
    for at in range(0, len(planes), _PLANES_AT_ONCE):
        part = slice(at, at + _PLANES_AT_ONCE)
        yield (
            part,
            cut(volume, planes[part], settings.size, outside=outside, stretch=settings.stretch),
        )


def _sums(images: np.ndarray) -> dict[str, list[list[int]]]:
    """Integer sums and sums of squares of each slice and channel."""
    sums, squares = [], []
    for image in images:
        flat = np.ascontiguousarray(image.reshape(-1, 3).T, dtype=np.uint32)
        sums.append(flat.sum(axis=1, dtype=np.int64).tolist())
        squares.append((flat * flat).sum(axis=1, dtype=np.int64).tolist())
    return {"sums": sums, "squares": squares}
