"""The commands and main functions whose time and memory are measured, each in a process of its
own: ``python calls.py NAME M N K`` prints one measurement as JSON, and ``python calls.py FOLDER M N
K`` writes what the commands read there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TINY = (3, 500, 5)  # members, instances and classes: what it takes is the fixed cost
SHORT = 0.5  # seconds; of shorter calls the fastest of three counts
LONGEST = 90  # seconds that one process may take
COSTS = "default = 1.0\nabstain = 0.3\n"
COMMANDS: dict[str, tuple[str, ...]] = {
    "labelwise quantify": ("quantify", "{file}", "-o", "{folder}/uncertainty.npz"),
    "labelwise evaluate": ("evaluate", "{file}"),
    "labelwise decide": ("decide", "{file}", "--costs", "{costs}", "-o", "{folder}/actions.csv"),
    "labelwise acquire": ("acquire", "{file}", "--budget", "100", "-o", "{folder}/next.csv"),
    "labelwise sets fit": ("sets", "fit", "{file}", "-o", "{folder}/sets.npz"),
    "labelwise report": ("report", "{file}", "-o", "{folder}/report.html"),
}


def functions() -> dict[str, Callable[[Any, np.ndarray], Any]]:
    """The functions by name, of an ensemble and its labels."""
    import labelwise as lw

    costs = lw.decisions.Costs(default=1.0, abstain=0.3)
    of_labels = lw.decisions.Costs(missed=5.0, false_alarm=1.0)

    def rejection(q: Any, y: np.ndarray) -> Any:
        return lw.evaluation.rejection_curve(q.probs[0].max(-1), correct=y == 0)

    return {
        "decompose": lambda q, y: lw.decompose(q),
        "check_calibration": lw.calibration.check_calibration,
        "uncertainty_intervals": lambda q, y: lw.evaluation.uncertainty_intervals(q),
        "fit_calibration": lw.calibration.fit_calibration,
        "by_class": lambda q, y: lw.evaluation.by_class(lw.decompose(q), y),
        "decide": lambda q, y: lw.decisions.decide(q, costs, task="multiclass"),
        "decide, per label": lambda q, y: lw.decisions.decide(q, of_labels, task="per_label"),
        "acquire": lambda q, y: lw.decisions.acquire(q, budget=100),
        "fit_sets": lw.sets.fit_sets,
        "calibration_errors": lw.calibration.calibration_errors,
        "log_loss": lw.evaluation.log_loss,
        "brier_score": lw.evaluation.brier_score,
        "rejection_curve": rejection,
    }


class Measurement(NamedTuple):
    """One call."""

    seconds: float
    peak: float
    """Bytes: of a command in all, of a function beyond the input."""
    fixed_seconds: float
    """Of the same call on next to nothing."""
    fixed_peak: float
    input: int
    """Bytes of the predictions."""

    @property
    def net_seconds(self) -> float:
        """Without the fixed cost."""
        return max(0.0, self.seconds - self.fixed_seconds)

    @property
    def net_peak(self) -> float:
        """Without the fixed cost."""
        return max(0.0, self.peak - self.fixed_peak)


def predictions(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Members that agree more or less, float32, and labels drawn from the first; classes occur at
    least 20 times, if there are as many instances.
    """
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((n, k), dtype=np.float32) * 2
    probs = np.empty((m, n, k), np.float32)
    for member in probs:
        np.exp(logits + 0.5 * rng.standard_normal((n, k), dtype=np.float32), out=member)
        member /= member.sum(-1, keepdims=True)
    y = np.empty(n, np.int64)
    for start in range(0, n, 1000):
        below = probs[0, start : start + 1000].cumsum(-1) < rng.random((min(1000, n - start), 1))
        y[start : start + 1000] = below.sum(-1).clip(max=k - 1)
    first = min(n, 20 * k)
    y[:first] = np.arange(first) % k
    return probs, y


def status(key: str) -> int:
    """Bytes that the system counts for this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) * 1024


def measure_function(name: str, m: int, n: int, k: int) -> Measurement:
    import labelwise as lw

    run = functions()[name]

    def timed(q: Any, y: np.ndarray) -> float:
        start = time.perf_counter()
        run(q, y)
        return time.perf_counter() - start

    probs, y = predictions(*TINY)
    tiny = lw.Ensemble(probs), y
    timed(*tiny)  # imports
    fixed = min(timed(*tiny), timed(*tiny))
    probs, y = predictions(m, n, k)
    q = lw.Ensemble(probs)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = status("VmRSS")
    seconds = timed(q, y)
    peak = status("VmHWM") - before
    if seconds < SHORT:
        seconds = min(seconds, timed(q, y), timed(q, y))
    return Measurement(seconds, max(0, peak), fixed, 0, probs.nbytes)


def measure_command(name: str, m: int, n: int, k: int) -> Measurement:
    fixed_seconds, fixed_peak = run_command(name, *TINY)
    seconds, peak = run_command(name, m, n, k)
    return Measurement(seconds, peak, fixed_seconds, fixed_peak, 4 * m * n * k)


def run_command(name: str, m: int, n: int, k: int) -> tuple[float, int]:
    """Seconds and peak memory of a command."""
    with tempfile.TemporaryDirectory() as folder:
        # by another process: the peak of a command begins with that of the one that starts it
        subprocess.run([sys.executable, __file__, folder, str(m), str(n), str(k)], check=True)
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "labelwise", *words_of(name, Path(folder))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, code, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    if code:
        raise RuntimeError(f"{name} failed for {m} x {n} x {k}")
    return seconds, usage.ru_maxrss * 1024


def write_predictions(folder: Path, m: int, n: int, k: int) -> None:
    """Write what the commands read."""
    (folder / "costs.toml").write_text(COSTS)
    probs, y = predictions(m, n, k)
    np.savez(folder / "predictions.npz", probs=probs, y_true=y)


def words_of(name: str, folder: Path) -> list[str]:
    """The words after ``labelwise``."""
    places = {"file": folder / "predictions.npz", "costs": folder / "costs.toml"}
    return [word.format(folder=folder, **places) for word in COMMANDS[name]]


def measure(name: str, m: int, n: int, k: int) -> Measurement:
    """One measurement in a process of its own; infinite where it takes too long."""
    command = [sys.executable, __file__, name, str(m), str(n), str(k)]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": folder},
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # also the command that it started
            process.wait()
            return Measurement(inf, inf, 0, 0, 4 * m * n * k)
    if process.returncode:
        raise RuntimeError(f"{name} failed for {m} x {n} x {k}")
    return Measurement(*json.loads(printed.splitlines()[-1]))


def main() -> None:
    name, *words = sys.argv[1:]
    m, n, k = map(int, words)
    if Path(name).is_dir():
        write_predictions(Path(name), m, n, k)
        return
    run = measure_command if name in COMMANDS else measure_function
    print(json.dumps(run(name, m, n, k)))


if __name__ == "__main__":
    main()
