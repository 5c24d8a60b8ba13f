"""A folder of images, one subfolder per class."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..files import refuse
from .types import Dataset, Examples

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".ppm", ".pgm"}
# Named, because Pillow would start other programs for some formats (Ghostscript for EPS).
FORMATS = ("PNG", "JPEG", "BMP", "WEBP", "TIFF", "GIF", "PPM")


def load_image_folder(
    path: str | Path,
    *,
    size: tuple[int, int] | None = None,
    gray: bool = False,
    test_size: float = 0.3,
    rng: Any = 0,
) -> Dataset:
    """Read images from ``path/CLASS/*``, or, already split, from ``path/train/CLASS/*`` and
    ``path/test/CLASS/*`` (and ``path/val``).

    Classes and files are taken in alphabetical order; files that are not images (by their ending)
    and hidden ones are skipped.

    Parameters
    ----------
    path
        The folder.
    size
        (height, width) to which every image is resized; without it all images must have the same
        size.
    gray
        Read one channel, shape (N, H, W), instead of red, green and blue, shape (N, H, W, 3).
    test_size, rng
        Share of the test set, and random seed for the split, where there are no folders ``train``
        and ``test``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(10):
    ...         label = pathlib.Path(folder, "dark" if i < 5 else "bright")
    ...         label.mkdir(exist_ok=True)
    ...         Image.new("L", (8, 8), 20 * i).save(label / f"{i}.png")
    ...     data = labelwise_lab.datasets.load_image_folder(folder, gray=True, test_size=0.2)
    >>> data.class_names, data.train.x.shape, data.test.y
    (('bright', 'dark'), (8, 8, 8), array([0, 1]))
    """
    path = Path(path)
    if not path.is_dir():
        raise FileNotFoundError(
            f"`path` must be a folder with one subfolder per class; there is no folder {path}"
        )
    published = (path / "train").is_dir() and (path / "test").is_dir()
    parts = (
        {name: path / name for name in ("train", "val", "test") if (path / name).is_dir()}
        if published
        else {"test": path}
    )
    folders = (folder for part in parts.values() for folder in part.iterdir() if folder.is_dir())
    classes = tuple(sorted({folder.name for folder in folders if not folder.name.startswith(".")}))
    files = {
        name: [(file, k) for k, label in enumerate(classes) for file in _files(part / label)]
        for name, part in parts.items()
    }
    empty = [str(parts[name]) for name, found in files.items() if not found]
    if empty or len(classes) < 2:
        where = " and ".join(empty) or "two class folders"
        raise refuse(
            path, f"no images in {where}; expected FOLDER/CLASS/IMAGE.png for two classes or more"
        )
    with _open(next(file for found in files.values() for file, _ in found)) as first:
        shape = (*(size or (first.height, first.width)), *(() if gray else (3,)))
    examples = {
        name: Examples(
            _read([file for file, _ in found], shape, size, gray), np.array([k for _, k in found])
        )
        for name, found in files.items()
    }
    data = Dataset(
        path.name,
        examples.get("train"),
        examples["test"],
        classes,
        examples.get("val"),
        None,
        published,
    )
    return data if published else data.resplit(test_size=test_size, rng=rng)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return sorted(
        file
        for file in path.iterdir()
        if file.suffix.lower() in SUFFIXES and not file.name.startswith(".") and file.is_file()
    )


def _read(
    files: Sequence[Path], shape: tuple[int, ...], size: tuple[int, int] | None, gray: bool
) -> np.ndarray:
    images = np.empty((len(files), *shape), np.uint8)
    for i, file in enumerate(files):
        with _open(file) as image:
            if size is None and (image.height, image.width) != shape[:2]:
                why = (
                    f"its size is {image.height} × {image.width}, that of {files[0].name} is "
                    f"{shape[0]} × {shape[1]}"
                )
                raise refuse(file, f"{why}; pass size=(height, width) to resize all images")
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    pixels = image.convert("L" if gray else "RGB")
            except _BAD as error:
                raise refuse(file, f"the image is truncated or corrupted ({error})") from error
            images[i] = np.asarray(pixels if size is None else pixels.resize((size[1], size[0])))
    return images


# What Pillow raises on files that only look like images.
_BAD = (
    OSError,
    ValueError,
    SyntaxError,
    TypeError,
    IndexError,
    KeyError,
    EOFError,
    struct.error,
    OverflowError,
)


def _open(file: Path) -> Any:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd metadata
            return Image.open(file, formats=FORMATS)
    except Image.DecompressionBombError as error:
        raise refuse(
            file,
            "it claims to be an image of more than 178 million pixels; such images are not read",
        ) from error
    except _BAD as error:
        raise refuse(
            file, "not an image that can be read (PNG, JPEG, BMP, WebP, TIFF, GIF, PPM)"
        ) from error
