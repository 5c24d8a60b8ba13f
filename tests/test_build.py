"""The package can be built from what is released of it, with a compiler or without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no /bin/false to stand for a compiler that fails")


def run(*command: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command of this Python, without the settings of the tests."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("LABELWISE_", "PYTHON"))}
    return subprocess.run([sys.executable, *map(str, command)], cwd=cwd, env=env | variables, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution."""
    folder = tmp_path_factory.mktemp("source")
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "*.egg-info"))
    done = run("-c", "from setuptools import build_meta; build_meta.build_sdist('dist')", cwd=folder)
    assert done.returncode == 0, done.stderr
    (found,) = (folder / "dist").iterdir()
    return found


def install(archive: Path, target: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    options = ("--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check", "--target", target)
    return run("-m", "pip", "install", *options, archive, cwd=target.parent, **variables)


def test_the_archive_holds_all_that_is_compiled(archive: Path) -> None:
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    kernel = {
        f"src/labelwise/_engine/{path.name}" for path in (ROOT / "src/labelwise/_engine").iterdir() if path.suffix in (".c", ".h", ".py")
    }
    assert {"setup.py", "pyproject.toml", "LICENSE", "src/labelwise/py.typed"} | kernel <= names
    assert len(kernel) >= 5
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


def test_without_a_compiler_numpy_does_the_work(archive: Path, tmp_path: Path) -> None:
    done = install(archive, tmp_path / "site", CC="/bin/false")
    assert done.returncode == 0, done.stderr
    code = (
        "import numpy as np, labelwise as lw\n"
        "print(lw.__file__, lw.kernel_info()['kernel'], lw.decompose(lw.Ensemble(np.eye(2)[:, None])).epistemic.tolist())\n"
    )
    used = run("-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert used.stdout.split(" ", 1) == [str(tmp_path / "site" / "labelwise" / "__init__.py"), "numpy [[1.0, 1.0]]\n"], used.stderr


def test_a_strict_build_does_not_hide_that_there_is_no_compiler(archive: Path, tmp_path: Path) -> None:
    done = install(archive, tmp_path / "site", CC="/bin/false", LABELWISE_BUILD="strict")
    assert done.returncode != 0
    assert "/bin/false" in done.stdout + done.stderr
    assert not (tmp_path / "site" / "labelwise").exists()
