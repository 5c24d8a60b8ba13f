"""Numbers of each structure of a case, and of each of its connected components."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from ..losses import Loss, LossName
from .cases import Case
from .predictions import Events, Masks, Predicted, Structure

SHELL_MM = 2.0
OUTSIDE, INSIDE, SHELL = 0, 1, 2  # zones of a structure
SHORT = {"eu": "epistemic", "au": "aleatoric"}
Row = dict[str, Any]


class Details(NamedTuple):
    """All that is known of a structure."""

    case: Case
    structure: Structure
    masks: Masks
    truth: np.ndarray | None
    parts: dict[str, np.ndarray]
    """Volumes of the parts of uncertainty that were asked for."""
    components: np.ndarray
    """Number of the component at each voxel; 0 where no member sees the structure."""
    segmentation: np.ndarray | None
    """Of the first structure, the label map of all; regions may overlap and have none."""


class Examined(NamedTuple):
    """The tables of a case, and what its members were taken for."""

    sentence: str
    structures: list[Row]
    components: list[Row]


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
        its center in millimeters of the world; ``members`` how many see any of it; ``eu`` the
        mean epistemic uncertainty of its voxels; with truth, ``truth`` is whether it touches the
        true structure.

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
    use_details: Callable[[Details], None] = lambda details: None,
) -> Examined:
    """Compute all tables of a case; ``use_details`` is given the volumes of each structure, with
    the ``parts`` that it needs.
    """
    predicted = Predicted(case)
    examined = Examined(predicted.sentence, [], [])
    true_labels = None if case.truth is None else case.truth.read()
    for structure in predicted.structures(events):
        masks = predicted.masks(structure)
        truth = None if true_labels is None else _true_mask(true_labels, structure)
        numbers = number_components([masks.mean, *masks.members])
        zones = find_zones(masks.mean, case.grid.spacing)
        volumes = {part: np.zeros(case.grid.shape, np.float32) for part in parts}
        sums = {part: np.zeros(3) for part in SHORT.values()}
        doubts = np.zeros(numbers.max() + 1)
        for slab, uncertainty in predicted.parts(structure, loss):
            for part, volume in volumes.items():
                volume[slab] = uncertainty[part]
            for part in sums:
                sums[part] += _sum_by(zones[slab], uncertainty[part], 3)
            doubts += _sum_by(numbers[slab], uncertainty["epistemic"], len(doubts))
        start: Row = {"case": case.name, "structure": structure.name}
        entropy = {"mean_entropy": predicted.entropy / masks.mean.size}
        row = start | _structure_row(case, masks, sums) | entropy
        row["entropy_per_volume"] = predicted.entropy / max(count(masks.mean), 1)
        row["components"] = len(doubts) - 1
        if truth is not None:
            row["true_ml"] = case.grid.voxel_ml * count(truth)
            row["dice"] = dice(masks.mean, truth)
        examined.structures.append(row)
        for component in _component_rows(case, masks, truth, numbers, doubts):
            examined.components.append(start | component)
        segmentation = None
        if len(examined.structures) == 1 and predicted.kind != "regions":
            segmentation = predicted.mean
        use_details(Details(case, structure, masks, truth, volumes, numbers, segmentation))
    return examined


def _sum_by(codes: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Sums of ``values`` by code, 0 to n − 1."""
    return np.bincount(codes.ravel(), values.ravel(), n)


def _structure_row(case: Case, masks: Masks, sums: dict[str, np.ndarray]) -> Row:
    sizes = [case.grid.voxel_ml * count(mask) for mask in masks.members]
    agreement = [dice(one, other) for one, other in combinations(masks.members, 2)]
    row: Row = {"members": len(sizes), "ml": case.grid.voxel_ml * count(masks.mean)}
    row |= {"ml_low": min(sizes), "ml_high": max(sizes)}
    row |= {"pairwise_dice": sum(agreement) / len(agreement)}
    row |= {"pairwise_dice_lowest": min(agreement)}
    for short, part in SHORT.items():
        # A structure that the mean does not see counts as one voxel, so that doubt stays finite.
        outside, inside, shell = (sums[part] / max(count(masks.mean), 1)).tolist()
        row[f"{short}_per_volume"] = outside + inside + shell
        row |= {f"{short}_inside": inside, f"{short}_shell": shell, f"{short}_outside": outside}
    return row


