"""True labels of arrays, tables and files, matched to the cases."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from small_tables import IDS, NAMES, ORDER, PROBS, RNG, Y, check, save


@pytest.mark.parametrize("name", ["y.npy", "y.npz", "y.csv", "column.csv"])
def test_labels_from_a_file(name: str, tmp_path) -> None:
    order = [3, 0, 5, 1, 2, 4]
    texts = {
        "y.csv": "id,y_true\n" + "\n".join(f"{IDS[i]},{NAMES[Y[i]]}" for i in order),
        "column.csv": "truth\n" + "\n".join(NAMES[k] for k in Y),
    }
    if name in texts:
        (tmp_path / name).write_text(texts[name])
    elif name == "y.npy":
        np.save(tmp_path / name, Y)
    else:
        np.savez(tmp_path / name, ids=np.array(IDS)[order], y_true=Y[order])
    np.savez(tmp_path / "p.npz", probs=PROBS, ids=np.array(IDS), class_names=NAMES)
    check(lw.load_predictions(tmp_path / "p.npz", labels=tmp_path / name), (0, 1))


@pytest.mark.parametrize(
    "header", ["image_id,diagnosis", "case,y_true", "image_id,label,age", "filename,truth"]
)
def test_labels_are_matched_by_ids_whatever_their_name(header: str, tmp_path) -> None:
    extra = ",70" * (header.count(",") - 1)
    (tmp_path / "y.csv").write_text(
        header + "\n" + "\n".join(f"{IDS[i]},{NAMES[Y[i]]}{extra}" for i in ORDER)
    )
    p = lw.load_predictions(save(tmp_path / "p.csv"), labels=tmp_path / "y.csv")
    check(p)
    assert f"labels matched by `{header.partition(',')[0]}`" in p.notes


@pytest.mark.parametrize("with_index", [False, True])
def test_ids_of_labels_that_predictions_lack_are_refused(with_index: bool, tmp_path) -> None:
    start = "Unnamed: 0," if with_index else ""
    rows = [
        (f"{k}," if with_index else "") + f"{IDS[i]},{NAMES[Y[i]]}" for k, i in enumerate(ORDER)
    ]
    (tmp_path / "y.csv").write_text("\n".join([f"{start}image_id,y_true", *rows]))
    with pytest.raises(
        ValueError,
        match=(r"y\.csv has ids \(`image_id`: 'case 3', …\), and the predictions have none"),
    ):
        lw.load_predictions(save(tmp_path / "p.csv", ids=None), labels=tmp_path / "y.csv")
    np.savez(tmp_path / "y.npz", y_true=Y[ORDER], ids=np.array(IDS)[ORDER])
    with pytest.raises(ValueError, match="cannot be matched"):
        lw.load_predictions(save(tmp_path / "p.csv", ids=None), labels=tmp_path / "y.npz")


def test_labels_without_ids_are_matched_by_number(tmp_path) -> None:
    (tmp_path / "y.csv").write_text("y_true\n" + "\n".join(NAMES[k] for k in Y))
    p = lw.load_predictions(save(tmp_path / "p.csv"), labels=tmp_path / "y.csv")
    check(p)
    assert "labels matched by number, in the order of p.csv" in p.notes


@pytest.mark.parametrize("kind", ["csv", "npy", "array", "index", "long"])
def test_labels_without_ids_for_members_in_different_orders_are_refused(
    kind: str, tmp_path
) -> None:
    lines = save(tmp_path / "m0.csv").read_text().splitlines()
    (tmp_path / "m1.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]))
    paths = [tmp_path / "m0.csv", tmp_path / "m1.csv"]
    names = r"m0\.csv and m1\.csv"
    if kind == "long":
        rows = [
            *(f"a,{line}" for line in lines[1:]),
            *(f"b,{line}" for line in reversed(lines[1:])),
        ]
        (tmp_path / "long.csv").write_text("\n".join([f"model,{lines[0]}", *rows]))
        paths = [tmp_path / "long.csv"]
        names = r"long\.csv, member 'a' and long\.csv, member 'b'"
    (tmp_path / "y.csv").write_text("y_true\n" + "\n".join(NAMES[k] for k in Y))
    labels: Any = tmp_path / "y.csv"
    if kind == "index":
        labels.write_text(",y_true\n" + "\n".join(f"{i},{NAMES[k]}" for i, k in enumerate(Y)))
    elif kind == "npy":
        labels = tmp_path / "y.npy"
        np.save(labels, Y)
    elif kind == "array":
        labels = Y
    with pytest.raises(
        lw.InputError,
        match=f"has no ids to match labels by, and {names} have their cases in different orders",
    ):
        lw.load_predictions(paths, labels=labels)
    check(
        lw.load_predictions(paths[:1] if kind != "long" else [tmp_path / "m0.csv"], labels=labels)
    )


def test_numbers_as_ids_of_both_are_ids(tmp_path) -> None:
    lines = save(tmp_path / "p.csv", ids=None).read_text().splitlines()
    rows = [f"{i},{line}" for i, line in enumerate(lines[1:])]
    (tmp_path / "p.csv").write_text("\n".join([f"id,{lines[0]}", *(rows[i] for i in ORDER)]))
    (tmp_path / "y.csv").write_text(
        "id,y_true\n" + "\n".join(f"{i},{NAMES[k]}" for i, k in enumerate(Y))
    )
    p = lw.load_predictions(tmp_path / "p.csv", labels=tmp_path / "y.csv")
    assert p.true_class.tolist() == Y[ORDER].tolist()


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("", "repeated values in column 'patient_id', so that rows cannot be matched by it"),
        ("id,", r"ids \(`id`: '0', …\), and the predictions have none"),
    ],
)
def test_labels_in_another_order_of_repeated_ids_are_refused(
    index: str, words: str, tmp_path
) -> None:
    patients = list("aabbcc")
    lines = save(tmp_path / "p.csv", ids=None).read_text().splitlines()
    rows = [f"{patient},{line}" for patient, line in zip(patients, lines[1:], strict=True)]
    (tmp_path / "p.csv").write_text("\n".join([f"patient_id,{lines[0]}", *rows]))
    order = [4, 5, 0, 1, 2, 3]
    truth = [
        (f"{row}," if index else "") + f"{patients[i]},{NAMES[Y[i]]}" for row, i in enumerate(order)
    ]
    (tmp_path / "y.csv").write_text("\n".join([f"{index}patient_id,y_true", *truth]))
    with pytest.raises(lw.InputError, match=rf"y\.csv has {words}"):
        lw.load_predictions(tmp_path / "p.csv", labels=tmp_path / "y.csv")


def test_a_series_of_labels_is_matched_by_its_index(tmp_path, optional) -> None:
    labels = optional("pandas").Series([NAMES[Y[i]] for i in ORDER], index=[IDS[i] for i in ORDER])
    check(lw.load_predictions(save(tmp_path / "p.csv"), labels=labels))
    check(
        lw.load_predictions(
            save(tmp_path / "p.csv"), labels=optional("pandas").Series([NAMES[k] for k in Y])
        )
    )
    with pytest.raises(ValueError, match="cannot be matched"):
        lw.load_predictions(save(tmp_path / "p.csv", ids=None), labels=labels)


def test_multilabel_truth_as_a_table(tmp_path) -> None:
    probs, y = RNG.random((2, 6, 3)), RNG.integers(0, 2, (6, 3))
    np.savez(tmp_path / "p.npz", probs=probs, ids=np.array(IDS), class_names=NAMES)
    wanted = ["eel", "cat", "dog"]
    rows = [f"{IDS[i]}," + ",".join(str(y[i, NAMES.index(name)]) for name in wanted) for i in ORDER]
    (tmp_path / "y.csv").write_text("\n".join(["image_id," + ",".join(wanted), *rows]))
    p = lw.load_predictions(tmp_path / "p.npz", labels=tmp_path / "y.csv", multilabel=True)
    np.testing.assert_array_equal(p.true_class, y.astype(bool))
    result = run(
        "evaluate", tmp_path / "p.npz", "--labels", tmp_path / "y.csv", "--multilabel", "--json"
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["accuracy"] == pytest.approx(
        ((probs.mean(0) > 0.5) == y).mean()
    )


def test_several_true_labels_of_classes_that_exclude_each_other_are_refused(tmp_path) -> None:
    (tmp_path / "y.csv").write_text("cat,dog,eel\n1,0,0\n1,1,0\n0,0,0\n0,1,0\n0,0,1\n0,0,1\n")
    with pytest.raises(
        lw.InputError,
        match=r"rows of `probs` sum to 1, .* `y_true` has 2 in row 2\. .* use multilabel=True",
    ):
        lw.load_predictions(save(tmp_path / "p.csv", ids=None), labels=tmp_path / "y.csv")
    result = run("evaluate", tmp_path / "p.csv", "--labels", tmp_path / "y.csv")
    assert result.exit_code == 2
    assert "use --multilabel" in " ".join(result.stderr.split())
    p = lw.load_predictions(tmp_path / "p.csv", labels=tmp_path / "y.csv", multilabel=True)
    assert p.true_class.sum() == 6


def test_that_labels_may_occur_together_is_said(tmp_path) -> None:
    y = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 1]])
    np.savez(tmp_path / "p.npz", logits=RNG.normal(size=(2, 6, 3)), y_true=y)
    said = "labels may occur together: `y_true` has a column for each class"
    assert said in lw.load_predictions(tmp_path / "p.npz").notes
    assert said not in lw.load_predictions(tmp_path / "p.npz", multilabel=True).notes


def test_a_frame_of_labels_is_matched_by_its_columns(tmp_path, optional) -> None:
    probs, y = RNG.random((2, 6, 3)), RNG.integers(0, 2, (6, 3))
    np.savez(tmp_path / "p.npz", probs=probs, ids=np.array(IDS), class_names=NAMES)
    frame = optional("pandas").DataFrame(y, columns=NAMES, index=IDS)
    p = lw.load_predictions(
        tmp_path / "p.npz", labels=frame.iloc[ORDER][["eel", "cat", "dog"]], multilabel=True
    )
    np.testing.assert_array_equal(p.true_class, y.astype(bool))
    with pytest.raises(ValueError, match="`labels` names 'emu', which is not among"):
        lw.load_predictions(
            tmp_path / "p.npz", labels=frame.rename(columns={"eel": "emu"}), multilabel=True
        )


def test_a_labeled_array_of_labels_is_matched_by_its_coordinates(tmp_path, optional) -> None:
    probs, y = RNG.random((2, 6, 3)), RNG.integers(0, 2, (6, 3))
    np.savez(tmp_path / "p.npz", probs=probs, ids=np.array(IDS), class_names=NAMES)
    table = optional("pandas").DataFrame(y, columns=NAMES, index=IDS)
    labels = optional("xarray").DataArray(table.iloc[ORDER][["eel", "cat", "dog"]])
    p = lw.load_predictions(tmp_path / "p.npz", labels=labels, multilabel=True)
    np.testing.assert_array_equal(p.true_class, y.astype(bool))


def test_multilabel_truth_without_class_names(tmp_path) -> None:
    probs, y = RNG.random((2, 6, 3)), RNG.integers(0, 2, (6, 3))
    np.save(tmp_path / "p.npy", probs)
    (tmp_path / "y.csv").write_text("0,1,2\n" + "\n".join(",".join(map(str, row)) for row in y))
    p = lw.load_predictions(tmp_path / "p.npy", labels=tmp_path / "y.csv", multilabel=True)
    np.testing.assert_array_equal(p.true_class, y.astype(bool))


@pytest.mark.parametrize("names", [["dog", "cat", *NAMES[2:]], NAMES])
def test_positions_are_those_of_the_classes_of_their_own_file(names: list[str], tmp_path) -> None:
    """Labels of a file that names its classes in another order than the predictions do."""
    assert {*names} == {*NAMES}
    positions = np.array([names.index(NAMES[k]) for k in Y])
    np.savez(
        tmp_path / "y.npz", y_true=positions[ORDER], ids=np.array(IDS)[ORDER], class_names=names
    )
    one_hot = np.eye(len(names), dtype=int)[positions]
    in_bytes = np.array(names, "S")
    np.savez(tmp_path / "each.npz", y_true=one_hot, ids=np.array(IDS), class_names=in_bytes)
    np.savez(tmp_path / "p.npz", probs=PROBS, ids=np.array(IDS), class_names=NAMES)
    check(lw.load_predictions(tmp_path / "p.npz", labels=tmp_path / "y.npz"), (0, 1))
    with pytest.warns(UserWarning, match="one-hot"):
        p = lw.load_predictions(tmp_path / "p.npz", labels=tmp_path / "each.npz")
    check(p, (0, 1))


def test_labels_of_other_classes_are_refused(tmp_path) -> None:
    np.savez(tmp_path / "y.npz", y_true=Y, class_names=["a", *NAMES[1:]])
    np.savez(tmp_path / "p.npz", probs=PROBS, class_names=NAMES)
    with pytest.raises(ValueError, match=r"y\.npz names 'a', which is not among"):
        lw.load_predictions(tmp_path / "p.npz", labels=tmp_path / "y.npz")


def test_one_label_that_may_occur(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("id,ill\na,0.2\nb,0.7\n")
    (tmp_path / "y.csv").write_text("id,ill\nb,1\na,0\n")
    p = lw.load_predictions(tmp_path / "p.csv", labels=tmp_path / "y.csv", multilabel=True)
    assert p.true_class.tolist() == [[False], [True]]
