"""What the members of a case predict: probabilities that sum to 1, regions that may overlap, or
label maps, whose votes are counted.

Label-wise uncertainty of a structure depends only on the probability of that structure, so that
structures are computed one after another, plane by plane: memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array
from .._errors import InputError, suggest
from .._validation.probabilities import check_probabilities
from ..decomposition import decompose
from ..distributions import MultiLabelEnsemble
from ..losses import Loss, LossName
from .cases import Case
from .images import Volume

PLANES = 8  # looked at to tell classes from regions
TINY = float(np.finfo(np.float32).tiny)  # has no entropy, but a logarithm
MOST_LABELS = 1000  # an image that is taken for a label map has more
SENTENCES = {
    "votes": "label maps. Votes have no aleatoric part: AU is 0, and EU is TU",
    "regions": "probabilities of {} regions that may overlap",
    "probabilities": "probabilities of {} classes, the background first",
}
Events = Mapping[str, Sequence[int | str]]


class Structure(NamedTuple):
    """A class other than the background, a region, or an event."""

    name: str
    channels: list[int]
    """Channels of probabilities and regions; of label maps, labels."""
    labels: list[int]
    """Labels in the truth."""


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
        labels = {0}.union(*case.class_names.values())
        truth = []
        if case.truth is not None:
            truth.append(_read_labels(case.truth, case.truth.read(), labels))
        if self.kind == "votes":  # a label that no member has seen is a structure, too
            pairs = zip(case.members, self.arrays, strict=True)
            self.arrays = [_read_labels(volume, array, labels) for volume, array in pairs]
            self.channels = sorted(labels)
        else:
            self.arrays = [array.reshape(-1, *case.grid.shape) for array in self.arrays]
            self.channels = list(range(len(self.arrays[0])))
        self.sentence = SENTENCES[self.kind].format(len(self.channels))
        """What the members were taken for."""
        unknown = labels.difference(self.channels)
        if unknown and self.kind == "probabilities":
            raise case.members[0].error(
                f"classes: {self.sentence}; the class names or the truth also have {unknown}"
            )
        self.mean = np.zeros(case.grid.shape, _smallest_type(self.channels))
        """The most likely class by the mean prediction."""
        self.label_maps = {"truth": truth}
        """By each of the "members" and by their "mean", not of regions, which overlap; and the
        "truth".
        """
        if self.kind != "regions":
            members = self.arrays
            if self.kind == "probabilities":
                members = [self.mean.copy() for _ in self.arrays]
            self.label_maps |= {"members": members, "mean": [self.mean]}
        self.entropy = 0.0
        """Entropy of the mean prediction, summed over the voxels, in bits."""
        for z in range(len(self.mean)):
            self._average(z)

    def _chance(self, m: int, z: int, channel: int) -> Array:
        """The probability of a channel by a member, in a plane; a vote is true or false."""
        if self.kind == "votes":
            return self.arrays[m][z] == channel
        return self.arrays[m][channel, z]

    def _average(self, z: int) -> None:
        """Check probabilities, and find the most likely class by the mean and by each member."""
        mean = np.zeros((len(self.channels), *self.mean[z].shape), np.float32)
        for m, volume in enumerate(self.case.members):
            if self.kind != "votes":
                rows = np.moveaxis(self.arrays[m][:, z], 0, -1)[None]
                if rows.dtype != np.float16:  # others, and scaled integers, are as exact as float32
                    rows = rows.astype(np.float32, copy=False)
                try:
                    check_probabilities(rows, "values", sum_to_one=self.kind != "regions")
                except InputError as error:  # its advice is about other options
                    raise volume.error(error.sentence) from error
            if self.kind == "probabilities":
                self.label_maps["members"][m][z] = most_likely(self.arrays[m][:, z])
            for k, channel in enumerate(self.channels):
                mean[k] += self._chance(m, z, channel)
        mean /= len(self.arrays)
        np.minimum(mean, 1, out=mean)  # may be larger by rounding
        self.mean[z] = np.array(self.channels)[most_likely(mean)]
        outcomes = list(mean)
        if self.kind == "regions":  # each has an entropy of its own
            outcomes += list(1 - mean)
        for chance in outcomes:
            logarithms = np.log2(np.maximum(chance, TINY))
            self.entropy -= float((chance * logarithms).sum(dtype=float))

    def structures(self, events: Events | None) -> list[Structure]:
        """All classes but the background, then the events."""
        names, numbers = dict(self.case.class_names), {str(k): [k] for k in self.channels}
        if self.kind == "regions":
            names = names or numbers
            if len(names) != len(self.channels) or events:
                raise self.case.members[0].error(
                    f"classes: {self.sentence}, so that no events can be made of them, and each "
                    f"needs one name; got {list(names)} and the events {list(events or [])}"
                )
            if self.case.truth is not None and [0] in names.values():
                raise self.case.truth.error(
                    "labels: unknown for regions; let dataset.json or the class names say which "
                    f"label each of {list(names)} has in the truth"
                )
            pairs = enumerate(names.items())
            return [Structure(name, [k], labels) for k, (name, labels) in pairs]
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
        return [Structure(name, labels, labels) for name, labels in found.items() if any(labels)]

    def masks(self, structure: Structure) -> Iterator[tuple[str, Array]]:
        """Where the structure is by each of the "members", by their "mean", and in "truth"."""
        if self.kind == "regions":
            total = np.zeros(self.mean.shape, np.float32)
            for array in self.arrays:
                (chance,) = array[structure.channels]
                yield "members", chance > 0.5
                total += chance
            yield "mean", total > len(self.arrays) / 2
        for name, label_maps in self.label_maps.items():
            for labels in label_maps:
                yield name, is_any_of(labels, structure.labels)

    def uncertainty(
        self, structure: Structure, loss: LossName | Loss, volumes: Mapping[str, Array]
    ) -> None:
        """Fill volumes of the parts of uncertainty."""
        for z in range(len(self.mean)):
            chances = np.zeros((len(self.arrays), *self.mean[z].shape), np.float32)
            for m, chance in enumerate(chances):
                for channel in structure.channels:
                    chance += self._chance(m, z, channel)
                np.minimum(chance, 1, out=chance)  # a sum may be larger by its rounding
            u = decompose(MultiLabelEnsemble(chances[..., None]), loss)
            for part, volume in volumes.items():
                volume[z] = getattr(u, part)[..., 0]


def _recognize(array: Array) -> str:
    """What a member is: looked at in some planes."""
    kind = "votes" if array.ndim == 3 else "probabilities"
    for z in np.linspace(0, array.shape[-3] - 1, PLANES).astype(int):
        plane = array[..., z, :, :]
        if kind == "votes":
            exclusive = (plane <= 0) | (plane >= 1) | np.isnan(plane)
        else:
            exclusive = np.abs(plane.sum(axis=0, dtype=float) - 1) < 0.01
        if not exclusive.all():
            return "regions"
    return kind


def is_any_of(array: Array, labels: Sequence[int]) -> Array:
    """Where a label map has one of some labels: np.isin, many times faster for few."""
    return reduce(np.logical_or, (array == label for label in labels))


def _smallest_type(labels: Iterable[int]) -> np.dtype[Any]:
    """The smallest type of integers that holds all labels."""
    return np.result_type(*map(np.min_scalar_type, labels))


def _read_labels(volume: Volume, array: Array, known: set[int]) -> Array:
    """A label map in the smallest type of integers that holds it; ``known`` takes its labels."""
    if array.ndim != 3:
        raise volume.error(f"shape: a label map must be (z, y, x); got {array.shape}")
    labels: set[int] = set()
    for plane in array:
        values = np.unique(plane)
        if not np.isfinite(values).all() or not np.array_equal(values, np.rint(values)):
            raise volume.error("labels: must be whole numbers, none NaN")
        labels.update(map(int, values))
    if len(labels) > MOST_LABELS:
        raise volume.error(f"labels: {len(labels):,} different values; is this an image?")
    known |= labels
    return array.astype(_smallest_type(labels))


def most_likely(probs: Array) -> Array:
    """The channel with the largest value, of several the first: np.argmax, several times faster."""
    probs = probs.astype(np.float32, copy=False)
    largest = probs[0].copy()
    channel = np.zeros(largest.shape, np.min_scalar_type(len(probs)))
    for k, other in enumerate(probs[1:], start=1):
        np.copyto(channel, k, where=other > largest)
        np.maximum(largest, other, out=largest)
    return channel
