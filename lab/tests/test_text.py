"""Words and numbers for people and for JSON."""

from __future__ import annotations

import json

import numpy as np

from labelwise_lab.text import counted, enumerated, plain, shortened


def test_words() -> None:
    assert [counted(1, "label"), counted(1200, "label")] == ["1 label", "1,200 labels"]
    assert [enumerated(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]
    assert [shortened("abcdef", 6), shortened("abcdefg", 6)] == ["abcdef", "abcde…"]


def test_everything_becomes_json() -> None:
    value = {1: np.array([1.0, np.nan]), "b": (np.float32(0.25), np.int64(3), np.bool_(True))}
    assert json.loads(json.dumps(plain(value))) == {"1": [1.0, None], "b": [0.25, 3, True]}
    assert plain(1 / 3, digits=3) == 0.333
