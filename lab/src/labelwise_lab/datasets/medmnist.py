"""MedMNIST: medical images in one .npz file with the published training, validation and test set,
https://medmnist.com.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..files import refuse
from .arrays import read_numbers
from .types import Dataset, Examples

_ORGANS = (
    "bladder",
    "femur-left",
    "femur-right",
    "heart",
    "kidney-left",
    "kidney-right",
    "liver",
    "lung-left",
    "lung-right",
    "pancreas",
    "spleen",
)
CLASS_NAMES = {
    "pathmnist": (
        "adipose",
        "background",
        "debris",
        "lymphocytes",
        "mucus",
        "smooth muscle",
        "normal colon mucosa",
        "cancer-associated stroma",
        "colorectal adenocarcinoma epithelium",
    ),
    "dermamnist": (
        "actinic keratoses and intraepithelial carcinoma",
        "basal cell carcinoma",
        "benign keratosis-like lesions",
        "dermatofibroma",
        "melanoma",
        "melanocytic nevi",
        "vascular lesions",
    ),
    "octmnist": ("choroidal neovascularization", "diabetic macular edema", "drusen", "normal"),
    "pneumoniamnist": ("normal", "pneumonia"),
    # The grades of diabetic retinopathy, an ordinal scale; the files call them 0 to 4.
    "retinamnist": ("no retinopathy", "mild", "moderate", "severe", "proliferative"),
    "breastmnist": ("malignant", "normal, benign"),
    "bloodmnist": (
        "basophil",
        "eosinophil",
        "erythroblast",
        "immature granulocytes",
        "lymphocyte",
        "monocyte",
        "neutrophil",
        "platelet",
    ),
    "tissuemnist": (
        "collecting duct, connecting tubule",
        "distal convoluted tubule",
        "glomerular endothelial cells",
        "interstitial endothelial cells",
        "leukocytes",
        "podocytes",
        "proximal tubule segments",
        "thick ascending limb",
    ),
    "organamnist": _ORGANS,
    "organcmnist": _ORGANS,
    "organsmnist": _ORGANS,
}


def load_medmnist(path: str | Path) -> Dataset:
    """Read a two-dimensional, single-label MedMNIST file of any image size (``retinamnist.npz``,
    ``bloodmnist_64.npz``).

    The class names come from the file's name, if it is one of MedMNIST's; otherwise they are
    numbers.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mymnist.npz")
    ...     images, labels = np.zeros((6, 28, 28), np.uint8), np.array([[0], [1], [2], [0], [1], [2]])
    ...     parts = {f"{part}_{kind}": x for part in ("train", "val", "test") for kind, x in (("images", images), ("labels", labels))}
    ...     np.savez(path, **parts)
    ...     data = labelwise_lab.datasets.load_medmnist(path)
    >>> data.name, data.val.x.shape, data.class_names
    ('mymnist', (6, 28, 28), ('0', '1', '2'))
    """  # noqa: E501
    path = Path(path)
    arrays = read_numbers(
        path,
        [f"{part}_{kind}" for part in ("train", "val", "test") for kind in ("images", "labels")],
    )
    parts = {
        part: _examples(arrays[f"{part}_images"], arrays[f"{part}_labels"], part, path)
        for part in ("train", "val", "test")
    }
    numbers = range(1 + max(int(examples.y.max(initial=0)) for examples in parts.values()))
    class_names = CLASS_NAMES.get(path.stem.split("_")[0].lower()) or tuple(map(str, numbers))
    return Dataset(path.stem, parts["train"], parts["test"], class_names, parts["val"])


def _examples(images: np.ndarray, labels: np.ndarray, part: str, path: Path) -> Examples:
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise refuse(
            path,
            (
                f"{part}_labels has shape {labels.shape}: a multi-label set; only sets with one "
                "label per image are read"
            ),
        )
    if images.ndim == 4 and images.shape[3] == 1:
        images = images[..., 0]
    if images.dtype != np.uint8 or not (
        images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)
    ):
        raise refuse(
            path,
            (
                f"{part}_images is {images.dtype} of shape {images.shape}; expected uint8 of shape "
                "(N, H, W) or (N, H, W, 3)"
            ),
        )
    if len(images) != len(labels):
        raise refuse(path, f"{part} has {len(images)} images but {len(labels)} labels")
    if labels.dtype.kind not in "ui" or labels.min(initial=0) < 0 or labels.max(initial=0) > 255:
        raise refuse(path, f"{part}_labels must be class numbers 0 to 255")
    return Examples(images, labels.astype(np.int64))
