"""What the members of a case predict: probabilities that sum to 1, regions that may overlap, or
label maps, whose votes are counted.

Label-wise uncertainty of a structure depends only on the probability of that structure, so that
structures are computed one after another, slab by slab: memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import joint
from .._errors import InputError, suggest
from .._validation.probabilities import check_probabilities
from ..decomposition import PARTS, decompose
from ..distributions import Ensemble, MultiLabelEnsemble
from ..losses import Loss, LossName
from .cases import Case
from .images import Volume

SLAB = 1 << 18  # voxels: a few megabytes for each member
PLANES = 8  # looked at to tell classes from regions
Events = Mapping[str, Sequence[int | str]]


class Structure(NamedTuple):
    """A class other than the background, a region, or an event."""

    name: str
    labels: list[int]
    """Label values, which are the channels of probabilities and regions."""
    true_labels: list[int]
    """Label values in the truth."""


class Masks(NamedTuple):
    """Where a structure is, by the mean of the members and by each of them."""

    mean: np.ndarray
    members: list[np.ndarray]


class Predicted:
    """The members of a case, read."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.arrays = [volume.read() for volume in case.members]
        for volume, array in zip(case.members, self.arrays, strict=True):
            if array.shape != self.arrays[0].shape:
                raise InputError(
                    f"classes: shape {array.shape} against {self.arrays[0].shape} of "
                    f"{case.members[0].file}",
                    where=str(volume.file),
                )
        self.kind = _recognize(self.arrays)
        if self.kind == "votes":
            pairs = zip(case.members, self.arrays, strict=True)
            self.arrays = [_whole_labels(volume, array) for volume, array in pairs]
            found = {int(x) for labels in self.arrays for z in labels for x in np.unique(z)}
            self.channels = sorted({0, *found, *case.class_names})
        else:
            self.arrays = [x if x.ndim == 4 else x[None] for x in self.arrays]
            self.channels = list(range(len(self.arrays[0])))
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

    def slabs(self, n_channels: int = 1) -> Iterator[slice]:
        """Slices of the first axis, z, thinner for many channels."""
        depth, *plane = self.case.grid.shape
        step = max(1, SLAB // int(np.prod(plane) * max(1, n_channels / 4)))
        for start in range(0, depth, step):
            yield slice(start, start + step)

    def chance(self, m: int, slab: slice, labels: Sequence[int]) -> np.ndarray:
        """The probability of some labels by a member; a vote is 0 or 1."""
        array = self.arrays[m]
        if self.kind == "votes":
            found = sum((array[slab] == label).astype(np.float32) for label in labels)
        else:
            found = sum(array[label, slab].astype(np.float32) for label in labels)
        return np.minimum(found, 1)

    def _average(self) -> None:
        """Check probabilities, and find the most likely class by the mean and by each member."""
        channels = np.array(self.channels)
        self.mean = np.zeros(self.case.grid.shape, np.min_scalar_type(channels.max()))
        self.members = self.arrays
        if self.kind == "probabilities":
            self.members = [self.mean.copy() for _ in self.arrays]
        for slab in self.slabs(len(channels)):
            mean: Any = 0
            for m, volume in enumerate(self.case.members):
                block = np.stack([self.chance(m, slab, [label]) for label in self.channels])
                mean = mean + block / len(self.arrays)
                if self.kind != "votes":
                    self._check(volume, slab, m)
                if self.kind == "probabilities":
                    self.members[m][slab] = most_likely(block)
            if self.kind == "regions":
                q = MultiLabelEnsemble(mean[None], class_axis=1)
                self.entropy += float(decompose(q).total.sum(dtype=float))
            else:
                self.mean[slab] = channels[most_likely(mean)]
                q = Ensemble(mean[None], class_axis=1)
                self.entropy += float(joint.decompose(q).total.sum(dtype=float))

    def _check(self, volume: Volume, slab: slice, m: int) -> None:
        values = np.moveaxis(self.arrays[m][:, slab], 0, -1)[None]
        try:
            check_probabilities(values, "values", sum_to_one=self.kind == "probabilities")
        except InputError as error:  # its advice is about other options
            raise InputError(error.sentence, where=str(volume.file)) from error

    def structures(self, events: Events | None) -> list[Structure]:
        """All classes but the background, then the events."""
        names = self.case.class_names
        labels = self.channels
        if self.kind != "regions":
            labels = [label for label in labels if label != 0]
        if any(isinstance(name, str) for name in names):  # regions of nnU-Net
            found = [
                Structure(name, [k], names[name]) for k, name in zip(labels, names, strict=True)
            ]
        else:
            found = [Structure(str(names.get(k, k)), [k], [k]) for k in labels]
        known = {str(k): k for k in labels} | {x.name: x.labels[0] for x in found}
        for event, classes in (events or {}).items():
            for label in map(str, classes):
                if label not in known or self.kind == "regions":
                    raise InputError(
                        f"`events`: {event!r} needs the class {label!r} in case "
                        f"{self.case.name!r}, of {self.sentence}{suggest(label, list(known))}"
                    )
            chosen = [known[str(label)] for label in classes]
            found.append(Structure(event, chosen, chosen))
        return found

    def masks(self, structure: Structure) -> Masks:
        """The structure as the mean and as each member sees it."""
        if self.kind != "regions":
            members = [np.isin(labels, structure.labels) for labels in self.members]
            return Masks(np.isin(self.mean, structure.labels), members)
        chances = [self.chance(m, slice(None), structure.labels) for m in range(len(self.arrays))]
        return Masks(np.mean(chances, axis=0) > 0.5, [chance > 0.5 for chance in chances])

    def parts(
        self, structure: Structure, loss: LossName | Loss
    ) -> Iterator[tuple[slice, dict[str, np.ndarray]]]:
        """Slabs, and total, aleatoric and epistemic uncertainty in each."""
        for slab in self.slabs():
            chances = [self.chance(m, slab, structure.labels) for m in range(len(self.arrays))]
            u = decompose(MultiLabelEnsemble(np.stack(chances)[..., None]), loss)
            yield slab, {part: getattr(u, part)[..., 0] for part in PARTS}


def _recognize(arrays: Sequence[np.ndarray]) -> str:
    """What the members are: looked at in some planes."""
    for array in arrays:
        for z in np.linspace(0, array.shape[-3] - 1, PLANES).astype(int):
            plane = array[..., z, :, :]
            if array.ndim == 3:
                if np.any((plane > 0) & (plane < 1)):
                    return "regions"
            elif not np.all(np.abs(plane.sum(axis=0, dtype=float) - 1) < 0.01):
                return "regions"
    return "votes" if arrays[0].ndim == 3 else "probabilities"


def _whole_labels(volume: Volume, array: np.ndarray) -> np.ndarray:
    """A label map in the smallest type of integers that holds it."""
    low, high = array.min(), array.max()
    if not np.isfinite(low + high) or not all(np.array_equal(z, np.rint(z)) for z in array):
        raise InputError("labels: must be whole numbers, none NaN", where=str(volume.file))
    return array.astype(np.result_type(*map(np.min_scalar_type, (int(low), int(high)))))


def most_likely(probs: np.ndarray) -> np.ndarray:
    """The channel with the largest value, of several the first: np.argmax, several times faster."""
    largest = probs[0].copy()
    channel = np.zeros(largest.shape, np.min_scalar_type(len(probs)))
    for k in range(1, len(probs)):
        larger = probs[k] > largest
        np.maximum(channel, larger * channel.dtype.type(k), out=channel)
        np.maximum(largest, probs[k], out=largest)
    return channel
