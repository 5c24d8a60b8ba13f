"""Wide and long tables, and what is not read of them."""

from __future__ import annotations

from typing import Any

import numpy as np
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
    with pytest.raises(ValueError, match="have different cases; the first to differ is"):
        lw.load_predictions(tmp_path / f"p{suffix}")


def test_rows_of_members_without_ids_are_refused(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("model,cat,dog\nx,.5,.5\nx,.2,.8\ny,.5,.5\ny,.1,.9\n")
    with pytest.raises(lw.InputError, match=r"for each case and 'model', .* Add a column `id`"):
        lw.load_predictions(tmp_path / "p.csv")


def test_a_column_that_is_not_read_in_any_file_is_said_once(tmp_path) -> None:
    for i in range(3):
        (tmp_path / f"m{i}.csv").write_text("id,cat,dog,comment\na,.5,.5,fine\nb,.2,.8,fine\n")
    assert lw.load_predictions(tmp_path).notes == ("rows matched by `id`", "not read: 'comment'")


def long_rows(ids: list[str], models: list[str], prompts: list[str]) -> list[dict[str, Any]]:
    """A row for each id, model and prompt, in no order."""
    rng = np.random.default_rng(1)
    rows = [
        {"id": i, "prompt": p, "model": m, "label": "cat"}
        for i in ids
        for m in models
        for p in prompts
    ]
    for row in rows:
        row["cat"] = round(float(rng.random()), 3)
        row["dog"] = 1 - row["cat"]
    return [rows[k] for k in rng.permutation(len(rows))]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_prompts_belong_to_the_member_and_become_factors(suffix: str, tmp_path, optional) -> None:
    ids, models, prompts = (
        [f"q{i}" for i in range(20)],
        ["llama", "qwen", "phi"],
        ["p1", "p2", "p3", "p4"],
    )
    rows = long_rows(ids, models, prompts)
    table = optional("pandas").DataFrame(rows)
    if suffix == ".csv":
        table.to_csv(tmp_path / "p.csv", index=False)
    else:
        table.to_json(tmp_path / "p.jsonl", orient="records", lines=True, double_precision=15)
    p = lw.load_predictions(tmp_path / f"p{suffix}")
    assert p.shape == (12, 20, 2)
    assert "members are the 12 combinations of model and prompt" in p.notes
    q = p.distribution()
    assert set(q.factors) == {"model", "prompt"}
    order = {case: k for k, case in enumerate(p.ids.tolist())}
    member = {
        pair: k for k, pair in enumerate(zip(q.factors["model"], q.factors["prompt"], strict=True))
    }
    for row in rows:
        assert q.probs[member[row["model"], row["prompt"]], order[row["id"]], 0] == pytest.approx(
            row["cat"]
        )
    assert p.member_names[0] == f"{q.factors['model'][0]} / {q.factors['prompt'][0]}"
    assert set(lw.decompose(p[:5].distribution()).sources().factors) == {"model", "prompt"}


def test_an_id_repeated_within_a_member_is_refused(tmp_path) -> None:
    rows = "id,model,cat,dog\na,x,.5,.5\na,x,.2,.8\na,y,.5,.5\na,y,.1,.9\n"
    (tmp_path / "p.csv").write_text(rows)
    with pytest.raises(ValueError, match=r"p\.csv, member 'x' has the id 'a' more than once"):
        lw.load_predictions(tmp_path / "p.csv")


def test_a_prompt_of_each_case_does_not_tell_members_apart(tmp_path) -> None:
    rows = [f"{model},{case},why {case}?,.25,.75" for model in "xy" for case in "abc"]
    (tmp_path / "p.csv").write_text("\n".join(["model,id,prompt,cat,dog", *rows]))
    assert lw.load_predictions(tmp_path / "p.csv").shape == (2, 3, 2)
    rows = [f"why {case}?,.25,.75" for case in "abc"]
    (tmp_path / "p.csv").write_text("\n".join(["prompt,cat,dog", *rows]))
    assert lw.load_predictions(tmp_path / "p.csv").shape == (1, 3, 2)
