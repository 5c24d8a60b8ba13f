"""The audit stands on its own, agrees with the package, and finds what is wrong."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import numpy as np

from labelwise.paper.audit import audit
from labelwise.paper.holdout import Run, halves
from labelwise.paper.holdout_numbers import numbers_of
from labelwise.paper.holdout_runs import Runs
from labelwise.paper.results_folder import Options, record

ROOT = Path(__file__).parents[3]


def test_it_imports_nothing_else_of_the_package() -> None:
    files = sorted((ROOT / "src" / "labelwise" / "paper" / "audit").glob("*.py"))
    assert len(files) == 5
    imported = {
        name
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else ["." * node.level + (node.module or "")])
    }
    own = {f".{file.stem}" for file in files}
    assert {name if name.startswith(".") else name.partition(".")[0] for name in imported} - own <= {
        "__future__", "collections", "itertools", "json", "numpy", "pathlib", "scipy", "sklearn", "typing",
    }  # fmt: skip


def test_the_stored_single_run_stands(tmp_path) -> None:
    """CIFAR-10, one run: rejection, detection, losses, and all subsets of mishandled members. The command checks everything."""
    name = "cifar10-paper-10-epochs"
    shutil.copytree(ROOT / "results" / name, tmp_path / name)
    (tmp_path / name / "artifact.json").unlink()  # half of the time
    said: list[str] = []
    count, different = audit(tmp_path, said.append)
    assert count > 100
    assert different == []
    assert f"{name}/human.json: not recomputed, cifar10h-counts.npy (CIFAR-10H) is in no data directory" in said


def test_a_changed_digit_is_found(tmp_path) -> None:
    name = "holdout-fashion-mnist-paper"
    shutil.copytree(ROOT / "results" / name, tmp_path / name)
    count, different = audit(tmp_path)
    assert count > 50
    assert different == []
    path = tmp_path / name / "holdout.json"
    stored = json.loads(path.read_text())
    stored["numbers"]["effect"]["swap − no-swap"]["mean"] += 1e-4
    path.write_text(json.dumps(stored))
    (wrong,) = audit(tmp_path)[1]
    assert wrong[0] == f"{name}/holdout: swap − no-swap, mean"


def test_made_up_runs_of_the_holdout(tmp_path) -> None:
    rng, runs = np.random.default_rng(0), Runs({})
    for seed in range(3):
        before = rng.exponential([0.01, 0.02, 0.03], (40, 3))
        after = {arm: before * rng.uniform(0.2, 1, 3) for arm in ("swap", "no-swap", "random-class")}
        labels = {"swap": 2, "no-swap": 2, "random-class": 0}
        accuracy = dict.fromkeys(["before", *after], 0.5)
        runs = runs.with_run(seed, Run(before, after, labels, halves(40, seed), rng.integers(0, 3, 40), accuracy))
    runs.write(tmp_path / "holdout-made" / "runs.npz")
    record("holdout-made", "holdout", numbers_of(runs), Options(tmp_path), runs=3)
    count, different = audit(tmp_path)
    effects = [cell for kind in ("effect", "effect on other classes") for cell in numbers_of(runs)[kind].values()]
    assert count == 3 * 12 + sum(len(cell["runs"]) + 4 for cell in effects) + 2  # and two detectable ones
    assert different == []


def test_other_results_are_named_and_left_alone(tmp_path) -> None:
    (tmp_path / "mine" / "run-0").mkdir(parents=True)
    (tmp_path / "mine" / "run-0" / "a.npz").touch()
    (tmp_path / "mine" / "other.json").write_text('{"x": 1}')
    said: list[str] = []
    assert audit(tmp_path, said.append) == (0, [])
    assert said == ["mine/other.json: not recomputed, it is no experiment of this package"]
