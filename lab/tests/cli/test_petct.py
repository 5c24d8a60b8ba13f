"""The commands from phantoms to the report, and one sentence for every mistake."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from optional_libraries import optional

optional("nibabel")
optional("torch")
matplotlib = optional("matplotlib")
matplotlib.use("Agg")

from labelwise_lab.cli import main  # noqa: E402


def run(*args: object, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["petct", *map(str, args)], catch_exceptions=False)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def test_from_phantoms_to_the_report(tmp_path):
    studies, slices, trained, report = (
        tmp_path / name for name in ("studies", "slices", "trained", "report")
    )
    assert "wrote 17 studies of 15 phantom patients" in run(
        "phantom", studies, "--patients", 15, "--voxel", 20, "--seed", 1
    )
    (next(studies.glob("*/*/SUV.nii.gz"))).write_bytes(b"\x1f\x8b")
    options = (
        "--size",
        24,
        "--step",
        0,
        "--hold-back",
        "bone metastases",
        "--test-size",
        0.3,
        "--val-size",
        0.2,
        "--n-jobs",
        1,
    )
    said = run("prepare", studies, "-o", slices, *options)
    assert said.count("skipped PETCT_") == 1
    assert "SUV.nii.gz cannot be used: Compressed file ended" in said
    assert "held back" in said
    said = run(
        "train",
        slices,
        "-o",
        trained,
        "--network",
        "mlp",
        "--members",
        2,
        "--epochs",
        2,
        "--n-jobs",
        1,
        "--top",
        3,
    )
    assert "accuracy" in said
    assert "held-back-slices" in said
    costs = tmp_path / "costs.toml"
    costs.write_text("default = 1\nmissed = { lymphoma = 5 }\nask = 0.5\n")
    said = run("report", slices, trained, "-o", report, "--costs", costs, "--show", 1)
    assert "held-back studies against" in said
    assert "by epistemic uncertainty" in said
    assert "Recall, with 95 % intervals over patients" in said
    assert (report / "studies.html").exists()
    numbers = json.loads(run("report", slices, trained, "-o", report, "--show", 1, "--json"))
    assert set(numbers["held_back"]) == {"studies", "slices with lesions"}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("prepare", "nothing", "-o", "out"), "there is no folder 'nothing'"),
        (("train", "nothing", "-o", "out"), "run `labelwise-lab petct prepare` first"),
        (("report", "nothing", "nothing", "-o", "out"), "run `labelwise-lab petct prepare` first"),
        (("prepare", ".", "-o", "out", "--window", 5, 1), "`window` two numbers"),
        (("report", ".", ".", "-o", "out", "--costs", "no.toml"), "no.toml"),
    ],
)
def test_mistakes_get_one_sentence(tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    assert words in run(*args, code=2)
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_without_its_entries_is_named(tmp_path, optional) -> None:
    for name in ("nibabel", "torch"):
        optional(name)
    (tmp_path / "manifest.json").write_text('{"format": 2, "class_names": ["negative"]}')
    for args in (
        ["train", tmp_path, "-o", tmp_path / "t"],
        ["report", tmp_path, tmp_path, "-o", tmp_path / "r"],
    ):
        result = CliRunner().invoke(main, ["petct", *map(str, args)])
        assert result.exit_code == 2, result.output
        assert result.output.startswith("Error: ")
        assert "manifest.json' cannot be used: it has no 'settings'" in result.output
