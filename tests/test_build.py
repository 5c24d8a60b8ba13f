"""The package can be built from what is released of it, with a compiler or without."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="there is no /bin/false to stand for a compiler that fails"
)


def run(*command: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command of this Python, without the settings of the tests."""
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("LABELWISE_", "PYTHON"))
    }
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env=env | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution."""
    folder = tmp_path_factory.mktemp("source")
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(
        ROOT / "src",
        folder / "src",
        ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "*.egg-info"),
    )
    done = run(
        "-c", "from setuptools import build_meta; build_meta.build_sdist('dist')", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    (found,) = (folder / "dist").iterdir()
    return found


def install(archive: Path, target: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    options = (
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        "--target",
        target,
    )
    return run("-m", "pip", "install", *options, archive, cwd=target.parent, **variables)


def test_the_archive_holds_all_that_is_compiled(archive: Path) -> None:
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    kernel = {
        f"src/labelwise/_engine/{path.name}"
        for path in (ROOT / "src/labelwise/_engine").iterdir()
        if path.suffix in (".c", ".h", ".py")
    }
    assert {"setup.py", "pyproject.toml", "LICENSE", "src/labelwise/py.typed"} | kernel <= names
    assert len(kernel) >= 5
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


def test_links_of_the_description_work_outside_the_repository(archive: Path) -> None:
    with tarfile.open(archive) as file:
        (metadata,) = [
            name for name in file.getnames() if name.count("/") == 1 and name.endswith("/PKG-INFO")
        ]
        text = file.extractfile(metadata).read().decode()
    assert len(re.findall(r"\]\(https://github.com/labelwise/labelwise/blob/main/docs/", text)) >= 5
    assert re.search(
        r"!\[[^\]]*\]\(https://raw.githubusercontent.com/labelwise/labelwise/main/docs/pictures/",
        text,
    )
    assert re.findall(r"\]\((?!https://|#)[^)]*", text) == []


def test_without_a_compiler_numpy_does_the_work(archive: Path, tmp_path: Path) -> None:
    done = install(archive, tmp_path / "site", CC="/bin/false")
    assert done.returncode == 0, done.stderr
    code = (
        "import numpy as np, labelwise as lw\n"
        "print(lw.__file__, lw.kernel_info()['kernel'], lw.decompose(lw.Ensemble(np.eye(2)[:, "
        "None])).epistemic.tolist())\n"
    )
    (metadata,) = (tmp_path / "site").glob("labelwise-*.dist-info")
    assert not list((tmp_path / "site").rglob("*.[ch]"))  # nobody who installs a wheel compiles
    assert {"Root-Is-Purelib: true", "Tag: py3-none-any"} <= set(
        (metadata / "WHEEL").read_text().splitlines()
    )
    used = run("-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert used.stdout.split(" ", 1) == [
        str(tmp_path / "site" / "labelwise" / "__init__.py"),
        "numpy [[1.0, 1.0]]\n",
    ], used.stderr
    told = run("-m", "labelwise", "--version", cwd=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert "kernel numpy" in told.stdout
    assert told.stdout.count("There is no compiled kernel") == 1
    assert "not compiled" in told.stdout


def test_a_strict_build_does_not_hide_that_there_is_no_compiler(
    archive: Path, tmp_path: Path
) -> None:
    done = install(archive, tmp_path / "site", CC="/bin/false", LABELWISE_BUILD="strict")
    assert done.returncode != 0
    assert "/bin/false" in done.stdout + done.stderr
    assert not (tmp_path / "site" / "labelwise").exists()


@pytest.mark.parametrize(
    ("name", "holds", "words"),
    [
        (
            "it-1-cp311-abi3-linux_x86_64.whl",
            {},
            "the tag must be that of the limited API, and of manylinux on Linux",
        ),
        (
            "it-1-cp311-cp311-manylinux_2_17_x86_64.whl",
            {},
            "the tag must be that of the limited API",
        ),
        (
            "it-1-cp311-abi3-manylinux_2_17_x86_64.whl",
            {"it/data.npz": bytes(2_000_000)},
            r"has 2\.00 MB; at most 2\.0 are allowed",
        ),
        (
            "it-1-cp311-abi3-manylinux_2_17_x86_64.whl",
            {"it/a.py": b"", "it/a.c": b"", "it/a.h": b""},
            r"holds it/a\.c, it/a\.h, which belong",
        ),
    ],
)
def test_a_wheel_that_must_not_be_released_is_refused(
    name: str, holds: dict[str, bytes], words: str, tmp_path: Path
) -> None:
    check_wheel = runpy.run_path(str(ROOT / ".ci" / "check_dist.py"))["check_wheel"]
    with zipfile.ZipFile(tmp_path / name, "w") as file:
        for path, content in holds.items():
            file.writestr(path, content)
    with pytest.raises(SystemExit, match=words):
        check_wheel(tmp_path / name)
    good = tmp_path / "it-1-cp311-abi3-macosx_11_0_arm64.whl"
    with zipfile.ZipFile(good, "w") as file:
        file.writestr("it/data.npz", bytes(1_500_000))
    check_wheel(good)


def test_pythons_follow_the_options_of_the_check(tmp_path: Path) -> None:
    done = run(
        ROOT / ".ci" / "check_dist.py",
        tmp_path,
        "--lowest",
        "--suite",
        "jax",
        "--tests",
        "tests/io",
        "python3.11",
        "python3.13",
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "--lowest and --suite exclude each other" in done.stderr
