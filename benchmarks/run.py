"""Measure labelwise against the formulas as others write them, and write benchmarks/RESULTS.md: ``make bench``.

All contenders of a shape run in turn in one process, so that the machine's moods hit them alike; the number is the median over the
rounds, calls include the allocation of the results, and for labelwise also the check of the input. Published packages run in a
subprocess each (`peers.py`), beside labelwise again. ``--quick`` for a look, ``--only 5x1000000x10`` for one shape.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from contenders import contenders

import labelwise as lw

HERE = Path(__file__).parent
SHAPES = [(5, 10_000, 10), (5, 1_000_000, 10), (10, 5_000, 1000), (8, 16, 128_000), (5, 100, 10)]
NAMES = {
    "log": ["labelwise", "labelwise, 1 thread", "NumPy twin", "SciPy", "torch", "torch.compile"],
    "squared": ["labelwise", "labelwise, 1 thread", "NumPy twin", "NumPy", "torch", "torch.compile"],
}


def predictions(shape: tuple[int, int, int], dtype: str) -> np.ndarray:
    """Softmax of logits that members share in part, members first."""
    members, n, classes = shape
    rng = np.random.default_rng(0)
    out = np.empty(shape, dtype)
    for i in range(0, n, 50_000):
        rows = min(50_000, n - i)
        logits = 2 * rng.standard_normal((1, rows, classes), np.float32) + rng.standard_normal((members, rows, classes), np.float32)
        logits -= logits.max(-1, keepdims=True)
        p = np.exp(logits.astype(dtype))
        out[:, i : i + rows] = p / p.sum(-1, keepdims=True)
    return out


def seconds(run: Any) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(shape: tuple[int, int, int], dtype: str, loss: str, rounds: int) -> dict[str, Any]:
    """Milliseconds of each contender, the read floor, and its peak extra memory as a share of the input."""
    probs = predictions(shape, dtype)
    runs = contenders(probs, loss, NAMES[loss])
    repeat = max(1, int(1e7 // probs.size))  # several calls a round where one is short
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    floor = []
    for _ in range(rounds):
        for name, run in runs.items():
            time.sleep(0.02)  # threads of the one before spin for some milliseconds before they rest
            times[name].append(min(seconds(run) for _ in range(repeat)))
        floor.append(min(seconds(lambda: probs.max()) for _ in range(repeat)))
    return {
        "shape": shape,
        "dtype": dtype,
        "loss": loss,
        "floor": 1e3 * median(floor) / os.cpu_count(),  # all cores read
        "ms": {name: 1e3 * median(values) for name, values in times.items()},
    }


def memory(shape: tuple[int, int, int], dtype: str, loss: str, name: str) -> float:
    """Peak extra memory, as a multiple of the input, of one call in a process of its own."""
    code = (
        "import sys, resource, numpy as np; sys.path.insert(0, sys.argv[1]);"
        "from run import predictions, contenders;"
        "shape, dtype, loss, name = tuple(map(int, sys.argv[2].split('x'))), *sys.argv[3:];"
        "warm = predictions((2, 50, shape[2] if shape[2] < 1000 else 1000), dtype); contenders(warm, loss, [name])[name]();"
        "p = predictions(shape, dtype); run = contenders(p, loss, [name])[name];"
        "open('/proc/self/clear_refs', 'w').write('5');"
        "status = lambda key: int(next(x for x in open('/proc/self/status') if x.startswith(key)).split()[1]) * 1024;"
        "before = status('VmRSS'); keep = run(); print((status('VmHWM') - before) / p.nbytes)"
    )
    shown = "x".join(map(str, shape))
    return float(
        subprocess.run([sys.executable, "-c", code, str(HERE), shown, dtype, loss, name], check=True, capture_output=True, text=True).stdout
    )


def small_call(rounds: int = 2000) -> float:
    """Microseconds of a whole call on 5 × 100 × 10 predictions."""
    probs = predictions((5, 100, 10), "float64")
    for _ in range(200):
        lw.decompose(lw.Ensemble(probs), "log")
    return 1e6 * median(seconds(lambda: lw.decompose(lw.Ensemble(probs), "log")) for _ in range(rounds))


def weak_scaling(sizes: tuple[int, ...], rounds: int) -> list[tuple[int, float]]:
    """Million predictions (members × classes × instances) per second, by the number of instances."""
    found = []
    for n in sizes:
        probs = predictions((5, n, 10), "float32")
        run = contenders(probs, "log", ["labelwise"])["labelwise"]
        run()
        repeat = max(1, int(2e6 // probs.size))
        found.append((n, probs.size / median(min(seconds(run) for _ in range(repeat)) for _ in range(rounds)) / 1e6))
    return found


def machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    import scipy
    import torch

    return (
        f"{name}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, torch {torch.__version__}; kernel {lw.kernel_info()['kernel']}, {lw.kernel_info()['threads']} threads"
    )


def page(results: list[dict[str, Any]], extra: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        "# Speed",
        "",
        f"Written by `make bench` on {extra['date']}. Machine: {extra['machine']}.",
        "",
        "Milliseconds, median of the rounds, of label-wise TU, AU and EU with their sums and the joint measures; in brackets how many",
        "times longer than labelwise. *Read floor*: the time in which all cores can read the input once.",
    ]
    for loss in ("log", "squared"):
        rows = [r for r in results if r["loss"] == loss]
        if not rows:
            continue
        names = [name for name in NAMES[loss] if name != "labelwise"]
        lines += [
            "",
            f"## {loss.capitalize()} loss",
            "",
            "| members × instances × classes | read floor | labelwise | " + " | ".join(names) + " |",
        ]
        lines += ["|---" * (len(names) + 3) + "|"]
        for r in rows:
            ours = r["ms"]["labelwise"]
            shape = " × ".join(f"{x:,}" for x in r["shape"])
            cells = [f"{r['ms'][name]:.3g} ({r['ms'][name] / ours:.2g}×)" for name in names]
            lines.append(
                f"| {shape}, {r['dtype']} | {r['floor']:.3g} | **{ours:.3g}** ({ours / r['floor']:.2g}× floor) | "
                + " | ".join(cells)
                + " |"
            )
    slower = [
        f"{name} on {' × '.join(f'{x:,}' for x in r['shape'])} {r['dtype']}, {r['loss']} loss ({r['ms']['labelwise'] / r['ms'][name]:.2f}×)"
        for r in results
        for name in r["ms"]
        if not name.startswith("labelwise") and r["ms"][name] < r["ms"]["labelwise"]
    ]
    lines += ["", "Faster than labelwise: " + ("; ".join(slower) + "." if slower else "none of them, on any shape.")]
    if extra.get("memory"):
        lines += [
            "",
            "## Peak extra memory",
            "",
            "As a multiple of the input, for one call in a process of its own (5 × 1,000,000 × 10, float32):",
            "",
        ]
        lines += ["| | log | squared |", "|---|---|---|"]
        lines += [
            f"| {name} | " + " | ".join("" if x is None else f"{x:.2f}" for x in values) + " |" for name, values in extra["memory"].items()
        ]
    if extra.get("peers"):
        lines += ["", "## Published packages", ""]
        lines += [
            "They give the joint measures only (entropy, conditional entropy, mutual information, one value per instance): a part of the",
            "work. 5 × 100,000 × 10, their own layout; *labelwise* is everything above, in the same process.",
            "",
            "| package | dtype | ms | labelwise, ms | ratio |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {r['package']} | {r['dtype']} | {r['ms']:.3g} | {r['labelwise']:.3g} | {r['ms'] / r['labelwise']:.2g}× |"
            for r in extra["peers"]
        ]
    if extra.get("scaling"):
        lines += [
            "",
            "## Many instances",
            "",
            "5 members, 10 classes, float32, log loss, everything:",
            "",
            "| instances | million predictions per second |",
            "|---|---|",
        ]
        lines += [f"| {n:,} | {rate:.0f} |" for n, rate in extra["scaling"]]
    if extra.get("small"):
        lines += ["", f'A whole `lw.decompose(lw.Ensemble(p), "log")` of 5 × 100 × 10 float64 predictions takes {extra["small"]:.0f} µs.']
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="*", help="shapes such as 5x1000000x10")
    parser.add_argument("--quick", action="store_true", help="small shapes, three rounds, no file")
    parser.add_argument("--no-peers", action="store_true")
    args = parser.parse_args()
    shapes = [tuple(map(int, text.split("x"))) for text in args.only] if args.only else SHAPES
    if args.quick:
        shapes, args.rounds = [(5, 10_000, 10), (5, 100, 10)], 3
    results = []
    for shape in shapes:
        for dtype in ("float32", "float64"):
            for loss in ("log", "squared"):
                results.append(measure(shape, dtype, loss, args.rounds))
                print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    extra: dict[str, Any] = {"date": datetime.date.today().isoformat(), "machine": machine(), "small": small_call()}
    if not args.quick and not args.only:
        large = (5, 1_000_000, 10)
        kinds = ["labelwise", "NumPy twin", "torch", "torch.compile"]
        extra["memory"] = {name: [memory(large, "float32", loss, name) for loss in ("log", "squared")] for name in kinds}
        extra["memory"]["SciPy / NumPy"] = [memory(large, "float32", "log", "SciPy"), memory(large, "float32", "squared", "NumPy")]
        extra["scaling"] = weak_scaling((10**4, 10**5, 10**6, 10**7), args.rounds)
        extra["peers"] = (
            []
            if args.no_peers
            else json.loads(subprocess.run([sys.executable, str(HERE / "peers.py")], check=True, capture_output=True, text=True).stdout)
        )
    text = page(results, extra)
    print(text)
    if not args.quick and not args.only:
        temporary = HERE / "RESULTS.md.part"
        temporary.write_text(text)
        temporary.replace(HERE / "RESULTS.md")
        print(
            f"wrote {HERE / 'RESULTS.md'}; peak memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
