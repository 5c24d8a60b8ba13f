"""quantify: what is written is what the library computes."""

from __future__ import annotations

import numpy as np

import labelwise as lw
from command_line import run


def test_quantify_writes_what_decompose_gives(preds, tmp_path) -> None:
    out = tmp_path / "u.npz"
    result = run("quantify", preds, "-o", out, "--loss", "log", "--loss", "squared")
    assert result.exit_code == 0, result.output
    with np.load(out, allow_pickle=False) as file:
        written = dict(file)
    for loss in ("log", "squared"):
        u = lw.decompose(lw.load_predictions(preds).distribution(), loss)
        assert np.array_equal(written[f"{loss}_epistemic"], u.epistemic)
        assert np.array_equal(written[f"{loss}_sum_total"], u.sum().total)
    assert written["class_names"].tolist() == ["nevus", "[b]mel[/]"]
    assert written["ids"][3] == "case 3"
