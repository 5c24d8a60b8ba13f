"""Predictions of images: (M, N, K, height, width) and other orders, read as pixels, with results in
the order of the file.
"""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import labelwise as lw
from labelwise.cli import main
from quantify_cases import interrupt_after

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), (2, 5, 4, 6))  # members, cases, height, width, classes
U = lw.decompose(lw.Ensemble(PROBS))
FIRST = np.moveaxis(PROBS, -1, 2)


def saved(folder, suffix, array, **more):
    path = folder / f"p{suffix}"
    if suffix == ".npy":
        np.save(path, array)
    elif suffix == ".npz":
        np.savez(path, probs=array, **more)
    else:
        import zarr

        group = zarr.open_group(str(path), mode="w")
        for name, x in {"probs": array, **more}.items():
            group.create_array(
                name,
                data=np.asarray(x),
                chunks=(1, 2, *np.shape(x)[2:]) if name == "probs" else None or np.shape(x),
            )
    return path


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".zarr"])
@pytest.mark.parametrize("memory", ["500MB", "1MB"])
def test_channel_first_stays_channel_first(suffix, memory, tmp_path, optional):
    if suffix == ".zarr":
        optional("zarr")
    done = lw.quantify(
        saved(tmp_path, suffix, FIRST),
        tmp_path / "u.npz",
        losses=["log", "squared"],
        class_axis=2,
        memory=memory,
    )
    with np.load(tmp_path / "u.npz") as file:
        for part in ("total", "aleatoric", "epistemic"):
            np.testing.assert_allclose(
                file[f"log_{part}"], np.moveaxis(getattr(U, part), -1, 1), atol=1e-12
            )
            np.testing.assert_allclose(file[f"log_sum_{part}"], getattr(U.sum(), part), atol=1e-12)
        assert file["squared_total"].shape == (5, 3, 4, 6)
    assert done.instances == 5 * 4 * 6
    assert done.means["log"]["total"] == pytest.approx(U.sum().total.mean())


@pytest.mark.parametrize(
    ("order", "options", "label_axis"),
    [
        ((0, 1, 2, 3, 4), {}, 3),
        ((1, 0, 4, 2, 3), {"member_axis": 1, "class_axis": 2}, 1),
        ((0, 1, 2, 4, 3), {"class_axis": 3}, 2),
    ],
)
def test_other_orders(order, options, label_axis, tmp_path):
    lw.quantify(saved(tmp_path, ".npy", PROBS.transpose(order)), tmp_path / "u.npz", **options)
    with np.load(tmp_path / "u.npz") as file:
        np.testing.assert_allclose(
            file["log_epistemic"], np.moveaxis(U.epistemic, -1, label_axis), atol=1e-12
        )


@pytest.mark.parametrize("memory", ["500MB", "1MB"])
@pytest.mark.parametrize(
    ("order", "options"),
    [((0, 3, 1, 2), {"class_axis": 1}), ((3, 0, 1, 2), {"class_axis": 0, "member_axis": 1})],
)
def test_a_volume_with_its_classes_first_stays_so(order, options, memory, tmp_path, optional):
    """The command of the tutorial on volumes: (M, K, height, width) in, (K, height, width) out."""
    probs = np.random.default_rng(1).dirichlet(np.ones(3), (2, 80, 60))
    u = lw.decompose(lw.Ensemble(probs))
    path = saved(tmp_path, ".npy", probs.transpose(order))
    lw.quantify(path, tmp_path / "u.npz", memory=memory, **options)
    with np.load(tmp_path / "u.npz") as file:
        np.testing.assert_allclose(file["log_total"], np.moveaxis(u.total, -1, 0), atol=1e-12)
        np.testing.assert_allclose(file["log_sum_epistemic"], u.sum().epistemic, atol=1e-12)
    xarray, _ = optional("xarray"), optional("zarr")
    lw.quantify(path, tmp_path / "u.zarr", memory=memory, **options)
    maps = xarray.open_zarr(tmp_path / "u.zarr", consolidated=False)
    assert maps["log_total"].dims == ("label", "instance", "axis_1")
    np.testing.assert_allclose(maps["log_total"], np.moveaxis(u.total, -1, 0), atol=1e-12)


def test_results_in_zarr_are_maps(tmp_path, optional):
    xarray, _ = optional("xarray"), optional("zarr")
    path = saved(tmp_path, ".npz", FIRST, class_names=["a", "b", "c"], ids=list("vwxyz"))
    result = CliRunner().invoke(
        main, ["quantify", str(path), "-o", str(tmp_path / "u.zarr"), "--class-axis", "2"]
    )
    assert result.exit_code == 0, result.output
    assert "2 members × 120 cases × 3 classes" in result.output
    u = xarray.open_zarr(tmp_path / "u.zarr", consolidated=False)
    assert u["log_total"].dims == ("instance", "label", "axis_1", "axis_2")
    assert u["log_sum_total"].dims == ("instance", "axis_1", "axis_2")
    np.testing.assert_allclose(u["log_total"].sel(label="b"), U.total[..., 1], atol=1e-12)
    assert u["ids"].values.tolist() == list("vwxyz")


def test_an_interrupted_run_resumes(tmp_path):
    wide = np.tile(FIRST, (1, 1, 1, 20, 20))
    path = saved(tmp_path, ".npy", wide)
    with pytest.raises(KeyboardInterrupt):
        lw.quantify(
            path, tmp_path / "u.npz", class_axis=2, memory="1MB", progress=interrupt_after(2)
        )
    done = lw.quantify(path, tmp_path / "u.npz", class_axis=2, memory="1MB")
    assert (done.blocks, done.computed) == (5, 3)
    with np.load(tmp_path / "u.npz") as file:
        np.testing.assert_allclose(
            file["log_total"], np.tile(np.moveaxis(U.total, -1, 1), (1, 1, 20, 20)), atol=1e-12
        )


def test_labels_of_pixels_and_groups_of_cases(tmp_path):
    y = RNG.integers(0, 3, (5, 4, 6))
    p = lw.load_predictions(
        saved(tmp_path, ".npz", FIRST, y_true=y, groups=np.arange(5)), class_axis=2
    )
    assert (p.true_class == y.reshape(-1)).all()
    assert p.groups.tolist() == np.repeat(np.arange(5), 24).tolist()
    np.testing.assert_array_equal(p[30:35].distribution().probs, PROBS.reshape(2, -1, 3)[:, 30:35])
    np.testing.assert_array_equal(
        p[[100, 3]].distribution().probs, PROBS.reshape(2, -1, 3)[:, [100, 3]]
    )
    result = CliRunner().invoke(
        main, ["evaluate", str(tmp_path / "p.npz"), "--class-axis", "2", "--json"]
    )
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("array", "more", "target", "words"),
    [
        (
            FIRST,
            {},
            "u.npz",
            "must sum to 1",
        ),
        (
            PROBS,
            {},
            "u.csv",
            (
                r"\.csv is a table with a row for each case; write predictions of shape \(5, 4, "
                r"6\) to .npz or .zarr"
            ),
        ),
        (
            PROBS,
            {"y_true": np.zeros(5, int)},
            "u.npz",
            r"`y_true` must have the axes of instances \(5, 4, 6\)",
        ),
        (PROBS, {"weights": np.ones((2, 5))}, "u.npz", r"`weights` must have shape \(M,\)"),
    ],
)
def test_refusals(array, more, target, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        lw.quantify(saved(tmp_path, ".npz", array, **more), tmp_path / target)
