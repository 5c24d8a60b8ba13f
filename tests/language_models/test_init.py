"""Which files are outputs of language models."""

from __future__ import annotations

from pathlib import Path

import pytest

import labelwise as lw
from labelwise.language_models import outputs_of_lines
from language_model_files import batch_line, chat_completion, generated, sample, write_lines


def test_what_are_outputs() -> None:
    def are_outputs(*rows: dict) -> bool:
        return outputs_of_lines(Path("x.jsonl"), list(rows)) is not None

    assert are_outputs(sample(0, ["a", "b"], [-1, -2], 0))
    assert are_outputs(generated(0, "a", "b"))
    assert are_outputs(chat_completion("yes"))
    assert are_outputs(batch_line("x", None))
    assert not are_outputs()
    assert not are_outputs({"id": "x", "cat": 0.5, "dog": 0.5})
    assert not are_outputs({"id": "x", "probs": [0.5, 0.5], "response": "cat"})


def test_files_of_different_kinds_are_refused(tmp_path: Path) -> None:
    lines = {
        "numbers": [{"id": "0", "no": 0.5, "yes": 0.5}],
        "log-likelihoods of options": [sample(0, ["no", "yes"], [-1, -2], 0)],
        "answers": [generated(0, "yes", "no")],
    }
    files = {kind: write_lines(tmp_path / f"{kind}.jsonl", rows) for kind, rows in lines.items()}
    for one, other in zip(files, [*files][1:], strict=False):
        both = " and ".join(sorted((one, other)))
        for order in ((one, other), (other, one)):
            with pytest.raises(ValueError, match=f"must be of one kind; got {both}"):
                lw.load_predictions([files[kind] for kind in order])


def test_answers_of_any_layout_are_members_together(tmp_path: Path) -> None:
    answers = ["yes", "no"]
    rows = [generated(i, text, "no") for i, text in enumerate(answers)]
    batch = [batch_line(str(i), chat_completion(text)) for i, text in enumerate(answers)]
    table = [{"id": str(i), "answer": text} for i, text in enumerate(answers)]
    files = []
    for name, lines in {"samples_x": rows, "batch": batch, "table": table}.items():
        files.append(write_lines(tmp_path / f"{name}.jsonl", lines))
    p = lw.load_predictions(files)
    assert p.member_names == ("samples_x", "batch", "table")
    assert p.probs[:, :, 1].tolist() == [[1, 0]] * 3
    assert p.true_class.tolist() == [0, 0]
