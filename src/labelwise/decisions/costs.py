"""Costs of errors, of abstaining and of asking an expert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import check_names
from .._suggestions import suggest
from .._validation import set_fields
from ..io.files import read_toml
from .problem import Problem

TASKS = ("multiclass", "per_label")
PER_LABEL = ("false_positive", "false_negative", "abstain", "ask", "expert_error")
"""Costs that may differ between labels."""


@dataclass(frozen=True, eq=False, init=False)
class Costs:
    """Costs of decisions, in any unit (euros, days in hospital, …).

    Parameters
    ----------
    matrix : array (K, K) or mapping of mappings, optional
        ``matrix[true class, predicted class]``, for choosing one class. As a mapping ``{"melanoma": {"nevus": 50, …}, …}`` the
        diagonal may be omitted (0).
    false_positive, false_negative : number, sequence of K numbers, or mapping from class names, optional
        Cost of acting on an absent label, and of not acting on a present one.
    abstain : number (per label also: sequence or mapping), optional
        Cost of abstaining on a case (or label); ``None`` if abstaining is not possible.
    ask : number (per label also: sequence or mapping), optional
        Price of asking an expert before deciding; ``None`` if asking is not possible.
    expert_error : number (per label also: sequence or mapping)
        Error rate of the expert. A wrong answer about a label is the opposite one, about a class one of the other K − 1 classes with
        equal probability; errors are independent of everything else given the truth.
    class_names : sequence of str, optional
        Class names in the order of the rows of ``matrix`` and of the sequences.

    Examples
    --------
    >>> costs = Costs([[0, 1], [50, 0]], class_names=["nevus", "melanoma"], ask=3, expert_error=0.02)
    >>> costs.matrix["melanoma" == np.array(costs.class_names), :]
    array([[50.,  0.]])
    """

    matrix: np.ndarray | None
    false_positive: float | np.ndarray | None
    """One number, or one per class in the order of ``class_names``; likewise the next four."""
    false_negative: float | np.ndarray | None
    abstain: float | np.ndarray | None
    ask: float | np.ndarray | None
    expert_error: float | np.ndarray
    class_names: tuple[str, ...] | None
    ordered: bool
    """Whether ``class_names`` defines the order of the classes, or only their set."""

    def __init__(
        self,
        matrix: Any = None,
        *,
        false_positive: Any = None,
        false_negative: Any = None,
        abstain: Any = None,
        ask: Any = None,
        expert_error: Any = 0.0,
        class_names: Sequence[str] | None = None,
    ) -> None:
        if (false_positive is None) != (false_negative is None):
            raise ValueError("`false_positive` and `false_negative` belong together; got only one of them")
        if matrix is None and false_positive is None:
            raise ValueError(
                "`Costs` needs a `matrix` (to choose one class) or both `false_positive` and `false_negative` (to act on each label)"
            )
        prices = dict(zip(PER_LABEL, (false_positive, false_negative, abstain, ask, expert_error), strict=True))
        known = _known_names(matrix, prices, class_names)
        checked = {name: _price(name, value, known, ordered=class_names is not None) for name, value in prices.items()}
        error = checked["expert_error"]
        if error is None or np.max(error) >= 1:
            raise ValueError(f"`expert_error` must be a share of wrong answers, at least 0 and below 1; got {expert_error!r}")
        set_fields(self, matrix=_matrix(matrix, known), class_names=known, ordered=class_names is not None, **checked)
        sizes = {len(value) for value in (self.matrix, *checked.values()) if isinstance(value, np.ndarray)}
        if len(sizes) > 1:
            raise ValueError(f"the costs must all be for the same number of classes; got {' and '.join(map(str, sorted(sizes)))}")

    @classmethod
    def from_dict(cls, spec: Mapping[str, Any]) -> Costs:
        """Costs from a mapping of parameter names to values.

        >>> Costs.from_dict({"class_names": ["nevus", "melanoma"], "false_positive": 1, "false_negative": {"nevus": 2, "melanoma": 50}}).ask
        """
        if not isinstance(spec, Mapping):
            raise TypeError(f"`spec` must be a mapping such as {{'matrix': ..., 'ask': 2}}; got {type(spec).__name__}")
        known = ("class_names", "matrix", *PER_LABEL)
        for key in spec:
            if key not in known:
                raise ValueError(f"unknown entry {key!r} in the costs{suggest(key, known)}")
        return cls(**spec)

    @classmethod
    def from_toml(cls, path: str | Path) -> Costs:
        """Costs from a TOML file as `to_toml` writes it; the file's name is in every error message."""
        spec = read_toml(path)
        try:
            return cls.from_dict(spec)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"{path}: {error}") from error

    def to_toml(self) -> str:
        """The costs as the text of a TOML file, by class name.

        >>> print(Costs([[0, 1], [50, 0]], class_names=["nevus", "melanoma"], ask=3).to_toml())
        # [matrix.X]: what each prediction costs when the truth is X
        class_names = [
            "nevus",
            "melanoma",
        ]
        ask = 3.0
        expert_error = 0.0
        <BLANKLINE>
        [matrix.nevus]
        nevus = 0.0
        melanoma = 1.0
        <BLANKLINE>
        [matrix.melanoma]
        nevus = 50.0
        melanoma = 0.0
        <BLANKLINE>
        """
        import tomli_w

        def by_name(values: np.ndarray) -> Any:
            return values.tolist() if self.class_names is None else dict(zip(self.class_names, values.tolist(), strict=True))

        spec: dict[str, Any] = {"class_names": list(self.class_names)} if self.class_names is not None and self.ordered else {}
        prices = {name: getattr(self, name) for name in PER_LABEL}
        spec |= {name: by_name(x) if isinstance(x, np.ndarray) else x for name, x in prices.items() if x is not None}
        comment = ""
        if self.matrix is not None:
            spec["matrix"] = self.matrix.tolist()
            if self.class_names is not None:
                comment = "# [matrix.X]: what each prediction costs when the truth is X\n"
                spec["matrix"] = {truth: by_name(row) for truth, row in zip(self.class_names, self.matrix, strict=True)}
        return comment + tomli_w.dumps(spec)

    def problem(self, task: str, n_classes: int, class_names: tuple[str, ...] | None) -> tuple[Problem, tuple[str, ...]]:
        """The decision problem for a prediction with these classes, and the class names to show."""
        if task not in TASKS:
            raise ValueError(f"`task` must be 'multiclass' or 'per_label'; got {task!r}{suggest(task, TASKS)}")
        rows = self._rows(n_classes, class_names)
        spoken = class_names or (self.class_names if self.ordered else None) or tuple(map(str, range(n_classes)))
        if task == "multiclass":
            return self._multiclass(rows, n_classes), spoken
        if self.false_positive is None:
            raise ValueError(
                "task='per_label' needs `false_positive` and `false_negative`; these costs have only a `matrix`, which is for "
                "choosing one class. Use task='multiclass'"
            )
        each = {name: _per_class(getattr(self, name), rows, n_classes, name) for name in PER_LABEL}
        a, b = each["false_positive"], each["false_negative"]
        table = np.stack([np.stack([0 * a, a], axis=-1), np.stack([b, 0 * b], axis=-1)], axis=-2)
        return Problem(table, each["abstain"], each["ask"], each["expert_error"]), spoken

    def _multiclass(self, rows: list[int], n_classes: int) -> Problem:
        if self.matrix is None:
            raise ValueError(
                "task='multiclass' needs a cost `matrix`; these costs are false positives and false negatives of single labels. Use "
                "task='per_label', or if a wrong class costs its false positive plus the truth's false negative, pass that matrix: "
                "matrix[k, j] = false_negative[k] + false_positive[j] for k != j"
            )
        for name in ("abstain", "ask", "expert_error"):
            if isinstance(getattr(self, name), np.ndarray):
                raise ValueError(
                    f"`{name}` must be one number for task='multiclass', where the action applies to the whole case; got one per label"
                )
        if len(self.matrix) != n_classes:
            raise ValueError(f"`matrix` is {len(self.matrix)} × {len(self.matrix)}; the prediction has K = {n_classes} classes")
        price: Any = {name: None if getattr(self, name) is None else np.asarray(getattr(self, name)) for name in ("abstain", "ask")}
        return Problem(self.matrix[np.ix_(rows, rows)], price["abstain"], price["ask"], np.asarray(self.expert_error))

    def _rows(self, n_classes: int, class_names: tuple[str, ...] | None) -> list[int]:
        """Position in these costs of each class of the prediction."""
        if self.class_names is None:
            return list(range(n_classes))
        if class_names is None:
            if not self.ordered:
                raise ValueError(
                    "these costs are given by class name, but the prediction has no class names. Pass `class_names` to the prediction, or "
                    "to Costs in the order of the prediction's classes"
                )
            if len(self.class_names) != n_classes:
                raise ValueError(f"these costs are for {len(self.class_names)} classes; the prediction has K = {n_classes}")
            return list(range(n_classes))
        for name in class_names:
            if name not in self.class_names:
                raise ValueError(f"the costs lack class {name!r} of the prediction{suggest(name, self.class_names)}")
        for name in self.class_names:
            if name not in class_names:
                raise ValueError(f"the costs name {name!r}, which is not a class of the prediction{suggest(name, class_names)}")
        return [self.class_names.index(name) for name in class_names]


