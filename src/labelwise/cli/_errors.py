"""Errors and notes of the library in the words of the command: its options instead of Python's
arguments.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._errors import InputError, InputNote

__all__ = ["OPTION_FIXES", "in_options"]

# The fixes of `labelwise._errors.PYTHON_FIXES`, each for who types a command.
OPTION_FIXES: Mapping[str, str] = {
    "batch": "Use --batch top",
    "class_axis": "They do over axis {axis}: if the classes are there, use --class-axis {axis}",
    "class_axis_first": (
        "They do over axis 0: if the classes are there, use --class-axis 0 and --member-axis"
    ),
    "class_names": "Use --class-names",
    "class_names_or_costs": "Use --class-names",
    "clip": "If that is rounding, clip it before it is saved: {name}.clip(0, 1)",
    "file_members": (
        "If it was saved as (N, M, K), use --member-axis 1; to keep this reading, --member-axis 0"
    ),
    "file_multilabel": "If labels may occur together, use --multilabel",
    "groups": "Save the group of each case in the prediction file, as `groups`",
    "label_names": "Name the labels, such as --class-names yes,no",
    "logits": "If these are logits, use --logits",
    "logits_or_labels": (
        "Class labels must be one-hot encoded first; if these are logits, use --logits"
    ),
    "logits_or_multilabel": (
        "If these are logits, use --logits; if labels may occur together, use --multilabel"
    ),
    "maybe_not_logits": (
        "If a sigmoid or softmax has been taken already, they are probabilities: leave out --logits"
    ),
    "more_cases": "Collect more, or lower --coverage",
    "multiclass": "Use --task multiclass",
    "name_classes": "Name the columns of the classes: --class-names {names!r}",
    "normalize": "If that is rounding, use --normalize; if a class is left out, add it",
    "not_alpha": "Save them as `probs`",
    "not_logits": "Leave out --logits",
    "overflow": (
        "If a softmax overflowed, start from the logits: use --logits; else drop these instances "
        "first"
    ),
    "per_label": "Use --task per_label",
    "pool": "Collect more, lower --coverage, or pool rare classes in a file for --events, such as "
    "{rare!r} with a common class added until it "
    "suffices: that guarantees coverage of the pool, not of each class in it",
    "positions": "If these are positions 0 … {last}, save the names instead",
    "rows_together": "If labels may occur together, use --multilabel; else correct these rows",
    "saved_members": "Saved as (N, M, K)? Use --member-axis 1",
}


def in_options(message: object) -> str:
    """The sentence of an error or a warning, with its fix in options.

    >>> in_options(InputError("the labels may occur together", fix="per_label"))
    'the labels may occur together. Use --task per_label'
    """
    if isinstance(message, InputError | InputNote):
        return message.worded(OPTION_FIXES)
    return str(message)
