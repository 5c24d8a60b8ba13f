"""``labelwise-lab votes``: known data sets in the published layout."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from labelwise_lab.cli import main

QUICK = ["--splits", "2", "--bootstrap", "20"]


def run(*words):
    return CliRunner().invoke(main, ["votes", *map(str, words)])


def logits_and_votes(n=120, k=3, members=3):
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, size=(members, n, k)).astype(np.float32)
    p = np.exp(z[0]) / np.exp(z[0]).sum(-1, keepdims=True)
    return z, rng.multinomial(5, p.astype(float) / p.astype(float).sum(-1, keepdims=True))


def test_known_data_sets_in_their_published_layout(tmp_path):
    z, votes = logits_and_votes()
    np.savez(
        tmp_path / "chaosnli_snli.npz",
        logits=z,
        votes=votes.astype(np.uint8),
        class_names=np.array(["e", "n", "c"]),
    )
    rng = np.random.default_rng(1)
    night = np.repeat(np.arange(6, dtype=np.uint8), 20)
    truth = rng.integers(0, 5, size=120)
    noisy = [
        np.where(rng.random(120) < 0.3, rng.integers(0, 5, size=120), truth) for _ in range(11)
    ]
    scorers = np.array(noisy[:5], np.int8)
    scorers[0, :10] = -1
    names = np.array(["Wake", "N1", "N2", "N3", "REM"])
    np.savez(
        tmp_path / "sleep_dodh.npz",
        scorers=scorers,
        models=np.array(noisy[5:], np.int8),
        night=night,
        class_names=names,
    )
    result = run("chaosnli", "sleep", "--data-dir", tmp_path, *QUICK, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["chaosnli"]["class_names"] == ["e", "n", "c"]
    assert found["sleep"]["hard"]
    assert list(found["sleep"]["reliability"]) == ["total"]
    shown = run("sleep", "--data-dir", tmp_path, *QUICK)
    assert "squared error of a vote" in shown.output


def test_the_networks_of_cifar10_and_the_votes_of_people(tmp_path):
    z, votes = logits_and_votes(100, 10)
    (tmp_path / "votes").mkdir()
    np.savez(tmp_path / "votes" / "cifar10_8_networks.npz", logits=z)
    np.save(tmp_path / "cifar10h-counts.npy", votes)
    result = run("cifar10h", "--data-dir", tmp_path, *QUICK, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["cifar10h"]["class_names"][3] == "cat"


def test_numbers_are_shown_and_written(tmp_path):
    z, votes = logits_and_votes()
    names = np.array(["e", "n", "c"])
    np.savez(tmp_path / "chaosnli_snli.npz", logits=z, votes=votes, class_names=names)
    result = run("chaosnli", "--data-dir", tmp_path, *QUICK, "-o", tmp_path / "found.json")
    assert result.exit_code == 0, result.output
    assert "claimed ÷ observed" in result.output
    assert "constant per label" in result.output
    assert "the test rejects in" in result.output
    assert list(json.loads((tmp_path / "found.json").read_text())) == ["chaosnli"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("chaosnly", "'chaosnly' is not one of 'cifar10h', 'chaosnli', 'sleep'."),
        ("chaosnli", "there is no chaosnli_snli.npz"),
    ],
)
def test_mistakes(tmp_path, monkeypatch, name, sentence):
    monkeypatch.chdir(tmp_path)
    result = run(name)
    assert result.exit_code == 2
    assert sentence in result.output
