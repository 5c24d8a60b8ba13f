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
    objects = [k | {"logits": dict(zip(NAMES, np.log(PROBS[0, i]).tolist(), strict=True))} for i, k in enumerate(known)]
    check(lw.load_predictions(write(objects)))
    members = [{"id": IDS[i], "label": int(Y[i]), "probs": PROBS[:, i].tolist()} for i in range(6)]
    check(lw.load_predictions(write(members)), (0, 1), names=None)
    for damage, words in (
        (members[2] | {"probs": [0.5, 0.5]}, r"line 3 does not hold what the first one does: `probs` has shape \(2,\), not \(2, 3\)"),
        (members[2] | {"probs": "x"}, "line 3 does not hold what the first one does"),
        ({}, "line 3 does not hold what the first one does"),
    ):
        with pytest.raises(ValueError, match=words):
            lw.load_predictions(write([*members[:2], damage]))
    (tmp_path / "p.jsonl").write_text('{"probs": [0.5, 0.5]}\n{"probs": [0.5')
    with pytest.raises(ValueError, match=r"line 2 is not JSON .* cut short"):
        lw.load_predictions(tmp_path / "p.jsonl")
