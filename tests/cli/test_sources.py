"""``labelwise evaluate --sources``: which prompt, model or member is off."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from labelwise._tables import json_ready
from language_model_files import sample, write_samples

OPTIONS = ["no", "yes", "unclear"]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three models with four prompts, of which the last is off."""
    rng = np.random.default_rng(0)
    base = 2 * rng.normal(size=(40, 3))
    targets = base.argmax(axis=1).tolist()
    paths = []
    for model in ("small", "middle", "large"):
        for task in ("p1", "p2", "p3", "p4"):
            scores = base + 0.3 * rng.normal(size=base.shape)
            if task == "p4":
                scores = scores[:, [1, 2, 0]]
            rows = [
                sample(i, OPTIONS, row.tolist(), target)
                for i, (row, target) in enumerate(zip(scores, targets, strict=True))
            ]
            paths.append(write_samples(tmp_path, model, task, rows))
    return paths


def test_one_command_from_samples_to_the_prompt_that_is_off(files: list[Path]) -> None:
    result = run("evaluate", *files, "--sources")
    assert result.exit_code == 0, result.output
    assert "40 instances that all members answered" in result.stdout
    assert "Of task, 'p4' differs most from the others" in result.stdout
    numbers = json.loads(
        run("evaluate", *files, "--sources", "--loss", "squared", "--json").stdout
    )["sources"]
    by_task = {row["level"]: row for row in numbers["levels"] if row["factor"] == "task"}
    assert by_task["p4"]["share"] == pytest.approx(3 / 4, abs=0.05)
    p = lw.load_predictions(files)
    right = (p.probs.argmax(-1) == p.true_class).mean(axis=1)
    assert by_task["p4"]["accuracy"] == pytest.approx(right[3::4].mean())
    found = lw.decompose(p.distribution(), "squared").sources(rng=0)
    assert numbers["sources"] == json_ready(found.to_records())


def test_members_without_factors_or_labels(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for i in range(3):
        np.save(tmp_path / f"net{i}.npy", rng.dirichlet([1, 1], size=30))
    result = run("evaluate", tmp_path, "--sources")
    assert result.exit_code == 0, result.output
    assert re.search(r"net2 +member +\d+ %", result.stdout)
    assert "effects cannot be distinguished from noise" in result.stdout


def test_answers_that_are_missing(tmp_path: Path) -> None:
    rows = ["id,model,answer"]
    for i in range(12):
        for model in ("a", "b", "c"):
            answer = "" if (i, model) == (3, "b") else ("yes", "no")[(i + (model == "c")) % 2]
            rows.append(f"t{i},{model},{answer}")
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(rows))
    result = run("evaluate", path, "--sources", "--loss", "squared")
    assert result.exit_code == 0, result.output
    assert "11 instances that all members answered" in result.stdout
    assert "Of model, 'c' differs most from the others (67 %" in result.stdout


def test_one_member_and_no_common_cases(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.full((5, 2), 0.5))
    result = run("evaluate", tmp_path / "p.npy", "--sources")
    assert result.exit_code == 2
    assert "these predictions have only one" in result.stderr
    path = tmp_path / "a.csv"
    path.write_text("id,model,answer\nx,a,yes\nx,b,no\ny,a,no\ny,c,yes\nz,b,no\nz,c,yes\n")
    result = run("evaluate", path, "--sources")
    assert "needs cases that all members answered" in result.stderr
