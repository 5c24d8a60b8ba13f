"""PET/CT: from whole-body volumes to label-wise uncertainty per slice and per study.

Names are imported on first use: preparation needs no torch, training no nibabel.
"""

from __future__ import annotations

from labelwise._lazy import lazily

_NAMES = {
    "studies": ("DIAGNOSES", "Study", "Skipped", "find_studies"),
    "volumes": ("Volume", "read_volume"),
    "patient_split": ("split_patients",),
    "preparation": ("Settings", "prepare"),
    "manifest": ("Part", "Prepared", "open_prepared", "slice_labels"),
    "combining": ("aggregate",),
    "training": ("train",),
    "figures": ("plot_slices",),
    "report": ("disputed_labels", "write_report"),
    "phantom": ("write_phantoms",),
}
"""The public names of each module."""
_WHERE = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_WHERE)

__getattr__, __dir__ = lazily(__name__, _WHERE)
