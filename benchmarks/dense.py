"""`labelwise dense` on large volumes: processor time and anonymous memory.

    python benchmarks/dense.py FOLDER [--only classes|archives|large]

classes   6 members × 4 classes × 155 × 240 × 240 float32 from .npy: three maps of epistemic
          uncertainty as float32, by a NumPy script and by `labelwise.dense.maps` (which also
          writes the mean prediction and the components); then the command, which adds tables of
          structures and components
archives  the same from nnU-Net's .npz, beside `np.load` alone
large     3 members × 105 classes × 256³ float16, 10.6 GB, beside 15 of the classes

FOLDER takes the files of a run, up to 12 GB, and is emptied after each. Runs are processes of their
own, and the best of some rounds counts; what is compared takes turns. Anonymous memory is read from
/proc every hundredth of a second. Modules are compiled once, as they are when they are installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import nibabel as nib
import numpy as np

SHAPE = (155, 240, 240)
MEMBERS, CLASSES = 6, 4
LARGE = (256, 256, 256)

NUMPY = """
import sys
import nibabel as nib
import numpy as np
*files, out = sys.argv[1:]
members = np.stack([np.load(file) for file in files])
def entropy(p):
    q = 1 - p
    return -(p * np.log2(np.maximum(p, 1e-12)) + q * np.log2(np.maximum(q, 1e-12)))
total = entropy(members.mean(axis=0))
aleatoric = entropy(members).mean(axis=0)
epistemic = total - aleatoric
for k in range(1, len(epistemic)):
    nib.save(nib.Nifti1Image(epistemic[k].T, np.eye(4)), f"{out}/{k}.nii")
"""
MAPS = """
import sys
import labelwise as lw
*files, out = sys.argv[1:]
(case,) = lw.dense.cases(*files)
lw.dense.maps(case, out, as_float=True, compress=False)
"""
LOAD = """
import sys
import numpy as np
for file in sys.argv[1:]:
    np.load(file)["probabilities"]
"""


def run(command: Sequence[str | Path]) -> tuple[float, float, float]:
    """Processor seconds, seconds and MB of anonymous memory at the most."""
    used = os.times()
    start = time.perf_counter()
    compiled = {key: x for key, x in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=compiled
    )
    highest = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        for line in status.splitlines():
            if line.startswith("RssAnon"):
                highest = max(highest, int(line.split()[1]))
        time.sleep(0.01)
    if process.wait():
        raise SystemExit(f"failed: {command}")
    seconds = time.perf_counter() - start
    now = os.times()
    cpu = now.children_user + now.children_system - used.children_user - used.children_system
    return cpu, seconds, highest / 1000


def best(
    commands: Mapping[str, Sequence[str | Path]], written: Path, rounds: int
) -> list[tuple[float, float]]:
    """Print the best of some runs of each command, and return its processor seconds and seconds."""
    results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            shutil.rmtree(written, ignore_errors=True)
            written.mkdir()
            results[name].append(run(command))
    least = []
    for name, runs in results.items():
        cpu, seconds, memory = (min(own) for own in zip(*runs, strict=True))
        print(f"{name}: {cpu:.1f} CPU s, {seconds:.1f} s, {memory:.0f} MB", flush=True)
        least.append((cpu, seconds))
    return least


def print_ratios(title: str, one: tuple[float, float], other: tuple[float, float]) -> None:
    """Print how much longer one of two runs took."""
    cpu, seconds = np.divide(one, other)
    print(f"{title}: {cpu:.2f} of the processor, {seconds:.2f} of the time", flush=True)


def dense(members: Sequence[Path], written: Path, *options: str) -> list[str | Path]:
    """The command."""
    return [sys.executable, "-m", "labelwise", "dense", *members, "-o", written, *options]


def probabilities(seed: int) -> np.ndarray:
    """Smooth probabilities of one member: three nested balls whose border is uncertain."""
    rng = np.random.default_rng(seed)
    grids = np.meshgrid(*[np.linspace(-1, 1, n, dtype=np.float32) for n in SHAPE], indexing="ij")
    radius = np.sqrt(sum(grid**2 for grid in grids))
    logits = [np.zeros_like(radius)]
    for size in (0.7, 0.5, 0.3):
        logits.append(logits[-1] + 40 * (size + rng.normal(0, 0.02) - radius))
    values = np.exp(np.stack(logits))
    values /= values.sum(axis=0)
    return values.astype(np.float32)


def classes(folder: Path, rounds: int) -> None:
    """Plain arrays, beside NumPy."""
    members = [folder / f"{m}.npy" for m in range(MEMBERS)]
    for m, path in enumerate(members):
        np.save(path, probabilities(m))
    out = folder / "out"
    commands: dict[str, Sequence[str | Path]] = {
        "NumPy script, 3 maps": [sys.executable, "-c", NUMPY, *members, out],
        "labelwise.dense.maps, the same": [sys.executable, "-c", MAPS, *members, out],
        "labelwise dense --no-gzip --no-figures": dense(members, out, "--no-gzip", "--no-figures"),
        "labelwise dense": dense(members, out),
    }
    plain, maps, *_ = best(commands, out, rounds)
    print_ratios("NumPy ÷ labelwise.dense.maps", plain, maps)


def archives(folder: Path, rounds: int) -> None:
    """nnU-Net's files, beside reading them."""
    for m in range(MEMBERS):
        place = folder / f"fold_{m}"
        place.mkdir()
        values = probabilities(m)
        np.savez_compressed(place / "case.npz", probabilities=values)
        labels = values.argmax(axis=0).astype(np.uint8)
        nib.save(nib.Nifti1Image(labels.T, np.eye(4)), place / "case.nii.gz")
    members, out = [folder / f"fold_{m}" for m in range(MEMBERS)], folder / "out"
    files = [place / "case.npz" for place in members]
    commands: dict[str, Sequence[str | Path]] = {
        "np.load of six .npz": [sys.executable, "-c", LOAD, *files],
        "labelwise dense --no-gzip --no-figures": dense(members, out, "--no-gzip", "--no-figures"),
    }
    plain, ours = best(commands, out, rounds)
    print_ratios("labelwise ÷ np.load", ours, plain)


def large(folder: Path, rounds: int) -> None:
    """More classes need no more memory."""
    out = folder / "out"
    for n_classes in (15, 105):
        members = [folder / f"{m}.npy" for m in range(3)]
        for m, path in enumerate(members):
            write_large(path, n_classes, m)
        gigabytes = sum(path.stat().st_size for path in members) / 1e9
        name = f"labelwise dense, {n_classes} classes, {gigabytes:.1f} GB"
        command = dense(members, out, "--no-gzip", "--no-figures", "--maps", "none")
        best({name: command}, out, 1)
        for path in members:
            path.unlink()


def write_large(path: Path, n_classes: int, seed: int) -> None:
    """Slabs along x, one for each class, with uncertain borders."""
    shape = (n_classes, *LARGE)
    values = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=shape)
    place = np.arange(LARGE[-1]) / LARGE[-1] * n_classes + seed * 0.1
    chance = np.exp(-np.abs(place - np.arange(n_classes)[:, None] - 0.5) * 6)
    chance /= chance.sum(axis=0)
    for k in range(n_classes):
        values[k] = chance[k]
    values.flush()


def main() -> None:
    parts = {"classes": classes, "archives": archives, "large": large}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=list(parts))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for name, measure in parts.items():
        if options.only in (None, name):
            folder = options.folder / name
            folder.mkdir(parents=True)
            try:
                measure(folder, options.rounds)
            finally:
                shutil.rmtree(folder)


if __name__ == "__main__":
    main()
