"""``labelwise evaluate --votes``: people's votes on one's own cases."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from vote_simulation import simulated

NAMES = ["benign", "malignant", "artifact"]


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Predictions with labels or without, and votes beside them or inside."""
    monkeypatch.chdir(tmp_path)
    q, votes, _ = simulated(np.random.default_rng(0), 400, 3, scale=2.0)
    np.savez("preds.npz", probs=q.probs, class_names=NAMES)
    np.savez("labeled.npz", probs=q.probs, class_names=NAMES, y_true=votes.argmax(axis=1))
    np.savez("whole.npz", probs=q.probs, class_names=NAMES, votes=votes)
    np.save("votes.npy", votes)
    return tmp_path


def found(*words: object) -> dict:
    result = run("evaluate", *words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_numbers_are_those_of_the_library(here: Path) -> None:
    q = lw.load_predictions("preds.npz").distribution()
    votes = np.load("votes.npy")
    numbers = found("preds.npz", "--votes", "votes.npy")["votes"]
    reliability = lw.calibration.vote_reliability(q, votes)
    score = lw.calibration.score_votes(lw.decompose(q, "squared").aleatoric, q, votes)
    check = lw.calibration.check_votes(q, votes, rng=0)
    assert (numbers["check"]["ok"], numbers["sentence"]) == (check.ok, str(check))
    found_reliability = numbers["reliability"]
    assert found_reliability["n_cases"] == 400
    assert found_reliability["left_out"] == 0
    assert found_reliability["class_names"] == NAMES
    for part in ("total", "aleatoric", "epistemic"):
        claim, numbers_of_part = (
            getattr(reliability, part).labels,
            found_reliability[part]["labels"],
        )
        np.testing.assert_allclose(numbers_of_part["claimed"], claim.claimed)
        np.testing.assert_allclose(numbers_of_part["observed"]["value"], claim.observed.value)
        np.testing.assert_allclose(numbers_of_part["ratio"]["high"], claim.ratio.high)
    np.testing.assert_allclose(numbers["score"]["score"]["low"], score.score.low)
    np.testing.assert_allclose(numbers["score"]["calibration"], score.calibration)
    np.testing.assert_allclose(numbers["score"]["resolution"], score.resolution)


def test_votes_in_the_prediction_file_and_beside_other_results(here: Path) -> None:
    inside = found("whole.npz")
    assert list(inside) == ["votes"]
    both = found("labeled.npz", "--votes", "votes.npy")
    assert both["votes"] == inside["votes"]
    assert both["instances"] == 400
    assert "votes" not in found("labeled.npz")


def test_it_says_what_people_say(here: Path) -> None:
    np.save("some.npy", np.load("votes.npy") * (np.arange(400) >= 10)[:, None])
    result = run("evaluate", "preds.npz", "--votes", "some.npy")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert text.startswith(
        "Claimed ÷ observed over 390 cases (10 with fewer than two votes are left out)"
    )
    assert (
        "Aleatoric: half the probability that two people disagree about the label. Below 1: the "
        "members claim less than there is. The votes contradict the claims" in text
    )


def test_annotators_and_labels_that_may_occur_together(here: Path) -> None:
    ecg = lw.demo.load_ecg_ensemble()
    np.savez("ecg.npz", probs=ecg.ensemble.probs, class_names=ecg.class_names)
    np.savez("readers.npz", votes=ecg.votes, annotators=ecg.readers)
    numbers = found("ecg.npz", "--multilabel", "--votes", "readers.npz")["votes"]
    expected = lw.calibration.vote_reliability(ecg.ensemble, ecg.votes, annotators=ecg.readers)
    low = expected.aleatoric.labels.ratio.low
    np.testing.assert_allclose(numbers["reliability"]["aleatoric"]["labels"]["ratio"]["low"], low)


def test_too_few_disagreements_for_a_test(here: Path) -> None:
    np.savez("sure.npz", probs=np.tile([[[0.999, 0.001]]], (2, 30, 1)))
    np.save("same.npy", np.tile([3, 0], (30, 1)))
    numbers = found("sure.npz", "--votes", "same.npy")["votes"]
    assert numbers["check"] is None
    assert numbers["sentence"].startswith("`votes` must hold at least 20 disagreements")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["preds.npz"],
            "preds.npz has no `y_true`; evaluation needs true labels (--labels FILE)",
        ),
        (
            ["whole.npz", "--ood", "preds.npz"],
            "whole.npz has no `y_true`; evaluation needs true labels (--labels FILE)",
        ),
        (
            ["preds.npz", "--votes", "labeled.npz"],
            "labeled.npz has no array `votes`: counts (N, K), the class chosen by each of "
            "`annotators`, (N, A), or for labels that may occur together 0 or 1, (A, N, K)",
        ),
        (
            ["preds.npz", "--votes", "votes.csv"],
            "votes are read from .npy or .npz; got 'votes.csv'",
        ),
        (["preds.npz", "--votes", "none.npy"], "No such file or directory: 'none.npy'"),
    ],
)
def test_mistakes(here: Path, words: list[str], sentence: str) -> None:
    result = run("evaluate", *words)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, f"Error: {sentence}")


def test_votes_with_ids_are_matched_by_them(here: Path) -> None:
    whole = np.load("whole.npz")
    ids = np.array([f"case{i}" for i in range(400)])
    np.savez("named.npz", ids=ids, **whole)
    np.savez("turned.npz", ids=ids[::-1], votes=whole["votes"][::-1])
    expected = found("preds.npz", "--votes", "votes.npy")["votes"]
    assert found("named.npz", "--votes", "turned.npz")["votes"] == expected
    result = run("evaluate", "preds.npz", "--votes", "turned.npz")
    assert result.exit_code == 2
    assert "turned.npz has ids, and the predictions have none" in result.stderr
    np.savez("others.npz", ids=np.append(ids[1:], "new"), votes=whole["votes"])
    result = run("evaluate", "named.npz", "--votes", "others.npz")
    assert "different cases; the first to differ is 'case0'" in result.stderr
