"""Virtual ensembles, by a stand-in; tests/ecosystem asks a real one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from labelwise.models._batches import Batch
from labelwise.models.boosted_models import VIRTUAL_ENSEMBLES, catboost_adapter


def test_the_virtual_ensemble_has_its_members_first() -> None:
    asked: list[Any] = []

    def predict(x: np.ndarray, prediction_type: str, virtual_ensembles_count: int) -> np.ndarray:
        asked.append((prediction_type, virtual_ensembles_count))
        return np.arange(len(x) * virtual_ensembles_count * 3.0).reshape(
            len(x), virtual_ensembles_count, 3
        )

    model = SimpleNamespace(virtual_ensembles_predict=predict, classes_=np.array([7, 8, 9]))
    for n_samples, count in ((None, VIRTUAL_ENSEMBLES), (4, 4)):
        adapter = catboost_adapter(model, n_samples)
        members = adapter.predict(Batch((np.ones((2, 5)),), {}))
        assert np.shape(members) == (count, 2, 3)
        np.testing.assert_array_equal(members[1][0], [3, 4, 5])
        assert asked[-1] == ("VirtEnsembles", count)
    assert (adapter.class_names, adapter.scores) == (("7", "8", "9"), "logits")
