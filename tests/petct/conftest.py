"""Phantom studies, made once: coarse voxels, so that a study is a few kilobytes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def phantoms(tmp_path_factory) -> Path:
    """Fifteen patients of five kinds, seventeen studies."""
    pytest.importorskip("nibabel")
    from labelwise.petct import write_phantoms

    folder = tmp_path_factory.mktemp("phantoms") / "studies"
    write_phantoms(folder, patients=15, voxel=18, seed=1)
    return folder


@pytest.fixture
def copy(phantoms: Path, tmp_path: Path) -> Callable[[int], Path]:
    """A function that copies the first n patients into a folder of the test's own, to damage them."""

    def make(n: int = 5) -> Path:
        folder = tmp_path / "studies"
        for patient in sorted(path for path in phantoms.iterdir() if path.is_dir())[:n]:
            shutil.copytree(patient, folder / patient.name)
        chosen = {path.name for path in folder.iterdir()}
        head, *lines = (phantoms / "metadata.csv").read_text().splitlines()
        (folder / "metadata.csv").write_text("\n".join([head, *(line for line in lines if line.split(",")[0] in chosen)]) + "\n")
        return folder

    return make
