"""Real data, where they are there, and no other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from labelwise_lab.datasets import Dataset, load

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the published files: LABELWISE_DATA, or unpacked from ../shared/data
    beside the repository.
    """
    if os.environ.get("LABELWISE_DATA"):
        return Path(os.environ["LABELWISE_DATA"])
    if not (SHARED / "unpack.py").exists():
        pytest.skip("no published data sets: set LABELWISE_DATA to a folder that holds them")
    shared_by_workers = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared_by_workers = shared_by_workers.parent
    folder = shared_by_workers / "published"
    with FileLock(shared_by_workers / "published.lock"):
        if not folder.exists():
            unpack = [sys.executable, SHARED / "unpack.py", folder]
            subprocess.run(unpack, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def cifar10(real: Path) -> Dataset:
    """CIFAR-10, read once."""
    return load("cifar10", data_dir=real)


@pytest.fixture(autouse=True)
def _own_directories(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """No test sees the data directory or the cache of whoever runs it, except through `real`;
    nothing goes through a proxy.
    """
    if "real" in request.fixturenames:
        request.getfixturevalue("real")
    monkeypatch.delenv("LABELWISE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
