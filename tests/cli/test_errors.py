"""What is wrong is one sentence with its fix: in Python's words from the library, in options from
the command.

Whole sentences, once for each fix: a part of a sentence can be right where the rest of it is not.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from labelwise._errors import PYTHON_FIXES, InputError, InputNote
from labelwise.cli._errors import OPTION_FIXES, in_options
from labelwise.decisions import Costs, acquire, decide

NAMES = ["cat", "dog", "eel", "fox"]
Y = np.arange(40) % 4
SHARES = np.full((3, 40, 4), 0.25)
POOL = lw.Ensemble(SHARES, class_names=NAMES)
MULTI = lw.MultiLabelEnsemble(SHARES)
MATRIX = "matrix = [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]\n"


def shares(first: float) -> np.ndarray:
    """Probabilities of 1/4 each, with another first value."""
    values = SHARES.copy()
    values[0, 0, 0] = first
    return values


def load(**options: Any) -> Callable[[], Any]:
    return lambda: lw.load_predictions("p.npz", **options)


def ensemble(values: np.ndarray) -> Callable[[], Any]:
    return lambda: lw.Ensemble(values)


def costs(text: str) -> Costs:
    """Costs that the command reads too."""
    Path("costs.toml").write_text(text)
    return Costs.from_toml("costs.toml")


def fit(**options: Any) -> lw.typing.SetPredictor:
    """Prediction sets that the command reads too."""
    fitted = lw.sets.fit_sets(POOL, Y, coverage=0.5, **options)
    fitted.save("sets.npz")
    return fitted


RANGE = "`probs` must lie between 0 and 1; values range from"
SUMS = "`probs` must sum to 1 over the class axis"
EVALUATE, QUANTIFY, DECIDE = (
    ["evaluate", "p.npz"],
    ["quantify", "p.npz", "-o", "u.npz"],
    ["decide", "p.npz", "--costs", "costs.toml"],
)

# The fix; the arrays of p.npz besides `probs` and `y_true`; a call of the library and all that it
# says; a command and all that it says.
Row = tuple[str, dict[str, Any], Callable[[], Any], str, list[str], str]
ROWS: list[Row] = [
    (
        "batch",
        {"class_names": NAMES},
        lambda: acquire(POOL, budget=2, label="cat", batch="balanced"),
        ("a balanced batch takes turns between classes, and `label` asks for one. Use batch='top'"),
        ["acquire", "p.npz", "--budget", "2", "--label", "cat", "--batch", "balanced"],
        ("a balanced batch takes turns between classes, and `label` asks for one. Use --batch top"),
    ),
    (
        "class_axis",
        {"probs": SHARES.transpose(0, 2, 1), "y_true": None},
        ensemble(SHARES.transpose(0, 2, 1)),
        f"{SUMS} (K = 40 classes) within 1e-06; sums range from 10 to 10 for shape (3, 4, 40). "
        "They do over axis 1: if the classes are there, pass class_axis=1",
        QUANTIFY,
        f"p.npz, rows 0 to 4: {SUMS} (K = 40 classes) within 1e-06; sums range from 10 to 10 for "
        "shape (3, 4, 40). "
        "They do over axis 1: if the classes are there, use --class-axis 1",
    ),
    (
        "class_axis_first",
        {"probs": SHARES.transpose(2, 0, 1), "y_true": None},
        ensemble(SHARES.transpose(2, 0, 1)),
        f"{SUMS} (K = 40 classes) within 1e-06; sums range from 10 to 10 for shape (4, 3, 40). "
        "They do over axis 0: if the classes are there, pass class_axis=0 and `member_axis`",
        QUANTIFY,
        f"p.npz, rows 0 to 3: {SUMS} (K = 40 classes) within 1e-06; sums range from 10 to 10 for "
        "shape (4, 3, 40). "
        "They do over axis 0: if the classes are there, use --class-axis 0 and --member-axis",
    ),
    (
        "class_names",
        {},
        lambda: lw.decompose(lw.Ensemble(SHARES), events={"pets": ["cat"]}),
        (
            "`events`: 'pets' names the class 'cat', but the prediction has no class names. Pass "
            "`class_names` to the prediction"
        ),
        ["report", "p.npz", "-o", "r.html", "--events", "events.toml"],
        (
            "`events`: 'pets' names the class 'cat', but the prediction has no class names. Use "
            "--class-names"
        ),
    ),
    (
        "class_names_or_costs",
        {},
        lambda: decide(lw.Ensemble(SHARES), costs("[missed]\ncat = 20\n"), task="multiclass"),
        "these costs are given by class name, but the prediction has no class names. "
        "Pass `class_names` to the prediction, or to Costs in the order of the prediction's "
        "classes",
        DECIDE,
        (
            "these costs are given by class name, but the prediction has no class names. Use "
            "--class-names"
        ),
    ),
    (
        "clip",
        {"probs": shares(1.2)},
        ensemble(shares(1.2)),
        f"{RANGE} 0.25 to 1.2 for shape (3, 40, 4). If that is rounding, clip it: probs.clip(0, 1)",
        EVALUATE,
        (
            f"{RANGE} 0.25 to 1.2 for shape (3, 40, 4). If that is rounding, clip it before it is "
            "saved: probs.clip(0, 1)"
        ),
    ),
    (
        "groups",
        {"class_names": NAMES},
        lambda: fit(groups=np.arange(40)).evaluate(POOL, Y),
        (
            "these were fitted with `groups`, so they are evaluated by group. Pass the group "
            "of each case, `groups`"
        ),
        ["sets", "evaluate", "p.npz", "--sets", "sets.npz"],
        "these were fitted with `groups`, so they are evaluated by group. "
        "Save the group of each case in the prediction file, as `groups`",
    ),
    (
        "logits",
        {"probs": shares(-2.5)},
        ensemble(shares(-2.5)),
        f"{RANGE} -2.5 to 0.25 for shape (3, 40, 4). If these are logits, use Ensemble.from_logits",
        EVALUATE,
        f"{RANGE} -2.5 to 0.25 for shape (3, 40, 4). If these are logits, use --logits",
    ),
    (
        "logits",
        {"probs": shares(-2.5), "y_true": None},
        lambda: lw.MultiLabelEnsemble(shares(-2.5)),
        (
            f"{RANGE} -2.5 to 0.25 for shape (3, 40, 4). If these are logits, use "
            "MultiLabelEnsemble.from_logits"
        ),
        [*QUANTIFY, "--multilabel"],
        (
            f"p.npz, rows 0 to 40: {RANGE} -2.5 to 0.25 for shape (3, 40, 4). If these are logits, "
            "use --logits"
        ),
    ),
    (
        "logits_or_labels",
        {"probs": np.full((3, 40, 4), 2.0)},
        ensemble(np.full((3, 40, 4), 2.0)),
        (
            f"{RANGE} 2 to 2 for shape (3, 40, 4). Class labels must be one-hot encoded first; if "
            "these are logits, use Ensemble.from_logits"
        ),
        EVALUATE,
        (
            f"{RANGE} 2 to 2 for shape (3, 40, 4). Class labels must be one-hot encoded first; if "
            "these are logits, use --logits"
        ),
    ),
    (
        "logits_or_multilabel",
        {"probs": 2 * SHARES},
        ensemble(2 * SHARES),
        f"{SUMS} (K = 4 classes) within 1e-06; sums range from 2 to 2 for shape (3, 40, 4). "
        "If these are logits, use Ensemble.from_logits; if labels may occur together, use "
        "MultiLabelEnsemble",
        EVALUATE,
        f"{SUMS} (K = 4 classes) within 1e-06; sums range from 2 to 2 for shape (3, 40, 4). "
        "If these are logits, use --logits; if labels may occur together, use --multilabel",
    ),
    (
        "more_cases",
        {"class_names": NAMES},
        lambda: lw.sets.fit_sets(POOL, Y, coverage=0.99, guarantee="marginal"),
        (
            "a coverage of 0.99 needs at least ⌈1/(1 − 0.99)⌉ − 1 = 99 calibration cases; got 40. "
            "Collect more, or lower `coverage`"
        ),
        ["sets", "fit", "p.npz", "-o", "s.npz", "--coverage", "0.99", "--guarantee", "marginal"],
        (
            "a coverage of 0.99 needs at least ⌈1/(1 − 0.99)⌉ − 1 = 99 calibration cases; got 40. "
            "Collect more, or lower --coverage"
        ),
    ),
    (
        "multiclass",
        {},
        lambda: decide(POOL, costs(MATRIX), task="per_label"),
        "deciding on each label needs a `default`, `missed` or `false_alarm`; these costs have "
        "only a `matrix`, which is for choosing one class. "
        "Use task='multiclass'",
        [*DECIDE, "--task", "per_label"],
        "deciding on each label needs a `default`, `missed` or `false_alarm`; these costs have "
        "only a `matrix`, which is for choosing one class. "
        "Use --task multiclass",
    ),
    (
        "normalize",
        {"probs": 1.01 * SHARES},
        ensemble(1.01 * SHARES),
        f"{SUMS} (K = 4 classes) within 1e-06; sums range from 1.01 to 1.01 for shape (3, 40, 4). "
        "If that is rounding, divide by the sums: probs / probs.sum(-1)[..., None]; if a class is "
        "left out, add it",
        EVALUATE,
        f"{SUMS} (K = 4 classes) within 1e-06; sums range from 1.01 to 1.01 for shape (3, 40, 4). "
        "If that is rounding, use --normalize; if a class is left out, add it",
    ),
    (
        "overflow",
        {"probs": shares(np.nan)},
        ensemble(shares(np.nan)),
        "`probs` must be finite; got NaN at index (0, 0, 0) (1 of 480 values are not finite). "
        "If a softmax overflowed, start from the logits: use Ensemble.from_logits; else drop these "
        "instances first",
        EVALUATE,
        "`probs` must be finite; got NaN at index (0, 0, 0) (1 of 480 values are not finite). "
        "If a softmax overflowed, start from the logits: use --logits; else drop these instances "
        "first",
    ),
    (
        "per_label",
        {"y_true": np.eye(4, dtype=int)[Y] | 1},
        lambda: decide(MULTI, costs("default = 1\n"), task="multiclass"),
        (
            "these labels may occur together, so there is no single class to "
            "choose. Use task='per_label'"
        ),
        [*DECIDE, "--multilabel", "--task", "multiclass"],
        (
            "these labels may occur together, so there is no single class to "
            "choose. Use --task per_label"
        ),
    ),
    (
        "pool",
        {"class_names": NAMES, "y_true": np.minimum(Y, 2)},
        lambda: lw.sets.fit_sets(POOL, np.minimum(Y, 2), coverage=0.8),
        "a coverage of 0.8 needs at least ⌈1/(1 − 0.8)⌉ − 1 = 4 calibration cases of each class or "
        "event; 'fox' has 0. Collect more, lower "
        "`coverage`, or pool rare classes, such as guarantee={'rare': ['fox']} with a common class "
        "added until it suffices: that guarantees "
        "coverage of the pool, not of each class in it",
        ["sets", "fit", "p.npz", "-o", "s.npz", "--coverage", "0.8"],
        "a coverage of 0.8 needs at least ⌈1/(1 − 0.8)⌉ − 1 = 4 calibration cases of each class or "
        "event; 'fox' has 0. Collect more, lower "
        "--coverage, or pool rare classes in a file for --events, such as ['fox'] with a common "
        "class added until it suffices: that "
        "guarantees coverage of the pool, not of each class in it",
    ),
    (
        "positions",
        {"class_names": ["1", "2", "3", "4"]},
        lambda: lw.evaluation.brier_score(lw.Ensemble(SHARES, class_names=["1", "2", "3", "4"]), Y),
        "`y_true` must be among the class names, which are integers: 1, 2, 3, 4; got 0 in row 0. "
        "If these are positions 0 … 3, pass the names: np.asarray(names)[y_true]",
        EVALUATE,
        "p.npz: `y_true` must be among the class names, which are integers: 1, 2, 3, 4; got 0 in "
        "row 0. "
        "If these are positions 0 … 3, save the names instead",
    ),
    (
        "rows_together",
        {"probs": shares(0.75)},
        ensemble(shares(0.75)),
        f"{SUMS} (K = 4 classes) within 1e-06; 1 of 120 rows does not, the first at index (0, 0); "
        "sums range from 1 to 1.5 for shape "
        "(3, 40, 4). If labels may occur together, use MultiLabelEnsemble; else correct these rows",
        EVALUATE,
        f"{SUMS} (K = 4 classes) within 1e-06; 1 of 120 rows does not, the first at index (0, 0); "
        "sums range from 1 to 1.5 for shape "
        "(3, 40, 4). If labels may occur together, use --multilabel; else correct these rows",
    ),
    (
        "saved_members",
        {"probs": SHARES.transpose(1, 0, 2)},
        load(),
        (
            "p.npz: `probs` has shape (40, 3, 4): axis 0 has 40, like `y_true`. Saved as (N, M, "
            "K)? Use member_axis=1"
        ),
        EVALUATE,
        (
            "p.npz: `probs` has shape (40, 3, 4): axis 0 has 40, like `y_true`. Saved as (N, M, "
            "K)? Use --member-axis 1"
        ),
    ),
]


@pytest.mark.parametrize(
    ("fix", "arrays", "call", "said", "command", "shown"), ROWS, ids=[row[0] for row in ROWS]
)
def test_whole_sentences(
    fix: str,
    arrays: dict[str, Any],
    call: Callable[[], Any],
    said: str,
    command: list[str],
    shown: str,
    tmp_path,
    monkeypatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    content = {"probs": SHARES, "y_true": Y} | arrays
    np.savez("p.npz", **{key: x for key, x in content.items() if x is not None})
    Path("events.toml").write_text('pets = ["cat"]\n')
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.fix == fix
    assert str(caught.value) == said
    result = run(*command)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"Error: {shown}"


def test_whole_sentence_of_a_note(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("p.npz", probs=SHARES.transpose(1, 0, 2))
    said = "`probs` of shape (40, 3, 4) is read as 40 members × 3 cases × 4 classes. "
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lw.load_predictions("p.npz")
    (note,) = [one.message for one in caught]
    assert isinstance(note, InputNote)
    assert (
        str(note)
        == said
        + "If it was saved as (N, M, K), use member_axis=1; to keep this reading, member_axis=0"
    )
    result = run("quantify", "p.npz", "-o", "u.npz")
    assert result.exit_code == 0
    shown = (
        said
        + "If it was saved as (N, M, K), use --member-axis 1; to keep this reading, --member-axis 0"
    )
    assert f"Note: {shown}" in result.stderr.splitlines()


def test_values_that_are_hardly_logits_are_noted_in_options(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(0).random((3, 40, 4))
    np.savez("p.npz", logits=values)
    said = (
        "All 480 values of `logits` lie between 0 and 1, which logits rarely do. If a sigmoid or "
        "softmax has been taken already, "
    )
    with pytest.warns(InputNote) as caught:
        lw.Ensemble.from_logits(values)
    assert (
        str(caught[0].message)
        == said + "they are probabilities: use the class itself, without from_logits"
    )
    result = run("quantify", "p.npz", "-o", "u.npz")
    assert f"Note: {said}they are probabilities: leave out --logits" in result.stderr.splitlines()


def test_members_in_the_current_folder_are_named(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        Path(name).write_text("cat,dog\n.5,.5\n.5,.7\n")
    shown = (
        "the current folder, rows 0 to 2: `probs` must sum to 1 over the class axis (K = 2 "
        "classes) within 1e-06; "
        "sums range from 1 to 1.2 for shape (2, 2, 2). If these are logits, use --logits; if "
        "labels may occur together, use --multilabel"
    )
    result = run("quantify", "a.csv", "b.csv", "-o", "u.csv")
    assert (result.exit_code, result.stderr) == (2, f"Error: {shown}\n")


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


# fixes about data frames, and models, which no command takes
PYTHON_ONLY = {
    "columns",
    "no_class",
    "rename",
    "rename_classes",
    "same_classes",
    "same_index",
    "sigmoid_taken",
    "to_numpy",
    "unique_index",
}


def test_both_front_ends_word_the_same_fixes() -> None:
    assert set(OPTION_FIXES) == set(PYTHON_FIXES) - PYTHON_ONLY
    for key, words in OPTION_FIXES.items():
        assert placeholders(words) <= placeholders(PYTHON_FIXES[key]), key
    assert {row[0] for row in ROWS} <= set(PYTHON_FIXES)


def test_every_fix_that_is_given_is_worded() -> None:
    """Each ``fix="key"`` of the library is a key of the tables, and each key is given somewhere."""
    given: set[str] = set()
    for path in Path(lw.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            chosen = (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "fix") or (
                isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "fix"
            )
            if chosen or (isinstance(node, ast.keyword) and node.arg == "fix"):
                given |= {
                    x.value
                    for x in ast.walk(node.value)
                    if isinstance(x, ast.Constant) and isinstance(x.value, str)
                }
    assert given == set(PYTHON_FIXES)


def test_advice_of_the_command_names_its_own_options() -> None:
    for key, words in OPTION_FIXES.items():
        assert "Ensemble" not in words, key
        assert "=" not in words, key


def test_other_errors_are_said_as_they_are() -> None:
    assert in_options(ValueError("`x` must be small; got 3")) == "`x` must be small; got 3"
