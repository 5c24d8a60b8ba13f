"""Several files, or a folder of them, as the members of one ensemble."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from small_tables import PROBS, Y, check, frame


def test_files_of_the_members_are_aligned_by_id_and_class(tmp_path, optional) -> None:
    frame(optional, 0).to_csv(tmp_path / "model2.csv", index=False)
    frame(optional, 1, ["eel", "cat", "dog"], slice(None, None, -1)).to_csv(tmp_path / "model10.csv", index=False)
    check(lw.load_predictions([tmp_path / "model2.csv", tmp_path / "model10.csv"]), (0, 1))
    check(lw.load_predictions(tmp_path), (0, 1))  # a folder, 2 before 10
    q = lw.load_predictions(tmp_path).distribution()
    np.testing.assert_array_equal(q.probs, PROBS)


def test_a_folder_of_arrays_with_its_labels_stays_on_disk(tmp_path) -> None:
    for i in range(2):
        np.save(tmp_path / f"m{i}.npy", np.repeat(PROBS[i], 200_000, axis=0))
    np.save(tmp_path / "labels.npy", np.repeat(Y, 200_000))
    p = lw.load_predictions(tmp_path)
    assert type(p.probs).__name__ == "Stacked"
    assert (p.shape, p.dtype) == ((2, 1_200_000, 3), np.float64)
    np.testing.assert_array_equal(p[199_999:200_001].probs, PROBS[:, [0, 1]])
    np.testing.assert_array_equal(p[[1_199_999, 3]].probs, PROBS[:, [5, 0]])
    assert p[[1_199_999, 3]].true_class.tolist() == [Y[5], Y[0]]


def test_folders_that_are_not_one_ensemble(tmp_path) -> None:
    with pytest.raises(ValueError, match="holds no prediction files"):
        lw.load_predictions(tmp_path)
    np.save(tmp_path / "a.npy", PROBS[0])
    (tmp_path / "b.csv").write_text("a,b\n0.5,0.5\n")
    with pytest.raises(ValueError, match=r"files of several formats \(\.csv, \.npy\)"):
        lw.load_predictions(tmp_path)
    np.save(tmp_path / "c.npy", PROBS[0, 0])
    with pytest.raises(ValueError, match=r"c\.npy: `probs` must have the axes \(instances, classes\); got shape \(3,\)"):
        lw.load_predictions([tmp_path / "a.npy", tmp_path / "c.npy"])
    with pytest.raises(ValueError, match="name at least one"):
        lw.load_predictions([])
