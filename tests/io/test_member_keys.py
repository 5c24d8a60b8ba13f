"""Which columns of a long table tell the members apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw


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
def test_further_keys_belong_to_the_member_and_become_factors(
    suffix: str, tmp_path, optional
) -> None:
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
    assert "members are the 12 combinations of `model` and `prompt`" in p.notes
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
    with pytest.raises(
        ValueError, match=r"p\.csv: member 'x' has the id 'a' more than once in column 'id'"
    ):
        lw.load_predictions(tmp_path / "p.csv")
    (tmp_path / "p.csv").write_text(
        "id,view,cat,dog\na,front,.5,.5\na,side,.2,.8\nb,front,.5,.5\nb,side,.1,.9\n"
    )
    with pytest.raises(ValueError, match="If `view` tells the members apart, call it `model`"):
        lw.load_predictions(tmp_path / "p.csv")


@pytest.mark.parametrize("missing", [(0,), (0, 5), (11,)])
def test_a_missing_combination_of_keys_is_named(missing: tuple[int, ...], tmp_path) -> None:
    keys = [
        (model, prompt, i)
        for model in ("llama", "qwen")
        for prompt in ("short", "long")
        for i in range(3)
    ]
    rows = [
        f"{model},{prompt},q{i},.25,.75"
        for k, (model, prompt, i) in enumerate(keys)
        if k not in missing
    ]
    (tmp_path / "p.csv").write_text("\n".join(["model,prompt,id,cat,dog", *rows]))
    with pytest.raises(
        lw.InputError, match=r"p\.csv: the row of the id 'q\d' for 'model' .* is missing"
    ) as error:
        lw.load_predictions(tmp_path / "p.csv")
    named = [
        f"id 'q{i}' for 'model' '{model}' and 'prompt' '{prompt}'"
        for model, prompt, i in (keys[k] for k in missing)
    ]
    assert any(words in str(error.value) for words in named)
    assert ("in all 2 are missing" in str(error.value)) == (len(missing) == 2)
