"""What the members of a case predict: probabilities that sum to 1, regions that may overlap, or
label maps, whose votes are counted.

Label-wise uncertainty of a structure depends only on the probability of that structure, so that
structures are computed one after another, plane by plane: memory does not grow with their number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from .._arrays import Array
from .._errors import InputError, suggest
from .._validation.probabilities import check_probabilities
from .cases import Case
from .images import Volume

PLANES = 8  # looked at to tell classes from regions
MOST_LABELS = 1000  # an image that is taken for a label map has more
SENTENCES = {
    "votes": "label maps. Votes have no aleatoric part: AU is 0, and EU is TU",
    "regions": "probabilities of {} regions that may overlap",
    "probabilities": "probabilities of {} classes, the background first",
}
Events = Mapping[str, Sequence[int | str]]


class PredictedVolumes:
    """The members of a case, read."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.arrays = [volume.read() for volume in case.members]
        shape = self.arrays[0].shape
        for volume, array in zip(case.members, self.arrays, strict=True):
            if array.shape != shape:
                raise volume.error(
                    f"classes: shape {array.shape} against {shape} of {case.members[0].file}"
                )
        self.kind = _recognize(self.arrays[0])
        votes = zip(case.members, self.arrays, strict=True) if self.kind == "votes" else ()
        truth = [] if case.truth is None else [(case.truth, case.truth.read())]
        labels = {0}.union(*case.class_names.values())
        for volume, array in (*votes, *truth):
            labels |= _find_labels(volume, array)
        self.channels = sorted(labels)  # a label that no member has seen is a structure, too
        if self.kind != "votes":
            self.arrays = [array.reshape(-1, *case.grid.shape) for array in self.arrays]
            self.channels = list(range(len(self.arrays[0])))
        self.sentence = SENTENCES[self.kind].format(len(self.channels))
        """What the members were taken for."""
        unknown = labels.difference(self.channels)
        if unknown and self.kind == "probabilities":
            raise case.members[0].error(
                f"classes: {self.sentence}; the class names or the truth also have {unknown}"
            )
        n_maps = len(self.arrays) + 1 + len(truth)
        dtype = np.result_type(*map(np.min_scalar_type, labels.union(self.channels)))
        self.label_maps = np.zeros((n_maps, *case.grid.shape), dtype)
        """The most likely class by each member and by their mean, and maybe the truth; of regions,
        which may overlap, only the truth counts.
        """
        self.mean = self.label_maps[len(self.arrays)]
        for _, array in truth:
            self.label_maps[-1] = array
        self.entropy = 0.0
        """Entropy of the mean prediction, summed over the voxels, in bits."""
        for z in range(len(self.mean)):
            self._read_plane(z)

    def _read_plane(self, z: int) -> None:
        """Check probabilities, and find the most likely class by each member and by the mean."""
        for labels, volume, array in zip(
            self.label_maps, self.case.members, self.arrays, strict=False
        ):
            if self.kind == "votes":
                labels[z] = array[z]
                continue
            rows = np.moveaxis(array[:, z], 0, -1)[None]
            if rows.dtype != np.float16:  # others, and scaled integers, are as exact as float32
                rows = rows.astype(np.float32, copy=False)
            try:
                check_probabilities(rows, "values", sum_to_one=self.kind != "regions")
            except InputError as error:  # its advice is about other options
                raise volume.error(error.sentence) from error
            labels[z] = array[:, z].argmax(axis=0)
        mean = np.stack([self._chances(z, [k]).mean(axis=0) for k in self.channels])
        self.mean[z] = np.array(self.channels)[mean.argmax(axis=0)]
        if self.kind == "regions":  # each has an entropy of its own
            mean = np.stack([mean, 1 - mean])
        logarithms = np.log2(np.maximum(mean, 1e-37))  # 0 has no entropy, but a logarithm
        self.entropy -= float((mean * logarithms).sum(dtype=float))

    def _chances(self, z: int, channels: Sequence[int]) -> Array:
        """The probability of some channels together by each member, in a plane; votes: 0 or 1."""
        chances = np.zeros((len(self.arrays), *self.mean[z].shape), np.float32)
        for chance, labels, array in zip(chances, self.label_maps, self.arrays, strict=False):
            for channel in channels:
                chance += labels[z] == channel if self.kind == "votes" else array[channel, z]
        return np.minimum(chances, 1, out=chances)  # may be larger by rounding

    def structures(self, events: Events | None) -> dict[str, list[int]]:
        """The labels of all classes but the background, then of the events, by name; of regions,
        in the order of their channels, the labels in the truth.
        """
        names, numbers = dict(self.case.class_names), {str(k): [k] for k in self.channels}
        if self.kind == "regions":
            found = names or numbers
            if len(found) != len(numbers) or events:
                raise self.case.members[0].error(
                    f"classes: {self.sentence}, so that no events can be made of them, and each "
                    f"needs one name; got {list(found)} and the events {list(events or [])}"
                )
            if self.case.truth is not None and [0] in found.values():
                raise self.case.truth.error(
                    "labels: unknown for regions; let dataset.json or the class names say which "
                    f"label each of {list(found)} has in the truth"
                )
        else:
            choices, named = numbers | names, set().union(*names.values())
            found = names | {name: k for name, k in numbers.items() if named.isdisjoint(k)}
            for event, classes in (events or {}).items():
                found[event] = []
                for name in map(str.strip, map(str, classes)):
                    if name not in choices or event in choices:
                        raise InputError(
                            f"`events`: {event!r} must have a name of its own and classes of case "
                            f"{self.case.name!r}; got {name!r}{suggest(name, list(choices))}"
                        )
                    found[event] = sorted({*found[event], *choices[name]})
            # not the background, and no event of nothing
            found = {name: labels for name, labels in found.items() if any(labels)}
        if len({file_name(name).lower() for name in found}) < len(found):
            raise InputError(
                "names of structures are parts of file names: they must differ in letters, "
                f"digits, '_', '.' or '-'; got {list(found)}"
            )
        return found

    def plane(self, z: int, channels: Sequence[int], labels: Sequence[int]) -> tuple[Array, Array]:
        """The probability of a structure by each member, in a plane, and where it is by each of the
        label maps.
        """
        n, chances = len(self.arrays), self._chances(z, channels)
        masks = np.any([self.label_maps[:, z] == label for label in labels], axis=0)
        if self.kind == "regions":
            masks[:n] = chances > 0.5
            masks[n] = chances.mean(axis=0) > 0.5
        return chances, masks


def _recognize(array: Array) -> str:
    """What a member is: looked at in some planes."""
    kind = "votes" if array.ndim == 3 else "probabilities"
    for z in np.linspace(0, array.shape[-3] - 1, PLANES).astype(int):
        plane = array[..., z, :, :]
        if kind == "votes":
            overlap = (plane > 0) & (plane < 1)
        else:
            overlap = np.abs(plane.sum(axis=0, dtype=float) - 1) > 0.01
        if overlap.any():
            return "regions"
    return kind


def _find_labels(volume: Volume, array: Array) -> set[int]:
    """The labels of a label map."""
    if array.ndim != 3:
        raise volume.error(f"shape: a label map must be (z, y, x); got {array.shape}")
    labels: set[int] = set()
    for plane in array:
        values = np.unique(plane).tolist()
        if not all(float(label).is_integer() for label in values):
            raise volume.error("labels: must be whole numbers, none NaN")
        labels.update(map(int, values))
    if len(labels) > MOST_LABELS:
        raise volume.error(f"labels: {len(labels):,} different values; is this an image?")
    return labels


def file_name(structure: str) -> str:
    """A structure's name as a part of file names."""
    return re.sub(r"[^\w.-]+", "_", structure)
