"""What is in a results folder, in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from labelwise_lab.paper.provenance import Results, in_words, provenance

ABOUT = {"versions": {"labelwise": "0.1.0", "numpy": "2.4.6"}, "date": "2026-11-16", "runs": 1}


def store(path: Path, **about: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"about": ABOUT | about, "numbers": {}}))


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("mnist-code", "MNIST, protocol “code”, 1 run"),
        ("cifar10-paper-10-epochs", "CIFAR-10, protocol “paper”, changed: 10 epochs, 1 run"),
        (
            "holdout-cifar10-paper-3-members",
            "CIFAR-10, protocol “paper”, changed: 3 members, 1 run",
        ),
        (
            "fashion-mnist-paper-optimizer=sgd-rate=0.1-weight_decay=1e-05-5-epochs-2-members",
            (
                "FashionMNIST, protocol “paper”, changed: optimizer=sgd, rate=0.1, "
                "weight_decay=1e-05, 5 epochs, 2 members, 1 run"
            ),
        ),
    ],
)
def test_folders_in_words(folder, words):
    assert in_words(folder, {"about": ABOUT}) == words


def test_versions_are_those_that_computed_the_numbers(tmp_path):
    results = Results(tmp_path, tmp_path)
    assert results.versions() == ""
    store(tmp_path / "mnist-paper" / "arc.json")
    store(tmp_path / "published" / "cifar.json", date="2026-11-17")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "other.json").write_text("[1]")  # of somebody else
    assert results.versions() == (
        "Numbers computed with labelwise 0.1.0, numpy 2.4.6 (2026-11-16 to 2026-11-17); versions "
        "and machines of the trainings were not recorded."
    )


@pytest.mark.parametrize(
    "text", ["{}", "[1]", '{"about": {"x', '{"about": 1, "numbers": {}}', "\x00"]
)
def test_a_file_that_is_no_stored_result_is_named(tmp_path, text):
    path = tmp_path / "mnist-paper" / "arc.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(
        ValueError,
        match=r"is not a stored result: .*; delete it and run `labelwise-lab reproduce arc` again",
    ) as refused:
        Results(tmp_path, tmp_path).find("arc")
    assert str(refused.value).startswith(repr(str(path)))


@pytest.mark.parametrize(
    ("experiment", "noted"),
    [("ood", True), ("losses", True), ("arc", False), ("artifact", False), ("human", False)],
)
def test_what_was_used_of_a_data_set_is_said_where_it_was_used(experiment, noted):
    about = {
        "experiment": experiment,
        "command": "labelwise …",
        "setting": {"data": "cifar10"},
        "data": {"svhn": "10,000 digits"},
    }
    assert provenance({"about": about}) == "`labelwise …`" + " SVHN: 10,000 digits." * noted + "\n"
