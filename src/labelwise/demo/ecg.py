"""Ten networks and five readers on the same electrocardiograms."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np

from ..distributions import MultiLabelEnsemble

__all__ = ["ECGEnsemble", "load_ecg_ensemble"]


@dataclass(frozen=True, eq=False)
class ECGEnsemble:
    """Ten members on 827 electrocardiograms with six findings that may occur together:
    ``ensemble`` (``probs`` (10, 827, 6), float32).

    ``y_true`` (827, 6) is the gold standard: two cardiologists, a third where they differed.
    ``votes`` (5, 827, 6) are the answers of the ``readers``, 0 or 1 for each finding: these two
    cardiologists, and two cardiology residents, two emergency residents and two medical students,
    each of whom read half of the cases. ``age`` and ``sex`` are those of the patients, one ECG
    each.
    """

    ensemble: MultiLabelEnsemble
    y_true: np.ndarray
    votes: np.ndarray
    readers: tuple[str, ...]
    class_names: tuple[str, ...]
    age: np.ndarray
    sex: np.ndarray


def load_ecg_ensemble() -> ECGEnsemble:
    """Real multi-label predictions with people's votes: ten trainings of one published network, and
    five readers of the same ECGs.

    The findings are first-degree AV block (1dAVb), right and left bundle branch block (RBBB, LBBB),
    sinus bradycardia (SB), atrial fibrillation (AF) and sinus tachycardia (ST). Source: Ribeiro et
    al., *Automatic diagnosis of the 12-lead ECG using a deep neural network*, Nature Communications
    11, 1760 (2020), https://github.com/antonior92/automatic-ecg-diagnosis; MIT license, whose
    notice is in ``ecg-LICENSE.txt`` beside the file. Nothing is downloaded.

    Examples
    --------
    >>> ecg = lw.demo.load_ecg_ensemble()
    >>> ecg.ensemble.probs.shape, ecg.votes.shape
    ((10, 827, 6), (5, 827, 6))
    >>> dict(zip(ecg.class_names, ecg.y_true.sum(axis=0).tolist()))
    {'1dAVb': 28, 'RBBB': 34, 'LBBB': 30, 'SB': 16, 'AF': 13, 'ST': 37}
    """
    with as_file(files(__package__) / "ecg.npz") as path, np.load(path) as loaded:
        arrays = dict(loaded)
    names = tuple(arrays["class_names"].tolist())
    return ECGEnsemble(
        MultiLabelEnsemble(arrays["probs"], class_names=names),
        arrays["y_true"],
        arrays["votes"],
        tuple(arrays["readers"].tolist()),
        names,
        arrays["age"],
        arrays["sex"],
    )
