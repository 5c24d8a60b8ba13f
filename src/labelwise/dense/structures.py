"""Numbers of each structure of a case, and of each of its connected components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array
from ..decomposition import decompose
from ..distributions import MultiLabelEnsemble
from ..losses import Loss, LossName
from .cases import Case
from .predictions import Events, PredictedVolumes

SHELL_MM = 2.0
MARGIN_MM = 10.0  # around a structure: the shell is inside, and figures show it
SHORT = {"eu": "epistemic", "au": "aleatoric"}
Row = dict[str, Any]


class Settings(NamedTuple):
    """What is computed of a case, and how maps are written (see `maps`); whether figures are."""

    loss: LossName | Loss
    events: Events | None
    parts: Sequence[str] = ()
    as_float: bool = False
    compress: bool = True
    figures: bool = False


class Details(NamedTuple):
    """A structure of a case."""

    predicted: PredictedVolumes
    name: str
    box: tuple[slice, ...]
    """Around the structure, with a margin."""
    masks: dict[str, Array]
    """Of each of the "members", of their one "mean" and maybe of one "truth". They and the
    uncertainty are overwritten by those of the next structure.
    """
    uncertainty: dict[str, Array]
    """Volumes of the epistemic, the aleatoric, and maybe the total part."""
    numbers: Array
    """Of the component at each voxel; 0 where neither a member nor the mean is."""


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
    found = examine(PredictedVolumes(case), Settings(loss, events))
    return [row_of_structure(details) for details in found]


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
    found = examine(PredictedVolumes(case), Settings(loss, events))
    return [row for details in found for row in rows_of_components(details)]


def examine(predicted: PredictedVolumes, settings: Settings) -> Iterator[Details]:
    """Every structure of a case in turn."""
    from scipy.ndimage import find_objects, label

    grid, n = predicted.case.grid, len(predicted.arrays)
    parts = {*SHORT.values(), *settings.parts}
    volumes = {part: np.empty(grid.shape, np.float32) for part in parts}
    whole = np.empty(predicted.label_maps.shape, bool)
    masks = {"members": whole[:n], "mean": whole[n : n + 1], "truth": whole[n + 1 :]}
    margin = np.ceil(MARGIN_MM / grid.spacing).astype(int)
    for k, (name, labels) in enumerate(predicted.structures(settings.events).items()):
        channels = [k] if predicted.kind == "regions" else labels
        for z in range(grid.shape[0]):
            chances, whole[:, z] = predicted.plane(z, channels, labels)
            u = decompose(MultiLabelEnsemble(chances[..., None]), settings.loss)
            for part, volume in volumes.items():
                volume[z] = getattr(u, part)[..., 0]
        box: tuple[slice, ...] = (slice(None),) * 3  # of a structure that nobody sees
        for around in find_objects(whole.any(axis=0).view(np.uint8)):
            edges = zip(around, margin, strict=True)
            box = tuple(slice(max(edge.start - more, 0), edge.stop + more) for edge, more in edges)
        found, highest = label(whole[: n + 1, *box].any(axis=0), np.ones((3, 3, 3)))
        numbers = np.zeros(grid.shape, np.min_scalar_type(highest))
        numbers[box] = found
        del found
        yield Details(predicted, name, box, masks, volumes, numbers)


def row_of_structure(details: Details) -> Row:
    """Volumes, agreement and uncertainty; see `structures`."""
    predicted, grid = details.predicted, details.predicted.case.grid
    masks = {name: several[:, *details.box] for name, several in details.masks.items()}
    members, (mean,) = masks["members"], masks["mean"]
    row: Row = {"case": predicted.case.name, "structure": details.name, "members": len(members)}
    sizes = {name: list(map(grid.ml, several)) for name, several in masks.items()}
    row |= _volumes(sizes)
    agreement = [dice(one, other) for one, other in combinations(members, 2)]
    row["pairwise_dice"], row["pairwise_dice_lowest"] = fmean(agreement), min(agreement)
    shell = find_shell(mean, grid.spacing)
    voxels = int(np.count_nonzero(mean)) or 1  # so that doubt stays finite
    for short, part in SHORT.items():
        everywhere = details.uncertainty[part]
        near = everywhere[details.box]
        zones = (everywhere, near[mean & ~shell], near[shell])
        total, inside, border = (float(zone.sum(dtype=float)) / voxels for zone in zones)
        row[f"{short}_per_volume"] = total
        row[f"{short}_outside"] = max(total - inside - border, 0)
        row[f"{short}_inside"] = inside
        row[f"{short}_shell"] = border
    row["mean_entropy"] = predicted.entropy / predicted.mean.size
    row["entropy_per_volume"] = predicted.entropy / voxels
    for truth in masks["truth"]:
        row["true_ml"], row["dice"] = grid.ml(truth), dice(mean, truth)
    row["components"] = int(details.numbers.max())
    return row


def rows_of_components(details: Details) -> Iterator[Row]:
    """One row for each connected component."""
    from scipy.ndimage import center_of_mass, find_objects

    case = details.predicted.case
    for k, box in enumerate(find_objects(details.numbers), start=1):
        mask = details.numbers[box] == k
        sizes = {}
        for name, several in details.masks.items():
            sizes[name] = [case.grid.ml(other[box] & mask) for other in several]
        row: Row = {"case": case.name, "structure": details.name, "component": k}
        row |= _volumes(sizes)
        center = np.add(center_of_mass(mask), [edge.start for edge in box])
        world = case.grid.affine[:3] @ [*center[::-1], 1]
        row |= dict(zip("xyz", world.tolist(), strict=True))
        row["members"] = int(np.count_nonzero(sizes["members"]))
        row["eu"] = float(details.uncertainty["epistemic"][box][mask].mean(dtype=float))
        for size in sizes["truth"]:
            row["truth"] = size > 0
        yield row


def _volumes(sizes: dict[str, list[float]]) -> Row:
    members, (mean,) = sizes["members"], sizes["mean"]
    return {"ml": mean, "ml_low": min(members), "ml_high": max(members)}


def dice(one: Array, other: Array) -> float:
    """Overlap of two masks; two empty ones agree."""
    either, both = np.count_nonzero(one | other), np.count_nonzero(one & other)
    return float(2 * both / (either + both)) if either else 1.0


def find_shell(mask: Array, spacing: Array) -> Array:
    """The voxels whose center is within 2 mm of one on the other side of a structure's border;
    neighbors along an axis always are, however far apart.
    """
    from scipy.ndimage import binary_dilation, binary_erosion

    reach = np.maximum(SHELL_MM // spacing, 1).astype(int)
    steps = np.moveaxis(np.indices(2 * reach + 1), 0, -1) - reach
    ball = np.linalg.norm(steps * np.minimum(spacing, SHELL_MM), axis=-1) <= SHELL_MM
    # the end of the volume is no border
    return binary_dilation(mask, ball) & ~binary_erosion(mask, ball, border_value=1)
