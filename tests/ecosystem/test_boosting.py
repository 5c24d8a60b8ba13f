"""xgboost, lightgbm and catboost: their scikit-learn classes."""

from __future__ import annotations

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost

import labelwise as lw

SCIKIT_LEARN = {
    "xgboost": lambda seed: xgboost.XGBClassifier(
        n_estimators=5, max_depth=2, subsample=0.5, random_state=seed
    ),
    "lightgbm": lambda seed: lightgbm.LGBMClassifier(
        n_estimators=5, bagging_fraction=0.5, bagging_freq=1, random_state=seed, verbose=-1
    ),
    "catboost": lambda seed: catboost.CatBoostClassifier(
        iterations=5, depth=2, random_seed=seed, verbose=0, allow_writing_files=False
    ),
}


@pytest.mark.parametrize("library", SCIKIT_LEARN)
@pytest.mark.parametrize("k", [2, 3])
def test_lists_of_classifiers(library, k, data):
    x, y = data
    y = np.minimum(y, k - 1) + 3  # classes 3, 4, 5: not positions
    if library == "xgboost":
        y = y - 3  # it wants 0 … K − 1
    models = [SCIKIT_LEARN[library](seed).fit(x, y) for seed in range(3)]
    q = lw.from_models(models, x)
    np.testing.assert_allclose(q.probs, np.stack([m.predict_proba(x) for m in models]))
    assert q.class_names == tuple(map(str, np.unique(y)))
    assert (
        lw.evaluation.by_class(lw.decompose(q), y).counts.tolist()
        == np.unique(y, return_counts=True)[1].tolist()
    )
    assert lw.from_models(models[0], x).n_members == 1
