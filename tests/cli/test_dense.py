"""``labelwise dense``."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from command_line import run
from volume_files import SHAPE, hard_members, nifti, normalized, probabilities, soft_members

CASES = tuple("abcdef")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three members × six cases in nnU-Net's layout, with truth."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for m in range(3):
        for i, case in enumerate(CASES):
            probs = normalized(probabilities(10 * m + i))
            place = nifti(tmp_path / f"fold_{m}" / f"{case}.nii.gz", probs.argmax(-1), dtype="u1")
            np.savez_compressed(place.parent / f"{case}.npz", probabilities=probs.T)
        labels = {"background": 0, "liver": 1, "tumor": 2}
        (tmp_path / f"fold_{m}" / "dataset.json").write_text(json.dumps({"labels": labels}))
    for case in CASES:
        nifti(tmp_path / "truth" / f"{case}.nii.gz", rng.integers(0, 3, SHAPE), dtype="u1")
    return tmp_path


FOLDS = ("fold_0", "fold_1", "fold_2")


def test_nnunet_folders_with_truth(here: Path) -> None:
    result = run("dense", *FOLDS, "--truth", "truth", "--event", "any=liver,2", "-o", "out")
    assert result.exit_code == 0, result.output
    assert "3 members × 6 cases: probabilities of 3 classes" in result.output
    assert "10 of 18 structures, by doubt" in result.stdout
    assert "  dice" in result.stdout
    assert "Failure detection" in result.stdout
    for score in ("eu_per_volume", "entropy_per_volume", "pairwise_dice", "mean_entropy"):
        assert result.stdout.count(f" {score} ") >= 3
    with (here / "out" / "cases.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["structure"] for row in rows} == {"liver", "tumor", "any"}
    assert len(rows) == 18
    assert (here / "out" / "maps" / "a_tumor_epistemic.nii.gz").is_file()
    assert (here / "out" / "index.html").is_file()


def test_json_has_all_rows(here: Path) -> None:
    result = run("dense", *FOLDS, "--truth", "truth", "--no-figures", "-o", "out", "--json")
    found = json.loads(result.stdout)
    assert len(found["structures"]) == 12
    assert len(found["failure_detection"]) == 10
    assert not (here / "out" / "index.html").exists()


def test_only_the_maps_that_are_asked_for(here: Path) -> None:
    words = ("--maps", "total", "--maps", "aleatoric", "--no-gzip", "--float32", "--no-figures")
    assert run("dense", *FOLDS, *words, "--worst", "1", "-o", "out").exit_code == 0
    names = {path.name[2:] for path in (here / "out" / "maps").iterdir()}
    assert "liver_total.nii" in names
    assert not any("epistemic" in name for name in names)
    assert run("dense", *FOLDS, "--maps", "none", "--no-figures", "-o", "none").exit_code == 0
    assert not (here / "none" / "maps").exists()


def test_votes_say_that_they_have_no_aleatoric_part(here: Path) -> None:
    labels = np.zeros(SHAPE)
    labels[2:4] = 4
    files = hard_members(here / "raters", [labels, labels, labels * 0])
    names = ("--class-names", "1=necrosis, 4=core")
    result = run("dense", *files, *names, "-o", "out")
    assert result.exit_code == 0, result.output
    assert "Votes have no aleatoric part: AU is 0" in result.output
    assert "  dice" not in result.stdout  # without truth
    assert "core" in result.stdout
    assert "necrosis" in result.stdout


def test_arrays_without_an_affine_are_said_to_be_so(here: Path) -> None:
    for m in range(2):
        np.save(f"{m}.npy", np.full((3, 4, 5), m, np.uint8))
    result = run("dense", "0.npy", "1.npy", "-o", "out")
    assert "without an affine: voxels are taken to be 1 mm apart" in result.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("fold_0",), "Each argument is one member"),
        (("fold_0", "fold_9"), "fold_9"),
        ((*FOLDS, "--event", "any=livr"), "Did you mean 'liver'"),
        ((*FOLDS, "--event", "any"), "--event: expected such as"),
        ((*FOLDS, "--class-names", "x=liver"), "must be names by label; got 'x'"),
        ((*FOLDS, "--class-names", "1=liver,tumor"), "must be names by label; got 'tumor'"),
        ((*FOLDS, "--truth", "fold_0/a.nii.gz"), "case 'b' is missing"),
    ],
)
def test_mistakes_are_a_sentence(here: Path, words: tuple[str, ...], expected: str) -> None:
    result = run("dense", *words, "-o", "out")
    assert result.exit_code == 2
    assert expected in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_planted_faults_name_file_and_field(here: Path) -> None:
    affine = np.eye(4)
    affine[0, 3] = 1
    probs = normalized(probabilities())
    faults = {
        "affine": (probs, affine),
        "shape": (probs[:-1], np.eye(4)),
        "NaN": (np.where(np.arange(SHAPE[0])[:, None, None, None] == 4, np.nan, probs), np.eye(4)),
    }
    for field, (values, place) in faults.items():
        first, second = soft_members(here / field, 2)
        nifti(second / "case.nii.gz", values, place)
        result = run("dense", first, second, "-o", "out")
        text = " ".join(result.output.split())
        assert result.exit_code == 2
        assert "case.nii.gz" in text.replace(" ", "")
        assert field in text


def test_six_algorithms_of_brats(medical: Path, tmp_path: Path) -> None:
    files = sorted((medical / "brats").glob("*.nii.gz"))
    result = run("dense", *files, "--no-figures", "--maps", "none", "-o", tmp_path / "out")
    assert "6 members × 1 case: label maps. Votes have no aleatoric part" in result.output
    assert " 11.92    16.02 " in result.stdout
