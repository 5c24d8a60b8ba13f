"""The budgets of the page that `labelwise report` writes, measured in Chromium.

    python benchmarks/report.py                          all of them; about ten minutes
    python benchmarks/report.py --only demo many         some
    python benchmarks/report.py --folder DIR --repeat 5  where large files go; how often is timed

Of several runs the least time counts: others may use the machine. A selection is timed from the
click to the next picture on the screen, 16 ms of waiting for the screen included.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

import labelwise.report

MB = 1e6
RSS_BLANK: list[float] = []

# Written by a process of its own, whose highest memory is measured.
WRITE = """
import resource, sys, time
start = time.perf_counter()
from labelwise.cli import main
try:
    main(["report", *sys.argv[1:]])
except SystemExit as end:
    assert not end.code, end.code
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""

# Before anything else runs: every task of the main thread that takes more than 50 ms.
WATCH_TASKS = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
}).observe({ entryTypes: ["longtask"] });
"""

# Each number is pressed; the time is until the next picture is on the screen.
SELECTIONS = """async (most) => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const waiting = /(Counting|Sorting|Reading the cases) …/;
  const settled = async () => {
    do await painted(); while (waiting.test(document.body.innerText));
  };
  const clear = async () => { labelwise.go({ terms: [], case: "" }); await settled(); };
  const numbers = () => [...document.querySelectorAll("button[data-count]")];
  await clear();
  const keys = [...new Set(numbers().map((x) => x.dataset.key))];
  const step = Math.max(1, Math.floor(keys.length / most));
  const times = [];
  for (let i = 0; i < keys.length; i += step) {
    await clear();
    const button = numbers().find((x) => x.dataset.key === keys[i]);
    if (button === undefined) continue;
    const start = performance.now();
    button.click();
    await settled();
    times.push(performance.now() - start);
  }
  await clear();
  return times;
}"""

# What else can be changed: each state in turn, and back.
SETTINGS = [
    {"color": "epistemic"},
    {"color": "flagged"},
    {"by": "member"},
    {"by": "top"},
    {"order": "name"},
    {"refer": "each:0.1:total"},
    {"refer": "class:{label}:0.95:total"},
    {"refer": "costs", "costs": '{"missed":"2","alarm":"","abstain":"0.5","ask":"0.1"}'},
    {
        "refer": "costs",
        "costs": '{"missed":"1","alarm":"1","ask":"0.1","of":{"{label}":["9","3"]}}',
    },
    {"x": "top", "y": "right"},
    {"x": "top", "y": "epistemic"},
    {"sort": "-epistemic"},
    {"rows": "find:99"},
    {"case": "#7"},
    {"without": ["1"]},
]
CHANGE = """async (patch) => {
  const waiting = /(Counting|Sorting|Reading the cases|Computing) …/;
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const start = performance.now();
  labelwise.go(patch);
  do await painted(); while (waiting.test(document.body.innerText));
  return performance.now() - start;
}"""


@dataclass
class Budget:
    """A number, and the most it may be."""

    what: str
    value: float
    most: float
    unit: str

    def __str__(self) -> str:
        verdict = "" if self.value <= self.most else "   MISSED"
        return f"  {self.what:58} {self.value:9.4g} ≤ {self.most:g} {self.unit}{verdict}"


@dataclass
class Opened:
    """What a page takes in the browser, the least of several runs."""

    ready: float = np.inf
    selection: float = np.inf
    """The 95th percentile."""
    task: float = np.inf
    """The longest task while it is loaded and everything is changed."""
    memory: float = np.inf
    """Resident memory above a blank page, in use: after a garbage collection, at the end."""
    peak: float = np.inf
    """The same with the garbage that the browser had not collected yet."""
    elements: int = 0
    settings: dict[str, float] = field(default_factory=dict)


def renderer_memory(browser: Browser) -> float:
    """Resident bytes of the largest renderer."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    sizes = []
    for process in processes:
        status = Path(f"/proc/{process['id']}/status")
        if process["type"] == "renderer" and status.exists():
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
            sizes.append(int(fields["VmRSS"].split()[0]) * 1024)
    return max(sizes)


