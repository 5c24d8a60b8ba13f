"""Fitted sets come back from their files, and damaged ones are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwise.sets import fit_labels, fit_sets, load_sets
from set_cases import cases, ensemble


def fitted() -> dict[str, Any]:
    p, y = cases()
    q = ensemble(p)
    code = np.arange(len(y)) // 8
    return {
        "class": fit_sets(q, y),
        "pool": fit_sets(q, y, guarantee={"rare": ["lentigo", "angioma"]}),
        "groups": fit_sets(q, y, groups=code),
    }


@pytest.mark.parametrize("which", ["class", "pool", "groups"])
def test_saved_sets_are_the_same(which: str, tmp_path: Path) -> None:
    sets = fitted()[which]
    again = load_sets(sets.save(tmp_path / "sets.npz"))
    p, _ = cases(50, seed=3)
    a, b = sets.predict(p), again.predict(p)
    np.testing.assert_array_equal(a.member, b.member)
    assert repr(sets) == repr(again)
    assert sets.guarantee == again.guarantee


def test_saved_label_thresholds_are_the_same(tmp_path: Path) -> None:
    p, y = cases()
    labels = fit_labels(ensemble(p), y)
    again = load_sets(labels.save(tmp_path / "labels.npz"))
    assert repr(labels) == repr(again)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = fitted()["class"].save(tmp_path / "sets.npz")
    with np.load(path) as file:
        fields = json.loads(str(file["settings"]))
    np.savez(path, settings=json.dumps(fields | {"format": "other"}))
    with pytest.raises(ValueError, match=r"sets\.npz: .*written by `save`; got 'other'"):
        load_sets(path)
    np.savez(tmp_path / "preds.npz", probs=np.ones((1, 2, 2)))
    with pytest.raises(ValueError, match=r"preds\.npz: .*no file of fitted sets"):
        load_sets(tmp_path / "preds.npz")
