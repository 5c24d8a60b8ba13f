"""Data sets by name or from files: images or features, labels, class names and the published
split.
"""

from __future__ import annotations

from . import preprocess
from .cifar import read_cifar10_binary, read_cifar10_python
from .idx import read_idx
from .image_folder import load_image_folder
from .load import load, load_cifar10h, names
from .mat import read_mat
from .medmnist import load_medmnist
from .npz import read_npy, read_npz
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
    "read_cifar10_binary",
    "read_cifar10_python",
    "read_idx",
    "read_mat",
    "read_npy",
    "read_npz",
    "standardize",
]
