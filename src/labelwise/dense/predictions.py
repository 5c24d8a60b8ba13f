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
from ..decomposition import PARTS, Components, decompose
from ..distributions import Ensemble, MultiLabelEnsemble
from ..io.files import reading
from ..io.npz import release_pages
from ..losses import Loss, LossName
from .cases import Case
from .images import Volume

SLAB = 1 << 18  # voxels: a few megabytes for each member
PLANES = 8  # looked at to tell classes from regions
Index = tuple[slice, slice, slice]


class Structure(NamedTuple):
    """A class other than the background, a region, or an event."""

    name: str
    labels: tuple[int, ...]
    """Label values; of probabilities and regions the channels."""
    true_labels: tuple[int, ...]
    """Label values in the truth."""


class Masks(NamedTuple):
    """Where a structure is."""

    mean: np.ndarray
    """By the mean of the members."""
    members: list[np.ndarray]


class Predicted:
    """The members of a case; subclasses say what a structure is."""

    kind: str

    def __init__(self, case: Case, arrays: list[np.ndarray]) -> None:
        self.case = case
        self.n_members = len(case.members)
        self.shape = case.grid.shape
        self.arrays = arrays
        strides = self.arrays[0].strides[-3:]
        self.order: Any = "F" if strides[0] < strides[2] else "C"
        self.entropy = 0.0
        """Mean over the voxels of the entropy of the mean prediction, in bits."""

    @property
    def sentence(self) -> str:
        """What the members were taken for."""
        raise NotImplementedError

    def labels(self) -> list[int]:
        """Label values or channels other than the background."""
        raise NotImplementedError

    def masks(self, structure: Structure) -> Masks:
        """The structure as the mean and as each member sees it."""
        raise NotImplementedError

    def parts(self, structure: Structure, loss: LossName | Loss) -> Iterator[Any]:
        """Slabs, and total, aleatoric and epistemic uncertainty in each."""
        raise NotImplementedError

    def slabs(self) -> Iterator[Index]:
        """Slabs along the axis that changes slowest in the files."""
        axis = 2 if self.order == "F" else 0
        plane = int(np.prod(self.shape)) // self.shape[axis]
        step = max(1, SLAB // plane)
        for start in range(0, self.shape[axis], step):
            index = [slice(None)] * 3
            index[axis] = slice(start, start + step)
            yield index[0], index[1], index[2]

    def empty(self, dtype: Any) -> np.ndarray:
        """A volume in the order of the files."""
        return np.zeros(self.shape, dtype, self.order)

    def structures(self, events: Mapping[str, Sequence[int | str]] | None) -> list[Structure]:
        """All classes but the background, then the events."""
        names = self.case.class_names
        found = [Structure(names.get(k, str(k)), (k,), (k,)) for k in self.labels()]
        known = {structure.name: structure.labels[0] for structure in found}
        for event, classes in (events or {}).items():
            labels = []
            for label in classes:
                if str(label) in known:
                    labels.append(known[str(label)])
                elif str(label).lstrip("-").isdigit() and int(label) in known.values():
                    labels.append(int(label))
                else:
                    raise InputError(
                        f"`events`: {event!r} names the unknown class {label!r} (case "
                        f"{self.case.name!r}){suggest(label, list(known))}"
                    )
            found.append(Structure(event, tuple(labels), tuple(labels)))
        twice = [s.name for s in found if [t.name for t in found].count(s.name) > 1]
        if twice:
            raise InputError(f"structures must have different names; got {twice[0]!r} twice")
        return found

    def flat(self, array: np.ndarray) -> np.ndarray:
        """The voxels of a slab in the order of the files, without a copy where that is possible."""
        return array.reshape(-1, order=self.order)

    def read_channels(self, index: Index, channels: Sequence[int]) -> np.ndarray:
        """(members, voxels): the sum of some channels."""
        rows = []
        for array in self.arrays:
            row = self.flat(array[(channels[0], *index)])
            for k in channels[1:]:
                row = row + self.flat(array[(k, *index)])
            rows.append(row)
        return np.stack(rows)

    def release(self) -> None:
        """Let go of pages of the files."""
        for array in self.arrays:
            release_pages(array)


class Probabilities(Predicted):
    """Channels that sum to 1; the first is the background."""

    kind = "probabilities"

    def __init__(self, case: Case, arrays: list[np.ndarray]) -> None:
        super().__init__(case, arrays)
        self.n_classes = len(self.arrays[0])
        dtype = np.min_scalar_type(self.n_classes - 1)
        self.mean = self.empty(dtype)
        self.members = [self.empty(dtype) for _ in case.members]
        entropy = 0.0
        for index in self.slabs():
            mean: Any = 0
            for volume, array, labels in zip(case.members, self.arrays, self.members, strict=True):
                block = self._read_block(array, index)
                _check_block(volume, block, sum_to_one=True)
                labels[index] = self._slab(most_likely(block, dtype), index)
                mean = mean + block / self.n_members
            self.mean[index] = self._slab(most_likely(mean, dtype), index)
            entropy += float(entropy_of(mean).sum(dtype=float))
        self.entropy = entropy / int(np.prod(self.shape))
        self.release()

    def _read_block(self, array: np.ndarray, index: Index) -> np.ndarray:
        block = array[(slice(None), *index)]
        flat = np.stack([self.flat(channel) for channel in block])
        return flat.astype(np.float32) if flat.dtype != float else flat

    def _slab(self, values: np.ndarray, index: Index) -> np.ndarray:
        return values.reshape(self.mean[index].shape, order=self.order)

    @property
    def sentence(self) -> str:
        return f"probabilities of {self.n_classes} classes, of which the first is the background"

    def labels(self) -> list[int]:
        return list(range(1, self.n_classes))

    def masks(self, structure: Structure) -> Masks:
        members = [has_label(labels, structure.labels) for labels in self.members]
        return Masks(has_label(self.mean, structure.labels), members)

    def parts(self, structure: Structure, loss: LossName | Loss) -> Iterator[Any]:
        for index in self.slabs():
            probs = np.minimum(self.read_channels(index, structure.labels), 1)
            yield index, slab_parts(probs, loss, self.mean[index].shape, self.order)
        self.release()


class Regions(Predicted):
    """Channels that may overlap, from sigmoids."""

    kind = "regions"

    def __init__(self, case: Case, arrays: list[np.ndarray]) -> None:
        super().__init__(case, arrays)
        self.n_regions = len(self.arrays[0])
        entropy = 0.0
        for k in range(self.n_regions):
            for index in self.slabs():
                probs = self.read_channels(index, [k])
                for volume, row in zip(case.members, probs, strict=True):
                    _check_block(volume, row[None], sum_to_one=False)
                mean = probs.mean(axis=0, dtype=np.float64)
                alone = MultiLabelEnsemble(mean[None, :, None], member_axis=0)
                entropy += float(decompose(alone).total.sum())
        self.entropy = entropy / int(np.prod(self.shape))
        self.release()

    @property
    def sentence(self) -> str:
        return f"probabilities of {self.n_regions} regions that may overlap"

    def labels(self) -> list[int]:
        return list(range(self.n_regions))

    def structures(self, events: Mapping[str, Sequence[int | str]] | None) -> list[Structure]:
        if events:
            raise InputError(
                "`events` have no meaning for regions, which may overlap: the probability of a "
                "union is not the sum. Leave them out"
            )
        regions = self.case.regions
        if regions is None:
            return super().structures(None)
        if len(regions) != self.n_regions:
            raise InputError(
                f"{self.case.members[0].file}: channels: must be the {len(regions)} regions of "
                f"dataset.json; got {self.n_regions}"
            )
        return [
            Structure(name, (k,), tuple(labels)) for k, (name, labels) in enumerate(regions.items())
        ]

    def masks(self, structure: Structure) -> Masks:
        found = Masks(self.empty(bool), [self.empty(bool) for _ in self.arrays])
        for index in self.slabs():
            probs = self.read_channels(index, structure.labels)
            shape = found.mean[index].shape
            found.mean[index] = (probs.mean(axis=0) > 0.5).reshape(shape, order=self.order)
            for mask, row in zip(found.members, probs, strict=True):
                mask[index] = (row > 0.5).reshape(shape, order=self.order)
        return found

    def parts(self, structure: Structure, loss: LossName | Loss) -> Iterator[Any]:
        for index in self.slabs():
            shape = self.arrays[0][(0, *index)].shape
            probs = self.read_channels(index, structure.labels)
            yield index, slab_parts(probs, loss, shape, self.order)
        self.release()


class Votes(Predicted):
    """Label maps with any integers; 0 is the background. The mean is the label with most votes, of
    several the smallest.
    """

    kind = "votes"

    def __init__(self, case: Case, arrays: list[np.ndarray]) -> None:
        super().__init__(case, arrays)
        self.members = []
        found: set[int] = set()
        for volume, array in zip(case.members, self.arrays, strict=True):
            labels, values = self._whole_labels(volume, array)
            self.members.append(labels)
            found |= values
        self.arrays = []
        self.found = sorted(found)
        self.mean = self.members[0].copy(order="K")
        disputed = self.empty(bool)
        for labels in self.members[1:]:
            disputed |= labels != self.members[0]
        entropy = 0.0
        # Where all members agree, nothing is left to count.
        places = np.flatnonzero(self.flat(disputed))
        flat_mean = self.flat(self.mean)
        for start in range(0, len(places), SLAB):
            chosen = places[start : start + SLAB]
            votes = np.stack([self.flat(labels)[chosen] for labels in self.members])
            counts = np.stack([np.count_nonzero(votes == k, axis=0) for k in self.found])
            flat_mean[chosen] = np.array(self.found)[counts.argmax(axis=0)]
            entropy += float(entropy_of(counts / self.n_members).sum())
        self.mean = flat_mean.reshape(self.shape, order=self.order)
        self.entropy = entropy / int(np.prod(self.shape))

    def _whole_labels(self, volume: Volume, array: np.ndarray) -> tuple[np.ndarray, set[int]]:
        """A label map as integers, and its label values."""
        values: set[int] = set()
        labels = self.empty(np.int32)
        for index in self.slabs():
            slab = np.asarray(array[index])
            whole = slab
            if slab.dtype.kind == "f":
                with np.errstate(invalid="ignore"):
                    whole = np.rint(slab)
                if not np.array_equal(whole, slab):  # NaN too
                    raise InputError(f"{volume.file}: labels: must be whole numbers, none NaN")
            labels[index] = whole
            if slab.min() != slab.max():
                values |= {int(label) for label in np.unique(whole)}
            else:
                values.add(int(whole.flat[0]))
        smallest = np.result_type(*[np.min_scalar_type(value) for value in values])
        return labels.astype(smallest, order="K"), values

    @property
    def sentence(self) -> str:
        return (
            "label maps, whose votes are counted. Votes have no aleatoric part: AU = 0, and EU = TU"
        )

    def labels(self) -> list[int]:
        return sorted({*self.found, *self.case.class_names} - {0})

    def masks(self, structure: Structure) -> Masks:
        members = [has_label(labels, structure.labels) for labels in self.members]
        return Masks(has_label(self.mean, structure.labels), members)

    def parts(self, structure: Structure, loss: LossName | Loss) -> Iterator[Any]:
        # One ensemble for each possible number of votes.
        votes = np.arange(self.n_members)[:, None] < np.arange(self.n_members + 1)
        table = decompose(MultiLabelEnsemble(votes[..., None].astype(float)), loss)
        for index in self.slabs():
            count: Any = 0
            for labels in self.members:
                count = count + has_label(labels[index], structure.labels).astype(np.intp)
            yield index, Components(*(getattr(table, part)[count, 0] for part in PARTS))


def open_case(case: Case) -> Predicted:
    """Read a case, whose kind is recognized from the values."""
    arrays = [read_values(volume) for volume in case.members]
    if case.members[0].channels is None:
        if all(map(_holds_labels, arrays)):
            return Votes(case, arrays)
        return Regions(case, [array[None] for array in arrays])
    if case.regions is None and len(arrays[0]) > 1 and _sums_to_one(arrays[0]):
        return Probabilities(case, arrays)
    return Regions(case, arrays)


def read_values(volume: Volume) -> np.ndarray:
    """The values of a volume; errors name the file."""
    with reading(volume.file):
        return volume.read()


def _holds_labels(values: np.ndarray) -> bool:
    """Whether a volume of three axes is a label map; probabilities have fractions."""
    if values.dtype.kind in "iub":
        return True
    planes = np.moveaxis(values, 2, 0)
    return not any(np.any((plane > 0) & (plane < 1)) for plane in planes)


def _sums_to_one(values: np.ndarray) -> bool:
    """Whether channels sum to 1, looked at in some planes."""
    for z in np.linspace(0, values.shape[3] - 1, PLANES).astype(int):
        sums = values[..., z].sum(axis=0, dtype=float)
        if not np.all(np.abs(sums - 1) < 0.01):
            return False
    return True


def _check_block(volume: Volume, block: np.ndarray, *, sum_to_one: bool) -> None:
    """Check the probabilities (channels, voxels) of a member."""
    try:
        check_probabilities(block.T[None], "probs", sum_to_one=sum_to_one)
    except InputError as error:
        raise InputError(f"probabilities: {error.sentence}", where=str(volume.file)) from error


def most_likely(probs: np.ndarray, dtype: Any) -> np.ndarray:
    """The channel with the largest value, of several the first: np.argmax, ten times as fast."""
    largest = probs[0].copy()
    label = np.zeros(largest.shape, dtype)
    for k in range(1, len(probs)):
        larger = probs[k] > largest
        np.maximum(label, larger.astype(dtype) * label.dtype.type(k), out=label)
        np.maximum(largest, probs[k], out=largest)
    return label


def has_label(labels: np.ndarray, wanted: Sequence[int]) -> np.ndarray:
    """Where a label map has one of some values."""
    found = np.asarray(labels == wanted[0])
    for label in wanted[1:]:
        found |= labels == label
    return found


def entropy_of(mean: np.ndarray) -> np.ndarray:
    """Entropy of the class at each voxel, in bits, from probabilities (classes, voxels)."""
    alone = Ensemble(mean[None], member_axis=0, class_axis=1)
    return np.asarray(joint.decompose(alone).total)


def slab_parts(
    probs: np.ndarray, loss: LossName | Loss, shape: tuple[int, ...], order: Any
) -> Components[np.ndarray]:
    """Uncertainty of a slab from the probabilities (members, voxels) of a structure."""
    u = decompose(MultiLabelEnsemble(probs[..., None]), loss)
    return Components(*(getattr(u, part)[:, 0].reshape(shape, order=order) for part in PARTS))
