"""How time and memory of the commands and main functions grow with instances N, classes K and
members M.

Each measurement is a process of its own: ``python growth.py NAME M N K`` prints one as JSON, and
``python growth.py [TEXT]`` the table of all (or those whose name has TEXT). Sizes grow by 4 along
one axis at a time; an exponent is the slope of log(seconds) or log(bytes) on log(size), between the
two larger sizes, where fixed costs matter least. Memory is the peak beyond what the process held
before the call: of functions the input is not counted, of commands everything but an idle start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from math import log, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BASE = {"M": 5, "N": 50_000, "K": 10}
FACTOR = 4
STEPS = 3
MAX_EXPONENT = 1.1
MAX_MULTIPLE = 2.0


def _functions() -> dict[str, Callable[[Any, np.ndarray], Any]]:
    import labelwise as lw

    costs = lw.decisions.Costs(default=1.0, abstain=0.3)

    def accumulate(q: Any, y: np.ndarray) -> Any:
        accumulator = lw.Accumulator("log")
        for member in q.probs:
            accumulator.update(member)
        return accumulator.result()

    def rejection(q: Any, y: np.ndarray) -> Any:
        score = q.probs[0].max(-1)
        return lw.evaluation.rejection_curve(score, correct=y == 0)

    return {
        "decompose, log": lambda q, y: lw.decompose(q),
        "Accumulator": accumulate,
        "joint.decompose": lambda q, y: lw.joint.decompose(q),
        "by_class": lambda q, y: lw.evaluation.by_class(lw.decompose(q), y),
        "check_ensemble": lw.evaluation.check_ensemble,
        "log_loss": lw.evaluation.log_loss,
        "brier_score": lw.evaluation.brier_score,
        "bootstrap_uncertainty": lambda q, y: lw.evaluation.bootstrap_uncertainty(
            q, n_bootstrap=50
        ),
        "ranking_scores": lambda q, y: lw.evaluation.ranking_scores(q),
        "rejection_curve": rejection,
        "calibration_errors": lw.calibration.calibration_errors,
        "check_calibration": lambda q, y: lw.calibration.check_calibration(q, y, n_bootstrap=50),
        "reliability_curves": lw.calibration.reliability_curves,
        "fit_calibration, temperature": lw.calibration.fit_calibration,
        "fit_calibration, isotonic": lambda q, y: lw.calibration.fit_calibration(
            q, y, method="isotonic"
        ),
        "fit_sets": lw.sets.fit_sets,
        "decide": lambda q, y: lw.decisions.decide(q, costs, task="multiclass", y_true=y),
        "decide, per label": lambda q, y: lw.decisions.decide(
            q,
            lw.decisions.Costs(missed=5.0, false_alarm=1.0),
            task="per_label",
            y_true=np.eye(q.n_classes, dtype=np.int8)[y],
        ),
        "acquire": lambda q, y: lw.decisions.acquire(q, budget=100),
    }


COMMANDS: dict[str, tuple[str, ...]] = {
    "labelwise quantify": ("quantify", "{file}", "-o", "{folder}/out.npz"),
    "labelwise evaluate": ("evaluate", "{file}"),
    "labelwise acquire": ("acquire", "{file}", "--budget", "100", "-o", "{folder}/next.csv"),
    "labelwise decide": ("decide", "{file}", "--costs", "{costs}", "-o", "{folder}/acts.csv"),
    "labelwise sets fit": ("sets", "fit", "{file}", "-o", "{folder}/sets.npz"),
    "labelwise report": ("report", "{file}", "-o", "{folder}/report.html"),
}
COSTS = "default = 1.0\nabstain = 0.3\n"


class Measurement(NamedTuple):
    """One run."""

    seconds: float
    memory: int
    input: int


def predictions(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Members that agree more or less, float32, and labels drawn from their mean; every class
    occurs.
    """
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((n, k), dtype=np.float32) * 2
    probs = np.empty((m, n, k), np.float32)
    for member in probs:
        np.exp(logits + 0.5 * rng.standard_normal((n, k), dtype=np.float32), out=member)
        member /= member.sum(-1, keepdims=True)
    y = (probs[0].cumsum(-1) < rng.random((n, 1), dtype=np.float32)).sum(-1).clip(max=k - 1)
    y[: 20 * k] = np.arange(20 * k) % k
    return probs, y


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) * 1024


