"""Errors about input: what is wrong, how to fix it, where it was found. Each front end words the fix for its users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["PYTHON_FIXES", "InputError"]

# Each fix in the words of the library. `labelwise.cli` has the same keys in the words of its options.
PYTHON_FIXES: Mapping[str, str] = {
    "groups": "Pass `groups`, the group of each case",
    "normalize": "If that is rounding, divide by the sums: {name} / {name}.sum(-1)[..., None]",
}


class InputError(ValueError):
    """Input that cannot be used.

    Parameters
    ----------
    sentence : str
        What is wrong: the rule, and what came. Without a full stop.
    fix : str, optional
        What to do about it: a key of `PYTHON_FIXES`, because an argument of a function and an option of the command have other names.
    where : str, optional
        Where it was found, such as a file and a row.
    **values
        What the words of the fix name, such as the axis to pass.

    Examples
    --------
    >>> error = InputError("`probs` must sum to 1; the sums range from 0.98 to 1", fix="normalize", where="model2.csv", name="probs")
    >>> print(error)
    model2.csv: `probs` must sum to 1; the sums range from 0.98 to 1. If that is rounding, divide by the sums: probs / probs.sum(-1)[..., None]
    """

    def __init__(self, sentence: str, *, fix: str | None = None, where: str | None = None, **values: Any) -> None:
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
        advice = f". {fixes[self.fix].format(**self.values)}" if self.fix else ""
        return f"{place}{self.sentence}{advice}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.sentence, self.fix, self.where, self.values)


def _rebuild(kind: type[InputError], sentence: str, fix: str | None, where: str | None, values: dict[str, Any]) -> InputError:
    """An error that comes back from another process."""
    return kind(sentence, fix=fix, where=where, **values)
