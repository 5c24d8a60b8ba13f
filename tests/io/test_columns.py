"""Which column of a table is what."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.cli._errors import in_options
from small_tables import PROBS, Y, check


def test_prefixes_say_what_columns_are(tmp_path) -> None:
    rows = "\n".join(",".join(map(str, [i, 50 + i, *np.log(PROBS[0, i])])) for i in range(6))
    (tmp_path / "p.csv").write_text("id,age,logit_cat,logit_dog,logit_eel\n" + rows)
    p = lw.load_predictions(tmp_path / "p.csv", labels=Y)
    check(p, ids=[str(i) for i in range(6)])
    assert p.kind == "logits"
    assert "not read: 'age'" in p.notes


@pytest.mark.parametrize(
    ("name", "value", "normalize"),
    [
        ("fold", "0", False),
        ("confidence", "0.75", False),
        ("confidence", "0.75", True),
        ("age", "71", True),
        ("pred", "1", False),
        ("lesionId", "7", False),
    ],
)
def test_numbers_that_are_no_class_by_name_are_not_read(
    name: str, value: str, normalize: bool, tmp_path
) -> None:
    (tmp_path / "p.csv").write_text(
        f"id,cat,{name},dog\na,.25,{value},.75\nb,.25,{value},.75\nc,.5,{value},.5\n"
    )
    p = lw.load_predictions(tmp_path / "p.csv", normalize=normalize)
    assert p.class_names == ("cat", "dog")
    np.testing.assert_allclose(p.probs[0], [[0.25, 0.75], [0.25, 0.75], [0.5, 0.5]])
    assert f"not read: {name!r}" in p.notes


@pytest.mark.parametrize("name", ["target", "model", "group", "case", "index"])
def test_a_class_may_be_called_like_a_column_of_labels(name: str, tmp_path) -> None:
    (tmp_path / "p.csv").write_text(f"id,background,{name}\na,.25,.75\nb,.5,.5\n")
    p = lw.load_predictions(tmp_path / "p.csv")
    assert p.class_names == ("background", name)
    assert p.probs[0, 0].tolist() == [0.25, 0.75]
    assert p.y_true is None
    (tmp_path / "p.csv").write_text(f"id,background,{name}\na,0,1\nb,1,0\nc,1,0\n")
    with pytest.raises(lw.InputError, match=f"rows sum to 1 only with column '{name}'"):
        lw.load_predictions(tmp_path / "p.csv")
    p = lw.load_predictions(tmp_path / "p.csv", class_names=["background", name])
    assert p.probs[0].tolist() == [[0, 1], [1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("values", "normalize"), [(("3.5", "7", "1.25"), False), (("0.5", "0.1", "0.25"), True)]
)
def test_a_column_without_which_rows_sum_to_1_is_named(
    values: tuple[str, ...], normalize: bool, tmp_path
) -> None:
    (tmp_path / "p.csv").write_text(
        "id,cat,lesion_mm,dog\n" + "".join(f"{i},.25,{x},.75\n" for i, x in enumerate(values))
    )
    with pytest.raises(lw.InputError, match="rows sum to 1 only without column 'lesion_mm'"):
        lw.load_predictions(tmp_path / "p.csv", normalize=normalize)
    p = lw.load_predictions(tmp_path / "p.csv", class_names=["cat", "dog"])
    assert "not read: 'lesion_mm'" in p.notes
    assert p.probs.tolist() == [[[0.25, 0.75]] * 3]


@pytest.mark.parametrize("name", ["score", "age", "fold"])
def test_a_class_may_be_called_like_a_measurement_if_it_is_named(name: str, tmp_path) -> None:
    (tmp_path / "p.csv").write_text(f"id,background,{name},other\na,.25,.5,.25\nb,.5,.5,0\n")
    with pytest.raises(lw.InputError, match=f"rows sum to 1 only with column '{name}'") as error:
        lw.load_predictions(tmp_path / "p.csv", normalize=True)
    names = f"background,{name},other"
    assert str(error.value).endswith(f"class_names='{names}'.split(',')")
    assert in_options(error.value).endswith(f"--class-names '{names}'")
    p = lw.load_predictions(tmp_path / "p.csv", class_names=names.split(","))
    assert p.probs[0, 0].tolist() == [0.25, 0.5, 0.25]
    (tmp_path / "p.csv").write_text(f"id,{name},split,other\na,.25,0,.75\nb,.5,1,.5\n")
    assert lw.load_predictions(tmp_path / "p.csv", class_names=["other", name]).class_names == (
        "other",
        name,
    )


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
    with pytest.raises(ValueError, match="`probs` must lie between 0 and 1"):
        lw.load_predictions(tmp_path / "p.csv").distribution()


def test_a_confidence_beside_one_column_is_no_second_class(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("id,ill,confidence\na,.25,.75\nb,.125,.875\n")
    with pytest.warns(UserWarning, match=r"the second of two classes \('not ill', 'ill'\)"):
        p = lw.load_predictions(tmp_path / "p.csv")
    assert p.probs.tolist() == [[[0.75, 0.25], [0.875, 0.125]]]
