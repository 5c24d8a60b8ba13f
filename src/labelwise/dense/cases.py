"""Cases: the files of all members that predict the same volume."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InputError
from ..io.files import check_there, read_json, reading
from .images import SUFFIXES, Volume, check_same_grid, open_volume

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Case:
    """One volume as each member predicts it; made by `cases`."""

    name: str
    members: Sequence[Volume]
    class_names: Mapping[str, list[int]]
    """The label of each class, or the labels of each region, by name."""
    image: Volume | None = None
    truth: Volume | None = None

    @property
    def volumes(self) -> list[Volume]:
        """All files that are read."""
        return [x for x in (*self.members, self.image, self.truth) if x is not None]

    @property
    def grid(self) -> Volume:
        """Where the voxels of all files are: the first file that says so."""
        return next((x for x in self.volumes if x.placed), self.members[0])


def cases(
    *members: PathLike,
    images: PathLike | None = None,
    truth: PathLike | None = None,
    class_names: Mapping[int, str] | Sequence[str] | None = None,
) -> list[Case]:
    """Match the volumes of all members by name, and compare their grids.

    Parameters
    ----------
    *members : path
        Each is one member: a folder with a file for each case (such as nnU-Net's folder of one
        fold, predicted with ``--save_probabilities``), or, for a single case, a file. Label maps,
        probabilities and regions that may overlap are recognized. Classes are the last axis in
        NIfTI; arrays in .npy are (classes, z, y, x), as nnU-Net's.
    images, truth : path, optional
        Images for the figures, and true label maps: folders or, for a single case, files. An
        image may be called as nnU-Net does, ``case_0000.nii.gz``.
    class_names : sequence of str, or mapping from label values to names, optional
        Defaults to the labels of ``dataset.json`` in the first member's folder. The first of a
        sequence is the background; of regions it is the first region.

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
    if len(members) < 2:
        raise InputError(
            f"members must be at least two; got {len(members)}. Each argument is one member, and "
            "the files of a folder are cases: name the files if each of them is a member"
        )
    places = list(map(Path, members))
    found = list(map(_files_by_case, places))
    names = sorted(set().union(*found))
    if len(names) > 1 and all(map(Path.is_file, places)):  # of one case, called as their folder
        names = [places[0].resolve().parent.name]
    volumes = [_volumes_by_case(place, names) for place in places]
    labels = _labels_by_name(class_names, places[0] / "dataset.json")
    beside = [{} if x is None else _volumes_by_case(Path(x), names) for x in (images, truth)]
    result = []
    for name in names:
        own = [volume[name] for volume in volumes]
        case = Case(name, own, labels, *(volume.get(name) for volume in beside))
        for volume in case.volumes:
            check_same_grid(volume, case.grid)
        result.append(case)
    return result


def _files_by_case(place: Path) -> dict[str, Path]:
    """Files by their names without ending; probabilities before the label map beside them."""
    check_there(place, "folder or")
    found = {}
    files = sorted(place.glob("[!.]*")) if place.is_dir() else [place]
    for suffix in SUFFIXES:
        for file in files:
            if file.name.endswith(suffix):
                found[file.name.removesuffix(suffix)] = file
    if not found:
        raise InputError(f"no volumes; expected {', '.join(SUFFIXES)}", where=str(place))
    return found


def _volumes_by_case(place: Path, names: Sequence[str]) -> dict[str, Volume]:
    """The file of each case, which may end in _0000 as nnU-Net's images do."""
    found = _files_by_case(place)
    if place.is_file():  # of a single case
        found = {names[0]: place}
    files = {stem.removesuffix("_0000"): file for stem, file in found.items()} | found
    missing = [name for name in names if name not in files]
    if missing:
        sentence = f"case {missing[0]!r} is missing, one of {len(missing)} of {len(names)}"
        raise InputError(sentence, where=str(place))
    return {name: open_volume(files[name]) for name in names}


def _labels_by_name(given: Any, dataset: Path) -> dict[str, list[int]]:
    """From names by label, names in order, or what nnU-Net knows of its labels."""
    if given is not None:
        by_label = given if isinstance(given, Mapping) else dict(enumerate(given))
        named: dict[str, list[int]] = {}
        for label, name in by_label.items():
            if not str(label).lstrip("-").isdigit():
                raise InputError(f"`class_names` must be names by label; got {label!r} as a label")
            named.setdefault(str(name), []).append(int(label))
        return named
    if not dataset.is_file():
        return {}
    with reading(dataset):
        labels = dict(read_json(dataset)["labels"])
        others = ("background", "ignore")
        return {x: np.atleast_1d(labels[x]).tolist() for x in labels if x not in others}
