"""What the members of a case predict: probabilities that sum to 1, regions that may overlap, or
label maps, whose votes are counted.

Label-wise uncertainty of a structure depends only on the probability of that structure, so that
structures are computed one after another, slab by slab: memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import joint
from .._arrays import Array
from .._errors import InputError, suggest
from .._validation.probabilities import check_probabilities
from ..decomposition import decompose
from ..distributions import Ensemble, MultiLabelEnsemble
from ..losses import Loss, LossName
from .cases import Case
from .images import Volume

SLAB = 1 << 20  # values of a member that are read at once
PLANES = 8  # looked at to tell classes from regions
MOST_LABELS = 1000  # an image that is taken for a label map has more
Events = Mapping[str, Sequence[int | str]]


class Structure(NamedTuple):
    """A class other than the background, a region, or an event."""

    name: str
    channels: list[int]
    """Channels of probabilities and regions; of label maps, labels."""
    labels: list[int]
    """Labels in the truth."""


class Predicted:
    """The members of a case, read."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.arrays = [volume.read() for volume in case.members]
        self.truth = None
        if case.truth is not None:
            self.truth = _whole_labels(case.truth, case.truth.read())
        first = self.arrays[0]
        for volume, array in zip(case.members, self.arrays, strict=True):
            if array.shape != first.shape:
                raise volume.error(
                    f"classes: shape {array.shape} against {first.shape} of {case.members[0].file}"
                )
        self.kind = _recognize(first)
        labels = {0}.union(*case.class_names.values())
        if self.truth is not None:
            labels |= labels_in(self.truth)
        if self.kind == "votes":  # a label that no member has seen is a structure, too
            self.arrays = list(map(_whole_labels, case.members, self.arrays))
            self.channels = sorted(labels.union(*map(labels_in, self.arrays)))
        else:
            self.arrays = [array.reshape(-1, *case.grid.shape) for array in self.arrays]
            self.channels = list(range(len(self.arrays[0])))
        unknown = labels.difference(self.channels)
        if unknown and self.kind == "probabilities":
            raise case.members[0].error(
                f"classes: {self.sentence}; the class names or the truth also have {unknown}"
            )
        self.entropy = 0.0
        """Entropy of the mean prediction, summed over the voxels, in bits."""
        self._average()

    @property
    def sentence(self) -> str:
        """What the members were taken for."""
        if self.kind == "votes":
            return "label maps. Votes have no aleatoric part: AU is 0, and EU is TU"
        if self.kind == "regions":
            return f"probabilities of {len(self.channels)} regions that may overlap"
        return f"probabilities of {len(self.channels)} classes, the background first"

    def slabs(self, n_channels: int = 4) -> Iterator[slice]:
        """Slices of the first axis, z, thinner for many channels."""
        depth, *plane = self.case.grid.shape
        step = max(1, SLAB // int(np.prod(plane) * n_channels))
        for start in range(0, depth, step):
            yield slice(start, start + step)

    def chance(self, m: int, slab: slice, channels: Sequence[int]) -> Array:
        """The probability of some classes by a member; a vote is 0 or 1."""
        if self.kind == "votes":
            return is_any_of(self.arrays[m][slab], channels).astype(np.float32)
        chances = self.arrays[m][channels, slab]
        return np.minimum(chances.sum(axis=0, dtype=np.float32), 1)

    def _average(self) -> None:
        """Check probabilities, and find the most likely class by the mean and by each member."""
        channels = np.array(self.channels)
        self.mean = np.zeros(self.case.grid.shape, smallest_type(channels))
        self.members = self.arrays
        if self.kind == "probabilities":
            self.members = [self.mean.copy() for _ in self.arrays]
        if len(channels) == 1 and self.kind == "votes":
            return  # nobody has seen anything
        for slab in self.slabs(len(channels)):
            mean: Any = 0
            for m in range(len(self.arrays)):
                probs = self._all_chances(m, slab)
                if self.kind == "probabilities":
                    self.members[m][slab] = most_likely(probs)
                mean = mean + probs / len(self.arrays)
            if self.kind == "regions":
                total = decompose(MultiLabelEnsemble(mean[None], class_axis=1)).total
            else:
                total = joint.decompose(Ensemble(mean[None], class_axis=1)).total
                self.mean[slab] = channels[most_likely(mean)]
            self.entropy += float(total.sum(dtype=float))

    def _all_chances(self, m: int, slab: slice) -> Array:
        """The probability of each channel by a member, checked."""
        if self.kind == "votes":
            return np.stack([self.chance(m, slab, [label]) for label in self.channels])
        probs = self.arrays[m][:, slab]
        rows = np.moveaxis(probs, 0, -1)[None]
        try:
            check_probabilities(rows, "values", sum_to_one=self.kind == "probabilities")
        except InputError as error:  # its advice is about other options
            raise self.case.members[m].error(error.sentence) from error
        return probs.astype(np.float32)

    def structures(self, events: Events | None) -> list[Structure]:
        """All classes but the background, then the events."""
        names = dict(self.case.class_names)
        if self.kind == "regions":
            names = names or {str(k): [k] for k in self.channels}
            if len(names) != len(self.channels) or events:
                raise self.case.members[0].error(
                    f"classes: {self.sentence}, so that no events can be made of them, and each "
                    f"needs one name; got {list(names)} and the events {list(events or [])}"
                )
            pairs = enumerate(names.items())
            return [Structure(name, [k], labels) for k, (name, labels) in pairs]
        choices = {str(k): [k] for k in self.channels} | names
        named = {label for labels in names.values() for label in labels}
        found = names | {str(k): [k] for k in self.channels if k not in named}
        for event, classes in (events or {}).items():
            found[event] = []
            for name in map(str, classes):
                if name not in choices or event in choices:
                    raise InputError(
                        f"`events`: {event!r} must have a name of its own and classes of case "
                        f"{self.case.name!r}; got {name!r}{suggest(name, list(choices))}"
                    )
                found[event] += choices[name]
        structures = []
        for name, labels in found.items():
            own = sorted(set(labels))
            if own and own != [0]:
                structures.append(Structure(name, own, own))
        return structures

    def masks(self, structure: Structure) -> tuple[Array, list[Array]]:
        """Where the structure is, by the mean of the members and by each of them."""
        channels = structure.channels
        if self.kind != "regions":
            members = [is_any_of(labels, channels) for labels in self.members]
            return is_any_of(self.mean, channels), members
        total: Any = 0
        members = []
        for m in range(len(self.arrays)):
            chance = self.chance(m, slice(None), channels)
            members.append(chance > 0.5)
            total = total + chance
        return total > len(members) / 2, members

    def true_mask(self, structure: Structure) -> Array | None:
        """Where the structure is in the truth."""
        if self.truth is None or self.case.truth is None:
            return None
        if 0 in structure.labels:
            raise self.case.truth.error(
                "labels: unknown for regions; let dataset.json or the class names say which label "
                f"region {structure.name!r} has in the truth"
            )
        return is_any_of(self.truth, structure.labels)

    def uncertainty(
        self, structure: Structure, loss: LossName | Loss, parts: Iterable[str]
    ) -> dict[str, Array]:
        """Volumes of these parts of uncertainty."""
        volumes = {part: np.empty(self.case.grid.shape, np.float32) for part in parts}
        for slab in self.slabs():
            chances = [self.chance(m, slab, structure.channels) for m in range(len(self.arrays))]
            u = decompose(MultiLabelEnsemble(np.stack(chances)[..., None]), loss)
            for part, volume in volumes.items():
                volume[slab] = getattr(u, part)[..., 0]
        return volumes


def _recognize(array: Array) -> str:
    """What a member is: looked at in some planes."""
    for z in np.linspace(0, array.shape[-3] - 1, PLANES).astype(int):
        plane = array[..., z, :, :]
        if plane.ndim == 2:
            exclusive = (plane <= 0) | (plane >= 1) | np.isnan(plane)
        else:
            exclusive = np.abs(plane.sum(axis=0, dtype=float) - 1) < 0.01
        if not exclusive.all():
            return "regions"
    return "votes" if array.ndim == 3 else "probabilities"


def is_any_of(array: Array, labels: Sequence[int]) -> Array:
    """Where a label map has one of some labels: np.isin, many times faster for few."""
    found = array == labels[0]
    for label in labels[1:]:
        found |= array == label
    return found


def labels_in(array: Array) -> set[int]:
    """Labels of a label map, plane by plane."""
    return {int(label) for plane in array for label in np.unique(plane)}


def smallest_type(values: Array) -> np.dtype[Any]:
    """The smallest type of integers that holds all values."""
    return np.result_type(*(np.min_scalar_type(int(x)) for x in (values.min(), values.max())))


def _whole_labels(volume: Volume, array: Array) -> Array:
    """A label map in the smallest type of integers that holds it."""
    if array.ndim != 3:
        raise volume.error(f"shape: a label map must be (z, y, x); got {array.shape}")
    for plane in array:
        if not np.array_equal(plane, np.rint(plane)) or not np.isfinite(plane).all():
            raise volume.error("labels: must be whole numbers, none NaN")
    n_labels = len(labels_in(array))
    if n_labels > MOST_LABELS:
        raise volume.error(f"labels: {n_labels:,} different values; is this an image?")
    return array.astype(smallest_type(array))


def most_likely(probs: Array) -> Array:
    """The channel with the largest value, of several the first: np.argmax, several times faster."""
    largest = probs[0].copy()
    channel = np.zeros(largest.shape, np.min_scalar_type(len(probs)))
    for k in range(1, len(probs)):
        larger = probs[k] > largest
        np.maximum(channel, larger * channel.dtype.type(k), out=channel)
        np.maximum(largest, probs[k], out=largest)
    return channel
