"""Data sets by name or from files: images or features, labels, class names and the published
split.
"""

from __future__ import annotations

from . import preprocess
from .cifar import read_cifar10
from .idx import read_idx
from .image_folder import load_image_folder
from .load import load, load_cifar10h, names
from .medmnist import load_medmnist
from .table import load_table, standardize
from .types import Dataset, Examples

__all__ = [
    "Dataset",
    "Examples",
    "load",
    "load_cifar10h",
    "load_image_folder",
    "load_medmnist",
    "load_table",
    "names",
    "preprocess",
    "read_cifar10",
    "read_idx",
    "standardize",
]
