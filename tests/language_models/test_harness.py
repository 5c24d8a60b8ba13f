"""Samples of lm-evaluation-harness, from the file to the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from language_model_files import generated, sample, write_lines, write_samples

OPTIONS = ["negative", "neutral", "positive"]
RNG = np.random.default_rng(0)
SCORES = RNG.normal(-4, 2, size=(2, 2, 12, 3))  # models, prompts, documents, options
TARGETS = RNG.integers(0, 3, 12).tolist()


def softmax(x: np.ndarray) -> np.ndarray:
    shifted = np.exp(x - x.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def write_all(folder: Path) -> list[Path]:
    """Two models with two prompts each; the second prompt has its options in another order."""
    paths = []
    for m, model in enumerate(["meta-llama__Llama-3.1-8B", "Qwen__Qwen3-8B"]):
        for p, task in enumerate(["sentiment_short", "sentiment_polite"]):
            rows = []
            for i, target in enumerate(TARGETS):
                order = [2, 0, 1] if p else [0, 1, 2]
                options = [OPTIONS[k] for k in order]
                rows.append(
                    sample(i, options, SCORES[m, p, i, order].tolist(), order.index(target))
                )
            paths.append(write_samples(folder, model, task, rows[:: 1 - 2 * m]))
    return paths


def test_log_likelihoods_of_options_by_name(tmp_path: Path) -> None:
    p = lw.load_predictions(write_all(tmp_path))
    assert p.class_names == tuple(OPTIONS)
    assert list(p.ids) == [str(i) for i in range(12)]
    np.testing.assert_allclose(p.probs, softmax(SCORES.reshape(4, 12, 3)), rtol=1e-12)
    assert p.true_class.tolist() == TARGETS
    assert p.factors == {
        "model": ("meta-llama__Llama-3.1-8B",) * 2 + ("Qwen__Qwen3-8B",) * 2,
        "task": ("sentiment_short", "sentiment_polite") * 2,
    }
    assert p.member_names[1] == "meta-llama__Llama-3.1-8B / sentiment_polite"
    assert p.notes == ("probabilities: softmax of the options' log-likelihoods, as for `acc`",)
    assert lw.decompose(p.distribution()).sources(rng=0).factors == ("model", "task")


def test_the_order_of_given_classes_counts(tmp_path: Path) -> None:
    p = lw.load_predictions(write_all(tmp_path), class_names=OPTIONS[::-1])
    np.testing.assert_allclose(p.probs, softmax(SCORES.reshape(4, 12, 3))[..., ::-1], rtol=1e-12)
    assert p.true_class.tolist() == [2 - target for target in TARGETS]


def load(tmp_path: Path, rows: list[dict[str, Any]]) -> lw.io.Predictions:
    return lw.load_predictions(write_samples(tmp_path, "m", "task", rows))


def test_questions_with_different_options(tmp_path: Path) -> None:
    rows = [
        sample(0, ["Paris", "Rome", "Bonn"], [-1, -2, -3], 0),
        sample(1, ["red", "blue"], [-2, -1], 1),
    ]
    p = load(tmp_path, rows)
    assert p.class_names is None
    assert p.true_class.tolist() == [0, 1]
    expected = [softmax(np.array([-1.0, -2, -3])), [*softmax(np.array([-2.0, -1])), 0]]
    np.testing.assert_allclose(p.probs[0], expected, rtol=1e-12)
    assert "questions have different options: classes are their positions" in p.notes


def test_targets_that_are_texts_or_numbers(tmp_path: Path) -> None:
    """What `target` means is told by the accuracy of the harness."""
    rows = [
        sample(0, ["1", "2", "3"], [-1, -5, -5], "1"),
        sample(1, ["1", "2", "3"], [-1, -5, -5], "2"),
    ]
    assert load(tmp_path, rows).true_class.tolist() == [0, 1]
    rows = [
        sample(0, ["1", "2", "3"], [-5, -1, -5], 1),
        sample(1, ["1", "2", "3"], [-1, -5, -5], 2),
    ]
    assert load(tmp_path, rows).true_class.tolist() == [1, 2]
    rows = [sample(i, ["a", "b"], [-1, -2], 0) for i in range(2)]
    rows[0]["target"] = "[0, 1]"  # several are right
    p = load(tmp_path, rows)
    assert p.y_true is None
    assert any("`target` is not one of the options" in note for note in p.notes)


def test_earlier_layouts_and_unconditional_scores(tmp_path: Path) -> None:
    options = [["q", " a"], ["q", " b"], ["", " a"], ["", " b"]]  # for acc_mutual_info
    row = sample(0, ["a", "b"], [-1, -2], 0, arguments=options)
    row["filtered_resps"] = [[-1.0, True], [-2.0, False], [-9.0, False], [-1.0, False]]
    np.testing.assert_allclose(load(tmp_path, [row]).probs[0, 0], softmax(np.array([-1.0, -2])))


def test_other_documents_and_too_few_options(tmp_path: Path) -> None:
    one = write_samples(tmp_path, "a", "t", [sample(0, OPTIONS, [-1, -2, -3], 0)])
    two = write_samples(tmp_path, "b", "t", [sample(0, OPTIONS, [-1, -2, -3], 0, text="other")])
    notes = lw.load_predictions([one, two]).notes
    assert "files may be of different documents: their `doc_hash` differ" in notes
    two = write_samples(tmp_path, "b", "t", [sample(0, OPTIONS, [-1, -2, -3], 1)])
    with pytest.raises(ValueError, match="same true labels; for '0' one has 'negative', b / t"):
        lw.load_predictions([one, two])
    with pytest.raises(ValueError, match="at least two options, or one answer; it has 1 for 1"):
        load(tmp_path, [sample(0, ["only"], [-1], 0)])


def test_generated_answers(tmp_path: Path) -> None:
    texts = [["yes", "No.", "yes"], ["Yes", "I cannot say", "no"]]
    paths = []
    for model, answers in zip("ab", texts, strict=True):
        rows = [generated(i, text, "yes") for i, text in enumerate(answers)]
        paths.append(write_samples(tmp_path, model, "task", rows))
    p = lw.load_predictions(paths, class_names=["no", "yes"])
    np.testing.assert_array_equal(p.distribution().mean(), [[0, 1], [1, 0], [0.5, 0.5]])
    assert p.weights.tolist() == [[1, 1, 1], [1, 0, 1]]
    assert p.true_class.tolist() == [1, 1, 1]
    assert p.factors == {"model": ("a", "b")}
    assert "1 answers name no label and count as missing, such as 'I cannot say'" in p.notes


def test_several_filters_are_several_members(tmp_path: Path) -> None:
    rows = []
    for filtered_by in ("strict-match", "flexible-extract"):
        rows += [generated(i, "yes", "no", filtered_by=filtered_by) for i in range(3)]
    p = load(tmp_path, rows)
    assert p.member_names == ("strict-match", "flexible-extract")
    path = write_lines(tmp_path / "twice.jsonl", [generated(0, "yes", "no")] * 4)
    with pytest.raises(ValueError, match="the case '0' is there more than once for"):
        lw.load_predictions(path)


@pytest.mark.parametrize("scores", [["nan", "-1.0"], ["-inf", "-inf"]])
def test_log_likelihoods_must_be_numbers(tmp_path: Path, scores: list[str]) -> None:
    """A network in half precision may give none."""
    row = sample(7, ["a", "b"], [-1, -2], 0)
    row["filtered_resps"] = [[score, "False"] for score in scores]
    with pytest.raises(lw.InputError, match="log-likelihoods of doc_id 7 must be numbers"):
        load(tmp_path, [row])
    row["filtered_resps"] = [["-inf", "False"], ["-3.0", "True"]]
    np.testing.assert_array_equal(load(tmp_path, [row]).probs, [[[0, 1]]])


@pytest.mark.parametrize("responses", [[], [["yes", "no"]]])
def test_answers_that_no_filter_made_one(tmp_path: Path, responses: list[list[str]]) -> None:
    row = {**generated(7, "yes", "yes"), "filtered_resps": responses}
    with pytest.raises(lw.InputError, match=r"doc_id 7 must have .* or one answer"):
        load(tmp_path, [row])
