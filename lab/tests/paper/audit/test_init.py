"""The audit stands on its own, agrees with the package, and finds what is wrong."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import numpy as np

from labelwise_lab.paper import audit as audits
from labelwise_lab.paper.audit import audit
from labelwise_lab.paper.audit.formulas import Check
from labelwise_lab.paper.holdout import Run, halves
from labelwise_lab.paper.holdout_numbers import numbers_of
from labelwise_lab.paper.holdout_runs import Runs
from labelwise_lab.paper.results_folder import Options, record

ROOT = Path(__file__).parents[3]


def test_it_imports_nothing_else_of_the_package() -> None:
    files = sorted((ROOT / "src" / "labelwise_lab" / "paper" / "audit").glob("*.py"))
    assert len(files) == 5
    imported = {
        name
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else ["." * node.level + (node.module or "")]
        )
    }
    own = {f".{file.stem}" for file in files}
    assert {
        name if name.startswith(".") else name.partition(".")[0] for name in imported
    } - own <= {
        "__future__",
        "collections",
        "contextlib",
        "dataclasses",
        "itertools",
        "json",
        "math",
        "numpy",
        "pathlib",
        "scipy",
        "sklearn",
        "typing",
    }


def test_the_stored_single_run_stands(tmp_path) -> None:
    """CIFAR-10, one run: rejection, detection, losses, and all subsets of mishandled members. The
    command checks everything.
    """
    name = "cifar10-paper-10-epochs"
    shutil.copytree(ROOT / "results" / name, tmp_path / name)
    (tmp_path / name / "artifact.json").unlink()  # half of the time
    said: list[str] = []
    found = audit(tmp_path, said.append)
    assert found.count > 100
    assert found.passed
    assert list(found.skipped) == [f"{name}/human.json"]
    assert (
        f"{name}/human.json: not recomputed, cifar10h-counts.npy (CIFAR-10H) is in no data "
        "directory"
    ) in said


def test_a_changed_digit_is_found(tmp_path) -> None:
    name = "holdout-fashion-mnist-paper"
    shutil.copytree(ROOT / "results" / name, tmp_path / name)
    found = audit(tmp_path)
    assert found.count > 50
    assert found.passed
    path = tmp_path / name / "holdout.json"
    stored = json.loads(path.read_text())
    stored["numbers"]["effect"][0]["mean"] += 1e-4
    path.write_text(json.dumps(stored))
    found = audit(tmp_path)
    (wrong,) = found.different
    assert not found.passed
    assert wrong[0] == f"{name}/holdout: swap − no-swap, mean"


def test_made_up_runs_of_the_holdout(tmp_path) -> None:
    rng, runs = np.random.default_rng(0), Runs({})
    for seed in range(3):
        before = rng.exponential([0.01, 0.02, 0.03], (40, 3))
        after = {
            arm: before * rng.uniform(0.2, 1, 3) for arm in ("swap", "no-swap", "random-class")
        }
        labels = {"swap": 2, "no-swap": 2, "random-class": 0}
        accuracy = dict.fromkeys(["before", *after], 0.5)
        runs = runs.with_run(
            seed, Run(before, after, labels, halves(40, seed), rng.integers(0, 3, 40), accuracy)
        )
    runs.write(tmp_path / "holdout-made" / "runs.npz")
    record("holdout-made", "holdout", numbers_of(runs), Options(tmp_path), runs=3)
    found = audit(tmp_path)
    effects = [
        cell for kind in ("effect", "effect on other classes") for cell in numbers_of(runs)[kind]
    ]
    detectable = len(numbers_of(runs)["effect"])
    assert (
        found.count
        == 3 * (12 + 10) + sum(len(cell["runs"]) + 4 for cell in effects) + detectable + 4
    )  # of each arm; classes selected
    assert found.passed


def test_other_results_are_named_and_left_alone(tmp_path) -> None:
    (tmp_path / "mine" / "run-0").mkdir(parents=True)
    (tmp_path / "mine" / "run-0" / "a.npz").touch()
    (tmp_path / "mine" / "other.json").write_text('{"x": 1}')
    said: list[str] = []
    found = audit(tmp_path, said.append)
    assert said == ["mine/other.json: not recomputed, it is no experiment of this package"]
    assert (found.count, found.different, found.unreadable) == (0, [], {})
    assert not found.passed  # an audit of nothing


def test_what_cannot_be_read_is_reported_and_the_rest_recomputed(tmp_path) -> None:
    name = "mnist-paper"
    for copy in ("a-cut", "b-garbage", "c-missing", "d-without-labels", "z-whole"):
        shutil.copytree(ROOT / "results" / name, tmp_path / copy)
    predictions = "run-0/mnist.npz"
    content = (tmp_path / "a-cut" / predictions).read_bytes()
    (tmp_path / "a-cut" / predictions).write_bytes(content[: len(content) // 2])
    (tmp_path / "b-garbage" / predictions).write_text("x")
    (tmp_path / "c-missing" / predictions).unlink()
    (tmp_path / "c-missing" / "run-0" / "other.npz").touch()
    with np.load(tmp_path / "z-whole" / predictions) as stored:
        np.savez(tmp_path / "d-without-labels" / predictions, log_probs=stored["log_probs"])
    for i, text in enumerate(
        ("{}", "[1]", '{"about": {', '{"about": {}, "numbers": {}}', '{"about": 1, "numbers": 2}')
    ):
        (tmp_path / f"m-{i}" / "run-0").mkdir(parents=True)
        (tmp_path / f"m-{i}" / "run-0" / "a.npz").touch()
        (tmp_path / f"m-{i}" / "arc.json").write_text(text)
    said: list[str] = []
    found = audit(tmp_path, said.append)
    assert found.count > 80
    assert found.different == []
    assert not found.passed
    assert set(found.unreadable) == {
        *(
            f"{copy}/{file}.json"
            for copy in ("a-cut", "b-garbage", "c-missing")
            for file in ("arc", "gallery")
        ),
        "d-without-labels/arc.json",
        *(f"m-{i}/arc.json" for i in range(5)),
    }
    assert "a-cut/arc.json: cannot be read: run-0/mnist.npz: File is not a zip file" in said
    assert "b-garbage/arc.json: cannot be read: run-0/mnist.npz: it is not a .npz file" in said
    assert (
        "d-without-labels/arc.json: cannot be read: run-0/mnist.npz: y_true is not a file in "
        "the archive"
    ) in said
    assert [line for line in said if line.startswith("m-")] == [
        "m-0/arc.json: cannot be read: it must hold `about` and `numbers`",
        "m-1/arc.json: cannot be read: it must hold `about` and `numbers`",
        (
            "m-2/arc.json: cannot be read: Expecting property name enclosed in double quotes: line "
            "1 column 12 (char 11)"
        ),
        "m-3/arc.json: cannot be read: it has no 'setting'",
        "m-4/arc.json: cannot be read: it must hold `about` and `numbers`",
    ]
    assert "No such file" in found.unreadable["c-missing/arc.json"]


def test_numbers_that_are_not_defined_agree_with_each_other_only(tmp_path, monkeypatch) -> None:
    (tmp_path / "x" / "run-0").mkdir(parents=True)
    (tmp_path / "x" / "run-0" / "a.npz").touch()
    (tmp_path / "x" / "arc.json").write_text('{"about": {}, "numbers": {}}')
    nan = float("nan")
    checks = [
        Check("both", None, nan),
        Check("stored", None, 1.0),
        Check("again", 1.0, nan),
        Check("equal", 1.0, 1.0),
    ]
    monkeypatch.setitem(audits.CHECKS, "arc", lambda *_: iter(checks))
    assert [check[0] for check in audit(tmp_path).different] == ["x/arc: stored", "x/arc: again"]
