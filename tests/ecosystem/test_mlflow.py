"""MLflow, in an environment of its own: flat results as metrics."""

from __future__ import annotations

import mlflow
import numpy as np

import labelwise as lw


def test_results_are_metrics(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    rng = np.random.default_rng(0)
    u = lw.decompose(
        lw.Ensemble(
            rng.dirichlet([4, 2, 1], (5, 200)), class_names=["cat", "dog (small)", "ärger/+#"]
        )
    )
    with mlflow.start_run() as run:
        for step in range(2):
            mlflow.log_metrics(u.to_dict(), step=step)
    logged = mlflow.get_run(run.info.run_id).data.metrics
    assert logged == u.to_dict()
    assert len(logged) == 3 * 4
