"""Tables: numbers from columns of text, labels from the target column, a split that keeps the share
of each class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..files import refuse
from ..validation import suggest
from .columns import Column, read_columns
from .types import Dataset, Examples

MAX_LEVELS = 100
MAX_CLASSES = 1000


def load_table(
    path: str | Path,
    *,
    target: str | int = -1,
    drop: Sequence[str] = (),
    test_size: float = 0.3,
    rng: Any = 0,
) -> Dataset:
    """Read an .arff or .csv table.

    - numbers stay numbers; so do categories that are numbers (grades 0, 1, 2, 3);
    - two categories become one column of 0 and 1, named after the second; three or more become one
      column of 0 and 1 each;
    - a missing value (empty, ``?``, ``NA``, ``NaN``) is NaN in every column made from it, see
      `standardize`;
    - columns with one value or none are dropped, they say nothing.

    The categories of a CSV file, and its classes, are sorted (as numbers if all are); those of an
    ARFF file keep the order in which it lists them. Classes without instances are left out.

    Parameters
    ----------
    path
        The file. The first line of a CSV file names the columns.
    target
        The column of the labels, by name or position; the last by default.
    drop
        Columns to leave out, such as identifiers.
    test_size, rng
        Share of the test set, and random seed for the split: tables are seldom published with one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "patients.csv")
    ...     _ = path.write_text("age,sex,diagnosis\\n61,F,healthy\\n47,M,ill\\n,F,ill\\n70,M,healthy\\n")
    ...     data = labelwise_lab.datasets.load_table(path, target="diagnosis", test_size=0.5)
    >>> data.class_names, data.features
    (('healthy', 'ill'), ('age', 'sex=M'))
    >>> data.train.x.shape, data.test.y
    ((2, 2), array([1, 0]))
    """  # noqa: E501
    path = Path(path)
    columns = read_columns(path)
    names = [column.name for column in columns]
    label = columns[_position(target, names, path)]
    for name in drop:
        _position(name, names, path, "drop")
    features: list[tuple[str, np.ndarray]] = []
    for column in columns:
        if column is not label and column.name not in drop:
            features += _features(column, path)
    if not features:
        raise refuse(path, "no column with at least two different values besides the target")
    y, classes = _labels(label, path)
    x = np.stack([values for _, values in features], axis=1)
    whole = Dataset(
        path.stem, None, Examples(x, y), classes, None, tuple(name for name, _ in features), False
    )
    return whole.resplit(test_size=test_size, rng=rng)


def standardize(data: Dataset) -> Dataset:
    """A table without missing values, each column with mean 0 and standard deviation 1 on the
    training set.

    Missing values become the median of the training set (0 if it has none); all numbers come from
    the training set alone.

    Examples
    --------
    >>> train = labelwise_lab.datasets.Examples(np.array([[1.0], [3.0], [np.nan]]), np.array([0, 1, 0]))
    >>> data = labelwise_lab.datasets.Dataset("tiny", train, train, ("no", "yes"))
    >>> labelwise_lab.datasets.standardize(data).train.x.ravel().round(3)
    array([-1.225,  1.225,  0.   ])
    """  # noqa: E501
    if data.train is None or data.train.x.ndim != 2:
        raise ValueError(f"`data` must be a table with a training set; {data.name} is not")
    x = data.train.x
    known = ~np.isnan(x)
    median = np.array(
        [
            np.median(column[ok]) if ok.any() else 0.0
            for column, ok in zip(x.T, known.T, strict=True)
        ]
    )
    x = np.where(known, x, median)
    mean, std = x.mean(axis=0), x.std(axis=0)
    # A column that is constant in the training set has a standard deviation of 0, or of some
    # rounding.
    std = np.where(std > 1e-12 * np.abs(mean), std, 1.0)

    def apply(part: Examples) -> Examples:
        return Examples((np.where(np.isnan(part.x), median, part.x) - mean) / std, part.y)

    return replace(
        data,
        train=apply(data.train),
        val=None if data.val is None else apply(data.val),
        test=apply(data.test),
    )


def _position(column: str | int, names: list[str], path: Path, parameter: str = "target") -> int:
    if isinstance(column, str):
        if column not in names:
            raise ValueError(
                f"`{parameter}` must be a column of {path}; got {column!r}{suggest(column, names)}"
            )
        return names.index(column)
    if not -len(names) <= column < len(names):
        raise ValueError(
            f"`{parameter}` must be a column of {path}, 0 to {len(names) - 1}; got {column}"
        )
    return column


def _numbers(cells: Sequence[str | None]) -> np.ndarray | None:
    """The cells as numbers, NaN where missing; ``None`` if one is not a number."""
    try:
        return np.array([math.nan if cell is None else float(cell) for cell in cells])
    except ValueError:
        return None


def _sorted(levels: Sequence[str]) -> tuple[str, ...]:
    numbers = _numbers(levels)
    return tuple(
        sorted(levels)
        if numbers is None
        else (levels[i] for i in np.argsort(numbers, kind="stable"))
    )


def _features(column: Column, path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """The columns of numbers, with their names, that a column of text becomes."""
    present = sorted({cell for cell in column.cells if cell is not None})
    numbers = _numbers(column.cells) if _numbers(column.levels or ()) is not None else None
    if numbers is not None:
        if np.isinf(numbers).any():
            raise refuse(path, f"column {column.name!r} has infinite values")
        if len(np.unique(numbers[~np.isnan(numbers)])) > 1:
            yield column.name, numbers
        return
    levels = column.levels or _sorted(present)
    if len(levels) > MAX_LEVELS:
        raise refuse(
            path,
            (
                f"column {column.name!r} has {len(levels)} different texts; if it is an "
                f"identifier, leave it out: drop=[{column.name!r}]"
            ),
        )
    if len(present) < 2:
        return
    index = {level: i for i, level in enumerate(levels)}
    code = np.array([math.nan if cell is None else index[cell] for cell in column.cells])
    for i in range(1 if len(levels) == 2 else 0, len(levels)):
        yield f"{column.name}={levels[i]}", np.where(np.isnan(code), np.nan, code == i)


def _labels(column: Column, path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    missing = sum(cell is None for cell in column.cells)
    if missing:
        raise refuse(
            path,
            (
                f"the target {column.name!r} is missing in {missing} of {len(column.cells)} rows; "
                "remove those rows"
            ),
        )
    present = {cell for cell in column.cells if cell is not None}
    classes = (
        tuple(level for level in column.levels if level in present)
        if column.levels
        else _sorted(sorted(present))
    )
    if not 2 <= len(classes) <= MAX_CLASSES:
        raise refuse(
            path,
            (
                f"the target {column.name!r} has {len(classes)} different values; a classification "
                f"needs 2 to {MAX_CLASSES}"
            ),
        )
    index = {level: i for i, level in enumerate(classes)}
    return np.array([index[str(cell)] for cell in column.cells], dtype=np.int64), classes
