"""Cases: the files of all members that predict the same volume."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._errors import InputError, listed
from .._tables import counted
from ..io.files import read_json, similar_file
from .images import SUFFIXES, Grid, Volume, check_same_grid, open_volume, stem_of

PathLike = str | os.PathLike[str]
DATASET = "dataset.json"


@dataclass(frozen=True, eq=False)
class Case:
    """One volume as each member predicts it; made by `cases`."""

    name: str
    members: tuple[Volume, ...]
    grid: Grid
    """Shape and affine, the same for all files of the case."""
    class_names: Mapping[int, str] = field(default_factory=dict)
    """Names by label value, or by channel."""
    regions: Mapping[str, Sequence[int]] | None = None
    """Label values of regions that may overlap, in the order of the channels."""
    image: Volume | None = None
    truth: Volume | None = None

    @property
    def files(self) -> list[Path]:
        """All files that are read."""
        others = [volume for volume in (self.image, self.truth) if volume is not None]
        return [volume.file for volume in (*self.members, *others)]


def cases(
    *members: PathLike,
    images: PathLike | None = None,
    truth: PathLike | None = None,
    class_names: Mapping[int, str] | Sequence[str] | None = None,
    allow_missing: bool = False,
) -> list[Case]:
    """Match the volumes of all members by name, and compare their grids.

    Parameters
    ----------
    *members : path
        Each is one member: a folder with a file for each case (such as nnU-Net's folder of one
        fold, predicted with ``--save_probabilities``), or, for a single case, a file. Label maps,
        probabilities (classes first in .npy, last in NIfTI) and regions that may overlap are
        recognized.
    images, truth : path, optional
        Images for the figures, and true label maps: folders or, for a single case, files. An
        image may be called as nnU-Net does, ``case_0000.nii.gz``.
    class_names : sequence of str, or mapping from label values to names, optional
        Defaults to the labels of ``dataset.json`` in the members' folders. The first of a sequence
        is the background; of regions it is the first region.
    allow_missing : bool
        Leave out cases that some member lacks, which are otherwise refused.

    Returns
    -------
    list of Case
        Sorted by name. Only headers have been read so far.

    Raises
    ------
    InputError
        Naming the file, and the field: a case that is missing, another shape, an affine that
        differs by more than 0.01 voxel. Volumes are never reoriented.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for member in "ab":
    ...     (folder / member).mkdir()
    ...     np.save(folder / member / "patient1.npy", np.zeros((4, 4, 4), np.uint8))
    >>> (case,) = lw.dense.cases(folder / "a", folder / "b")
    >>> case.name, case.grid.shape
    ('patient1', (4, 4, 4))
    """
    places = [Path(member) for member in members]
    for place in places:
        if not place.exists():
            raise FileNotFoundError(f"there is no member {str(place)!r}{similar_file(place)}")
    if len(places) < 2:
        raise InputError(
            f"members must be at least two; got {len(places)}. Each argument is one member, and "
            "the files of a folder are cases: name the files if each of them is a member"
        )
    folders = [place.is_dir() for place in places]
    if any(folders) and not all(folders):
        raise InputError("members must be all folders, or all files; got both")
    names, regions = _names_of_classes(class_names, [p for p in places if p.is_dir()])
    if all(folders):
        found = [_files_by_case(place) for place in places]
        common = _common_cases(places, found, allow_missing)
    else:
        name = _name_of_files(places)
        common, found = [name], [{name: place} for place in places]
    extra = [_find_extra(place, common) for place in (images, truth)]
    return [
        _open_case(
            name,
            [files[name] for files in found],
            [files.get(name) for files in extra],
            names,
            regions,
        )
        for name in common
    ]


def _files_by_case(folder: Path) -> dict[str, Path]:
    """The file of each case in a folder: probabilities before the segmentation beside them."""
    found: dict[str, Path] = {}
    for suffix in SUFFIXES:
        for path in sorted(folder.glob(f"*{suffix}")):
            stem = stem_of(path)
            # .npz and .npy come last, so that they replace the label map that places them
            if stem is not None and not (path.suffix == ".nii" and stem in found):
                found[stem] = path
    if not found:
        raise InputError(f"{folder}: no volumes; expected {', '.join(SUFFIXES)}")
    return found


def _common_cases(
    places: Sequence[Path], found: Sequence[Mapping[str, Path]], allow_missing: bool
) -> list[str]:
    everywhere = set(found[0]).intersection(*found[1:])
    missing = sorted(set().union(*found) - everywhere)
    if missing and not allow_missing:
        lacking = [
            str(p) for p, files in zip(places, found, strict=True) if missing[0] not in files
        ]
        raise InputError(
            f"{lacking[0]}: case {missing[0]!r} is missing, which other members have (in all, "
            f"{counted(len(missing), 'case')} of {len(missing) + len(everywhere)} not predicted "
            "by all members). Predict it, or allow missing cases"
        )
    if not everywhere:
        raise InputError(
            f"no case has a file in all members: {places[0]} has {listed(sorted(found[0]), 3)}, "
            f"{places[1]} has {listed(sorted(found[1]), 3)}"
        )
    return sorted(everywhere)


def _name_of_files(places: Sequence[Path]) -> str:
    """The name of a single case: that of its files, or of their folder."""
    stems = [stem_of(place) for place in places]
    for place, stem in zip(places, stems, strict=True):
        if stem is None:
            raise InputError(f"{place}: must be one of {', '.join(SUFFIXES)}")
    if len(set(stems)) == 1:
        return str(stems[0])
    return places[0].resolve().parent.name or "case"


def _find_extra(place: PathLike | None, names: Sequence[str]) -> dict[str, Path]:
    """The image or the truth of each case."""
    if place is None:
        return {}
    path = Path(place)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}{similar_file(path)}")
    if path.is_file():
        if len(names) > 1:
            raise InputError(f"{path}: must be a folder, because there are {len(names)} cases")
        return {names[0]: path}
    found = _files_by_case(path)
    first_channels = {stem.removesuffix("_0000"): file for stem, file in found.items()}
    found = first_channels | found
    for name in names:
        if name not in found:
            raise InputError(f"{path}: case {name!r} is missing")
    return found


def _open_case(
    name: str,
    members: Sequence[Path],
    extra: Sequence[Path | None],
    class_names: Mapping[int, str],
    regions: Mapping[str, Sequence[int]] | None,
) -> Case:
    volumes = [open_volume(path) for path in members]
    image, truth = (None if path is None else open_volume(path) for path in extra)
    everything = [volume for volume in (*volumes, image, truth) if volume is not None]
    reference = next((v.grid for v in everything if v.grid.placed), volumes[0].grid)
    for volume in everything:
        check_same_grid(volume.grid, reference)
    for volume in volumes:
        if volume.channels != volumes[0].channels:
            raise InputError(
                f"{volume.file}: channels: must be those of {volumes[0].file}, "
                f"{volumes[0].channels or 'a label map'}; got {volume.channels or 'a label map'}"
            )
    return Case(name, tuple(volumes), reference, class_names, regions, image, truth)


def _names_of_classes(
    given: Mapping[int, str] | Sequence[str] | None, folders: Sequence[Path]
) -> tuple[Mapping[int, str], Mapping[str, Sequence[int]] | None]:
    """Class names by label value, and regions with their label values."""
    if isinstance(given, Mapping):
        return {int(label): str(name) for label, name in given.items()}, None
    if given is not None:
        if isinstance(given, str):
            raise TypeError(f"`class_names` must be a sequence or a mapping; got {given!r}")
        return dict(enumerate(map(str, given))), None
    files = [folder / DATASET for folder in folders if (folder / DATASET).is_file()]
    if not files:
        return {}, None
    labels = _dataset_labels(files[0])
    for file in files[1:]:
        if _dataset_labels(file) != labels:
            raise InputError(f"{file}: labels: must be those of {files[0]}")
    regions = {}
    for name, label in labels.items():
        if name not in ("background", "ignore"):
            regions[name] = label if isinstance(label, list) else [label]
    if any(isinstance(label, list) for label in labels.values()):
        return {}, regions
    return {label: name for name, label in labels.items() if name != "ignore"}, None


def _dataset_labels(file: Path) -> dict[str, Any]:
    """The labels of nnU-Net's dataset.json: numbers, or lists of numbers for regions."""
    content = read_json(file)
    labels = content.get("labels") if isinstance(content, dict) else None
    if not isinstance(labels, dict):
        raise InputError(f'{file}: labels: must be such as {{"background": 0, "liver": 1}}')
    for name, label in labels.items():
        for number in label if isinstance(label, list) else [label]:
            if not isinstance(number, int):
                raise InputError(f"{file}: labels: {name!r} must be an integer; got {number!r}")
    return labels
