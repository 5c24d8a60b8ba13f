"""Check what ``make dist`` has built: ``check_dist.py DIST [--lowest] [PYTHON ...]``.

The wheel has the right tag and size, and works where there is no compiler, in a new environment of each PYTHON (this one if none is
given), with the newest dependencies or, with --lowest, the lowest that are declared. From the source distribution, a selection of its
tests runs, and without a compiler it gives a wheel that does not claim to have compiled code.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 4.2e6  # 2.8 of them are the bundled predictions
TESTS = ("tests/test_events.py", "tests/test_lazy.py", "tests/losses/test_classic.py", "tests/test_metrics.py")
NO_COMPILER = {"CC": "/bin/false", "CXX": "/bin/false"}


def run(*command: object, cwd: Path, **variables: str) -> str:
    """A command without the settings of this project; its output if it succeeds."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("LABELWISE_", "PYTHON"))}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env | variables, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(python: str, folder: Path, *what: object, **variables: str) -> Path:
    """The Python of a new environment with ``what`` in it."""
    run(python, "-m", "venv", folder, cwd=folder.parent)
    own = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    start = time.perf_counter()
    run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what, cwd=folder.parent, **variables)
    print(f"{python}: installed in {time.perf_counter() - start:.0f} s")
    return own


def main(dist: Path, pythons: list[str], lowest: bool) -> None:
    """All checks."""
    (wheel,), (source,) = dist.glob("*-abi3-*.whl"), dist.glob("*.tar.gz")
    if "-cp311-abi3-" not in wheel.name or "-linux_" in wheel.name:
        sys.exit(f"{wheel.name}: the tag must be that of the limited API, and of manylinux on Linux")
    if wheel.stat().st_size > MOST:
        sys.exit(f"{wheel.name} has {wheel.stat().st_size / 1e6:.1f} MB; at most {MOST / 1e6} are allowed")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB; {source.name}: {source.stat().st_size / 1e6:.1f} MB")
    script = runpy.run_path(str(ROOT / ".ci" / "lowest_versions.py"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        floors = folder / "floors.txt"
        floors.write_text(
            "\n".join(f"{name}=={version}" for name, version in script["floors"]((ROOT / "pyproject.toml").read_text()).items())
        )
        for i, python in enumerate(pythons):
            own = install(python, folder / f"venv{i}", "--only-binary", ":all:", *(("-c", floors) if lowest else ()), wheel, **NO_COMPILER)
            print(run(own, ROOT / ".ci" / "check_install.py", cwd=folder).strip())
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        unpacked = folder / source.name.removesuffix(".tar.gz")
        run(
            own,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "pytest",
            "pytest-timeout",
            "hypothesis",
            "mpmath",
            cwd=folder,
        )
        print(run(own, "-m", "pytest", "-q", "--no-header", *TESTS, cwd=unpacked).splitlines()[-1])
        run(own, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "pure", source, cwd=folder, **NO_COMPILER)
        (pure,) = (folder / "pure").iterdir()
        if not pure.name.endswith("-py3-none-any.whl"):
            sys.exit(f"a wheel without compiled code is called {pure.name}")
        run(own, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", pure, cwd=folder)
        print(run(own, ROOT / ".ci" / "check_install.py", "--without-kernel", cwd=folder).strip())


if __name__ == "__main__":
    names = [name for name in sys.argv[2:] if name != "--lowest"]
    main(Path(sys.argv[1]).resolve(), names or [sys.executable], "--lowest" in sys.argv)
