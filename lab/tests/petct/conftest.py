"""Phantom studies, made once: coarse voxels, so that a study is a few kilobytes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from optional_libraries import optional

if TYPE_CHECKING:
    from labelwise_lab.petct import Prepared
    from labelwise_lab.petct.results import Results


@pytest.fixture(scope="session")
def phantoms(tmp_path_factory) -> Path:
    """Fifteen patients of five kinds, seventeen studies."""
    optional("nibabel")
    from labelwise_lab.petct import write_phantoms

    folder = tmp_path_factory.mktemp("phantoms") / "studies"
    write_phantoms(folder, patients=15, voxel=18, rng=1)
    return folder


@pytest.fixture
def copy(phantoms: Path, tmp_path: Path) -> Callable[[int], Path]:
    """A function that copies the first n patients into a folder of the test's own, to damage
    them.
    """

    def make(n: int = 5) -> Path:
        folder = tmp_path / "studies"
        for patient in sorted(path for path in phantoms.iterdir() if path.is_dir())[:n]:
            shutil.copytree(patient, folder / patient.name)
        chosen = {path.name for path in folder.iterdir()}
        head, *lines = (phantoms / "metadata.csv").read_text().splitlines()
        (folder / "metadata.csv").write_text(
            "\n".join([head, *(line for line in lines if line.split(",")[0] in chosen)]) + "\n"
        )
        return folder

    return make


@pytest.fixture(scope="session")
def slices(phantoms: Path, tmp_path_factory) -> Path:
    """The phantoms, prepared with one kind held back."""
    from labelwise_lab.petct import Settings, prepare
    from labelwise_lab.petct.phantom import HELD_BACK

    out = tmp_path_factory.mktemp("slices")
    prepare(
        phantoms,
        out,
        settings=Settings(size=32, step=0),
        hold_back=[HELD_BACK],
        test_size=0.3,
        val_size=0.2,
        n_jobs=1,
    )
    return out


@pytest.fixture(scope="session")
def prepared(slices: Path) -> Prepared:
    from labelwise_lab.petct import open_prepared

    return open_prepared(slices)


@pytest.fixture(scope="session")
def trained(slices: Path, tmp_path_factory) -> Path:
    """A small ensemble on them."""
    optional("torch")
    from labelwise_lab.petct import train

    out = tmp_path_factory.mktemp("trained")
    train(slices, out, network="mlp", n_members=2, epochs=3, n_jobs=1)
    return out


@pytest.fixture(scope="session")
def results(prepared: Prepared, trained: Path) -> dict[str, Results]:
    """Its predictions with what they belong to."""
    optional("matplotlib").use("Agg")
    from labelwise_lab.petct.results import load_results

    return load_results(prepared, trained)
