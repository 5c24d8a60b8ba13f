"""Costs of errors, of abstaining and of asking an expert."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from .._errors import InputError, suggest
from .._frames import order_of_names
from .._validation.arguments import set_fields
from .._validation.labels import check_names
from ..io.files import read_toml
from .cost_values import (
    check_cost,
    check_cost_matrix,
    costs_as_mapping,
    costs_per_class,
    read_costs,
)
from .problem import DecisionProblem

Task: TypeAlias = Literal["multiclass", "per_label"]
TASKS: tuple[Task, ...] = get_args(Task)
ERRORS = ("default", "missed", "false_alarm")
PRICES = ("abstain", "ask", "expert_error")


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of decisions, in any unit (euros, days in hospital, …).

    Parameters
    ----------
    matrix : array (K, K), data frame or mapping of mappings, optional
        ``matrix[true class, predicted class]``, for choosing one class where the next three do not
        suffice. As a mapping ``{"melanoma": {"nevus": 50, …}, …}`` the diagonal may be omitted (0).
        A data frame has the true classes in its index and the predicted ones in its columns, in any
        order.
    default : number, optional
        What an error costs unless ``missed`` or ``false_alarm`` say otherwise. Defaults to 1 if one
        of those is given.
    missed, false_alarm : number, or mapping or series from class names, optional
        What it costs to miss a class, and to find it where it is not. Classes that a mapping does
        not name keep the ``default``. Per label, these are the costs of not acting on a present
        label, and of acting on an absent one. For choosing one class, every error misses the true
        class k and raises a false alarm about the predicted class j; it costs ``missed[k] +
        false_alarm[j]``, where only a false alarm that is given counts (the others add 0).
    abstain : number, optional
        Cost of abstaining on a case (or label); ``None`` if abstaining is not possible.
    ask : number, optional
        Price of asking an expert about a case (or label) before deciding; ``None`` if asking is not
        possible.
    expert_error : number
        Error rate of the expert. A wrong answer about a label is the opposite one, about a class
        one of the other K − 1 classes with equal probability; errors are independent of everything
        else given the truth.
    class_names : sequence of str, or mapping from positions to names, optional
        Class names in the order of the rows of ``matrix``; without it, that is the order of the
        prediction. A matrix by name is put in this order.

    Examples
    --------
    Missing a melanoma costs 20, any other error 1:

    >>> costs = Costs(default=1, missed={"melanoma": 20}, ask=2)
    >>> costs.problem("multiclass", 3, ("nevus", "melanoma", "lentigo"))[0].table
    array([[ 0.,  1.,  1.],
           [20.,  0., 20.],
           [ 1.,  1.,  0.]])

    >>> costs = Costs([[0, 1], [50, 0]], class_names=["nevus", "melanoma"], expert_error=0.02)
    >>> costs.matrix["melanoma" == np.array(costs.class_names), :]
    array([[50.,  0.]])
    """

    matrix: Any = None
    """An array (K, K), or ``None``."""
    _: KW_ONLY
    default: Any = None
    """What an error costs unless the next two say otherwise; ``None`` if there is a matrix."""
    missed: Any = None
    """One number, or a mapping from class names."""
    false_alarm: Any = None
    abstain: float | None = None
    ask: float | None = None
    expert_error: float = 0.0
    class_names: Any = None
    ordered: bool = field(init=False)
    """Whether ``class_names`` defines the order of the classes, or only their set."""

    def __post_init__(self) -> None:
        given = [name for name in ERRORS if getattr(self, name) is not None]
        if given and self.matrix is not None:
            raise ValueError(f"`{given[0]}` replaces `matrix`; give one or the other")
        if not given and self.matrix is None:
            raise ValueError(
                "`Costs` needs a `default` (what an error costs, with exceptions in `missed` and "
                "`false_alarm`) or a `matrix` (to choose one class)"
            )
        if not check_cost(self.expert_error, "`expert_error`") < 1:
            raise ValueError(
                "`expert_error` must be a share of wrong answers, at least 0 and below 1; got "
                f"{self.expert_error!r}"
            )
        checked: dict[str, Any] = {}
        if given:
            checked["default"] = 1.0
        for name in (*ERRORS, *PRICES):
            value = getattr(self, name)
            if value is not None:
                check = read_costs if name in ("missed", "false_alarm") else check_cost
                checked[name] = check(value, f"`{name}`")
        matrix, names = costs_as_mapping(self.matrix, "matrix"), self.class_names
        if names is not None:
            names = check_names(names, len(names))
        elif isinstance(matrix, Mapping):
            names = tuple(map(str, matrix))
        if matrix is not None:
            matrix = check_cost_matrix(matrix, names)
        ordered = self.class_names is not None
        set_fields(self, matrix=matrix, class_names=names, ordered=ordered, **checked)

    @classmethod
    def from_toml(cls, path: str | Path) -> Costs:
        """Costs from a TOML file: the arguments of `Costs`, by class name. The page of `labelwise
        report --costs` exports such a file.

        The shortest form names what differs from the default::

            default = 1
            ask = 2
            [missed]
            melanoma = 20

        A matrix has a table for each true class::

            [matrix.melanoma]
            nevus = 50
            lentigo = 30
        """
        spec = read_toml(path)
        known = ("class_names", *ERRORS, "matrix", *PRICES)
        try:
            for key in spec:
                if key not in known:
                    raise ValueError(f"unknown entry {key!r} in the costs{suggest(key, known)}")
            if not spec:
                raise ValueError("there are no costs. The shortest are: default = 1")
            return cls(**spec)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from error

    def problem(
        self, task: Task, n_classes: int, class_names: tuple[str, ...] | None
    ) -> tuple[DecisionProblem, tuple[str, ...]]:
        """The decision problem for a prediction with these classes, and the class names to show."""
        if task not in TASKS:
            raise InputError(
                "`task` must be 'multiclass' (choose one class) or 'per_label' (decide about each "
                f"label by itself); got {task!r}"
            )
        names = self._names_to_show(n_classes, class_names)
        prices = self.abstain, self.ask, self.expert_error
        if task == "multiclass":
            return DecisionProblem(self._matrix_of(names), *prices), names
        if self.matrix is not None:
            raise InputError(
                "deciding on each label needs a `default`, `missed` or `false_alarm`; these costs "
                "have only a `matrix`, which is for choosing one class",
                fix="multiclass",
            )
        table = np.zeros((n_classes, 2, 2))
        table[:, 0, 1] = costs_per_class("false_alarm", self.false_alarm, names, self.default)
        table[:, 1, 0] = costs_per_class("missed", self.missed, names, self.default)
        return DecisionProblem(table, *prices), names

    def _matrix_of(self, names: tuple[str, ...]) -> Any:
        """Costs [true class, predicted class] in the order of these classes."""
        if self.matrix is None:
            alarm = costs_per_class("false_alarm", self.false_alarm, names, 0.0)
            missed = costs_per_class("missed", self.missed, names, self.default)
            table = missed[:, None] + alarm
            np.fill_diagonal(table, 0.0)
            return table
        if len(self.matrix) != len(names):
            raise ValueError(
                f"`matrix` is {len(self.matrix)} × {len(self.matrix)}; the prediction has K = "
                f"{len(names)} classes"
            )
        if self.class_names is None:
            return self.matrix
        order = [self.class_names.index(name) for name in names]
        return self.matrix[np.ix_(order, order)]

    def _names_to_show(
        self, n_classes: int, class_names: tuple[str, ...] | None
    ) -> tuple[str, ...]:
        """The class names of the prediction, else of these costs, else numbers."""
        if class_names is not None:
            if self.class_names is not None:
                order_of_names(self.class_names, class_names, "`costs`")
            return class_names
        by_name = isinstance(self.missed, Mapping) or isinstance(self.false_alarm, Mapping)
        if not self.ordered and (by_name or self.class_names is not None):
            raise InputError(
                "these costs are given by class name, but the prediction has no class names",
                fix="class_names_or_costs",
            )
        names = self.class_names or tuple(map(str, range(n_classes)))
        if len(names) != n_classes:
            raise ValueError(
                f"these costs are for {len(names)} classes; the prediction has K = {n_classes}"
            )
        return names


def check_is_costs(costs: Any) -> None:
    """Refuse what is not `Costs`."""
    if not isinstance(costs, Costs):
        raise TypeError(f"`costs` must be lw.decisions.Costs(...); got {type(costs).__name__}")
