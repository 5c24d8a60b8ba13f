"""xarray, polars and cleanlab: results as other libraries hold them."""

from __future__ import annotations

import cleanlab
import numpy as np
import pytest
import xarray
from sklearn.ensemble import RandomForestClassifier

import labelwise as lw


@pytest.fixture
def forest(data, names):
    x, y = data
    return lw.from_models(
        RandomForestClassifier(20, max_depth=3, random_state=0).fit(x[:100], names[y[:100]]), x
    )


def test_xarray(forest, tmp_path):
    u = lw.decompose(forest)
    held = u.to_xarray(dims=("case",))
    np.testing.assert_array_equal(held["epistemic"].sel(label="bee"), u["bee"].epistemic)
    held.to_zarr(tmp_path / "u.zarr")
    assert xarray.open_zarr(tmp_path / "u.zarr")["total"].mean("case").dims == ("label",)
    lw.save_predictions(tmp_path / "preds.npz", probs=forest.probs, class_names=forest.class_names)
    lw.quantify(tmp_path / "preds.npz", tmp_path / "q.zarr")
    stored = xarray.open_zarr(tmp_path / "q.zarr", consolidated=False)
    np.testing.assert_allclose(
        stored["log_epistemic"].sel(label="bee"), u["bee"].epistemic, atol=1e-12
    )


def test_cleanlab(forest, data):
    wrong = data[1][100:].copy()  # of instances that the forest has not seen
    wrong[:5] = (forest.mean()[100:105].argmax(-1) + 1) % 3
    q = forest[100:]
    epistemic = lw.decompose(q).sum().epistemic
    sure = epistemic < np.quantile(epistemic, 0.5)
    issues = cleanlab.filter.find_label_issues(wrong, q.mean())
    suspects = issues & sure  # as in docs/howto/recipes.md
    planted = np.arange(100) < 5
    assert 0 < suspects.sum() < issues.sum()
    assert (suspects & planted).sum() == (sure & planted).sum()
    quality = cleanlab.rank.get_label_quality_scores(wrong, q.mean(), method="self_confidence")
    np.testing.assert_allclose(quality, q.mean()[np.arange(100), wrong])
