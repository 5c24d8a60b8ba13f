"""Tables of answers, with missing ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import labelwise as lw

LONG = """id,model,prompt,answer,label
t1,a,short,cat,cat
t1,a,long,dog,cat
t1,b,short,cat,cat
t1,b,long,,cat
t2,a,short,dog,dog
t2,a,long,dog,dog
t2,b,short,Dog,dog
"""


def test_a_row_for_each_answer(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(LONG)
    p = lw.load_predictions(path)
    assert p.class_names == ("cat", "dog")
    np.testing.assert_allclose(p.distribution().mean()[:, 0], [2 / 3, 0])
    assert p.weights.tolist() == [[1, 1], [1, 1], [1, 1], [0, 0]]
    assert p.factors == {"model": ("a", "a", "b", "b"), "prompt": ("short", "long") * 2}
    assert p.true_class.tolist() == [0, 1]
    assert "2 of 8 answers are missing: no weight" in p.notes


def test_a_column_for_each_model(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(
        "text_id,gpt,llama,qwen,label\n1,cat,dog,cat,cat\n2,dog,,dog,dog\n3,cat,cat,cat,dog\n"
    )
    p = lw.load_predictions(path)
    assert p.member_names == ("gpt", "llama", "qwen")
    np.testing.assert_allclose(p.distribution().mean()[:, 0], [2 / 3, 0, 1])
    assert list(p.ids) == ["1", "2", "3"]


def test_a_file_for_each_model_and_jsonl(tmp_path: Path) -> None:
    for name, rows in {
        "a": '{"id": "x", "answer": "yes"}\n{"id": "y", "answer": "no"}\n',
        "b": '{"id": "y", "answer": "no"}\n{"id": "x", "answer": null}\n',
    }.items():
        (tmp_path / f"{name}.jsonl").write_text(rows)
    p = lw.load_predictions(tmp_path)
    assert p.member_names == ("a", "b")
    assert p.weights.tolist() == [[1, 1], [0, 1]]


def test_whole_numbers_may_be_answers(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("id,model,answer,label\nx,a,0,0\nx,b,1,0\ny,a,1,1\ny,b,1,1\n")
    p = lw.load_predictions(path)
    assert p.class_names == ("0", "1")
    assert p.true_class.tolist() == [0, 1]


def test_tables_that_hold_no_answers(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("model,answer\na,yes\na,yes\nb,no\nb,no\n")
    with pytest.raises(ValueError, match=r"answers\.csv must have a column `id` to match"):
        lw.load_predictions(path)
    path.write_text("id,comment\nx,fine\ny,bad\n")
    with pytest.raises(ValueError, match="must have a column of numbers for each class"):
        lw.load_predictions(path)
