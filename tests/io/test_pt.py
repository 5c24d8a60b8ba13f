"""Tensors are read, and nothing else in their files is unpickled."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from small_tables import NAMES, PROBS, Y, check


def test_tensors(tmp_path, optional) -> None:
    torch = optional("torch")
    torch.save(torch.tensor(PROBS), tmp_path / "tensor.pt")
    np.testing.assert_array_equal(lw.load_predictions(tmp_path / "tensor.pt").probs, PROBS)
    content = {
        "logits": torch.tensor(np.log(PROBS)),
        "y_true": torch.tensor(Y),
        "class_names": NAMES,
    }
    torch.save(content, tmp_path / "dict.pt")
    check(lw.load_predictions(tmp_path / "dict.pt"), (0, 1), ids=None)
    torch.save(torch.tensor(PROBS, dtype=torch.bfloat16), tmp_path / "half.pt")
    assert lw.load_predictions(tmp_path / "half.pt").dtype == np.float32
    torch.save({"probs": torch.tensor(PROBS), "epoch": 3}, tmp_path / "more.pt")
    with pytest.warns(UserWarning, match="`epoch` is not read"):
        assert lw.load_predictions(tmp_path / "more.pt").shape == PROBS.shape


class Explosive:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_else_in_a_tensor_file_is_unpickled(tmp_path, optional) -> None:
    torch = optional("torch")
    torch.save({"probs": Explosive(tmp_path / "ran")}, tmp_path / "evil.pt")
    (tmp_path / "old.pt").write_bytes(pickle.dumps(Explosive(tmp_path / "ran")))
    for name in ("evil.pt", "old.pt"):
        with pytest.raises(ValueError, match=name.replace(".", r"\.")):
            lw.load_predictions(tmp_path / name)
    assert not (tmp_path / "ran").exists()
