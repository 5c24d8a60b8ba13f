"""What the columns of a flat table mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise.cli._errors import in_options
from small_tables import PROBS, Y, check, frame


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


def test_prefixes_say_what_columns_are(tmp_path) -> None:
    rows = "\n".join(",".join(map(str, [i, 50 + i, *np.log(PROBS[0, i])])) for i in range(6))
    (tmp_path / "p.csv").write_text("id,age,logit_cat,logit_dog,logit_eel\n" + rows)
    p = lw.load_predictions(tmp_path / "p.csv", labels=Y)
    check(p, ids=[str(i) for i in range(6)])
    assert p.kind == "logits"
    assert "not read, because by name it is no class: `age`" in p.notes


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


def test_members_with_other_orders_of_repeated_ids_are_refused(tmp_path) -> None:
    rows = ["x,a,.5,.5", "x,a,.2,.8", "x,b,.1,.9", "y,b,.5,.5", "y,a,.1,.9", "y,a,.1,.9"]
    (tmp_path / "p.csv").write_text("\n".join(["model,patient_id,cat,dog", *rows]))
    with pytest.raises(
        lw.InputError,
        match=(
            r"member 'x' and p\.csv, member 'y' differ in column 'patient_id', first in row 1: 'a' "
            r"and 'b'"
        ),
    ):
        lw.load_predictions(tmp_path / "p.csv")


def test_a_column_that_is_not_read_in_any_file_is_said_once(tmp_path) -> None:
    for i in range(3):
        (tmp_path / f"m{i}.csv").write_text("id,cat,dog,comment\na,.5,.5,fine\nb,.2,.8,fine\n")
    with pytest.warns(UserWarning, match="not read") as said:
        lw.load_predictions(tmp_path)
    assert [str(one.message) for one in said] == [
        "m0.csv and 2 others: column 'comment' is not read"
    ]


def test_an_id_without_a_name_is_called_so(tmp_path) -> None:
    for i, ids in enumerate(("ab", "ba")):
        (tmp_path / f"m{i}.csv").write_text(f",cat,dog\n{ids[0]},.5,.5\n{ids[1]},.2,.8\n")
    (tmp_path / "y.csv").write_text(",y_true\nb,cat\na,dog\n")
    p = lw.load_predictions([tmp_path / "m0.csv", tmp_path / "m1.csv"], labels=tmp_path / "y.csv")
    assert p.notes == (
        "rows matched by the column without a name",
        "labels matched by the column without a name",
    )


def test_rows_of_members_without_ids_are_matched_by_number(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("model,cat,dog\nx,.5,.5\nx,.2,.8\ny,.5,.5\ny,.1,.9\n")
    p = lw.load_predictions(tmp_path / "p.csv")
    assert p.shape == (2, 2, 2)
    assert p.notes == ("rows of each member matched by number: p.csv has no column of ids",)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", ["fold", "confidence", "age", "pred", "entropy", "y_pred"])
def test_numbers_that_are_no_class_by_name_are_not_read(
    name: str, normalize: bool, tmp_path
) -> None:
    value = {"fold": "0", "age": "71", "pred": "1"}.get(name, "0.75")
    (tmp_path / "p.csv").write_text(
        f"id,cat,{name},dog\na,.25,{value},.75\nb,.25,{value},.75\nc,.5,{value},.5\n"
    )
    p = lw.load_predictions(tmp_path / "p.csv", normalize=normalize)
    assert p.class_names == ("cat", "dog")
    np.testing.assert_allclose(p.probs[0], [[0.25, 0.75], [0.25, 0.75], [0.5, 0.5]])
    assert f"not read, because by name it is no class: `{name}`" in p.notes


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("values", [("3.5", "7", "1.25"), ("0.5", "0.1", "0.25")])
def test_a_column_without_which_rows_sum_to_1_is_named(
    values: tuple[str, ...], normalize: bool, tmp_path
) -> None:
    (tmp_path / "p.csv").write_text(
        "id,cat,lesion_mm,dog\n" + "".join(f"{i},.25,{x},.75\n" for i, x in enumerate(values))
    )
    with pytest.raises(
        ValueError,
        match="column 'lesion_mm' cannot be a class: rows sum to 1 without it, and not with",
    ) as error:
        lw.load_predictions(tmp_path / "p.csv", normalize=normalize)
    assert str(error.value).endswith("class_names=['cat', 'dog']")
    assert in_options(error.value).endswith("--class-names cat,dog")
    with pytest.warns(UserWarning, match="column 'lesion_mm' is not read"):
        p = lw.load_predictions(tmp_path / "p.csv", class_names=["cat", "dog"])
    assert p.probs.tolist() == [[[0.25, 0.75]] * 3]


def test_a_column_of_zeros_is_not_offered_as_a_class(tmp_path) -> None:
    (tmp_path / "p.csv").write_text(
        "id,cat,lesion_mm,big dog,flag\n" + "".join(f"{i},.25,3.5,.75,0\n" for i in range(3))
    )
    with pytest.raises(lw.InputError, match="column 'lesion_mm' cannot be a class") as error:
        lw.load_predictions(tmp_path / "p.csv")
    assert in_options(error.value).endswith("--class-names 'cat,big dog'")


@pytest.mark.parametrize(
    ("columns", "words"), [(2, r" \(nor is 1 other\)"), (3, r" \(nor are 2 others\)")]
)
def test_columns_that_are_not_read_are_counted(columns: int, words: str, tmp_path) -> None:
    comments = [f"comment{i}" for i in range(columns)]
    rows = [f"{i},.25,.75{',fine' * columns}" for i in range(3)]
    (tmp_path / "p.csv").write_text("\n".join([",".join(["id", "cat", "dog", *comments]), *rows]))
    with pytest.warns(UserWarning, match="column 'comment0' is not read.*" + words):
        lw.load_predictions(tmp_path / "p.csv")


@pytest.mark.parametrize("name", ["target", "model", "group", "case", "index"])
def test_a_class_may_be_called_like_a_column_of_labels(name: str, tmp_path) -> None:
    for rows, first in (("a,.25,.75\nb,.5,.5\n", [0.25, 0.75]), ("a,0,1\nb,1,0\nc,1,0\n", [0, 1])):
        (tmp_path / "p.csv").write_text(f"id,background,{name}\n{rows}")
        p = lw.load_predictions(tmp_path / "p.csv")
        assert p.class_names == ("background", name)
        assert p.probs[0, 0].tolist() == first
        assert p.y_true is None


@pytest.mark.parametrize("name", ["score", "age", "fold"])
def test_a_class_may_be_called_like_a_measurement(name: str, tmp_path) -> None:
    (tmp_path / "p.csv").write_text(f"id,background,{name},other\na,.25,.5,.25\nb,.5,.5,0\n")
    assert lw.load_predictions(tmp_path / "p.csv").class_names == ("background", name, "other")
    (tmp_path / "p.csv").write_text(f"id,{name},split,other\na,.25,0,.75\nb,.5,1,.5\n")
    assert lw.load_predictions(tmp_path / "p.csv", class_names=["other", name]).class_names == (
        "other",
        name,
    )


def test_a_score_by_itself_is_the_second_of_two_classes(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("id,score,label\na,.25,0\nb,.5,1\n")
    with pytest.warns(UserWarning, match="taken for the second of two classes"):
        assert lw.load_predictions(tmp_path / "p.csv").probs.tolist() == [
            [[0.75, 0.25], [0.5, 0.5]]
        ]


def test_a_target_beside_the_classes_holds_labels(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("id,cat,dog,target\na,.25,.75,1\nb,.5,.5,0\n")
    p = lw.load_predictions(tmp_path / "p.csv")
    assert (p.class_names, p.true_class.tolist()) == (("cat", "dog"), [1, 0])
    assert "labels 0, 1 = cat, dog" in p.notes


@pytest.mark.parametrize(
    "names",
    [
        "alpha thalassemia,beta thalassemia",
        "alpha_thalassemia,beta_thalassemia",
        "alpha thalassemia,other",
    ],
)
def test_thalassemia_is_no_dirichlet_parameter(names: str, tmp_path) -> None:
    (tmp_path / "p.csv").write_text(f"id,{names}\na,.25,.75\nb,.5,.5\n")
    p = lw.load_predictions(tmp_path / "p.csv")
    assert (p.kind, p.class_names) == ("probs", tuple(names.split(",")))


@pytest.mark.parametrize("separator", "_.:")
def test_prefixes_need_a_separator_and_all_columns(separator: str, tmp_path) -> None:
    (tmp_path / "p.csv").write_text(f"id,alpha{separator}cat,alpha{separator}dog\na,2,3.5\nb,5,1\n")
    p = lw.load_predictions(tmp_path / "p.csv")
    assert (p.kind, p.class_names) == ("alpha", ("cat", "dog"))
    (tmp_path / "p.csv").write_text("id,logit_cat,logit_dog,size\na,2,-3.5,8\nb,5,1,9\n")
    with pytest.raises(
        ValueError, match="column 'logit_cat' says that it holds logits, and column 'size' does not"
    ):
        lw.load_predictions(tmp_path / "p.csv")


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
        match=r"p\.jsonl: line 1 does not hold what others do: 'cat' must be a number; it has none",
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
        "`image_id` is the id of each case",
        "not read, because by name it is no class: `fold`",
    )
    both = table.assign(cat=[0.5, 0, 0], dog=[0.5, 1.0, 0.0])
    (both.to_parquet if suffix == ".parquet" else both.to_feather)(tmp_path / f"p{suffix}")
    assert lw.load_predictions(tmp_path / f"p{suffix}").distribution().probs[0, 0].tolist() == [
        0.5,
        0.5,
        0,
    ]
