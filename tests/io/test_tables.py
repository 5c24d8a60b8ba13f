"""Wide and long tables, and what is not read of them."""

from __future__ import annotations

import pytest

import labelwise as lw
from small_tables import check, frame


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".jsonl"])
def test_a_long_table_has_a_column_for_the_model(suffix: str, tmp_path, optional) -> None:
    optional("pyarrow")
    rows = [
        frame(optional, 0).assign(model="b"),
        frame(optional, 1, rows=slice(None, None, -1)).assign(model="a"),
    ]
    table = optional("pandas").concat(rows, ignore_index=True)
    write = {
        ".csv": "to_csv",
        ".parquet": "to_parquet",
        ".feather": "to_feather",
        ".jsonl": "to_json",
    }[suffix]
    options = {
        ".csv": {"index": False},
        ".jsonl": {"orient": "records", "lines": True, "double_precision": 15},
    }.get(suffix, {})
    getattr(table, write)(tmp_path / f"p{suffix}", **options)
    check(lw.load_predictions(tmp_path / f"p{suffix}"), (0, 1))
    getattr(table[:-1], write)(tmp_path / f"p{suffix}", **options)
    with pytest.raises(ValueError, match="member 'a' has 5 rows and 'b' has 6"):
        lw.load_predictions(tmp_path / f"p{suffix}")


def test_rows_of_members_without_ids_are_matched_by_number(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("model,cat,dog\nx,.5,.5\nx,.2,.8\ny,.5,.5\ny,.1,.9\n")
    p = lw.load_predictions(tmp_path / "p.csv")
    assert p.shape == (2, 2, 2)
    assert p.notes == ("rows of each member matched by number: p.csv has no column of ids",)


def test_a_column_that_is_not_read_in_any_file_is_said_once(tmp_path) -> None:
    for i in range(3):
        (tmp_path / f"m{i}.csv").write_text("id,cat,dog,comment\na,.5,.5,fine\nb,.2,.8,fine\n")
    with pytest.warns(UserWarning, match="not read") as said:
        lw.load_predictions(tmp_path)
    assert [str(one.message) for one in said] == [
        "m0.csv and 2 others: column 'comment' is not read"
    ]


@pytest.mark.parametrize(
    ("columns", "words"), [(2, r" \(nor is 1 other\)"), (3, r" \(nor are 2 others\)")]
)
def test_columns_that_are_not_read_are_counted(columns: int, words: str, tmp_path) -> None:
    comments = [f"comment{i}" for i in range(columns)]
    rows = [f"{i},.25,.75{',fine' * columns}" for i in range(3)]
    (tmp_path / "p.csv").write_text("\n".join([",".join(["id", "cat", "dog", *comments]), *rows]))
    with pytest.warns(UserWarning, match="column 'comment0' is not read.*" + words):
        lw.load_predictions(tmp_path / "p.csv")
