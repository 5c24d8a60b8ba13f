"""PET/CT: from whole-body volumes to label-wise uncertainty per slice and per study."""

from __future__ import annotations

from .combining import aggregate
from .figures import plot_slices
from .manifest import Part, Prepared, open_prepared, slice_labels
from .patient_split import split_patients
from .phantom import write_phantoms
from .preparation import Settings, prepare
from .report import write_report
from .studies import DIAGNOSES, Skipped, Study, find_studies
from .training import train
from .volumes import Volume, read_volume

__all__ = [
    "DIAGNOSES",
    "Part",
    "Prepared",
    "Settings",
    "Skipped",
    "Study",
    "Volume",
    "aggregate",
    "find_studies",
    "open_prepared",
    "plot_slices",
    "prepare",
    "read_volume",
    "slice_labels",
    "split_patients",
    "train",
    "write_phantoms",
    "write_report",
]
