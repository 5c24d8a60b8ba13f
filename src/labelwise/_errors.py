"""Errors and notes about input: what is wrong, how to fix it, where it was found. Each front end
words the fix for its users.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

# Each fix in the words of the library. `labelwise.cli` has the same keys in the words of its
# options.
PYTHON_FIXES: Mapping[str, str] = {
    "batch": "Use batch='top'",
    "class_axis": "They do over axis {axis}: if the classes are there, pass class_axis={axis}",
    "class_axis_first": (
        "They do over axis 0: if the classes are there, pass class_axis=0 and `member_axis`"
    ),
    "class_names": "Pass `class_names` to the prediction",
    "class_names_or_costs": (
        "Pass `class_names` to the prediction, or to Costs in the order of the prediction's classes"
    ),
    "clip": "If that is rounding, clip it: {name}.clip(0, 1)",
    "columns": "To rename the classes, rename the columns first: df.columns = [...]",
    "file_members": (
        "If it was saved as (N, M, K), use member_axis=1; to keep this reading, member_axis=0"
    ),
    "file_multilabel": "If labels may occur together, use multilabel=True",
    "groups": "Pass the group of each case, `groups`",
    "label_names": "Name the labels, such as class_names=['yes', 'no']",
    "logits": "If these are logits, use {kind}.from_logits",
    "logits_or_labels": (
        "Class labels must be one-hot encoded first; if these are logits, use {kind}.from_logits"
    ),
    "logits_or_multilabel": (
        "If these are logits, use Ensemble.from_logits; if labels may occur together, use "
        "MultiLabelEnsemble"
    ),
    "maybe_not_logits": (
        "If a sigmoid or softmax has been taken already, they are probabilities: use the class "
        "itself, without from_logits"
    ),
    "more_cases": "Collect more, or lower `coverage`",
    "multiclass": "Use task='multiclass'",
    "name_classes": "Name the columns of the classes: class_names={names!r}.split(',')",
    "no_class": "If it says which row is which, make it the index: df.set_index({column!r}); else "
    "drop it: df.drop(columns={column!r}). "
    "If it is a class, give all names as `class_names`",
    "normalize": (
        "If that is rounding, divide by the sums: {name} / {name}.sum(-1)[..., None]; if a class "
        "is left out, add it"
    ),
    "not_alpha": (
        "Use lw.Ensemble. If they are concentrations all the same, give them as a mixture of one: "
        "lw.DirichletMixture(alpha[None])"
    ),
    "not_logits": (
        "Leave out from_logits. If they are logits all the same, add a constant, which changes "
        "nothing else: logits + 2"
    ),
    "overflow": (
        "If a softmax overflowed, start from the logits: use {kind}.from_logits; else drop these "
        "instances first"
    ),
    "per_label": "Use task='per_label'",
    "pool": "Collect more, lower `coverage`, or pool rare classes, such as guarantee={{'rare': "
    "{rare!r}}} with a common class added until it "
    "suffices: that guarantees coverage of the pool, not of each class in it",
    "positions": "If these are positions 0 … {last}, pass the names: np.asarray(names)[{name}]",
    "rename": "Rename them alike, or match them by position without names: df.to_numpy()",
    "rename_classes": "To rename them, pass a mapping: class_names={{{first!r}: ..., ...}}",
    "rows_together": (
        "If labels may occur together, use MultiLabelEnsemble; else correct these rows"
    ),
    "same_classes": "Train them on the same class names",
    "same_index": "Give both the same index, or match them by position without it: .to_numpy()",
    "saved_members": "Saved as (N, M, K)? Use member_axis=1",
    "sigmoid_taken": "If labels may occur together, use lw.MultiLabelEnsemble(np.stack([model(x) "
    "for model in models])). If they are logits "
    "all the same, pass activation='softmax', or 'sigmoid' for labels that may occur together",
    "to_numpy": "To match them by position, give all as arrays: df.to_numpy()",
    "unique_index": (
        "Give each row its own index, or match them by position without it: .to_numpy()"
    ),
}


class _Worded(Exception):
    """A sentence about input that carries its fix and its place."""

    def __init__(
        self, sentence: str, *, fix: str | None = None, where: str | None = None, **values: Any
    ) -> None:
        self.sentence = sentence
        self.fix = fix
        self.where = where
        self.values = values
        super().__init__(sentence)

    def __str__(self) -> str:
        return self.worded(PYTHON_FIXES)

    def worded(self, fixes: Mapping[str, str]) -> str:
        """The whole message, with the fix in the words of one front end."""
        place = f"{self.where}: " if self.where else ""
        if self.fix is None:
            return f"{place}{self.sentence}"
        # a fix that only Python users meet, such as one about data frames, has one wording
        advice = fixes.get(self.fix, PYTHON_FIXES[self.fix]).format(**self.values)
        return f"{place}{self.sentence}. {advice}"

    def found_in(self, place: str) -> Self:
        """The same message with a place before its own, such as the file of a row."""
        where = f"{place}, {self.where}" if self.where else place
        return type(self)(self.sentence, fix=self.fix, where=where, **self.values)


class InputError(_Worded, ValueError):
    """Input that cannot be used.

    Parameters
    ----------
    sentence : str
        What is wrong: the rule, and what came. Without a full stop.
    fix : str, optional
        What to do about it: a key of `PYTHON_FIXES`, because an argument of a function and an
        option of the command have other names.
    where : str, optional
        Where it was found, such as a file and a row.
    **values
        What the words of the fix name, such as the axis to pass.

    Examples
    --------
    >>> sentence = "`p` must not be negative; got -1e-9"
    >>> print(InputError(sentence, fix="clip", where="model2.csv", name="p"))
    model2.csv: `p` must not be negative; got -1e-9. If that is rounding, clip it: p.clip(0, 1)
    """


class InputNote(_Worded, UserWarning):
    """An assumption about input that may be wrong; with the parts of an `InputError`."""


# --- pieces of sentences


def did_you_mean(word: Any, known: Sequence[str]) -> str:
    """The end of an error message: the name that was probably meant; empty if none is close."""
    lower = {name.lower(): name for name in reversed(known)}
    close = difflib.get_close_matches(str(word).lower(), list(lower), n=1, cutoff=0.6)
    if not close:
        return ""
    return f". Did you mean {lower[close[0]]!r}?"


def suggest(word: Any, known: Sequence[str]) -> str:
    """The end of an error message: the name that was probably meant, or the known names."""
    return did_you_mean(word, known) or f". Known: {listed(known, 8)}"


def listed(names: Sequence[Any], limit: int = 5, shown_as: Callable[[Any], str] = repr) -> str:
    """The first names of a list, by default quoted.

    >>> listed(["cat", "dog", "eel"], 2)
    "'cat', 'dog', …"
    """
    shown = list(map(shown_as, names[:limit]))
    if len(names) > limit:
        shown.append("…")
    return ", ".join(shown)


def kind_of(x: Any) -> str:
    """What came instead: the type, or that it was a class."""
    if isinstance(x, type):
        return f"the class {x.__name__}"
    return type(x).__name__
