"""Which column of a table holds the ids."""

from __future__ import annotations

import pytest

import labelwise as lw


def test_an_id_without_a_name_is_called_so(tmp_path) -> None:
    for i, ids in enumerate(("ab", "ba")):
        (tmp_path / f"m{i}.csv").write_text(f",cat,dog\n{ids[0]},.5,.5\n{ids[1]},.2,.8\n")
    (tmp_path / "y.csv").write_text(",y_true\nb,cat\na,dog\n")
    p = lw.load_predictions([tmp_path / "m0.csv", tmp_path / "m1.csv"], labels=tmp_path / "y.csv")
    assert p.notes == (
        "rows matched by the column without a name",
        "labels matched by the column without a name",
    )


def test_members_with_other_orders_of_repeated_ids_are_refused(tmp_path) -> None:
    rows = ["x,a,.5,.5", "x,a,.2,.8", "x,b,.1,.9", "y,b,.5,.5", "y,a,.1,.9", "y,a,.1,.9"]
    (tmp_path / "p.csv").write_text("\n".join(["model,patient_id,cat,dog", *rows]))
    with pytest.raises(
        lw.InputError,
        match=r"p\.csv has a row for each case and 'model', but no column of ids",
    ):
        lw.load_predictions(tmp_path / "p.csv")


def test_row_numbers_beside_other_ids_are_none(tmp_path) -> None:
    """Files of other cases have the same row numbers."""
    for i, ids in enumerate(("ab", "ac")):
        (tmp_path / f"m{i}.csv").write_text(
            f",image_id,cat,dog\n0,{ids[0]},.5,.5\n1,{ids[1]},.2,.8\n"
        )
    with pytest.raises(ValueError, match="have different cases; the first to differ is 'b'"):
        lw.load_predictions(tmp_path)


def test_row_numbers_in_another_order_are_ids(tmp_path) -> None:
    (tmp_path / "m0.csv").write_text(",cat,dog\n0,.5,.5\n1,.2,.8\n")
    (tmp_path / "m1.csv").write_text(",cat,dog\n1,.25,.75\n0,.5,.5\n")
    with pytest.raises(ValueError, match=r"m1\.csv has ids and m0\.csv has none"):
        lw.load_predictions(tmp_path)
