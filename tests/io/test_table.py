"""Tables with missing and with whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw


def test_missing_numbers_are_named_and_no_class_is_dropped(tmp_path) -> None:
    for missing in ("NA", "", "null"):
        (tmp_path / "p.csv").write_text(f"id,cat,dog,eel\na,{missing},.5,.5\nb,.2,.3,.5\n")
        with pytest.raises(
            ValueError, match=rf"p\.csv: row 1 of column 'cat' must be a number; got '{missing}'"
        ):
            lw.load_predictions(tmp_path / "p.csv")
    (tmp_path / "p.jsonl").write_text(
        '{"cat": null, "dog": 0.5, "eel": 0.5}\n{"cat": 0.2, "dog": 0.3, "eel": 0.5}\n'
    )
    with pytest.raises(
        ValueError,
        match=r"p\.jsonl: row 1 of column 'cat' must be a number; got ''",
    ):
        lw.load_predictions(tmp_path / "p.jsonl")


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_whole_numbers_are_classes_too(suffix: str, tmp_path, optional) -> None:
    optional("pyarrow")
    table = optional("pandas").DataFrame(
        {
            "image_id": [7, 3, 5],
            "cat": [1, 0, 0],
            "dog": [0, 1, 0],
            "eel": [0, 0, 1],
            "fold": [0, 1, 2],
        }
    )
    (table.to_parquet if suffix == ".parquet" else table.to_feather)(tmp_path / f"p{suffix}")
    p = lw.load_predictions(tmp_path / f"p{suffix}")
    assert (p.class_names, p.ids.tolist()) == (("cat", "dog", "eel"), [7, 3, 5])
    np.testing.assert_array_equal(p.distribution().probs, np.eye(3)[None])
    assert p.notes == (
        "rows matched by `image_id`",
        "not read: 'fold'",
    )
    both = table.assign(cat=[0.5, 0, 0], dog=[0.5, 1.0, 0.0])
    (both.to_parquet if suffix == ".parquet" else both.to_feather)(tmp_path / f"p{suffix}")
    assert lw.load_predictions(tmp_path / f"p{suffix}").distribution().probs[0, 0].tolist() == [
        0.5,
        0.5,
        0,
    ]


@pytest.mark.parametrize("name", ["label", "group", "model"])
def test_a_missing_label_group_or_member_is_named(name: str, tmp_path) -> None:
    (tmp_path / "p.csv").write_text(f"id,{name},cat,dog\na,x,.5,.5\nb,,.2,.8\n")
    with pytest.raises(ValueError, match=rf"p\.csv: row 2 has no value in column '{name}'"):
        lw.load_predictions(tmp_path / "p.csv")


def test_the_text_of_numbers_is_kept_where_it_may_be_an_id(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("id,cat,dog\n1.1,.5,.5\n1.10,.2,.8\n")
    assert lw.load_predictions(tmp_path / "p.csv").ids.tolist() == ["1.1", "1.10"]
