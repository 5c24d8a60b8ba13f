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
MARGIN_MM = 10.0  # around a structure: the shell is inside, and figures show it
SHORT = {"eu": "epistemic", "au": "aleatoric"}
Row = dict[str, Any]


class Details(NamedTuple):
    """All that is known of a structure of a case."""

    case: Case
    name: str
    box: tuple[slice, ...]
    """Around the structure, with a margin."""
    masks: dict[str, list[Array]]
    """Of the "members", of their "mean" and maybe the "truth", in the box."""
    uncertainty: dict[str, Array]
    """Volumes of the epistemic, the aleatoric, and maybe the total part; those of the next
    structure overwrite them.
    """
    numbers: Array
    """Of the component at each voxel of the box; 0 where neither a member nor the mean is."""
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
    from scipy.ndimage import label

    case, grid = predicted.case, predicted.case.grid
    volumes = {part: np.empty(grid.shape, np.float32) for part in {*SHORT.values(), *parts}}
    for structure in predicted.structures(events):
        seen = np.zeros(grid.shape, bool)
        for _, mask in predicted.masks(structure):  # one at a time, and again in the box
            seen |= mask
        box = bounding_box(seen, np.ceil(MARGIN_MM / grid.spacing).astype(int))
        masks: dict[str, list[Array]] = {"members": [], "mean": []}
        for name, mask in predicted.masks(structure):
            masks.setdefault(name, []).append(mask[box].copy())
        predicted.uncertainty(structure, loss, volumes)
        start: Row = {"case": case.name, "structure": structure.name}
        row = start | {"members": len(masks["members"])} | _volumes(grid, masks)
        agreement = [dice(one, other) for one, other in combinations(masks["members"], 2)]
        row |= {"pairwise_dice": fmean(agreement), "pairwise_dice_lowest": min(agreement)}
        (mean,) = masks["mean"]
        shell = find_shell(mean, grid.spacing)
        voxels = np.count_nonzero(mean) or 1  # so that doubt stays finite
        for short, part in SHORT.items():
            total, near = volumes[part].sum(dtype=float), volumes[part][box]
            at_border = near[shell].sum(dtype=float)
            inside = near[mean & ~shell].sum(dtype=float)
            outside = max(total - at_border - inside, 0)
            sums = {"per_volume": total, "outside": outside, "inside": inside, "shell": at_border}
            row |= {f"{short}_{name}": float(value / voxels) for name, value in sums.items()}
        row["mean_entropy"] = predicted.entropy / predicted.mean.size
        row["entropy_per_volume"] = predicted.entropy / voxels
        for truth in masks.get("truth", ()):
            row |= {"true_ml": grid.ml(truth), "dice": dice(mean, truth)}
        union = np.logical_or.reduce([mean, *masks["members"]])
        numbers, row["components"] = label(union, np.ones((3, 3, 3)))
        numbers = numbers.astype(np.min_scalar_type(row["components"]))
        found = Details(case, structure.name, box, masks, volumes, numbers, row, [])
        found.components.extend(_components(found, start))
        yield found


def _components(details: Details, start: Row) -> Iterator[Row]:
    """One row for each connected component."""
    from scipy.ndimage import center_of_mass, find_objects

    grid, epistemic = details.case.grid, details.uncertainty["epistemic"][details.box]
    for k, box in enumerate(find_objects(details.numbers), start=1):
        mask = details.numbers[box] == k
        own = {name: [other[box] & mask for other in x] for name, x in details.masks.items()}
        row = start | {"component": k} | _volumes(grid, own)
        corners = [edge.start for edge in box], [edge.start for edge in details.box]
        center = np.sum([center_of_mass(mask), *corners], axis=0)
        row |= dict(zip("xyz", grid.world(center).tolist(), strict=True))
        row["members"] = sum(bool(other.any()) for other in own["members"])
        row["eu"] = float(epistemic[box][mask].mean(dtype=float))
        for truth in own.get("truth", ()):
            row["truth"] = bool(truth.any())
        yield row


def _volumes(grid: Volume, masks: dict[str, list[Array]]) -> Row:
    sizes = [grid.ml(mask) for mask in masks["members"]]
    return {"ml": grid.ml(masks["mean"][0]), "ml_low": min(sizes), "ml_high": max(sizes)}


def dice(one: Array, other: Array) -> float:
    """Overlap of two masks; two empty ones agree."""
    size = np.count_nonzero(one) + np.count_nonzero(other)
    if not size:
        return 1.0
    return float(2 * np.count_nonzero(one & other) / size)


def bounding_box(mask: Array, margin: Sequence[int]) -> tuple[slice, ...]:
    """The box around a mask, with a margin; the whole volume if that is empty."""
    from scipy.ndimage import find_objects

    for box in find_objects(mask.view(np.uint8)):
        edges = zip(box, margin, strict=True)
        return tuple(slice(max(edge.start - n, 0), edge.stop + n) for edge, n in edges)
    return (slice(None),) * 3


def find_shell(mask: Array, spacing: Array) -> Array:
    """The voxels whose center is within 2 mm of one on the other side of a structure's border;
    neighbors along an axis always are, however far apart.
    """
    from scipy.ndimage import binary_dilation, binary_erosion

    reach = np.maximum(SHELL_MM // spacing, 1).astype(int)
    steps = np.moveaxis(np.indices((2 * reach + 1).tolist()), 0, -1) - reach
    near = np.linalg.norm(steps * np.minimum(spacing, SHELL_MM), axis=-1) <= SHELL_MM
    shell: Array = binary_dilation(mask, near) & ~binary_erosion(mask, near, border_value=1)
    return shell
