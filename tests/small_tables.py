"""Predictions of two members as a data frame, and the check that a reader gives them back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import labelwise as lw

RNG = np.random.default_rng(0)
NAMES = ["cat", "dog", "eel"]
PROBS = RNG.dirichlet(np.ones(3), (2, 6))
Y = np.arange(6) % 3
IDS = [f"case {i}" for i in range(6)]
ORDER = [3, 0, 5, 1, 2, 4]


def frame(optional: Any, member: int = 0, names: list[str] = NAMES, rows: Any = slice(None)) -> Any:
    table = optional("pandas").DataFrame(PROBS[member], columns=NAMES)[names]
    return table.assign(id=IDS, label=[NAMES[k] for k in Y]).iloc[rows]


def check(
    p: lw.io.Predictions,
    members: Any = (0,),
    *,
    names: Any = NAMES,
    ids: Any = IDS,
    atol: float = 1e-9,
) -> None:
    values = PROBS[list(members)]
    assert p.shape == values.shape
    assert p.class_names == (None if names is None else tuple(names))
    assert p.true_class.tolist() == Y.tolist()
    assert (None if p.ids is None else np.asarray(p.ids[:]).tolist()) == ids
    np.testing.assert_allclose(p.distribution().mean(), values.mean(0), atol=atol)
    np.testing.assert_allclose(p[[4, 1]].distribution().mean(), values.mean(0)[[4, 1]], atol=atol)


def save(path: Path, names: Sequence[str] = NAMES, ids: str | None = "image_id") -> Path:
    """A table of the first member, with the classes in the order of ``names``."""
    columns = [NAMES.index(name) for name in names]
    lines = [
        ",".join([*([IDS[i]] if ids else []), *(repr(float(PROBS[0, i, k])) for k in columns)])
        for i in range(6)
    ]
    path.write_text("\n".join([",".join([*([ids] if ids else []), *names]), *lines]))
    return path
