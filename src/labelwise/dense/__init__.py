"""Volumes: label-wise uncertainty of every voxel, every structure and every lesion.

Files of several members become cases, cases become maps, and tables of structures and components;
evaluation of the tables is in `labelwise.evaluation`.
"""

from __future__ import annotations

from .cases import cases
from .maps import maps
from .monai import LabelwiseUncertaintyd
from .structures import components, structures

__all__ = ["LabelwiseUncertaintyd", "cases", "components", "maps", "structures"]
