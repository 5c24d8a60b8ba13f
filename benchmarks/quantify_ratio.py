"""`lw.quantify` beside its own past: time, processor time and peak memory, as ratios from one run.

    python benchmarks/quantify_ratio.py REVISION [--rows 5000000] [--rounds 3] [--suffix .npz]

The sources of REVISION are unpacked beside the scratch file (1 GB for 5,000,000 rows) and use the
compiled kernels of the working tree. Runs alternate; the least of each counts.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

SOURCES = Path(__file__).parents[1] / "src"
RUN = """
import json, re, resource, sys, time
from labelwise.io.quantify import quantify
start = time.perf_counter()
quantify(sys.argv[1], sys.argv[2])
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_SELF)
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
print(json.dumps([seconds, used.ru_utime + used.ru_stime, int(peak) / 1000]))
"""


def unpacked(revision: str, folder: Path) -> Path:
    """The sources of an earlier revision, with the kernels of today."""
    packed = subprocess.run(
        ["git", "archive", revision, "src"], cwd=SOURCES.parent, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    for kernel in SOURCES.rglob("*.so"):
        shutil.copy(kernel, folder / "src" / kernel.relative_to(SOURCES))
    return folder / "src"


def written(path: Path, rows: int) -> None:
    """Predictions of 5 members and 10 classes, in little memory."""
    few = np.random.default_rng(0).dirichlet(np.ones(10), (5, 50_000)).astype(np.float32)
    probs = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(5, rows, 10))
    for start in range(0, rows, 50_000):
        part = probs[:, start : start + 50_000]
        part[:] = few[:, : part.shape[1]]
    probs.flush()


def measured(source: Path, target: Path, code: Path) -> list[float]:
    environment = dict(os.environ, PYTHONPATH=str(code))
    command = [sys.executable, "-c", RUN, str(source), str(target)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("revision")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--suffix", default=".npz")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written(folder / "in.npy", args.rows)
        codes = {args.revision: unpacked(args.revision, folder / "before"), "now": SOURCES}
        runs: dict[str, list[list[float]]] = {what: [] for what in codes}
        for _ in range(args.rounds):
            for what, code in codes.items():
                target = folder / f"out{args.suffix}"
                runs[what].append(measured(folder / "in.npy", target, code))
                shutil.rmtree(target) if target.is_dir() else target.unlink()
    least = {what: np.min(found, axis=0) for what, found in runs.items()}
    for what, numbers in least.items():
        print(f"{what}: {numbers[0]:.2f} s, processor {numbers[1]:.2f} s, {numbers[2]:.0f} MB")
    print("ratios:", *(f"{ratio:.2f}" for ratio in least["now"] / least[args.revision]))


if __name__ == "__main__":
    main()
