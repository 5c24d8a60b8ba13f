"""JSON lines of a service, and lines that do not fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from small_tables import IDS, NAMES, PROBS, Y, check


def test_json_lines_of_a_service(tmp_path) -> None:
    def write(lines: list[dict[str, Any]]) -> Path:
        (tmp_path / "p.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
        return tmp_path / "p.jsonl"

    known = [{"id": IDS[i], "label": NAMES[Y[i]]} for i in range(6)]
    by_class = [
        k | dict(zip(NAMES, PROBS[0, i].tolist(), strict=True)) for i, k in enumerate(known)
    ]
    check(lw.load_predictions(write(by_class)))
    members = [{"id": IDS[i], "label": int(Y[i]), "probs": PROBS[:, i].tolist()} for i in range(6)]
    check(lw.load_predictions(write(members)), (0, 1), names=None)
    for damage, words in (
        (
            members[2] | {"probs": [0.5, 0.5]},
            r"line 3: `probs` must be a list with a number for each class; got '\[0.5, 0.5\]'",
        ),
        (
            members[2] | {"probs": "x"},
            "line 3: `probs` must be a list with a number for each class; got 'x'",
        ),
        ({}, "line 3: `probs` must be a list with a number for each class; got 'None'"),
    ):
        with pytest.raises(ValueError, match=words):
            lw.load_predictions(write([*members[:2], damage]))
    (tmp_path / "p.jsonl").write_text('{"probs": [0.5, 0.5]}\n{"probs": [0.5')
    with pytest.raises(ValueError, match=r"line 2 is not JSON .* cut short"):
        lw.load_predictions(tmp_path / "p.jsonl")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            [{"probs": [0.2, 0.3, 0.5]}, {"probs": [0.5, 0.5]}, {"probs": [0.1, 0.2, 0.3, 0.4]}],
            "line 2: `probs` must be a list with a number for each class",
        ),
        (
            [{"probs": {"cat": 0.5, "dog": 0.5}}],
            "line 1: `probs` must be a list with a number for each class; got \"{'cat': 0.5",
        ),
        (
            [{"cat": 1.0}, {"cat": 0.5, "dog": 0.5}],
            "row 1 of column 'dog' must be a number; got ''",
        ),
        (
            [{"cat": 1.0}, {"cat": 1.0}, {"cat": 0.5, "dog": 0.5}],
            "row 1 of column 'dog' must be a number; got ''",
        ),
        (
            [{"cat": 0.5, "dog": 0.5}, {"cat": 1.0}],
            "row 2 of column 'dog' must be a number; got ''",
        ),
    ],
)
def test_every_line_must_hold_all_classes(
    lines: list[dict[str, Any]], words: str, tmp_path
) -> None:
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(ValueError, match=words):
        lw.load_predictions(tmp_path / "p.jsonl")


def test_lists_of_probabilities_count_before_answers(tmp_path) -> None:
    rows = [{"id": i, "probs": [0.3, 0.7], "answer": "yes"} for i in range(4)]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    p = lw.load_predictions(tmp_path / "p.jsonl")
    np.testing.assert_allclose(p.probs, np.tile([0.3, 0.7], (1, 4, 1)))
