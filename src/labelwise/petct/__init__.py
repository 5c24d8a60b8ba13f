"""PET/CT: from whole-body volumes to label-wise uncertainty per slice and per study.

Names are imported on first use: preparation needs no torch, training no nibabel.
"""

from __future__ import annotations

from .._lazy import lazily

# Public name -> its module.
_WHERE = {
    "DIAGNOSES": "studies",
    "Study": "studies",
    "Skipped": "studies",
    "find_studies": "studies",
    "Volume": "volumes",
    "read_volume": "volumes",
    "split_patients": "patient_split",
    "Settings": "preparation",
    "prepare": "preparation",
    "Part": "manifest",
    "Prepared": "manifest",
    "open_prepared": "manifest",
    "slice_labels": "manifest",
    "aggregate": "combining",
    "train": "training",
    "plot_slices": "figures",
    "what_to_do": "report",
    "write_report": "report",
    "write_phantoms": "phantom",
}

__all__ = sorted(_WHERE)

__getattr__, __dir__ = lazily(__name__, _WHERE)
