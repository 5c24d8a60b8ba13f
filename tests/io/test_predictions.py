"""One type for predictions: in memory, mapped, or still in their files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from full_predictions import FULL, PROBS, RNG
from labelwise.io import Predictions, load_predictions, save_predictions
from labelwise.io.on_disk import OnDisk


def test_alpha_gives_a_dirichlet(tmp_path):
    p = load_predictions(save_predictions(tmp_path / "p.npz", alpha=np.array([[1.0, 3.0]])))
    assert isinstance(p.distribution(), lw.Dirichlet)
    np.testing.assert_array_equal(p.distribution().mean(), [[0.25, 0.75]])


def test_rows_cut_every_array():
    p = Predictions(**FULL | {"weights": RNG.random((5, 7))})[2:5]
    assert len(p) == 3
    np.testing.assert_array_equal(p.probs, PROBS[:, 2:5])
    np.testing.assert_array_equal(p.ids, FULL["ids"][2:5])
    assert p.weights.shape == (5, 3)
    assert p.y_true.shape == (3,)
    assert p.images.shape == (3, 3, 2)


WRONG = {
    "both": (
        {"probs": PROBS, "alpha": PROBS[0]},
        ValueError,
        "one of `probs`.* got probs and alpha",
    ),
    "none": ({"y_true": np.arange(3)}, ValueError, "one of `probs`.* got none"),
    "axes": ({"probs": PROBS[0]}, ValueError, r"`probs` must have 3 axes .* shape \(7, 4\)"),
    "alpha axes": ({"alpha": PROBS[0, 0]}, ValueError, "`alpha` must have 2 axes"),
    "integers": ({"probs": np.zeros((2, 3, 4), int)}, TypeError, "floating point; got int64"),
    "labels": (
        {"probs": PROBS, "y_true": np.full(7, 4)},
        ValueError,
        r"`y_true` must lie between 0 and 3 \(K = 4 classes\); got 4",
    ),
    "labels together": (
        {"probs": PROBS, "y_true": np.full((7, 4), 2)},
        ValueError,
        "0 or 1 for each of the K = 4 labels",
    ),
    "labels of others": (
        {"probs": PROBS, "y_true": np.zeros((7, 3), int)},
        ValueError,
        r"0 or 1 .* got int64 of shape \(7, 3\)",
    ),
    "labels of a Dirichlet": (
        {"alpha": np.ones((7, 4)), "y_true": np.zeros((7, 4), int)},
        ValueError,
        "exclude each other",
    ),
    "float labels": (
        {"probs": PROBS, "y_true": np.full(7, 0.5)},
        (TypeError, ValueError),
        "`y_true` must be whole numbers or class names",
    ),
    "unknown class": (
        {"probs": PROBS, "y_true": np.full(7, "x"), "class_names": list("abcd")},
        ValueError,
        "unknown class 'x'",
    ),
    "evidence and labels": (
        {"evidence": np.ones((7, 4)), "y_true": np.zeros((7, 4), int)},
        ValueError,
        "exclude each other",
    ),
    "rows": (
        {"probs": PROBS, "ids": np.arange(6)},
        ValueError,
        r"`ids` must have one entry for each of the N = 7 .* \(6,\)",
    ),
    "images": (
        {"probs": PROBS, "images": np.zeros((7, 3))},
        ValueError,
        "`images` must have shape",
    ),
    "weights": (
        {"probs": PROBS, "weights": np.ones(7)},
        ValueError,
        r"`weights` must have shape \(M,\) or \(M, N\)",
    ),
    "names": ({"probs": PROBS, "class_names": ["a", "b"]}, ValueError, "K = 4 classes; got 2"),
    "unknown": ({"probs": PROBS, "y": np.arange(7)}, TypeError, "unexpected keyword argument 'y'"),
    "objects": ({"probs": PROBS, "ids": np.array([None] * 7)}, ValueError, "`ids` must be all"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arrays_are_refused_before_anything_is_written(tmp_path, case):
    arrays, kind, words = WRONG[case]
    with pytest.raises(kind, match=words):
        save_predictions(tmp_path / "p.npz", **arrays)
    assert os.listdir(tmp_path) == []


def test_labels_that_occur_together_make_a_multilabel_ensemble(tmp_path):
    probs, y = RNG.random((3, 7, 4)), RNG.integers(0, 2, (7, 4))
    p = load_predictions(save_predictions(tmp_path / "p.npz", probs=probs, y_true=y))
    assert p.multilabel
    assert p[2:5].multilabel
    q = p.distribution()
    assert isinstance(q, lw.MultiLabelEnsemble)
    np.testing.assert_array_equal(q.probs, probs)
    assert not Predictions(probs=PROBS, y_true=np.zeros(7, int)).multilabel


def test_slices_masks_and_positions_of_every_store(tmp_path, optional, monkeypatch):
    """Columns on disk can only be sliced; masks and positions, in any order, give the same as of an
    array in memory.
    """
    zarr, pq, pa = optional("zarr"), optional("pyarrow.parquet"), optional("pyarrow")
    ids, y = np.array([f"case {i}" for i in range(7)]), np.arange(7) % 4
    group = zarr.open_group(str(tmp_path / "p.zarr"), mode="w", zarr_format=2)
    group.create_array("probs", data=PROBS, chunks=(2, 3, 4))
    group.create_array("ids", data=ids, chunks=(2,))
    group.create_array("y_true", data=y)
    (tmp_path / "p.parquet").mkdir()
    for i, member in enumerate(PROBS):
        rows = pa.FixedSizeListArray.from_arrays(pa.array(member.ravel()), 4)
        table = pa.table({"probs": rows, "ids": ids, "y_true": y})
        pq.write_table(table, tmp_path / "p.parquet" / f"m{i}.parquet")
    save_predictions(tmp_path / "p.npz", probs=PROBS, ids=ids, y_true=y)
    mask = np.array([1, 0, 0, 1, 1, 0, 1], bool)
    monkeypatch.setattr("labelwise.io.predictions.BLOCK", 3 * 20)  # three cases at a time
    for name in ("p.npz", "p.zarr", "p.parquet"):
        p = load_predictions(tmp_path / name)
        assert (len(p), p.shape, p.dtype, p.n_members) == (7, (5, 7, 4), np.float32, 5)
        for index in (
            slice(2, 6),
            slice(None, None, 2),
            slice(5, 2),
            mask,
            [6, 0, 3],
            np.array([-1, 2]),
            np.array([], int),
        ):
            part = p[index]
            np.testing.assert_array_equal(np.asarray(part.probs), PROBS[:, index], strict=True)
            assert part.ids.tolist() == ids[index].tolist()
            assert part.true_class.tolist() == y[index].tolist()
        np.testing.assert_array_equal(p.distribution().probs, PROBS)
        found = [(part, block.probs, block.ids) for part, block in p.blocks()]
        assert [part for part, _, _ in found] == [slice(0, 3), slice(3, 6), slice(6, 7)]
        np.testing.assert_array_equal(
            np.concatenate([block for _, block, _ in found], axis=1), PROBS
        )
        with pytest.raises(IndexError, match="out of bounds"):
            p[[7]]
        with pytest.raises(IndexError, match="boolean"):
            p[[True]]


def test_every_kind_gives_its_distribution():
    z, e = RNG.normal(size=(5, 7, 4)), RNG.gamma(2.0, size=(7, 4))
    kinds: list[tuple[dict[str, Any], type, Any]] = [
        ({"logits": z}, lw.Ensemble, lw.Ensemble.from_logits(z).mean()),
        ({"log_probs": np.log(PROBS)}, lw.Ensemble, PROBS.mean(0)),
        ({"alpha": e + 1}, lw.Dirichlet, lw.Dirichlet(e + 1).mean()),
        ({"evidence": e}, lw.Dirichlet, lw.Dirichlet(e + 1).mean()),
        (
            {"alpha": np.stack([e + 1, e + 2])},
            lw.DirichletMixture,
            lw.DirichletMixture(np.stack([e + 1, e + 2])).mean(),
        ),
        ({"logits": z, "multilabel": True}, lw.MultiLabelEnsemble, (1 / (1 + np.exp(-z))).mean(0)),
        ({"q": lw.Dirichlet(e + 1)}, lw.Dirichlet, lw.Dirichlet(e + 1).mean()),
    ]
    for fields, kind, mean in kinds:
        p = Predictions(**fields)
        assert isinstance(p.distribution(), kind)
        np.testing.assert_allclose(p[2:5].distribution().mean(), mean[2:5], rtol=1e-5)
    with pytest.raises(ValueError, match=r"`evidence` must not be negative; the lowest is -1"):
        Predictions(evidence=-np.ones((2, 3))).distribution()


def test_distributions_bring_their_own_names_and_kind():
    q = lw.MultiLabelEnsemble(RNG.random((5, 7, 4)), class_names=list("abcd"))
    p = Predictions(q=q, y_true=np.zeros((7, 4), int))
    assert p.multilabel
    assert (p.names, p.shape, p.weighted) == (tuple("abcd"), (5, 7, 4), False)
    with pytest.raises(ValueError, match=r"instances on one axis; got shape \(7, 2\)"):
        Predictions(q=lw.Dirichlet(np.ones((7, 2, 4))))
    with pytest.raises(ValueError, match=r"make the distribution an lw\.MultiLabelEnsemble"):
        Predictions(q=lw.Dirichlet(np.ones((7, 4))), multilabel=True)


@pytest.mark.parametrize("rows", [[6, 0, 3, 3], [], [6]])
def test_positions_are_read_in_blocks(rows: list[int], monkeypatch) -> None:
    monkeypatch.setattr("labelwise.io.predictions.BLOCK", 2 * PROBS[:, 0].size)
    on_disk = OnDisk(PROBS.shape, PROBS.dtype, lambda key: PROBS[key])
    np.testing.assert_array_equal(Predictions(probs=on_disk)[rows].probs, PROBS[:, rows])
