"""Outputs of OpenAI and vLLM with log-probabilities of tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from language_model_files import batch_line, chat_completion, completion, response, write_lines

LABELS = ["negative", "positive"]
TOP = {"positive": 0.7, " Positive": 0.1, "negative": 0.15, "The": 0.05}


def test_every_layout_gives_the_same(tmp_path: Path) -> None:
    bodies = {
        "chat": chat_completion("positive", ("positive", TOP)),
        "completion": completion("positive", "positive", TOP),
        "response": response("positive", "positive", TOP),
    }
    for name, body in bodies.items():
        for wrapped in (body, batch_line("t1", body), {"id": "t1", "response": body}):
            path = write_lines(tmp_path / f"{name}.jsonl", [wrapped])
            p = lw.load_predictions(path, class_names=LABELS)
            np.testing.assert_allclose(p.probs, [[[0.15 / 0.95, 0.8 / 0.95]]], rtol=1e-12)
            assert list(p.ids) == ["0" if wrapped is body else "t1"]
            assert p.notes == (
                "probabilities of the labels' tokens, divided by their sum (mean 0.95)",
            )


def test_files_of_a_batch_are_matched_by_custom_id(tmp_path: Path) -> None:
    """Batches come back in any order, and some requests fail."""
    yes, no = {"Yes": 0.9, "No": 0.1}, {"Yes": 0.2, "No": 0.8}
    first = [batch_line(case, chat_completion("Yes", ("Yes", yes))) for case in ("a", "b", "c")]
    second = [batch_line(case, chat_completion("No", ("No", no))) for case in ("c", "a")]
    paths = [
        write_lines(tmp_path / "short.jsonl", first),
        write_lines(tmp_path / "long.jsonl", [*second, batch_line("b", None)]),
    ]
    p = lw.load_predictions(paths, class_names=["No", "Yes"])
    assert list(p.ids) == ["a", "b", "c"]
    np.testing.assert_allclose(p.distribution().mean()[:, 1], [0.55, 0.9, 0.55], rtol=1e-12)
    assert p.member_names == ("short", "long")
    assert "1 of 6 answers are missing: no weight" in p.notes


def test_an_absent_label_has_the_most_that_it_can_have(tmp_path: Path) -> None:
    tops = [
        {"A": 0.9, "B": 0.06, "E": 0.03},  # 0.01 is left for C and D: 0.005 each
        {"A": 0.5, "B": 0.02},  # 0.48 is left, but C and D are less likely than B
    ]
    rows = [batch_line(str(i), chat_completion("A", ("A", top))) for i, top in enumerate(tops)]
    path = write_lines(tmp_path / "p.jsonl", rows)
    p = lw.load_predictions(path, class_names=list("ABCD"))
    expected = np.array([[0.9, 0.06, 0.005, 0.005], [0.5, 0.02, 0.02, 0.02]])
    np.testing.assert_allclose(p.probs[0], expected / expected.sum(1, keepdims=True), rtol=1e-12)
    assert (
        "2 answers do not list the tokens of all labels: the others share the most that they can "
        "have, each 0.02 or less"
    ) in p.notes


def test_tokens_that_begin_a_label_and_answers_that_begin_with_words(tmp_path: Path) -> None:
    words = [
        ("The", {"The": 0.9, "pos": 0.1}),
        (" sentiment", {" sentiment": 1.0}),
        (" neg", {" neg": 0.6, " pos": 0.4}),
        ("ative", {"ative": 1.0}),
    ]
    path = write_lines(tmp_path / "p.jsonl", [chat_completion("The sentiment: negative", *words)])
    p = lw.load_predictions(path, class_names=LABELS)
    np.testing.assert_allclose(p.probs, [[[0.6, 0.4]]], rtol=1e-12)
    assert any("'neg' as 'negative', 'pos' as 'positive'" in note for note in p.notes)
    hidden = chat_completion("Hmm", ("Hmm", {"Hmm": 0.5, "positive": 0.3, "negative": 0.2}))
    p = lw.load_predictions(write_lines(path, [hidden]), class_names=LABELS)
    np.testing.assert_allclose(p.probs, [[[0.4, 0.6]]], rtol=1e-12)


def test_columns_beside_the_completion(tmp_path: Path) -> None:
    rows = []
    for model in ("small", "large"):
        for prompt in ("short", "long"):
            for i in range(2):
                body = chat_completion("yes", ("yes", {"yes": 0.8, "no": 0.2}), model=model)
                line = {"id": f"t{i}", "prompt": prompt, "label": "no", "response": body}
                rows.append(line)
    p = lw.load_predictions(write_lines(tmp_path / "all.jsonl", rows))
    assert p.class_names == ("no", "yes")  # the labels and the answers
    assert p.shape == (4, 2, 2)
    assert p.factors == {
        "model": ("small", "small", "large", "large"),
        "prompt": ("short", "long") * 2,
    }
    assert p.true_class.tolist() == [0, 0]


def test_answers_without_log_probabilities_are_certain(tmp_path: Path) -> None:
    rows = [batch_line(str(i), chat_completion(text)) for i, text in enumerate(["yes", "No", "no"])]
    p = lw.load_predictions(write_lines(tmp_path / "p.jsonl", rows), class_names=["no", "yes"])
    np.testing.assert_array_equal(p.probs[0, :, 1], [1, 0, 0])
    assert p.notes == ("3 answers without log-probabilities are read as certain",)


def test_labels_must_be_known(tmp_path: Path) -> None:
    rows = [batch_line(str(i), chat_completion(f"It depends on {i}.")) for i in range(3)]
    with pytest.raises(ValueError, match=r"3 answers have 3 different texts.*'It depends on 0.'"):
        lw.load_predictions(write_lines(tmp_path / "p.jsonl", rows))
    with pytest.raises(ValueError, match="members must have answered the same cases"):
        lw.load_predictions(tmp_path / "p.jsonl", class_names=["yes", "no"])


def test_several_choices_are_several_members(tmp_path: Path) -> None:
    """As with `n` of both interfaces."""
    rows = []
    for case, texts in {"a": ["yes", "no"], "b": ["yes", "yes"]}.items():
        body = chat_completion("yes")
        (choice,) = body["choices"]
        body["choices"] = []
        for i, text in enumerate(texts):
            message = {**choice["message"], "content": text}
            body["choices"].append({**choice, "index": i, "message": message})
        rows.append(batch_line(case, body))
    p = lw.load_predictions(write_lines(tmp_path / "p.jsonl", rows), class_names=["no", "yes"])
    np.testing.assert_array_equal(p.probs[:, :, 1], [[1, 1], [0, 1]])
    assert p.factors == {"choice": ("0", "1")}


def test_answers_that_say_nothing_are_missing(tmp_path: Path) -> None:
    """No choice, a refusal without a text, and labels whose probabilities are 0."""
    silent = chat_completion("yes")
    silent["choices"] = []
    refused = chat_completion("yes")
    refused["choices"][0]["message"].update(content=None, refusal="I cannot")
    hidden = chat_completion("Hm", ("Hm", {"Hm": 1.0, "yes": 0.5}))
    (place,) = hidden["choices"][0]["logprobs"]["content"]
    place["top_logprobs"][1]["logprob"] = -900.0
    bodies = {"a": chat_completion("yes"), "b": silent, "c": refused, "d": hidden}
    rows = [batch_line(case, body) for case, body in bodies.items()]
    p = lw.load_predictions(write_lines(tmp_path / "p.jsonl", rows), class_names=["no", "yes"])
    np.testing.assert_array_equal(p.probs, [[[0, 1]]])
    assert "left out, because no member names a class: 'b', 'c', 'd'" in p.notes


def test_lines_without_ids_are_matched_by_number_and_that_is_said(tmp_path: Path) -> None:
    files = []
    for model in ("m1", "m2"):
        rows = [chat_completion(text, model=model) for text in ("yes", "no")]
        files.append(write_lines(tmp_path / f"{model}.jsonl", rows))
    note = "rows matched by number: the lines have no `custom_id`"
    assert note in lw.load_predictions(files).notes
    assert note not in lw.load_predictions(files[0]).notes
