"""Costs of errors, of abstaining and of asking an expert."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from .._arrays import ClassNames
from .._errors import InputError
from .._suggestions import check_choice, suggest
from .._validation import set_fields
from ..io.files import read_toml
from .cost_values import (
    check_exceptions,
    check_matrix,
    check_number,
    check_price,
    known_names,
    matrix_by_name,
    per_class,
    series_by_name,
    with_default,
)
from .problem import Problem

Task: TypeAlias = Literal["multiclass", "per_label"]
TASKS: tuple[Task, ...] = get_args(Task)
PER_LABEL = ("false_positive", "false_negative", "abstain", "ask", "expert_error")
"""Costs that may differ between labels."""
NO_NAMES = "these costs are given by class name, but the prediction has no class names"


@dataclass(frozen=True, eq=False, init=False)
class Costs:
    """Costs of decisions, in any unit (euros, days in hospital, …).

    Parameters
    ----------
    matrix : array (K, K), data frame or mapping of mappings, optional
        ``matrix[true class, predicted class]``, for choosing one class. As a mapping ``{"melanoma":
        {"nevus": 50, …}, …}`` the diagonal may be omitted (0). A data frame has the true classes in
        its index and the predicted ones in its columns, in any order.
    false_positive, false_negative : number, sequence of K numbers, or mapping or series from class names, optional
        Cost of acting on an absent label, and of not acting on a present one.
    default : number, optional
        What an error costs unless ``missed`` or ``false_alarm`` say otherwise: a short form for
        either task instead of the three above. Defaults to 1 if one of those is given.
    missed, false_alarm : mapping from class names to numbers, optional
        Exceptions to ``default``; classes that are not named keep it. Per label, they are
        ``false_negative`` and ``false_positive``. For choosing one class, every error misses the
        true class k and raises a false alarm about the predicted class j; it costs ``missed[k] +
        false_alarm[j]``, where only a false alarm that is named counts (the others add 0).
    abstain : number (per label also: sequence or mapping), optional
        Cost of abstaining on a case (or label); ``None`` if abstaining is not possible.
    ask : number (per label also: sequence or mapping), optional
        Price of asking an expert before deciding; ``None`` if asking is not possible.
    expert_error : number (per label also: sequence or mapping)
        Error rate of the expert. A wrong answer about a label is the opposite one, about a class
        one of the other K − 1 classes with equal probability; errors are independent of everything
        else given the truth.
    class_names : sequence of str, or mapping from positions to names, optional
        Class names in the order of the rows of ``matrix`` and of the sequences. Costs by name are
        put in this order.

    Examples
    --------
    >>> costs = Costs([[0, 1], [50, 0]], class_names=["nevus", "melanoma"], ask=3, expert_error=0.02)
    >>> costs.matrix["melanoma" == np.array(costs.class_names), :]
    array([[50.,  0.]])

    Missing a melanoma costs 20, any other error 1:

    >>> costs = Costs(default=1, missed={"melanoma": 20}, ask=2)
    >>> costs.problem("multiclass", 3, ("nevus", "melanoma", "lentigo"))[0].table
    array([[ 0.,  1.,  1.],
           [20.,  0., 20.],
           [ 1.,  1.,  0.]])
    """  # noqa: E501

    matrix: np.ndarray | None
    false_positive: float | np.ndarray | None
    """One number, or one per class in the order of ``class_names``; likewise the next four."""
    false_negative: float | np.ndarray | None
    default: float | None
    """What an error costs unless the next two say otherwise; ``None`` if the costs are given in
    full.
    """
    missed: Mapping[str, float]
    false_alarm: Mapping[str, float]
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
        default: Any = None,
        missed: Any = None,
        false_alarm: Any = None,
        abstain: Any = None,
        ask: Any = None,
        expert_error: Any = 0.0,
        class_names: ClassNames | None = None,
    ) -> None:
        if (false_positive is None) != (false_negative is None):
            raise ValueError(
                "`false_positive` and `false_negative` belong together; got only one of them"
            )
        given = {
            "default": default,
            "missed": series_by_name(missed),
            "false_alarm": series_by_name(false_alarm),
        }
        short = [name for name, value in given.items() if value is not None]
        if short and not (matrix is None and false_positive is None):
            raise ValueError(
                f"`{short[0]}` replaces `matrix`, `false_positive` and `false_negative`; give one "
                "or the other"
            )
        if not short and matrix is None and false_positive is None:
            raise ValueError(
                "`Costs` needs a `default` (what an error costs, with exceptions in `missed` and "
                "`false_alarm`), a `matrix` (to choose one "
                "class), or both `false_positive` and `false_negative` (to act on each label)"
            )
        matrix = matrix_by_name(matrix)
        prices = dict(
            zip(
                PER_LABEL, (false_positive, false_negative, abstain, ask, expert_error), strict=True
            )
        )
        prices = {name: series_by_name(value) for name, value in prices.items()}
        known = known_names(matrix, prices, class_names)
        checked = {
            name: check_price(name, value, known, ordered=class_names is not None)
            for name, value in prices.items()
        }
        error = checked["expert_error"]
        if error is None or np.max(error) >= 1:
            raise ValueError(
                "`expert_error` must be a share of wrong answers, at least 0 and below 1; got "
                f"{expert_error!r}"
            )
        set_fields(
            self,
            matrix=check_matrix(matrix, known),
            class_names=known,
            ordered=class_names is not None,
            **checked,
        )
        exceptions = {
            name: check_exceptions(name, given[name], known) for name in ("missed", "false_alarm")
        }
        set_fields(
            self,
            default=check_number(1.0 if default is None else default, "`default`")
            if short
            else None,
            **exceptions,
        )
        sizes = {
            len(value)
            for value in (self.matrix, *checked.values())
            if isinstance(value, np.ndarray)
        }
        if len(sizes) > 1:
            raise ValueError(
                "the costs must all be for the same number of classes; got "
                f"{' and '.join(map(str, sorted(sizes)))}"
            )

    @classmethod
    def from_dict(cls, spec: Mapping[str, Any]) -> Costs:
        """Costs from a mapping of parameter names to values.

        >>> Costs.from_dict({"class_names": ["nevus", "melanoma"], "false_positive": 1, "false_negative": {"nevus": 2, "melanoma": 50}}).ask
        """  # noqa: E501
        if not isinstance(spec, Mapping):
            raise TypeError(
                f"`spec` must be a mapping such as {{'matrix': ..., 'ask': 2}}; got "
                f"{type(spec).__name__}"
            )
        known = ("class_names", "default", "missed", "false_alarm", "matrix", *PER_LABEL)
        for key in spec:
            if key not in known:
                raise ValueError(f"unknown entry {key!r} in the costs{suggest(key, known)}")
        if not spec:
            raise ValueError("there are no costs. The shortest are: default = 1")
        return cls(**spec)

    @classmethod
    def from_toml(cls, path: str | Path) -> Costs:
        """Costs from a TOML file as `to_toml` writes it; the file's name is in every error message,
        and the line of a syntax error.

        The shortest form names what differs from the default::

            default = 1
            ask = 2
            [missed]
            melanoma = 20
        """
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
            return (
                values.tolist()
                if self.class_names is None
                else dict(zip(self.class_names, values.tolist(), strict=True))
            )

        spec: dict[str, Any] = (
            {"class_names": list(self.class_names)}
            if self.class_names is not None and self.ordered
            else {}
        )
        prices = {name: getattr(self, name) for name in ("default", *PER_LABEL)}
        spec |= {
            name: by_name(x) if isinstance(x, np.ndarray) else x
            for name, x in prices.items()
            if x is not None
        }
        spec |= {name: dict(x) for name in ("missed", "false_alarm") if (x := getattr(self, name))}
        comment = ""
        if self.matrix is not None:
            spec["matrix"] = self.matrix.tolist()
            if self.class_names is not None:
                comment = "# [matrix.X]: what each prediction costs when the truth is X\n"
                spec["matrix"] = {
                    truth: by_name(row)
                    for truth, row in zip(self.class_names, self.matrix, strict=True)
                }
        return comment + tomli_w.dumps(spec)

    def problem(
        self, task: Task, n_classes: int, class_names: tuple[str, ...] | None
    ) -> tuple[Problem, tuple[str, ...]]:
        """The decision problem for a prediction with these classes, and the class names to show."""
        check_choice(task, "task", TASKS)
        rows = self._rows(n_classes, class_names)
        spoken = (
            class_names
            or (self.class_names if self.ordered else None)
            or tuple(map(str, range(n_classes)))
        )
        for side in ("missed", "false_alarm"):
            for name in getattr(self, side):
                if name not in spoken:
                    raise ValueError(
                        f"`{side}` names {name!r}, which is not a class of the "
                        f"prediction{suggest(name, spoken)}"
                    )
        if task == "multiclass":
            return self._multiclass(rows, spoken), spoken
        if not self.fits(task):
            raise InputError(
                "deciding on each label needs `false_positive` and `false_negative`; these costs "
                "have only a `matrix`, which is for "
                "choosing one class",
                fix="multiclass",
            )
        each = {name: per_class(getattr(self, name), rows, n_classes, name) for name in PER_LABEL}
        a, b = each["false_positive"], each["false_negative"]
        if self.default is not None:
            a, b = (
                with_default(costs, self.default, spoken)
                for costs in (self.false_alarm, self.missed)
            )
        table = np.stack([np.stack([0 * a, a], axis=-1), np.stack([b, 0 * b], axis=-1)], axis=-2)
        return Problem(table, each["abstain"], each["ask"], each["expert_error"]), spoken

    def fits(self, task: Task) -> bool:
        """Whether these costs can be used for ``task``."""
        return (
            self.default is not None
            or (self.matrix if task == "multiclass" else self.false_positive) is not None
        )

    def _multiclass(self, rows: list[int], class_names: tuple[str, ...]) -> Problem:
        if not self.fits("multiclass"):
            raise InputError(
                (
                    "choosing one class needs a cost `matrix`; these costs are false positives and "
                    "false negatives of single labels"
                ),
                fix="per_label_or_matrix",
            )
        for name in ("abstain", "ask", "expert_error"):
            if isinstance(getattr(self, name), np.ndarray):
                raise ValueError(
                    f"`{name}` must be one number for choosing one class, where the action applies "
                    "to the whole case; got one per label"
                )
        if self.matrix is None:
            alarm = with_default(self.false_alarm, 0.0, class_names)
            missed = with_default(self.missed, self.default or 0.0, class_names)
            if not isfinite(float(missed.max()) + float(alarm.max())):
                raise ValueError(
                    "the largest `missed` and `false_alarm` must have a sum below 1e308"
                )
            table = missed[:, None] + alarm
            np.fill_diagonal(table, 0.0)
        elif len(self.matrix) != len(class_names):
            raise ValueError(
                f"`matrix` is {len(self.matrix)} × {len(self.matrix)}; the prediction has K = "
                f"{len(class_names)} classes"
            )
        else:
            table = self.matrix[np.ix_(rows, rows)]
        price: Any = {
            name: None if getattr(self, name) is None else np.asarray(getattr(self, name))
            for name in ("abstain", "ask")
        }
        return Problem(table, price["abstain"], price["ask"], np.asarray(self.expert_error))

    def _rows(self, n_classes: int, class_names: tuple[str, ...] | None) -> list[int]:
        """Position in these costs of each class of the prediction."""
        if self.class_names is None:
            if class_names is None and (self.missed or self.false_alarm):
                raise InputError(NO_NAMES, fix="class_names_or_costs")
            return list(range(n_classes))
        if class_names is None:
            if not self.ordered:
                raise InputError(NO_NAMES, fix="class_names_or_costs")
            if len(self.class_names) != n_classes:
                raise ValueError(
                    f"these costs are for {len(self.class_names)} classes; the prediction has K = "
                    f"{n_classes}"
                )
            return list(range(n_classes))
        for name in class_names:
            if name not in self.class_names:
                raise ValueError(
                    f"the costs lack class {name!r} of the "
                    f"prediction{suggest(name, self.class_names)}"
                )
        for name in self.class_names:
            if name not in class_names:
                raise ValueError(
                    f"the costs name {name!r}, which is not a class of the "
                    f"prediction{suggest(name, class_names)}"
                )
        return [self.class_names.index(name) for name in class_names]