def _known_names(matrix: Any, prices: Mapping[str, Any], class_names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The given class names, or the keys of the first mapping."""
    if class_names is not None:
        if isinstance(class_names, str) or not isinstance(class_names, Sequence):
            raise TypeError(f"`class_names` must be a sequence of class names; got {class_names!r}")
        return check_names(class_names, len(class_names))
    for value in (matrix, *prices.values()):
        if isinstance(value, Mapping):
            return tuple(map(str, value))
    return None


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{where} must be a number; got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # an integer with hundreds of digits
        raise ValueError(f"{where} must be below 1e308; got a number of more than 300 digits") from None
    if not isfinite(number) or number < 0:
        raise ValueError(f"{where} must be finite and not negative; got {value!r}. Express a gain by lowering the alternative's cost")
    return number


def _price(name: str, value: Any, known: tuple[str, ...] | None, *, ordered: bool) -> float | np.ndarray | None:
    """A cost as one number, or as one per class in the order of the class names."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        value = {str(key): cost for key, cost in value.items()}
        _check_same(name, tuple(value), known or ())
        return np.asarray([_number(value[key], f"`{name}` of {key!r}") for key in known or ()])
    if isinstance(value, str) or np.ndim(value) == 0:
        return _number(value.item() if isinstance(value, np.ndarray) else value, f"`{name}`")
    if np.ndim(value) != 1 or (known is not None and len(value) != len(known)):
        expected = "one number per class" if known is None else f"one for each of the {len(known)} classes"
        raise ValueError(f"`{name}` must be a number or {expected}; got shape {np.shape(value)}")
    if known is not None and not ordered:
        raise ValueError(f"`{name}` is a sequence while other costs are by class name: pass `class_names` for its order, or a mapping")
    return np.asarray([_number(cost, f"`{name}` of class {i}") for i, cost in enumerate(np.asarray(value).tolist())])


def _check_same(what: str, got: tuple[str, ...], known: tuple[str, ...]) -> None:
    for key in got:
        if key not in known:
            raise ValueError(f"`{what}` names the unknown class {key!r}{suggest(key, known)}")
    missing = [key for key in known if key not in got]
    if missing:
        raise ValueError(f"`{what}` must give a number for every class; missing: {', '.join(map(repr, missing[:5]))}")


def _matrix(matrix: Any, known: tuple[str, ...] | None) -> np.ndarray | None:
    """The cost matrix as an array in the order of the class names."""
    if matrix is None:
        return None
    if isinstance(matrix, Mapping):
        classes = known or ()
        _check_same("matrix", tuple(map(str, matrix)), classes)
        rows = {str(truth): {str(key): cost for key, cost in row.items()} for truth, row in _each_row(matrix)}
        for truth, row in rows.items():
            row.setdefault(truth, 0.0)
            _check_same(f"matrix of {truth!r}", tuple(row), classes)
        matrix = [[_number(rows[k][j], f"`matrix` of {k!r}, predicted {j!r},") for j in classes] for k in classes]
    try:
        table = np.asarray(matrix)
    except ValueError as error:
        raise ValueError("`matrix` must be square, one row per true class; its rows have unequal lengths") from error
    if table.dtype.kind not in "iuf":
        raise TypeError(f"`matrix` must be numbers; got {table.dtype}")
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        raise ValueError(f"`matrix` must be square, [true class, predicted class], with at least 2 classes; got shape {table.shape}")
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        bad = np.argwhere(~np.isfinite(table) | (table < 0))[0]
        raise ValueError(
            f"`matrix` must be finite and not negative; got {table[tuple(bad)]} for true class {bad[0]}, predicted class {bad[1]}. "
            "Subtract the minimum of each row to convert gains into costs"
        )
    if known is not None and len(table) != len(known):
        raise ValueError(f"`matrix` must have a row for each of the {len(known)} names; got {len(table)} rows")
    return table.astype(float)


def _each_row(matrix: Mapping[Any, Any]) -> list[tuple[Any, Mapping[Any, Any]]]:
    for truth, row in matrix.items():
        if not isinstance(row, Mapping):
            raise TypeError(f"`matrix` of {truth!r} must be a mapping from predicted classes to costs; got {row!r}")
    return list(matrix.items())


def _per_class(value: float | np.ndarray | None, rows: list[int], n: int, name: str) -> Any:
    """A cost for each of the ``n`` classes of the prediction."""
    if value is None:
        return None
    if not isinstance(value, np.ndarray):
        return np.full(n, value)
    if len(value) != n:
        raise ValueError(f"`{name}` is given for {len(value)} classes; the prediction has K = {n}")
    return value[rows]
