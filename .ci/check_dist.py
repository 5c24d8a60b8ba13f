"""Check what ``make dist`` has built: ``check_dist.py DIST [--lowest | --suite EXTRAS [--tests
PATH]...] [PYTHON ...]``.

The wheel has the right tag and size and no sources of the kernels, and works where there is no
compiler, in a new environment of each PYTHON (this one if none is given), with the newest
dependencies or, with --lowest, the lowest that are declared. There a selection of the tests of the
source distribution runs or, with --suite, each PATH beside the newest libraries of these extras
(``jax,dask,tables``); all tests need the extra ``all``. Without a compiler the source distribution
gives a wheel that does not claim to have compiled code.
"""

from __future__ import annotations

import argparse
import os
import runpy
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 2e6
MOST_SOURCE = 2.5e6
TESTS = (
    "tests/test_events.py",
    "tests/test_lazy.py",
    "tests/losses/test_classic.py",
    "tests/test_metrics.py",
)
NO_COMPILER = {"CC": "/bin/false", "CXX": "/bin/false"}
QUIETLY = ("install", "--quiet", "--disable-pip-version-check")


def run(*command: object, cwd: Path, **variables: str) -> str:
    """A command without the settings of this project; its output if it succeeds."""
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("LABELWISE_", "PYTHON"))
    }
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=env | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(python: str, folder: Path, *what: object, **variables: str) -> Path:
    """The Python of a new environment with ``what`` in it."""
    run(python, "-m", "venv", folder, cwd=folder.parent)
    own = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    start = time.perf_counter()
    run(own, "-m", "pip", *QUIETLY, *what, cwd=folder.parent, **variables)
    print(f"{python}: installed in {time.perf_counter() - start:.1f} s")
    return own


def check_wheel(wheel: Path) -> None:
    """Its name, its size, and that the sources of the kernels are left to the source
    distribution.
    """
    if "-cp311-abi3-" not in wheel.name or "-linux_" in wheel.name:
        sys.exit(
            f"{wheel.name}: the tag must be that of the limited API, and of manylinux on Linux"
        )
    if wheel.stat().st_size > MOST:
        sys.exit(
            f"{wheel.name} has {wheel.stat().st_size / 1e6:.2f} MB; at most {MOST / 1e6} are "
            "allowed"
        )
    with zipfile.ZipFile(wheel) as archive:
        sources = [name for name in archive.namelist() if name.endswith((".c", ".h"))]
    if sources:
        sys.exit(
            f"{wheel.name} holds {', '.join(sources)}, which belong in the source distribution only"
        )


def constraints(lowest: bool) -> str:
    """The lowest declared versions, or only the release of torch with a CPU build; any other is
    some gigabytes.
    """
    if not lowest:
        return "".join(
            line
            for line in (ROOT / "constraints.txt").read_text().splitlines(keepends=True)
            if line.startswith("torch")
        )
    script = runpy.run_path(str(ROOT / ".ci" / "lowest_versions.py"))
    return "".join(
        f"{name}=={version}\n"
        for name, version in script["floors"]((ROOT / "pyproject.toml").read_text()).items()
    )


def main(dist: Path, pythons: list[str], lowest: bool, extras: str, paths: list[str]) -> None:
    """All checks."""
    (wheel,), (source,) = dist.glob("*-abi3-*.whl"), dist.glob("*.tar.gz")
    check_wheel(wheel)
    if source.stat().st_size > MOST_SOURCE:
        sys.exit(f"{source.name} has {source.stat().st_size / 1e6:.2f} MB; at most 2.5 are allowed")
    print(
        f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB; {source.name}: "
        f"{source.stat().st_size / 1e6:.1f} MB"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "constraints.txt").write_text(constraints(lowest))
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        unpacked = folder / source.name.removesuffix(".tar.gz")
        pinned = ("-c", folder / "constraints.txt")
        for i, python in enumerate(pythons):
            own = install(
                python, folder / f"venv{i}", "--only-binary", ":all:", *pinned, wheel, **NO_COMPILER
            )
            print(run(own, ROOT / ".ci" / "check_install.py", cwd=folder).strip())
            more = [f"{wheel}[{extras}]", "pytest-xdist"] if extras else []
            run(
                own,
                "-m",
                "pip",
                *QUIETLY,
                *pinned,
                "pytest",
                "pytest-timeout",
                "hypothesis",
                "mpmath",
                *more,
                cwd=folder,
            )
            tests = ("-n", "2", "--dist", "worksteal", *paths) if extras else TESTS
            print(
                run(
                    own,
                    "-m",
                    "pytest",
                    "-q",
                    "--no-header",
                    *tests,
                    cwd=unpacked,
                    OMP_NUM_THREADS="1",
                ).splitlines()[-1]
            )
        run(
            own,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--wheel-dir",
            folder / "pure",
            source,
            cwd=folder,
            **NO_COMPILER,
        )
        (pure,) = (folder / "pure").iterdir()
        if not pure.name.endswith("-py3-none-any.whl"):
            sys.exit(f"a wheel without compiled code is called {pure.name}")
        run(own, "-m", "pip", *QUIETLY, "--no-deps", "--force-reinstall", pure, cwd=folder)
        print(run(own, ROOT / ".ci" / "check_install.py", "--without-kernel", cwd=folder).strip())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("dist", type=Path)
    parser.add_argument("pythons", nargs="*", default=[sys.executable], metavar="PYTHON")
    parser.add_argument("--lowest", action="store_true")
    parser.add_argument("--suite", default="", metavar="EXTRAS")
    parser.add_argument("--tests", action="append", metavar="PATH")
    options = parser.parse_intermixed_args()
    if options.lowest and options.suite:
        parser.error(
            "--lowest and --suite exclude each other: make test-lowest runs the suite with the "
            "lowest versions"
        )
    if options.suite not in ("", "all") and not options.tests:
        parser.error("name the tests with --tests: all of them need --suite all")
    main(
        options.dist.resolve(),
        options.pythons,
        options.lowest,
        options.suite,
        options.tests or ["tests"],
    )