def measure_function(name: str, m: int, n: int, k: int) -> Measurement:
    import labelwise as lw

    run = _functions()[name]
    run(lw.Ensemble(predictions(3, 500, 5)[0]), predictions(3, 500, 5)[1])  # imports, tables
    probs, y = predictions(m, n, k)
    q = lw.Ensemble(probs)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = _status("VmRSS")
    start = time.perf_counter()
    kept = run(q, y)
    seconds = time.perf_counter() - start
    del kept
    return Measurement(seconds, max(0, _status("VmHWM") - before), probs.nbytes)


def measure_command(name: str, m: int, n: int, k: int) -> Measurement:
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder, "costs.toml")
        costs.write_text(COSTS)
        peaks, took = [], 0.0
        for size in ((3, 500, 5), (m, n, k)):
            probs, y = predictions(*size)
            file = Path(folder, f"{size[1]}.npz")
            np.savez(file, probs=probs, y_true=y)
            input_bytes = probs.nbytes
            del probs
            words = [word.format(file=file, folder=folder, costs=costs) for word in COMMANDS[name]]
            start = time.perf_counter()
            process = subprocess.Popen(
                [sys.executable, "-m", "labelwise", *words], stdout=subprocess.DEVNULL
            )
            _, status, usage = os.wait4(process.pid, 0)
            took = time.perf_counter() - start
            if status:
                raise RuntimeError(f"{name} failed for {size}")
            peaks.append(usage.ru_maxrss * 1024)
    return Measurement(took, max(0, peaks[1] - peaks[0]), input_bytes)


def measure(name: str, m: int, n: int, k: int) -> Measurement:
    """One measurement in a process of its own."""
    command = [sys.executable, __file__, name, str(m), str(n), str(k)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Measurement(*json.loads(done.stdout.splitlines()[-1]))


def exponent(before: float, after: float) -> float:
    return log(after / before) / log(FACTOR) if before > 0 and after > 0 else nan


def grow(name: str) -> dict[str, Any]:
    """The exponents along each axis, and the largest multiple of the input."""
    found: dict[str, Any] = {"name": name}
    multiples = []
    first = measure(name, **{axis.lower(): size for axis, size in BASE.items()})
    for axis in ("N", "K", "M"):
        runs = [first]
        for step in range(1, STEPS):
            sizes = BASE | {axis: BASE[axis] * FACTOR**step}
            runs.append(measure(name, **{key.lower(): size for key, size in sizes.items()}))
        found[f"time {axis}"] = exponent(runs[-2].seconds, runs[-1].seconds)
        found[f"memory {axis}"] = exponent(runs[-2].memory, runs[-1].memory)
        multiples.append(runs[-1].memory / runs[-1].input)
        if axis == "N":
            found["seconds"], found["input"] = runs[-1].seconds, runs[-1].input
    found["multiple"] = max(multiples)
    return found


def names() -> list[str]:
    return [*_functions(), *COMMANDS]


def table(rows: list[dict[str, Any]]) -> str:
    """Exponents above 1.1 and multiples above 2 are marked."""

    def cell(value: float, limit: float) -> str:
        if value != value:
            return "–"
        text = f"{value:.2f}"
        return f"**{text}**" if value > limit else text

    columns = [f"{what} {axis}" for what in ("time", "memory") for axis in "NKM"]
    lines = [
        "| call | " + " | ".join(columns) + " | peak / input | s for 160 MB |",
        "|---|" + "---:|" * (len(columns) + 2),
    ]
    for row in rows:
        cells = [cell(row[column], MAX_EXPONENT) for column in columns]
        cells += [cell(row["multiple"], MAX_MULTIPLE), f"{row['seconds']:.2f}"]
        lines.append(f"| {row['name']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    if len(sys.argv) == 5:
        name, *sizes = sys.argv[1:]
        run = measure_command if name in COMMANDS else measure_function
        print(json.dumps(run(name, *map(int, sizes))))
        return
    wanted = " ".join(sys.argv[1:])
    rows = []
    for name in names():
        if wanted in name:
            rows.append(grow(name))
            print(table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
