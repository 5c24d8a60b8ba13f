"""Classes by name, and names of positions."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from small_tables import IDS, NAMES, PROBS, Y, check, save


def test_class_names_in_another_order_are_matched_by_name(tmp_path) -> None:
    truth = (
        ",".join(["id", "y_true"]) + "\n" + "\n".join(f"{IDS[i]},{NAMES[Y[i]]}" for i in range(6))
    )
    (tmp_path / "y.csv").write_text(truth)
    wanted = ["eel", "cat", "dog"]
    p = lw.load_predictions(save(tmp_path / "p.csv"), class_names=wanted, labels=tmp_path / "y.csv")
    assert p.class_names == tuple(wanted)
    np.testing.assert_array_equal(p.probs[0], PROBS[0][:, [2, 0, 1]])
    assert [wanted[k] for k in p.true_class] == [NAMES[k] for k in Y]
    assert "classes matched by name, in the order that was given" in p.notes
    np.savez(tmp_path / "p.npz", probs=PROBS, y_true=Y, class_names=NAMES)
    with pytest.raises(
        lw.InputError, match="labels are positions, and whether 0 is 'cat' or 'eel'"
    ):
        lw.load_predictions(tmp_path / "p.npz", class_names=wanted)
    np.savez(tmp_path / "p.npz", probs=PROBS, y_true=np.array(NAMES)[Y], class_names=NAMES)
    result = run("evaluate", tmp_path / "p.npz", "--class-names", "eel,cat,dog", "--json")
    assert json.loads(result.stdout)["accuracy"] == (PROBS.mean(0).argmax(-1) == Y).mean()


def test_class_names_in_another_order_on_disk(tmp_path, optional) -> None:
    group = optional("zarr").open_group(str(tmp_path / "p.zarr"), mode="w", zarr_format=3)
    group.create_array("probs", data=PROBS.transpose(0, 2, 1).copy(), chunks=(2, 3, 2))
    group.attrs["class_names"] = NAMES
    p = lw.load_predictions(tmp_path / "p.zarr", class_axis=1, class_names=["eel", "cat", "dog"])
    np.testing.assert_array_equal(p[2:5].probs, PROBS[:, 2:5, [2, 0, 1]])


def test_other_class_names_than_those_of_the_file_are_refused(tmp_path) -> None:
    with pytest.raises(
        ValueError,
        match=r"the class name 'emu' is none of the file's: 'cat', 'dog', 'eel'\. Give",
    ):
        lw.load_predictions(save(tmp_path / "p.csv"), class_names=["cat", "dog", "emu"])


def test_labels_that_are_positions_in_one_of_two_orders_are_refused(tmp_path) -> None:
    with pytest.raises(
        ValueError,
        match=(
            "labels are positions, and whether 0 is 'cat' or 'eel' cannot be known, because the "
            "classes are in different orders"
        ),
    ):
        lw.load_predictions(save(tmp_path / "p.csv"), class_names=["eel", "cat", "dog"], labels=Y)
    check(lw.load_predictions(save(tmp_path / "p.csv"), class_names=NAMES, labels=Y))


def test_class_names_of_positions_are_said(tmp_path) -> None:
    np.save(tmp_path / "p.npy", PROBS)
    p = lw.load_predictions(tmp_path / "p.npy", class_names=NAMES, labels=Y)
    assert p.notes == (
        "classes 0, 1, 2 = cat, dog, eel",
        "labels matched by number",
        "labels 0, 1, 2 = cat, dog, eel",
    )
    result = run(
        "evaluate",
        tmp_path / "p.npy",
        "--class-names",
        "cat,dog,eel",
        "--labels",
        tmp_path / "y.npy",
    )
    assert result.exit_code == 2
    np.save(tmp_path / "y.npy", Y)
    result = run(
        "evaluate",
        tmp_path / "p.npy",
        "--class-names",
        "cat,dog,eel",
        "--labels",
        tmp_path / "y.npy",
    )
    said = [
        "p.npy: 2 members × 6 cases × 3 classes",
        "  classes 0, 1, 2 = cat, dog, eel",
        "  labels matched by number",
        "  labels 0, 1, 2 = cat, dog, eel",
    ]
    assert result.stderr.splitlines()[:4] == said


@pytest.mark.parametrize(
    "content",
    [
        {"0": "cat", "1": "dog", "2": "eel"},
        {"id2label": {"2": "eel", "0": "cat", "1": "dog"}},
        NAMES,
        {"eel": 2, "cat": 0, "dog": 1},
    ],
)
def test_id2label_names_the_classes(content: Any, tmp_path) -> None:
    np.save(tmp_path / "p.npy", PROBS)
    (tmp_path / "config.json").write_text(json.dumps(content))
    result = run(
        "quantify",
        tmp_path / "p.npy",
        "--class-names",
        tmp_path / "config.json",
        "-o",
        tmp_path / "u.npz",
    )
    assert result.exit_code == 0, result.output
    with np.load(tmp_path / "u.npz") as file:
        assert file["class_names"].tolist() == NAMES
    names = content.get("id2label", content) if isinstance(content, dict) else content
    assert lw.load_predictions(tmp_path / "p.npy", class_names=names).class_names == tuple(NAMES)
    with pytest.raises(ValueError, match="must name each position from 0 to 1"):
        lw.load_predictions(tmp_path / "p.npy", class_names={0: "cat", 2: "dog"})


@pytest.mark.parametrize("name", ["p.csv", "p.npz"])
def test_names_that_are_numbers_are_matched_by_name(name: str, tmp_path) -> None:
    np.savez(tmp_path / "p.npz", probs=PROBS[:1], class_names=["0", "2", "1"])
    rows = [",".join(map(repr, row)) for row in PROBS[0].tolist()]
    (tmp_path / "p.csv").write_text("\n".join(["0,2,1", *rows]))
    p = lw.load_predictions(tmp_path / name, class_names=["1", "0", "2"])
    np.testing.assert_array_equal(p.probs, PROBS[:1][..., [2, 0, 1]])
    assert p.notes == ("classes matched by name, in the order that was given",)


def test_a_column_that_is_the_first_of_two_given_names_is_refused(tmp_path) -> None:
    (tmp_path / "p.csv").write_text("id,ill\na,.25\nb,.5\n")
    with pytest.raises(
        lw.InputError, match="the class name 'healthy' is none of the file's: 'ill'"
    ):
        lw.load_predictions(tmp_path / "p.csv", class_names=["ill", "healthy"])
    with pytest.warns(UserWarning, match=r"the second of two classes \('healthy', 'ill'\)"):
        p = lw.load_predictions(tmp_path / "p.csv", class_names=["healthy", "ill"])
    assert p.probs[0, 0].tolist() == [0.75, 0.25]
