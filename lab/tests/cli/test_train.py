"""``labelwise-lab train`` from the data set to the prediction file."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from click.testing import CliRunner

import labelwise_lab
from labelwise._format import percent
from labelwise.io import load_predictions
from labelwise_lab.cli import main


def run(*args: object, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["train", *map(str, args)], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


def test_digits(tmp_path):
    out = tmp_path / "preds.npz"
    output = run("digits", "-o", out, "--quick")
    assert "2 × mlp, 2 epochs, 1,258 training instances" in output
    assert f"wrote {out}" in output
    p = load_predictions(out)
    data = labelwise_lab.datasets.load("digits")
    assert p.probs.shape == (2, 539, 10)
    np.testing.assert_array_equal(p.y_true, data.test.y)
    np.testing.assert_array_equal(p.images, data.test.x)
    assert p.class_names == data.class_names
    accuracy = (p.probs.mean(0).argmax(-1) == p.y_true).mean()
    assert accuracy > 0.8
    assert f"ensemble {percent(accuracy, 2)}" in output
    assert sorted(os.listdir(tmp_path)) == ["preds.npz", "preds.training"]

    before = out.read_bytes()
    assert "exists already; choose another name, or resume with --resume" in run(
        "digits", "-o", out, "--quick", code=2
    )
    run("digits", "-o", out, "--quick", "--resume")
    assert out.read_bytes() == before
    more = run(
        "digits",
        "-o",
        out,
        "--quick",
        "--resume",
        "--members",
        3,
        "--work-dir",
        tmp_path / "preds.training",
    )
    assert "3 × mlp" in more
    assert load_predictions(out).probs.shape == (3, 539, 10)
    printed = run("digits", "-o", out, "--quick", "--resume", "--members", 3, "--json")
    found, _ = json.JSONDecoder().raw_decode(printed[printed.index("{") :])
    assert found["accuracy"] == pytest.approx(
        (load_predictions(out).probs.mean(0).argmax(-1) == p.y_true).mean()
    )
    assert len(found["accuracy_of_members"]) == 3
    assert "`seed` changed: it was 0, now 1" in run(
        "digits", "-o", out, "--quick", "--resume", "--seed", 1, code=2
    )
    for other in (("--epochs", 3), ("--augment",)):
        assert "`recipe` changed" in run("digits", "-o", out, "--quick", "--resume", *other, code=2)


def test_a_table_with_missing_values(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        f"{a if i % 7 else '?'},{b},{'ill' if b > 0 else 'well'}"
        for i, (a, b) in enumerate(rng.normal(size=(120, 2)))
    ]
    folder = tmp_path / "medical"
    folder.mkdir()
    head = [
        "@relation column",
        "@attribute a numeric",
        "@attribute b numeric",
        "@attribute class {ill, well}",
        "@data",
    ]
    (folder / "hypothyroid.arff").write_text("\n".join([*head, *rows]) + "\n")
    output = run(
        "hypothyroid",
        "-o",
        tmp_path / "p.npz",
        "--epochs",
        20,
        "--members",
        2,
        "--data-dir",
        tmp_path,
    )
    assert "2 × mlp" in output
    p = load_predictions(tmp_path / "p.npz")
    assert p.images is None
    assert p.class_names == ("ill", "well")
    assert (p.probs.mean(0).argmax(-1) == p.y_true).mean() > 0.9


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("digits", "-o", "p.csv"), "must end in .npz or .npy"),
        (("digits", "-o", "no/p.npz"), "there is no folder 'no'"),
        (("digit", "-o", "p.npz"), "Did you mean 'digits'"),
        (("digits", "-o", "p.npz", "--recipe", "paper"), "Use the recipe 'default'"),
        (("digits", "-o", "p.npz", "--network", "cnn"), "at least 16 × 16 pixels"),
        (("digits", "-o", "p.npz", "--members", "0"), "0 is not in the range"),
    ],
)
def test_mistakes_get_one_sentence_and_leave_no_file(tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    output = run(*args, code=2)
    assert words in output
    assert "Traceback" not in output
    assert os.listdir(tmp_path) == []


def test_folders_of_images_and_tables_are_data_sets_too(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(40):
        folder = tmp_path / "photos" / ("dark" if i % 2 else "bright")
        folder.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 60, (8, 8)) + (20 if i % 2 else 180)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{i}.png")
    (tmp_path / "t.csv").write_text(
        "a,b,kind\n"
        + "".join(
            f"{rng.normal() + 3 * (i % 2)},{rng.normal()},{'no' if i % 2 else 'yes'}\n"
            for i in range(40)
        )
    )
    for name, classes in (("photos", ("bright", "dark")), ("t.csv", ("no", "yes"))):
        run(tmp_path / name, "-o", tmp_path / f"{name}.npz", "--quick", "--epochs", "60")
        stored = load_predictions(tmp_path / f"{name}.npz")
        assert stored.class_names == classes
        assert (stored.probs.mean(0).argmax(-1) == stored.y_true).mean() > 0.7
