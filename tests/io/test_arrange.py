"""Axes and labels of predictions as they come."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from small_tables import IDS, NAMES, PROBS, Y, check


@pytest.mark.parametrize("name", ["y.npy", "y.npz", "y.txt", "y.csv", "column.csv"])
def test_labels_from_a_file(name: str, tmp_path) -> None:
    order = [3, 0, 5, 1, 2, 4]
    texts = {
        "y.txt": "\n".join(NAMES[k] for k in Y),
        "y.csv": "id,y_true\n" + "\n".join(f"{IDS[i]},{NAMES[Y[i]]}" for i in order),
        "column.csv": "truth\n" + "\n".join(NAMES[k] for k in Y),
    }
    if name in texts:
        (tmp_path / name).write_text(texts[name])
    elif name == "y.npy":
        np.save(tmp_path / name, Y)
    else:
        np.savez(tmp_path / name, ids=np.array(IDS)[order], y_true=Y[order])
    np.savez(tmp_path / "p.npz", probs=PROBS, ids=np.array(IDS), class_names=NAMES)
    check(lw.load_predictions(tmp_path / "p.npz", labels=tmp_path / name), (0, 1))


def test_axes_of_columns_on_disk(tmp_path, optional) -> None:
    group = optional("zarr").open_group(str(tmp_path / "p.zarr"), mode="w", zarr_format=3)
    group.create_array("probs", data=PROBS.transpose(1, 2, 0).copy(), chunks=(2, 3, 1))
    p = lw.load_predictions(tmp_path / "p.zarr", member_axis=2, class_axis=1, labels=Y, class_names=NAMES)
    check(p, (0, 1), ids=None)
    np.testing.assert_array_equal(p[2:4].probs, PROBS[:, 2:4])
    with pytest.warns(UserWarning, match="summed to between 1 and 1"):
        again = lw.load_predictions(tmp_path / "p.zarr", member_axis=2, class_axis=1, normalize=True)
    np.testing.assert_allclose(again[2:4].probs, PROBS[:, 2:4])
    with pytest.raises(ValueError, match="`class_axis` must be one of the 3 axes"):
        lw.load_predictions(tmp_path / "p.zarr", class_axis=3)
    with pytest.raises(ValueError, match="must be different; both are 1"):
        lw.load_predictions(tmp_path / "p.zarr", class_axis=1, member_axis=1)
