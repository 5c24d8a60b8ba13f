"""What is not there is named with its reason or its command."""

from __future__ import annotations

import json
import shlex

from labelwise_lab.paper.missing import TRAININGS, missing
from labelwise_lab.paper.provenance import Results
from labelwise_lab.paper.settings import Setting, parse_change


def test_an_empty_folder_misses_everything(tmp_path) -> None:
    lines = list(missing(Results(tmp_path, tmp_path)))
    assert all(line.startswith("- ") for line in lines)
    text = "\n".join(lines)
    for words in (
        "KMNIST",
        "SVHN",
        "MNIST",
        "CIFAR-10, the paper's recipe: none of 5 runs",
        "hold-out: none of 100 runs",
        "CIFAR-10.2",
        "PET/CT",
    ):
        assert words in text
    assert all(f"results/{name}`" in text for name in TRAININGS)


def test_runs_of_the_holdout_are_counted_by_arm(tmp_path) -> None:
    (tmp_path / "holdout-cifar10-paper").mkdir()
    effects = [
        {"arm": "swap", "control": "no-swap", "among": None, "runs": [0.1, 0.2]},
        {"arm": "swap-constant", "control": "no-swap-constant", "among": None, "runs": [0.1]},
    ]
    (tmp_path / "holdout-cifar10-paper" / "holdout.json").write_text(
        json.dumps({"about": {"runs": 3}, "numbers": {"effect": effects}})
    )
    (line,) = (
        line for line in missing(Results(tmp_path, tmp_path)) if "CIFAR-10, hold-out" in line
    )
    assert (
        "2 of 100 runs, 1 of 100 runs with a constant rate; `labelwise-lab reproduce holdout"
        in line
    )


def test_what_is_there_is_not_missing(tmp_path) -> None:
    (tmp_path / "fingerprint").mkdir()
    near, confirmed = list(TRAININGS)[:2]
    numbers = {
        "trainings": [
            {"training": name, "runs": 5 if name == confirmed else 1} for name in TRAININGS
        ],
        "candidates": [near, confirmed],
    }
    (tmp_path / "fingerprint" / "fingerprint.json").write_text(
        json.dumps({"about": {}, "numbers": numbers})
    )
    (line,) = (line for line in missing(Results(tmp_path, tmp_path)) if "fingerprint" in line)
    assert "fresh runs of the candidate" in line
    assert f"--first-run 1 --runs 5 {TRAININGS[near][1]}`" in line
    assert f"results/{near}`" in line


def test_the_commands_make_the_folders() -> None:
    for name, (_, options) in TRAININGS.items():
        given = {"change": [], "epochs": None, "protocol": "paper"}
        words = shlex.split(options)
        for key, value in zip(words[::2], words[1::2], strict=True):
            if key == "--change":
                given["change"].append(parse_change(value))
            else:
                given[key.removeprefix("--")] = int(value) if key == "--epochs" else value
        setting = Setting(
            "fashion-mnist",
            given["protocol"],
            epochs=given["epochs"],
            changes=tuple(given["change"]),
        )
        assert setting.name == name
