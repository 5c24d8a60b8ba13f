"""The front end's scripts: type-checked, and their arithmetic is the library's."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np

import labelwise as lw
from labelwise.evaluation._excess import mean_excess
from labelwise.report import page
from report_pages import fewer_missed

HERE = Path(__file__).parent
STATIC = Path(page.__file__).with_name("static")


def test_front_end_passes_the_type_checker(missing) -> None:
    compiler = HERE / "node_modules" / ".bin" / "tsc"
    if not compiler.is_file() or shutil.which("node") is None:
        missing("TypeScript is not installed: npm install --prefix tests/report --no-package-lock")
    done = subprocess.run(
        [compiler, "-p", HERE / "tsconfig.json"], capture_output=True, text=True, timeout=120
    )
    assert done.stdout + done.stderr == ""
    assert done.returncode == 0


def test_the_page_computes_what_the_library_does(tmp_path: Path, missing) -> None:
    """EU as a mean divergence in the page's own arithmetic too: to all digits also where members
    nearly agree, 0 where they do.
    """
    if shutil.which("node") is None:
        missing("Node.js is not installed")
    p = np.random.default_rng(0).dirichlet(np.full(4, 0.2), (5, 50))
    p[:, 3] = p[0, 3]
    p[:, 4] = p[0, 4] * (1 + 1e-9 * np.arange(5)[:, None] * [1, -1, 0, 0])
    sample = {
        "n": 50,
        "m": 5,
        "k": 4,
        "parts": None,
        "probs": p.transpose(1, 0, 2).ravel().tolist(),
    }
    losses = ["log", "squared", "spherical", "zero_one"]
    code = (
        (
            'const PARTS = ["total", "aleatoric", "epistemic"]; function weightOf(s, i, j) { '
            "return 1 / s.m; }\n"
        )
        + (STATIC / "measures.js").read_text()
        + (
            f"const s = {json.dumps(sample)}; s.probs = Float64Array.from(s.probs); const out = "
            f"{{}};\n"
        )
        + (
            f"for (const key of {losses}) out[key] = PARTS.map((x) => [...decompose({{ labels: "
            f"s.probs.slice(0, 4) }}, s, s.probs, {{ key }}).labels[x]]);\n"
        )
        + "console.log(JSON.stringify(out));"
    )
    (tmp_path / "run.js").write_text(code)
    found = json.loads(
        subprocess.run(
            ["node", tmp_path / "run.js"], capture_output=True, text=True, check=True
        ).stdout
    )
    for loss in losses:
        u = lw.decompose(lw.Ensemble(p), loss)
        for ours, exact in zip(found[loss], (u.total, u.aleatoric, u.epistemic), strict=True):
            np.testing.assert_allclose(np.reshape(ours, (50, 4)), exact, rtol=1e-13)
        assert np.all(np.reshape(found[loss][2], (50, 4))[3] == 0)


def test_the_page_compares_costs_as_the_library_does(tmp_path: Path, missing) -> None:
    if shutil.which("node") is None:
        missing("Node.js is not installed")
    rng = np.random.default_rng(1)
    cases = [(20.0 * (rng.random(n) < 0.05), rng.random(n), (0.0, 20.0)) for n in (10, 50, 500)]
    cases.append((np.zeros(30), np.full(30, 0.4), (0.0, 20.0)))
    given = [[realized.tolist(), expected.tolist(), bounds] for realized, expected, bounds in cases]
    code = (STATIC / "decisions.js").read_text() + (
        f"\nconst f = (x) => Float64Array.from(x), cases = {json.dumps(given)};\n"
        "console.log(JSON.stringify(cases.map(([realized, expected, bounds]) => "
        "meanExcess(f(realized), f(expected), bounds))));"
    )
    (tmp_path / "run.js").write_text(code)
    found = json.loads(
        subprocess.run(
            ["node", tmp_path / "run.js"], capture_output=True, text=True, check=True
        ).stdout
    )
    for ours, (realized, expected, bounds) in zip(found, cases, strict=True):
        exact = mean_excess(realized, expected, bounds=bounds)
        np.testing.assert_allclose(
            [ours[key] for key in ("mean", "low", "high")],
            [exact.value, exact.low, exact.high],
            rtol=1e-4,
        )


def test_the_page_counts_fewer_missed_cases_with_their_interval(tmp_path: Path, missing) -> None:
    if shutil.which("node") is None:
        missing("Node.js is not installed")
    rng = np.random.default_rng(0)
    q, y = lw.Ensemble(rng.dirichlet([1, 1, 4], (1, 90))), rng.integers(0, 3, 90)
    plan = lw.decisions.decide(
        q, lw.decisions.Costs([[0, 1, 1], [20, 0, 20], [1, 1, 0]], ask=0.7), task="multiclass"
    )
    expected = fewer_missed(plan, y)
    sample = {"n": 90, "k": 3, "y": y.tolist(), "multilabel": False}
    code = (
        "".join((STATIC / name).read_text() for name in ("explorer.js", "planner.js"))
        + (
            f"const s = {json.dumps(sample)}, likely = {q.mean().argmax(-1).tolist()}, action = "
            f"{plan.action.tolist()};\n"
        )
        + (
            "const then = (i, e) => Number(likely[i] === e), now = (i, e) => action[i] < 0 ? -1 : "
            "Number(action[i] === e);\n"
        )
        + "console.log(JSON.stringify(fewerMissed(s, then, now)));"
    )
    (tmp_path / "run.js").write_text(code)
    found = json.loads(
        subprocess.run(
            ["node", tmp_path / "run.js"], capture_output=True, text=True, check=True
        ).stdout
    )
    for key, values in zip(("value", "low", "high"), expected, strict=True):
        np.testing.assert_allclose([one[key] for one in found], values, rtol=1e-9)
    assert expected[0].any()
