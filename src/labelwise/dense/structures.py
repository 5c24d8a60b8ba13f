"""Numbers of each structure of a case, and of each of its connected components."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from .._errors import InputError
from ..decomposition import PARTS
from ..losses import Loss, LossName
from .cases import Case
from .images import Volume
from .predictions import Index, Masks, Predicted, Structure, has_label, open_case, read_values

SHELL_MM = 2.0
OUTSIDE, INSIDE, SHELL = 0, 1, 2  # zones of a structure
Events = Mapping[str, Sequence[int | str]]
Row = dict[str, Any]


class Details(NamedTuple):
    """What maps and figures of a structure show."""

    predicted: Predicted
    structure: Structure
    masks: Masks
    parts: Mapping[str, np.ndarray]
    """Volumes of the parts that were asked for."""
    components: np.ndarray
    """Number of the component at each voxel; 0 where no member sees the structure."""
    truth: np.ndarray | None


@dataclass(frozen=True)
class Examined:
    """The tables of a case."""

    sentence: str
    """What the members were taken for."""
    structures: list[Row] = field(default_factory=list)
    components: list[Row] = field(default_factory=list)


def structures(case: Case, *, loss: LossName | Loss = "log", events: Events | None = None) -> Any:
    """One row for each structure of a case: volumes, agreement of the members, uncertainty.

    Parameters
    ----------
    case : Case
        From `cases`.
    loss : str or Loss
    events : mapping, optional
        Structures made of others, such as ``{"tumor": ["necrosis", "edema"]}``, by name or label.

    Returns
    -------
    list of dict
        ``pandas.DataFrame`` takes them. ``ml`` is the volume of the mean prediction, ``ml_low`` and
        ``ml_high`` the range over the members, which is no interval: it often does not contain the
        true volume. ``eu_per_volume`` is the epistemic uncertainty summed over the voxels, divided
        by the predicted volume in voxels (at least one); it is the sum of ``eu_inside``,
        ``eu_shell`` (within 2 mm of the border, at least a voxel) and ``eu_outside``; the same for
        ``au``. ``pairwise_dice`` is the mean over pairs of members. ``mean_entropy`` is that of
        the mean prediction over all voxels of the case, ``entropy_per_volume`` its sum divided by
        the predicted volume. With truth, ``dice`` and ``true_ml``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> one = np.zeros((4, 4, 4), np.uint8)
    >>> one[:2] = 1
    >>> np.save(folder / "a.npy", one)
    >>> one[2, 0, 0] = 1
    >>> np.save(folder / "b.npy", one)
    >>> (case,) = lw.dense.cases(folder / "a.npy", folder / "b.npy")
    >>> (row,) = lw.dense.structures(case)
    >>> row["structure"], row["ml_low"], row["ml_high"], round(row["pairwise_dice"], 3)
    ('1', 0.032, 0.033, 0.985)
    >>> row["eu_per_volume"]  # one voxel of 32 is disputed
    0.03125
    """
    return examine(case, loss=loss, events=events).structures


def components(case: Case, *, loss: LossName | Loss = "log", events: Events | None = None) -> Any:
    """One row for each connected component of a structure: which lesion is doubtful?

    Components are those of the voxels that any member assigns to the structure; voxels that
    touch, also by a corner, are connected.

    Parameters
    ----------
    case, loss, events
        As for `structures`.

    Returns
    -------
    list of dict
        ``component`` is the number in the label map that `maps` writes; ``ml`` its volume in the
        mean prediction, ``ml_low`` and ``ml_high`` the range over the members; ``x``, ``y``, ``z``
        its center in millimeters of the world; ``members`` how many see any of it; ``eu`` and
        ``eu_max`` the mean and the largest epistemic uncertainty of its voxels; with truth,
        ``truth`` is whether it touches the true structure.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> lesions = np.zeros((9, 4, 4), np.uint8)
    >>> lesions[:2] = 1
    >>> np.save(folder / "a.npy", lesions)
    >>> lesions[7, 1, 1] = 1
    >>> np.save(folder / "b.npy", lesions)
    >>> (case,) = lw.dense.cases(folder / "a.npy", folder / "b.npy")
    >>> for row in lw.dense.components(case):
    ...     print(row["component"], row["members"], row["x"], row["eu"])
    1 2 0.5 0.0
    2 1 7.0 1.0
    """
    return examine(case, loss=loss, events=events).components


def examine(
    case: Case,
    *,
    loss: LossName | Loss = "log",
    events: Events | None = None,
    parts: Sequence[str] = (),
    use_details: Callable[[Details], None] | None = None,
) -> Examined:
    """Compute all tables of a case; ``use_details`` is given the volumes of each structure, with
    the ``parts`` that it needs.
    """
    predicted = open_case(case)
    examined = Examined(predicted.sentence)
    for structure in predicted.structures(events):
        truth = None
        if case.truth is not None:
            truth = _true_mask(case.truth, structure)
        masks = predicted.masks(structure)
        numbers, volumes = _number_components(predicted, masks), {}
        for part in parts:
            volumes[part] = predicted.empty(np.float32)
        sums = _Sums(numbers.max() + 1)
        zones = find_zones(masks.mean, case.grid.spacing)
        for index, slab in predicted.parts(structure, loss):
            sums.add(zones[index], numbers[index], slab)
            for part, volume in volumes.items():
                volume[index] = getattr(slab, part)
        row = {"case": case.name, "structure": structure.name, "members": predicted.n_members}
        examined.structures.append(row | _structure_row(predicted, masks, sums, truth))
        examined.components.extend(
            {"case": case.name, "structure": structure.name} | more
            for more in _component_rows(predicted, masks, numbers, sums, truth)
        )
        if use_details is not None:
            details = Details(predicted, structure, masks, volumes, numbers, truth)
            use_details(details)
    return examined


class _Sums:
    """Sums over the slabs of a structure."""

    def __init__(self, n_components: int) -> None:
        self.zones = {part: np.zeros(3) for part in PARTS}
        self.components = np.zeros(n_components)
        self.largest = np.zeros(n_components)

    def add(self, zones: np.ndarray, numbers: np.ndarray, slab: Any) -> None:
        """Add the uncertainty of a slab."""
        near = zones > 0
        codes = zones[near]
        for part in PARTS:
            values = getattr(slab, part)
            # of no voxels np.bincount gives integers
            sums = np.bincount(codes, values[near], 3).astype(float)
            sums[OUTSIDE] = values.sum(dtype=float) - sums.sum()
            self.zones[part] += sums
        seen = numbers > 0
        if seen.any():
            values = slab.epistemic[seen]
            self.components += np.bincount(numbers[seen], values, len(self.components))
            np.maximum.at(self.largest, numbers[seen], values)


def _structure_row(
    predicted: Predicted, masks: Masks, sums: _Sums, truth: np.ndarray | None
) -> Row:
    ml = predicted.case.grid.voxel_ml
    voxels = count(masks.mean)
    members = [ml * count(mask) for mask in masks.members]
    agreement = [dice(one, other) for one, other in combinations(masks.members, 2)]
    # A structure that the mean does not see counts as one voxel, so that doubt stays finite.
    volume = max(voxels, 1)
    row: Row = {"ml": ml * voxels, "ml_low": min(members), "ml_high": max(members)}
    row |= {"pairwise_dice": float(np.mean(agreement)), "pairwise_dice_lowest": min(agreement)}
    for short, part in (("eu", "epistemic"), ("au", "aleatoric")):
        outside, inside, shell = (np.maximum(sums.zones[part], 0) / volume).tolist()
        row[f"{short}_per_volume"] = outside + inside + shell
        row |= {f"{short}_inside": inside, f"{short}_shell": shell, f"{short}_outside": outside}
    row["entropy_per_volume"] = predicted.entropy * masks.mean.size / volume
    row["mean_entropy"] = predicted.entropy
    row["components"] = len(sums.components) - 1
    if truth is not None:
        row |= {"true_ml": ml * count(truth), "dice": dice(masks.mean, truth)}
    return row


def _component_rows(
    predicted: Predicted, masks: Masks, numbers: np.ndarray, sums: _Sums, truth: np.ndarray | None
) -> Iterator[Row]:
    from scipy.ndimage import center_of_mass, find_objects

    ml = predicted.case.grid.voxel_ml
    for number, box in enumerate(find_objects(numbers), start=1):
        inside = numbers[box] == number
        voxels = count(inside)
        sizes = [count(mask[box] & inside) for mask in masks.members]
        start = np.array([edge.start for edge in box])
        center = predicted.case.grid.world(start + center_of_mass(inside))
        row: Row = {"component": number, "ml": ml * count(masks.mean[box] & inside)}
        row |= {"ml_low": ml * min(sizes), "ml_high": ml * max(sizes)}
        row |= dict(zip("xyz", center.tolist(), strict=True))
        row["members"] = count(sizes)
        row["eu"] = float(sums.components[number] / voxels)
        row["eu_max"] = float(sums.largest[number])
        if truth is not None:
            row["truth"] = bool(np.any(truth[box] & inside))
        yield row


def _number_components(predicted: Predicted, masks: Masks) -> np.ndarray:
    """Components of the voxels that any member sees, numbered from 1."""
    from scipy.ndimage import label

    union = masks.mean.copy(order="K")
    for mask in masks.members:
        union |= mask
    numbers = predicted.empty(np.int32)
    box = bounding_box(union)
    if box is not None:
        label(union[box], np.ones((3, 3, 3)), numbers[box])
    return numbers


def _true_mask(volume: Volume, structure: Structure) -> np.ndarray:
    """Where the structure truly is."""
    values = read_values(volume)
    if values.ndim == 4:  # a channel for each region
        if max(structure.labels) >= len(values):
            raise InputError(
                f"{volume.file}: channels: {structure.name!r} is channel {max(structure.labels)}; "
                f"got {len(values)} channels"
            )
        return np.asarray(values[structure.labels[0]] > 0.5)
    return has_label(values, structure.true_labels)


def count(mask: Any) -> int:
    """How many voxels a mask has."""
    return int(np.count_nonzero(mask))


def dice(one: np.ndarray, other: np.ndarray) -> float:
    """Overlap of two masks; two empty ones agree."""
    size = count(one) + count(other)
    if size == 0:
        return 1.0
    return 2 * count(one & other) / size


def bounding_box(mask: np.ndarray, margin: Sequence[int] = (0, 0, 0)) -> Index | None:
    """The box around a mask, ``None`` if it is empty."""
    edges = []
    for axis in range(3):
        others = tuple(i for i in range(3) if i != axis)
        places = np.flatnonzero(mask.any(axis=others))
        if not len(places):
            return None
        first, last = int(places[0]) - margin[axis], int(places[-1]) + margin[axis]
        edges.append(slice(max(first, 0), last + 1))
    return edges[0], edges[1], edges[2]


def find_zones(mask: np.ndarray, spacing: np.ndarray) -> np.ndarray:
    """`INSIDE`, `SHELL` and `OUTSIDE` of a structure.

    The shell are the voxels whose center is within 2 mm of one on the other side of the border;
    neighbors along an axis always are, however far apart.
    """
    zones = np.zeros_like(mask, np.uint8)
    reach = [max(1, int(SHELL_MM / step)) for step in spacing]
    box = bounding_box(mask, reach)
    if box is None:
        return zones
    inside = mask[box]
    near_inside, near_outside = np.zeros_like(inside), np.zeros_like(inside)
    for offset in product(*[range(-n, n + 1) for n in reach]):
        far = np.linalg.norm(offset * spacing) > SHELL_MM
        if far and np.abs(offset).sum() > 1:
            continue
        here, there = _shifted(offset, inside.shape)
        near_inside[here] |= inside[there]
        near_outside[here] |= ~inside[there]
    zones[box] = np.where(near_inside & near_outside, SHELL, INSIDE * inside)
    return zones


def _shifted(offset: Sequence[int], shape: Sequence[int]) -> tuple[Index, Index]:
    """Slices of the voxels that have a neighbor at ``offset``, and of these neighbors."""
    here, there = [], []
    for step, n in zip(offset, shape, strict=True):
        here.append(slice(max(-step, 0), n - max(step, 0)))
        there.append(slice(max(step, 0), n + min(step, 0)))
    return (here[0], here[1], here[2]), (there[0], there[1], there[2])
