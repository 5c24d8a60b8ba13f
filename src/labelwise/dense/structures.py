"""Numbers of each structure of a case, and of each of its connected components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array
from ..losses import Loss, LossName
from .cases import Case
from .images import Volume
from .predictions import Events, Predicted

SHELL_MM = 2.0
ZONES = ("outside", "inside", "shell")
SHORT = {"eu": "epistemic", "au": "aleatoric"}
Row = dict[str, Any]


class Details(NamedTuple):
    """All that is known of a structure of a case."""

    case: Case
    name: str
    mean: Array
    members: list[Array]
    truth: Array | None
    uncertainty: dict[str, Array]
    """Volumes of the epistemic, the aleatoric, and maybe the total part."""
    numbers: Array
    """Of the component at each voxel; 0 where no member sees the structure."""
    row: Row
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
    return [details.row for details in examine(Predicted(case), loss, events)]


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
    ...     print(row["component"], row["members"], row["z"], row["eu"])
    1 2 0.5 0.0
    2 1 7.0 1.0
    """
    found = examine(Predicted(case), loss, events)
    return [row for details in found for row in details.components]


def examine(
    predicted: Predicted, loss: LossName | Loss, events: Events | None, parts: Sequence[str] = ()
) -> Iterator[Details]:
    """Every structure of a case in turn, also with the volumes of these ``parts``."""
    from scipy.ndimage import center_of_mass, find_objects

    case, grid = predicted.case, predicted.case.grid
    for structure in predicted.structures(events):
        mean, members = predicted.masks(structure)
        truth = predicted.true_mask(structure)
        uncertainty = predicted.uncertainty(structure, loss, {*SHORT.values(), *parts})
        voxels = int(mean.sum()) or 1  # so that doubt stays finite
        start: Row = {"case": case.name, "structure": structure.name}
        row = start | {"members": len(members)} | _volumes(grid, mean, *members)
        agreement = [dice(one, other) for one, other in combinations(members, 2)]
        row |= {"pairwise_dice": fmean(agreement), "pairwise_dice_lowest": min(agreement)}
        zones = find_zones(mean, grid.spacing)
        for short, part in SHORT.items():
            row[f"{short}_per_volume"] = float(uncertainty[part].sum(dtype=float) / voxels)
            for k, zone in enumerate(ZONES):
                inside = uncertainty[part][zones == k]
                row[f"{short}_{zone}"] = float(inside.sum(dtype=float) / voxels)
        row["mean_entropy"] = predicted.entropy / mean.size
        row["entropy_per_volume"] = predicted.entropy / voxels
        if truth is not None:
            row |= {"true_ml": grid.ml(truth), "dice": dice(mean, truth)}
        numbers = number_components([mean, *members])
        components = []
        for k, box in enumerate(find_objects(numbers), start=1):
            mask = numbers[box] == k
            found = [other[box] & mask for other in (mean, *members)]
            own = start | {"component": k} | _volumes(grid, *found)
            center = np.add(center_of_mass(mask), [edge.start for edge in box])
            own |= dict(zip("xyz", grid.world(center).tolist(), strict=True))
            own["members"] = sum(bool(other.any()) for other in found[1:])
            own["eu"] = float(uncertainty["epistemic"][box][mask].mean(dtype=float))
            if truth is not None:
                own["truth"] = bool((truth[box] & mask).any())
            components.append(own)
        row["components"] = len(components)
        yield Details(
            case, structure.name, mean, members, truth, uncertainty, numbers, row, components
        )


def _volumes(grid: Volume, mean: Array, *members: Array) -> Row:
    sizes = [grid.ml(mask) for mask in members]
    return {"ml": grid.ml(mean), "ml_low": min(sizes), "ml_high": max(sizes)}


def number_components(masks: Sequence[Array]) -> Array:
    """Connected components of the voxels that any mask has, numbered from 1."""
    from scipy.ndimage import label

    union = np.logical_or.reduce(masks)
    box = bounding_box(union)
    found, n = label(union[box], np.ones((3, 3, 3)))
    numbers = np.zeros(union.shape, np.min_scalar_type(n))
    numbers[box] = found
    return numbers


def dice(one: Array, other: Array) -> float:
    """Overlap of two masks; two empty ones agree."""
    size = np.count_nonzero(one) + np.count_nonzero(other)
    if not size:
        return 1.0
    return float(2 * np.count_nonzero(one & other) / size)


def bounding_box(mask: Array, margin: Sequence[int] = (0, 0, 0)) -> tuple[slice, ...]:
    """The box around a mask, or the whole volume if that is empty."""
    from scipy.ndimage import find_objects

    for box in find_objects(mask.view(np.uint8)):
        edges = zip(box, margin, strict=True)
        return tuple(slice(max(edge.start - n, 0), edge.stop + n) for edge, n in edges)
    return (slice(None),) * 3


def find_zones(mask: Array, spacing: Array) -> Array:
    """The number in `ZONES` of each voxel.

    The shell are the voxels whose center is within 2 mm of one on the other side of the border;
    neighbors along an axis always are, however far apart.
    """
    from scipy.ndimage import binary_dilation, binary_erosion

    zones = np.zeros(mask.shape, np.uint8)
    if not mask.any():
        return zones
    reach = np.maximum(SHELL_MM // spacing, 1).astype(int)
    steps = np.moveaxis(np.indices((2 * reach + 1).tolist()), 0, -1) - reach
    near = np.linalg.norm(steps * np.minimum(spacing, SHELL_MM), axis=-1) <= SHELL_MM
    box = bounding_box(mask, reach.tolist())
    inside = mask[box]
    shell = binary_dilation(inside, near) & ~binary_erosion(inside, near, border_value=1)
    zones[box] = np.where(shell, ZONES.index("shell"), inside)
    return zones
