"""Flat tables of predictions, a row for each case and a column for each class: what the columns mean, in every format."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._suggestions import did_you_mean
from .files import FLOOR

__all__ = ["Roles", "find_roles", "table_fields", "typed"]

ROLES = {
    "ids": ("id", "ids", "index", "__index_level_0__", "unnamed: 0", ""),
    "y_true": ("y_true", "label", "labels", "target"),
    "groups": ("group", "groups"),
    "member": ("member", "model"),
}
"""What a column may hold besides the numbers of a class, and what it may be called; the first name that is there counts."""
_PREFIX = re.compile(r"(prob|logit|log_prob|alpha|evidence)s?[._: ](.+)", re.IGNORECASE)
_KINDS = {"prob": "probs", "logit": "logits", "log_prob": "log_probs", "alpha": "alpha", "evidence": "evidence"}


@dataclass(frozen=True)
class Roles:
    """Which columns of a table are what."""

    kind: str
    classes: list[str]
    """The columns with numbers."""
    class_names: list[str]
    others: dict[str, str]
    """Columns by role."""


def find_roles(file: str, names: Sequence[str], numeric: Collection[str]) -> Roles:
    """What the columns of a table mean, of which some are ``numeric``; warns of those that are not read."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise ValueError(f"{file} has two columns called {twice!r}; which of them is meant cannot be known")
    lower = {name.strip().lower(): name for name in reversed(names)}
    others = {role: lower[word] for role, words in reversed(ROLES.items()) for word in reversed(words) if word in lower}
    taken = {lower[word] for words in ROLES.values() for word in words if word in lower}
    classes = [name for name in names if name in numeric and name not in taken]
    marked = {name: found for name in classes if (found := _PREFIX.fullmatch(name.strip()))}
    kinds = {_KINDS[found[1].lower()] for found in marked.values()}
    kind, class_names = "probs", [name.strip() for name in classes]
    if len(kinds) == 1:
        kind, classes, class_names = kinds.pop(), list(marked), [found[2] for found in marked.values()]
    if not classes:
        raise ValueError(f"{file} must have a column of numbers for each class; it has {', '.join(map(repr, names[:8])) or 'none'}")
    if len(classes) == 1 and classes[0] in _KINDS.values():
        raise TypeError(
            f"{file}: column {classes[0]!r} must hold lists of numbers; a table has a column for each class instead, with its name"
        )
    unread = [name for name in names if name not in classes and name not in taken]
    if unread:
        hint = did_you_mean(unread[0], [words[0] for words in ROLES.values()])
        more = f" (nor are {len(unread) - 1} others)" if len(unread) > 1 else ""
        warnings.warn(f"{file}: column {unread[0]!r} is not read{hint}{more}", stacklevel=2)
    return Roles(kind, classes, class_names, others)


def table_fields(file: str, roles: Roles, values: Any, others: dict[str, np.ndarray]) -> dict[str, Any]:
    """The fields of predictions from the numbers (rows, K) and the other columns by role; rows of several members are stacked."""
    found = {key: column for key, column in others.items() if key != "member"}
    named = None if roles.class_names == [str(k) for k in range(len(roles.class_names))] else tuple(roles.class_names)
    if "member" in others:
        values, found = _members(file, np.asarray(values[:]), others["member"], found)
    return {roles.kind: values, **found} | ({} if named is None else {"class_names": named})


def _members(file: str, values: np.ndarray, member: np.ndarray, columns: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Rows of a long table, in which a column says whose prediction each is: (M, N, K), and the other columns of the first member."""
    _, first, which = np.unique(member, return_index=True, return_inverse=True)
    rows = [np.flatnonzero(which == k) for k in np.argsort(first)]
    name = [str(member[part[0]]) for part in rows]
    for k, part in enumerate(rows):
        if len(part) != len(rows[0]):
            raise ValueError(
                f"{file}: member {name[k]!r} has {len(part):,} rows and {name[0]!r} has {len(rows[0]):,}; all need the same cases"
            )
        if "ids" in columns:
            rows[k] = part = part[np.argsort(columns["ids"][part], kind="stable")]
            differ = columns["ids"][part] != columns["ids"][rows[0]]
            if differ.any():
                case = columns["ids"][rows[0]][differ][0]
                raise ValueError(f"{file}: members {name[0]!r} and {name[k]!r} have different cases; the first to differ is {str(case)!r}")
    if "ids" in columns:  # in the order of the first member
        order = np.argsort(rows[0], kind="stable")
        rows = [part[order] for part in rows]
    return np.stack([values[part] for part in rows]), {key: column[rows[0]] for key, column in columns.items()}


def typed(texts: list[str], what: str) -> np.ndarray:
    """A column of text as integers if all are whole numbers, else as text of bounded size."""
    if texts and all(re.fullmatch(r"[+-]?[0-9]{1,18}(\.0*)?", text) for text in texts):
        return np.array([int(text.partition(".")[0]) for text in texts], dtype=np.int64)
    longest = max(map(len, texts), default=1)
    if 4 * longest * len(texts) > FLOOR:
        raise ValueError(f"{what} has {len(texts):,} texts of up to {longest:,} characters; such files are refused")
    return np.array(texts, dtype=f"U{max(longest, 1)}")
