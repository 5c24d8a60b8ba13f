"""Several files, or a folder of them, as the members of one ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from labelwise.io.files import similar_file
from small_tables import IDS, PROBS, Y, check, frame


def test_files_of_the_members_are_aligned_by_id_and_class(tmp_path, optional) -> None:
    frame(optional, 0).to_csv(tmp_path / "model2.csv", index=False)
    frame(optional, 1, ["eel", "cat", "dog"], slice(None, None, -1)).to_csv(
        tmp_path / "model10.csv", index=False
    )
    check(lw.load_predictions([tmp_path / "model2.csv", tmp_path / "model10.csv"]), (0, 1))
    check(lw.load_predictions(tmp_path), (0, 1))  # a folder, 2 before 10
    q = lw.load_predictions(tmp_path).distribution()
    np.testing.assert_array_equal(q.probs, PROBS)


def test_a_folder_of_arrays_stays_on_disk(tmp_path) -> None:
    for i in range(2):
        np.save(tmp_path / f"m{i}.npy", np.repeat(PROBS[i], 200_000, axis=0))
    p = lw.load_predictions(tmp_path, labels=np.repeat(Y, 200_000))
    assert type(p.probs).__name__ == "OnDisk"
    assert (p.shape, p.dtype) == ((2, 1_200_000, 3), np.float64)
    np.testing.assert_array_equal(p[199_999:200_001].probs, PROBS[:, [0, 1]])
    np.testing.assert_array_equal(p[[1_199_999, 3]].probs, PROBS[:, [5, 0]])
    assert p[[1_199_999, 3]].true_class.tolist() == [Y[5], Y[0]]


def test_folders_that_are_not_one_ensemble(tmp_path) -> None:
    with pytest.raises(ValueError, match="holds no prediction files"):
        lw.load_predictions(tmp_path)
    np.save(tmp_path / "a.npy", PROBS[0])
    (tmp_path / "b.csv").write_text("a,b\n0.5,0.5\n")
    with pytest.raises(ValueError, match=r"must be files of one format; got \.csv, \.npy"):
        lw.load_predictions(tmp_path)
    np.save(tmp_path / "c.npy", PROBS[0, 0])
    with pytest.raises(
        ValueError,
        match=r"c\.npy: `probs` must have the axes \(instances, classes\); got shape \(3,\)",
    ):
        lw.load_predictions([tmp_path / "a.npy", tmp_path / "c.npy"])
    (tmp_path / "d.npy").write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"^d\.npy: the magic string is not correct"):
        lw.load_predictions([tmp_path / "a.npy", tmp_path / "d.npy"])
    with pytest.raises(ValueError, match="name at least one"):
        lw.load_predictions([])


def write_models(folder: Path, id_name: str, *, order: Sequence[int] = range(6)) -> list[Path]:
    """Two files, the rows of the second in another order, with a column of ids under any name."""
    paths = []
    for member, rows in enumerate((range(6), order)):
        lines = [
            ",".join([f"img_{i:03}.png", *(f"{p!r}" for p in PROBS[member, i].tolist())])
            for i in rows
        ]
        path = folder / f"model{member}.csv"
        path.write_text("\n".join([f"{id_name},cat,dog,eel", *lines]))
        paths.append(path)
    return paths


@pytest.mark.parametrize(
    "name",
    [
        "image_id",
        "filename",
        "patient_id",
        "Image ID",
        "imageId",
        "file",
        "path",
        "case",
        "whatever",
    ],
)
def test_rows_are_matched_by_a_column_of_ids_whatever_its_name(name: str, tmp_path) -> None:
    p = lw.load_predictions(write_models(tmp_path, name, order=[3, 0, 5, 1, 4, 2]))
    np.testing.assert_array_equal(p.probs, PROBS)
    assert p.ids.tolist() == [f"img_{i:03}.png" for i in range(6)]
    assert p.notes == (f"rows matched by `{name}`",)
    assert p.member_names == ("model0", "model1")


def test_the_command_says_by_what_rows_were_matched(tmp_path) -> None:
    paths = write_models(tmp_path, "image_id", order=[3, 0, 5, 1, 4, 2])
    result = run("quantify", *paths, "-o", tmp_path / "u.csv")
    assert result.exit_code == 0, result.output
    assert "2 members × 6 cases × 3 classes\n  rows matched by `image_id`\n" in result.output
    assert "img_000.png" in (tmp_path / "u.csv").read_text().splitlines()[1]


def test_rows_without_ids_are_matched_by_number_and_it_is_said(tmp_path) -> None:
    for i in range(2):
        (tmp_path / f"m{i}.csv").write_text("cat,dog\n.5,.5\n.25,.75\n")
        np.save(tmp_path / f"m{i}.npy", PROBS[i])
    for suffix in (".csv", ".npy"):
        p = lw.load_predictions([tmp_path / f"m0{suffix}", tmp_path / f"m1{suffix}"])
        assert p.notes == ("rows matched by number: the files have no ids",)


def test_pandas_row_numbers_are_no_ids_where_there_are_real_ones(tmp_path) -> None:
    for member, rows in enumerate((range(6), [3, 0, 5, 1, 4, 2])):
        lines = [
            f"{k},img{i}," + ",".join(map(repr, PROBS[member, i].tolist()))
            for k, i in enumerate(rows)
        ]
        (tmp_path / f"m{member}.csv").write_text("\n".join([",image_id,cat,dog,eel", *lines]))
    np.testing.assert_array_equal(lw.load_predictions(tmp_path).probs, PROBS)


def test_members_of_which_only_some_have_ids_are_refused(tmp_path) -> None:
    (tmp_path / "m0.csv").write_text("cat,dog\n.5,.5\n.25,.75\n")
    (tmp_path / "m1.csv").write_text("id,cat,dog\nb,.25,.75\na,.5,.5\n")
    (tmp_path / "m2.csv").write_text("id,cat,dog\na,.5,.5\nb,.25,.75\n")
    with pytest.raises(
        ValueError,
        match=r"m1\.csv has ids and m0\.csv has none, so that their rows cannot be matched",
    ):
        lw.load_predictions(tmp_path)


def test_other_orders_of_repeated_ids_are_refused(tmp_path) -> None:
    (tmp_path / "m0.csv").write_text("patient_id,cat,dog\na,.5,.5\na,.1,.9\nb,.25,.75\n")
    (tmp_path / "m1.csv").write_text("patient_id,cat,dog\nb,.25,.75\na,.5,.5\na,.1,.9\n")
    with pytest.raises(
        ValueError,
        match=r"m0\.csv has repeated values in column 'patient_id', .* Add a column `id`",
    ):
        lw.load_predictions(tmp_path)


def test_ids_are_text(tmp_path) -> None:
    (tmp_path / "m0.csv").write_text("id,cat,dog\n001,.5,.5\n1,.25,.75\n")
    (tmp_path / "m1.csv").write_text("id,cat,dog\n1,.2,.8\n001,.6,.4\n")
    p = lw.load_predictions(tmp_path)
    assert p.ids.tolist() == ["001", "1"]
    assert p.probs[1].tolist() == [[0.6, 0.4], [0.2, 0.8]]


@pytest.mark.parametrize("text", ["id,cat,dog\na,.5,.5\nb,.5,.5\na,.5,.5\n"])
def test_repeated_ids_are_refused(text: str, tmp_path) -> None:
    for i in range(2):
        (tmp_path / f"m{i}.csv").write_text(text)
    for paths in ([tmp_path / "m0.csv"], [tmp_path / "m0.csv", tmp_path / "m1.csv"]):
        with pytest.raises(ValueError, match=r"m0\.csv has the id 'a' more than once"):
            lw.load_predictions(paths)
    for i in range(2):
        np.savez(tmp_path / f"m{i}.npz", probs=PROBS[0], ids=["a", "b", "c", "a", "e", "f"])
    with pytest.raises(ValueError, match=r"m0\.npz has the id 'a' more than once"):
        lw.load_predictions([tmp_path / "m0.npz", tmp_path / "m1.npz"])


def test_classes_with_numbers_for_names_are_aligned(tmp_path) -> None:
    (tmp_path / "m0.csv").write_text("0,1,2\n.7,.2,.1\n")
    (tmp_path / "m1.csv").write_text("2,1,0\n.1,.2,.7\n")
    p = lw.load_predictions(tmp_path)
    assert p.probs.tolist() == [[[0.7, 0.2, 0.1]]] * 2
    assert p.class_names is None
    p = lw.load_predictions(
        [tmp_path / "m1.csv", tmp_path / "m0.csv"], class_names=["cat", "dog", "eel"]
    )
    assert p.probs.tolist() == [[[0.7, 0.2, 0.1]]] * 2


@pytest.mark.parametrize("label", ["1", "dog"])
def test_members_that_disagree_about_a_label_are_refused(label: str, tmp_path) -> None:
    (tmp_path / "m0.csv").write_text("id,cat,dog\na,.7,.3\nb,.1,.9\n")
    (tmp_path / "m1.csv").write_text("id,cat,dog,label\na,.7,.3,cat\nb,.1,.9,dog\n")
    (tmp_path / "m2.csv").write_text(f"id,cat,dog,label\na,.7,.3,{label}\nb,.1,.9,{label}\n")
    with pytest.raises(
        ValueError, match=r"m2\.csv disagrees with others about `y_true` of case 'a'"
    ):
        lw.load_predictions(tmp_path)
    rows = "model,id,cat,dog,label\nx,a,.7,.3,cat\nx,b,.1,.9,dog\ny,b,.1,.9,dog\ny,a,.7,.3,dog\n"
    (tmp_path / "long.csv").write_text(rows)
    with pytest.raises(
        ValueError,
        match=r"member 'y' disagrees with others about `y_true` of case 'a'",
    ):
        lw.load_predictions(tmp_path / "long.csv")


def test_images_are_reordered_with_their_ids(tmp_path) -> None:
    images = np.arange(6)[:, None, None] * np.ones((6, 2, 2))
    order = [3, 0, 5, 1, 4, 2]
    np.savez(tmp_path / "m0.npz", probs=PROBS[0], ids=np.arange(6))
    np.savez(tmp_path / "m1.npz", probs=PROBS[1, order], ids=np.array(order), images=images[order])
    p = lw.load_predictions([tmp_path / "m0.npz", tmp_path / "m1.npz"])
    np.testing.assert_array_equal(p.images, images)
    np.testing.assert_array_equal(p.probs, PROBS)


def test_classes_of_a_file_without_names_are_matched_by_position_and_it_is_said(tmp_path) -> None:
    np.savez(tmp_path / "m0.npz", probs=PROBS[0], class_names=["cat", "dog", "eel"])
    np.savez(tmp_path / "m1.npz", probs=PROBS[1])
    p = lw.load_predictions([tmp_path / "m0.npz", tmp_path / "m1.npz"])
    assert p.class_names == ("cat", "dog", "eel")
    assert "classes of m1.npz matched by position: it has no class names" in p.notes


def test_a_missing_file_is_not_taken_for_any_other_of_its_format(tmp_path) -> None:
    for name in ("l_int.csv", "models.csv", "model1.npz"):
        (tmp_path / name).write_text("")
    assert similar_file(tmp_path / "nothere.csv") == ""
    assert similar_file(tmp_path / "model.csv").endswith("models.csv'?")
    assert similar_file(tmp_path / "model1.csv").endswith("models.csv'?")


def test_a_member_with_fewer_ids_than_rows_is_refused_when_it_is_reordered(tmp_path) -> None:
    np.savez(tmp_path / "m0.npz", probs=PROBS[0], ids=IDS)
    np.savez(tmp_path / "m1.npz", probs=np.tile(PROBS[1], (2, 1)), ids=IDS[::-1])
    with pytest.raises(ValueError, match=r"m1\.npz: `ids` must name each of the 12 cases"):
        lw.load_predictions(tmp_path)


def test_members_are_called_like_their_files(tmp_path) -> None:
    for i, folder in enumerate(("a", "b")):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "preds.npy", PROBS[i])
        np.save(tmp_path / folder / f"net{i}.npy", PROBS[i])
    nets = [tmp_path / "a" / "net0.npy", tmp_path / "b" / "net1.npy"]
    assert lw.load_predictions(nets).distribution().member_names == ("net0", "net1")
    equal = [tmp_path / "a" / "preds.npy", tmp_path / "b" / "preds.npy"]
    assert lw.load_predictions(equal).member_names == ("a/preds", "b/preds")
    twice = lw.load_predictions([nets[0], nets[0]])
    assert twice.member_names == ("1: net0", "2: net0")


def long_table(model: str, prompts: Sequence[str]) -> str:
    rows = ["id,model,prompt,cat,dog"]
    for k, prompt in enumerate(prompts):
        for i in range(3):
            rows.append(f"x{i},{model},{prompt},0.{k + i + 1},0.{9 - k - i}")
    return "\n".join(rows)


def test_factors_of_several_files_are_kept(tmp_path) -> None:
    (tmp_path / "one.csv").write_text(long_table("m1", ["short", "long"]))
    (tmp_path / "two.csv").write_text(long_table("m2", ["short", "long"]))
    p = lw.load_predictions(tmp_path)
    assert p.member_names == ("m1 / short", "m1 / long", "m2 / short", "m2 / long")
    assert p.factors == {"model": ("m1", "m1", "m2", "m2"), "prompt": ("short", "long") * 2}
    (tmp_path / "two.csv").write_text(long_table("m1", ["short", "long"]))  # the file tells them
    p = lw.load_predictions(tmp_path)
    assert p.factors == {"file": ("one", "one", "two", "two"), "prompt": ("short", "long") * 2}
    assert p.member_names[0] == "one / short"