def _component_rows(
    case: Case, masks: Masks, truth: np.ndarray | None, numbers: np.ndarray, doubts: np.ndarray
) -> Iterator[Row]:
    from scipy.ndimage import find_objects

    for number, box in enumerate(find_objects(numbers), start=1):
        inside = numbers[box] == number
        sizes = [count(mask[box] & inside) for mask in masks.members]
        places = np.argwhere(inside) + [edge.start for edge in box]
        x, y, z = case.grid.world(places.mean(axis=0)).tolist()
        row: Row = {"component": number, "ml": count(masks.mean[box] & inside)}
        row |= {"ml_low": min(sizes), "ml_high": max(sizes)}
        row = {key: value * case.grid.voxel_ml for key, value in row.items()}
        row |= {"component": number, "x": x, "y": y, "z": z, "members": count(sizes)}
        row["eu"] = float(doubts[number] / len(places))
        if truth is not None:
            row["truth"] = bool(np.any(truth[box] & inside))
        yield row


def number_components(masks: Sequence[np.ndarray]) -> np.ndarray:
    """Connected components of the voxels that any mask has, numbered from 1."""
    from scipy.ndimage import label

    union = np.logical_or.reduce(masks)
    numbers = np.zeros(union.shape, np.int32)
    box = bounding_box(union)
    label(union[box], np.ones((3, 3, 3)), numbers[box])
    return numbers


def _true_mask(truth: np.ndarray, structure: Structure) -> np.ndarray:
    """Where the structure truly is; a truth of four axes has a channel for each region."""
    if truth.ndim == 4:
        return np.asarray(truth[structure.labels[0]] > 0.5)
    return np.isin(truth, structure.true_labels)


def count(mask: Any) -> int:
    """How many voxels a mask has."""
    return int(np.count_nonzero(mask))


def dice(one: np.ndarray, other: np.ndarray) -> float:
    """Overlap of two masks; two empty ones agree."""
    size = count(one) + count(other)
    return 2 * count(one & other) / size if size else 1.0


def bounding_box(mask: np.ndarray, margin: Sequence[int] = (0, 0, 0)) -> tuple[slice, ...]:
    """The box around a mask; an empty box if that is empty."""
    edges = []
    for axis, more in enumerate(margin):
        across = tuple({0, 1, 2} - {axis})
        places = np.flatnonzero(mask.any(axis=across))
        if not len(places):
            return (slice(0),) * 3
        edges.append(slice(max(int(places[0]) - more, 0), int(places[-1]) + more + 1))
    return tuple(edges)


def find_zones(mask: np.ndarray, spacing: np.ndarray) -> np.ndarray:
    """`INSIDE`, `SHELL` and `OUTSIDE` of a structure.

    The shell are the voxels whose center is within 2 mm of one on the other side of the border;
    neighbors along an axis always are, however far apart.
    """
    reach = np.maximum(SHELL_MM // spacing, 1).astype(int)
    zones = np.zeros(mask.shape, np.uint8)
    box = bounding_box(mask, reach.tolist())
    inside = mask[box]
    shell = np.zeros_like(inside)
    for offset in product(*[range(-n, n + 1) for n in reach]):
        if np.linalg.norm(offset * spacing) <= SHELL_MM or np.abs(offset).sum() == 1:
            steps = list(zip(offset, inside.shape, strict=True))
            here = tuple(slice(max(-i, 0), n - max(i, 0)) for i, n in steps)
            there = tuple(slice(max(i, 0), n - max(-i, 0)) for i, n in steps)
            shell[here] |= inside[here] != inside[there]
    zones[box] = np.where(shell, SHELL, inside)
    return zones
