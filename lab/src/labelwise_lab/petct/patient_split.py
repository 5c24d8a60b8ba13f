"""Split patients into training, validation and test, stratified by diagnosis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from ..datasets.types import _stratified
from ..validation import as_rng


def split_patients(
    studies: Iterable[tuple[str, str]],
    *,
    test_size: float = 0.2,
    val_size: float = 0.15,
    rng: int | np.random.Generator | None = 0,
) -> dict[str, str]:
    """Assign each patient to ``"train"``, ``"val"`` or ``"test"``, stratified by diagnosis.

    A patient with several diagnoses is stratified by the rarest of them (by number of patients;
    ties in alphabetical order), because rare diagnoses are the hardest to represent in every part.
    The result does not depend on the order of the studies.

    Parameters
    ----------
    studies : pairs (patient, diagnosis)
    test_size, val_size : float
        Fractions of the patients; exact to within one patient for each diagnosis.
    rng : int, Generator or None
        Random seed or generator for the split.

    Examples
    --------
    >>> studies = [(f"p{i}", "lymphoma" if i % 2 else "negative") for i in range(20)]
    >>> parts = split_patients(studies, test_size=0.2, val_size=0.2, rng=1)
    >>> sorted(Counter((diagnosis, parts[patient]) for patient, diagnosis in studies).items())[:3]
    [(('lymphoma', 'test'), 2), (('lymphoma', 'train'), 6), (('lymphoma', 'val'), 2)]
    """
    if not (test_size > 0 and val_size >= 0 and test_size + val_size < 1):
        raise ValueError(
            "`test_size` and `val_size` must be fractions that leave patients to train on; got "
            f"{test_size} and {val_size}"
        )
    diagnoses: dict[str, set[str]] = {}
    for patient, diagnosis in studies:
        diagnoses.setdefault(patient, set()).add(diagnosis)
    patients = sorted(diagnoses)
    counts = Counter(diagnosis for found in diagnoses.values() for diagnosis in found)
    strata = [min(diagnoses[patient], key=lambda d: (counts[d], d)) for patient in patients]
    stratum = np.array(strata, dtype=str)
    rng = as_rng(rng)
    test = _stratified(stratum, test_size, rng)
    rest = np.flatnonzero(~test)
    val = rest[_stratified(stratum[rest], val_size / (1 - test_size), rng)]
    part = np.where(test, "test", "train")
    part[val] = "val"
    return dict(zip(patients, part.tolist(), strict=True))
