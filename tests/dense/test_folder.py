"""Many cases: tables, maps of the worst, and runs that are resumed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise.dense import folder as module
from labelwise.dense.folder import by_doubt, write_folder
from labelwise.dense.structures import Settings
from volume_files import SHAPE, nifti

SETTINGS = Settings("log", {}, parts=["epistemic"], figures=True)


@pytest.fixture
def members(tmp_path: Path) -> list[Path]:
    """Three cases; b is more disputed than c and a."""
    for m in range(3):
        for case, disputed in (("a", 0), ("b", 4), ("<i>c", 2)):
            labels = np.zeros(SHAPE, np.uint8)
            labels[2:5, 2:5, 2 : 4 + (disputed if m == 0 else 0)] = 1
            nifti(tmp_path / f"m{m}" / f"{case}.nii.gz", labels)
    return [tmp_path / f"m{m}" for m in range(3)]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the cases that are computed."""
    names: list[str] = []
    original = module.PredictedVolumes

    def predicted(case: Any) -> Any:
        names.append(case.name)
        return original(case)

    monkeypatch.setattr(module, "PredictedVolumes", predicted)
    return names


def write(members: list[Path], folder: Path, worst: int = 20, **settings: Any) -> list[Any]:
    def progress(done: int, of: int) -> None:
        assert 0 <= done < of

    cases = lw.dense.cases(*members)
    return write_folder(cases, folder, SETTINGS._replace(**settings), worst, progress)


def test_tables_maps_and_figures(members: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    examined = write(members, out)
    with (out / "cases.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["case"] for row in table] == ["<i>c", "a", "b"]
    rows = [row for one in examined for row in one["structures"]]
    assert [float(row["ml_high"]) for row in table] == [row["ml_high"] for row in rows]
    assert [row["case"] for row in by_doubt(rows)] == ["b", "<i>c", "a"]
    assert len((out / "components.csv").read_text().splitlines()) == 4
    assert len(list((out / "maps").iterdir())) == 9
    assert len(list((out / "figures").iterdir())) == 3
    page = (out / "index.html").read_text()
    assert page.index("<h2>b</h2>") < page.index("&lt;i&gt;c") < page.index("<h2>a</h2>")
    assert "<i>" not in page
    for figure in (out / "figures").iterdir():
        assert figure.name.replace("<", "&lt;").replace(">", "&gt;") in page


def test_only_the_worst_are_shown(members: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(members, out, worst=1)
    assert [path.name for path in (out / "figures").iterdir()] == ["b_1.png"]
    assert all(path.name.startswith("b_") for path in (out / "maps").iterdir())
    assert len((out / "cases.csv").read_text().splitlines()) == 4


def test_without_maps_and_figures(members: list[Path], tmp_path: Path) -> None:
    write(members, tmp_path / "out", parts=[], figures=False)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"cases.csv", "components.csv", ".finished"}


def test_finished_cases_are_kept(members: list[Path], tmp_path: Path, read: list[str]) -> None:
    first = write(members, tmp_path / "out")
    assert read == ["<i>c", "a", "b"]
    table = (tmp_path / "out" / "cases.csv").read_text()
    again = write(members, tmp_path / "out")
    assert len(read) == 3
    assert again == first
    assert (tmp_path / "out" / "cases.csv").read_text() == table
    labels = np.zeros(SHAPE, np.uint8)
    labels[1, 1, 1] = 1
    nifti(members[1] / "a.nii.gz", labels)
    write(members, tmp_path / "out")
    assert read[3:] == ["a"]
    write(members, tmp_path / "out", loss="squared")
    assert len(read) == 7


def test_an_interrupted_run_is_resumed(
    members: list[Path], tmp_path: Path, read: list[str]
) -> None:
    broken = members[2] / "b.nii.gz"
    whole = broken.read_bytes()
    nifti(broken, np.full(SHAPE, 1.5))
    with pytest.raises(ValueError, match=r"b\.nii\.gz"):
        write(members, tmp_path / "out")
    broken.write_bytes(whole)
    write(members, tmp_path / "out")
    assert read == ["<i>c", "a", "b", "b"]