@contextmanager
def new_page() -> Iterator[tuple[Browser, Page]]:
    """A page in a browser of its own."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(120_000)
        page.add_init_script(WATCH_TASKS)
        yield browser, page
        browser.close()


def open_report(path: Path, repeat: int, *, change: bool) -> Opened:
    """Load the page, press its numbers, and, if asked, change every setting."""
    found = Opened()
    for _ in range(repeat):
        with new_page() as (browser, page):
            page.goto("about:blank")
            blank = renderer_memory(browser)
            page.goto(path.as_uri(), wait_until="commit")
            page.wait_for_selector("html[data-ready]")
            ready = page.evaluate(
                "new Promise((done) => requestAnimationFrame(() => done(performance.now())))"
            )
            found.ready = min(found.ready, ready / 1000)
            times = page.evaluate(SELECTIONS, 40)
            found.selection = min(found.selection, float(np.percentile(times, 95)) / 1000)
            settings = change_settings(page) if change else {}
            for name, seconds in settings.items():
                found.settings[name] = min(found.settings.get(name, np.inf), seconds)
            found.task = min(found.task, page.evaluate("window.longest") / 1000)
            found.elements = page.evaluate("document.querySelectorAll('*').length")
            found.peak = min(found.peak, renderer_memory(browser) - blank)
            page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
            found.memory = min(found.memory, renderer_memory(browser) - blank)
    return found


def change_settings(page: Page) -> dict[str, float]:
    """Seconds until the page shows each of the settings."""
    label = page.evaluate("JSON.parse(document.getElementById('meta').textContent).labels[0]")
    times = {}
    for setting in SETTINGS:
        patch = json.loads(json.dumps(setting).replace("{label}", label))
        usual = page.evaluate(
            "(names) => Object.fromEntries(names.map((name) => "
            "[name, labelwise.state.value[name]]))",
            list(patch),
        )
        times[json.dumps(setting)] = page.evaluate(CHANGE, patch) / 1000
        page.evaluate(CHANGE, usual)
    return times


def write_report(source: Path, repeat: int = 1) -> tuple[Path, float, float]:
    """The page of a file of predictions; seconds and bytes of memory that writing took."""
    page = source.with_suffix(".html")
    seconds, memory = np.inf, np.inf
    for _ in range(repeat):
        ended = subprocess.run(
            [sys.executable, "-c", WRITE, str(source), "-o", str(page)],
            capture_output=True,
            text=True,
            check=True,
        )
        took, peak = map(float, ended.stdout.split()[-2:])
        seconds, memory = min(seconds, took), min(memory, peak)
    return page, seconds, memory


def predictions(path: Path, members: int, cases: int, classes: int) -> Path:
    """An .npz of plausible float32 predictions with labels; made once."""
    if path.exists():
        return path
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, cases)
    probs = np.empty((members, cases, classes), np.float32)
    step = max(1, 10_000_000 // classes)
    for start in range(0, cases, step):
        here = slice(start, min(start + step, cases))
        n = here.stop - here.start
        shared = rng.standard_normal((n, classes), np.float32)
        shared[np.arange(n), y[here]] += np.log(classes) + rng.gamma(1.5, 1.5, n)
        for j in range(members):
            logits = shared + rng.standard_normal((n, classes), np.float32) * 0.6
            powers = np.exp(2 * (logits - logits.max(axis=-1, keepdims=True)))
            probs[j, here] = powers / powers.sum(axis=-1, keepdims=True)
    names = np.array([f"species {k:05d}" for k in range(classes)])
    np.savez(path, probs=probs, y_true=y, class_names=names)
    return path


def measure_app(folder: Path, repeat: int) -> list[Budget]:
    """The app alone."""
    app = Path(labelwise.report.__file__).parent / "static" / "app.js"
    return [Budget("app, minified", app.stat().st_size / 1000, 130, "kB")]


def measure_demo(folder: Path, repeat: int) -> list[Budget]:
    """The page of `labelwise demo`: 2,000 cases, 10 classes, 5 members."""
    path = folder / "demo.html"
    subprocess.run([sys.executable, "-m", "labelwise", "demo", "-o", str(path)], check=True)
    found = open_report(path, repeat, change=True)
    show(found)
    return [
        Budget("demonstration: page", path.stat().st_size / 1000, 800, "kB"),
        Budget("demonstration: ready", found.ready, 0.5, "s"),
        Budget("demonstration: elements", found.elements, 3000, ""),
    ]


def measure_many(folder: Path, repeat: int) -> list[Budget]:
    """A million cases, 10 classes, 5 members."""
    path, seconds, memory = write_report(predictions(folder / "many.npz", 5, 1_000_000, 10))
    print(f"  written in {seconds:.1f} s with {memory / MB:.0f} MB")
    found = open_report(path, repeat, change=True)
    show(found)
    return [
        Budget("1,000,000 × 10 × 5: page", path.stat().st_size / MB, 8, "MB"),
        Budget("1,000,000 × 10 × 5: ready", found.ready, 2, "s"),
        Budget("1,000,000 × 10 × 5: a selection, p95", 1000 * found.selection, 100, "ms"),
        Budget("1,000,000 × 10 × 5: above a blank page", found.memory / MB, 150, "MB"),
        Budget("1,000,000 × 10 × 5: elements", found.elements, 3000, ""),
    ]


def measure_classes(folder: Path, repeat: int) -> list[Budget]:
    """32,000 classes with labels: nothing may be classes × classes."""
    source = predictions(folder / "classes.npz", 2, 1000, 32_000)
    path, seconds, memory = write_report(source)
    print(f"  written in {seconds:.1f} s; {path.stat().st_size / MB:.1f} MB")
    found = open_report(path, repeat, change=True)
    show(found)
    size = source.stat().st_size
    return [
        Budget("32,000 classes: memory for writing", memory / MB, (1.2 * size) / MB + 300, "MB"),
        Budget("32,000 classes: ready", found.ready, 1.5, "s"),
        Budget("32,000 classes: longest task", 1000 * found.task, 200, "ms"),
        Budget("32,000 classes: elements", found.elements, 3000, ""),
    ]


def measure_large(folder: Path, repeat: int) -> list[Budget]:
    """Predictions of 1 GB: 50,000 cases, 1,000 classes, 5 members."""
    source = predictions(folder / "large.npz", 5, 50_000, 1000)
    path, seconds, memory = write_report(source, repeat)
    print(f"  page of {path.stat().st_size / MB:.1f} MB")
    most = 1.2 * source.stat().st_size / MB + 300
    return [
        Budget("1 GB of predictions: written in", seconds, 10, "s"),
        Budget("1 GB of predictions: memory for writing", memory / MB, most, "MB"),
    ]


def show(found: Opened) -> None:
    """What has no budget of its own."""
    print(
        f"  ready {found.ready:.2f} s, selection p95 {1000 * found.selection:.0f} ms, longest task "
        f"{1000 * found.task:.0f} ms, {found.memory / MB:.0f} MB in use, "
        f"{found.peak / MB:.0f} MB with garbage, {found.elements} elements"
    )
    slowest = sorted(found.settings.items(), key=lambda item: -item[1])[:4]
    for name, seconds in slowest:
        print(f"    {1000 * seconds:5.0f} ms  {name}")


MEASUREMENTS: dict[str, Callable[[Path, int], list[Budget]]] = {
    "app": measure_app,
    "demo": measure_demo,
    "many": measure_many,
    "classes": measure_classes,
    "large": measure_large,
}


def main() -> None:
    """Measure, print, and fail if a budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", choices=MEASUREMENTS, default=list(MEASUREMENTS))
    parser.add_argument("--folder", type=Path, help="keep the files here; needs 1.5 GB")
    parser.add_argument("--repeat", type=int, default=3)
    options: Any = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        found = []
        for name in options.only:
            start = time.perf_counter()
            print(f"{name}: {MEASUREMENTS[name].__doc__}")
            found += MEASUREMENTS[name](folder, options.repeat)
            print(f"  ({time.perf_counter() - start:.0f} s)")
    print(*found, sep="\n")
    if any(budget.value > budget.most for budget in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
