"""Probabilities, rounded ones, and logits."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from small_tables import PROBS, RNG, save


@pytest.mark.parametrize("name", ["p.npz", "p.csv", "logits.npz", "logits.csv"])
def test_probabilities_are_not_read_as_logits(name: str, tmp_path) -> None:
    if name.endswith(".npz"):
        np.savez(tmp_path / name, **{"logits" if name.startswith("logits") else "probs": PROBS})
    elif name == "p.csv":
        save(tmp_path / name)
    else:
        save(tmp_path / name)
        (tmp_path / name).write_text(
            (tmp_path / name).read_text().replace("cat,dog,eel", "logit_cat,logit_dog,logit_eel")
        )
    with pytest.raises(
        ValueError,
        match="lie between 0 and 1 and sum to 1 over the classes: they are probabilities",
    ):
        lw.load_predictions(tmp_path / name, logits=not name.startswith("logits")).distribution()
    result = run(
        "quantify",
        tmp_path / name,
        *([] if name.startswith("logits") else ["--logits"]),
        "-o",
        tmp_path / "u.npz",
    )
    assert result.exit_code == 2
    assert "they are probabilities. Leave out --logits" in " ".join(result.output.split())


@pytest.mark.parametrize(("classes", "decimals"), [(3, 2), (10, 2), (40, 3)])
def test_rounded_probabilities_are_not_read_as_logits(
    classes: int, decimals: int, tmp_path
) -> None:
    probs = np.random.default_rng(1).dirichlet(np.ones(classes), 100).round(decimals)
    probs[0] = 0  # a damaged row
    rows = [",".join(f"{x:.{decimals}f}" for x in row) for row in probs]
    (tmp_path / "p.csv").write_text("\n".join([",".join(f"c{k}" for k in range(classes)), *rows]))
    with pytest.raises(
        lw.InputError, match="lie between 0 and 1 and sum to 1 over the classes in 99 of 100 rows"
    ):
        lw.load_predictions(tmp_path / "p.csv", logits=True).distribution()


@pytest.mark.parametrize("largest", [1, 3])
def test_small_logits_are_logits(largest: float, tmp_path) -> None:
    logits = np.random.default_rng(2).uniform(0, largest, (2, 50, 3))
    np.save(tmp_path / "p.npy", logits)
    np.testing.assert_array_equal(
        lw.load_predictions(tmp_path / "p.npy", logits=True).logits, logits
    )


def test_logits_of_labels_that_look_like_probabilities_are_noted(tmp_path) -> None:
    np.savez(tmp_path / "p.npz", logits=RNG.random((2, 6, 3)))
    with pytest.warns(UserWarning, match="values of `logits` lie between 0 and 1, which"):
        lw.load_predictions(tmp_path / "p.npz", multilabel=True).distribution()
