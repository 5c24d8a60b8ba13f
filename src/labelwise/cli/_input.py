"""Where the commands read from: a file, or standard input. Every file that a command opens itself
is opened here.
"""

from __future__ import annotations

import functools
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._errors import InputNote
from .._tables import counted
from .._validation.labels import check_names
from ..io.files import check_there, read_json, read_text, read_toml, reading
from ._errors import in_options
from ._output import Command, echo, terminal_line
from ._paths import InputPath, PredictionPath, will_read, will_write

if TYPE_CHECKING:
    from ..decisions import Costs
    from ..io import Predictions
    from ..sets._predictor import SetPredictor
    from ..sets.labels import LabelThresholds


@dataclass(frozen=True)
class Given:
    """The prediction files of a command, and how it was asked to read them."""

    files: tuple[Path, ...]
    options: dict[str, Any]

    @property
    def name(self) -> str:
        """What to call them in messages."""
        name = self.files[0].name
        if len(self.files) > 1:
            name += f" and {counted(len(self.files) - 1, 'other')}"
        return name

    def beside(self, ending: str) -> Path:
        """What to call a result in the current folder if nothing else is said."""
        return will_write(Path(self.files[0].resolve().stem + ending))

    def other(self, path: Path) -> Given:
        """Another file of the same kind, with labels of its own."""
        options = dict(self.options)
        options.pop("labels", None)
        return Given((path,), options)


class PredictionFile(PredictionPath):
    """A prediction file; ``-`` is an .npz file from standard input, kept in a temporary file until
    the command ends.
    """

    def __init__(self) -> None:
        super().__init__(allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value != "-" or ctx is None:
            return super().convert(value, param, ctx)
        folder = tempfile.TemporaryDirectory(prefix="labelwise-")
        ctx.call_on_close(folder.cleanup)
        path = Path(folder.name) / "stdin.npz"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return path


# How to read predictions: each is an argument of `load_predictions`.
INPUT_OPTIONS = (
    click.option(
        "--logits", is_flag=True, help="The numbers are logits (network outputs before softmax)."
    ),
    click.option(
        "--class-names",
        metavar="NAMES",
        callback=lambda context, option, value: _class_names(value),
        help="Class names: a,b,c, a text file with one per line, or id2label as .json.",
    ),
    click.option(
        "--member-axis",
        type=int,
        help="Where the members are in arrays of three axes or more.  [default: 0]",
    ),
    click.option("--class-axis", type=int, help="Where the classes are in arrays.  [default: -1]"),
    click.option(
        "--normalize",
        is_flag=True,
        help="Divide probabilities by their sums, and say how far these were off.",
    ),
    click.option(
        "--multilabel",
        is_flag=True,
        help="The labels may occur together; their probabilities need not sum to 1.",
    ),
)
INPUT_NAMES = (
    "logits", "class_names", "labels", "member_axis", "class_axis", "normalize", "multilabel",
)  # fmt: skip
LABELS_OPTION = click.option(
    "--labels",
    type=InputPath(),
    help="True labels (.npy, .npz or a table), matched by id; by number if they have none.",
)


def unlabeled_predictions(command: Command) -> Command:
    """``PREDICTIONS...`` and the options about reading them; the command gets both as one
    `Given`.
    """

    @click.argument(
        "files", metavar="PREDICTIONS...", nargs=-1, required=True, type=PredictionFile()
    )
    @functools.wraps(command)
    def run(files: tuple[Path, ...], **options: Any) -> None:
        given = {}
        for name in INPUT_NAMES:
            value = options.pop(name, None)
            if value is not None and value is not False:
                given[name] = value
        command(predictions=Given(files, given), **options)

    for option in reversed(INPUT_OPTIONS):
        run = option(run)
    return run


def predictions_argument(command: Command) -> Command:
    """Predictions whose true labels may be in a file of their own."""
    return LABELS_OPTION(unlabeled_predictions(command))


def loss_option(**options: Any) -> Callable[[Command], Command]:
    """``--loss``."""
    return click.option(
        "--loss",
        type=click.Choice(["log", "squared", "brier", "spherical", "zero_one"]),
        show_default=False,
        help="Loss that defines the uncertainty.  [default: log, in bits]",
        **options,
    )


def _class_names(value: str | None) -> tuple[str, ...] | None:
    """Class names from a list with commas, a text file, or a .json file."""
    if value is None:
        return None
    path = Path(value)
    if path.is_file():
        will_read(path)
    if path.suffix == ".json":
        with reading(path):
            content = read_json(path)
            if isinstance(content, dict) and "id2label" in content:  # config.json of Hugging Face
                content = content["id2label"]
            if not isinstance(content, list | dict):
                raise ValueError(
                    'class names must be a list, or a dictionary such as {"0": "cat", "1": "dog"}'
                )
            return check_names(content, len(content))
    names = value.split(",")
    if path.suffix == ".txt" or path.is_file():
        check_there(path, "class names")
        names = [line for line in read_text(value).splitlines() if line.strip()]
    return tuple(name.strip() for name in names)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """What the library warns of while it reads becomes notes on standard error."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            printed = set()
            for warning in found:
                text = in_options(warning.message)
                if warning.category in (UserWarning, InputNote) and text not in printed:
                    printed.add(text)
                    echo(f"Note: {terminal_line(text)}", err=True)


def read_predictions(given: Given, *, quiet: bool = False, labeled: bool = False) -> Predictions:
    """Predictions of any format, opened; unless ``quiet``, what they were taken for is said on
    standard error. If they must be ``labeled``, others are refused.
    """
    from ..io import load_predictions

    with warnings_as_notes():
        predictions = load_predictions(given.files, **given.options)
    if not quiet:
        echo_reading(given, predictions.shape, predictions.n_members, predictions.notes)
    if labeled and predictions.y_true is None:
        raise ValueError(f"{given.name} has no true labels (`y_true`). Use --labels")
    return predictions


def echo_reading(
    given: Given, shape: tuple[int, ...], n_members: int | None, assumptions: Sequence[str]
) -> None:
    """What predictions were taken for and what was assumed, on standard error, such as "5 members ×
    10,000 cases × 10 classes".
    """
    words = f"{shape[-2]:,} cases × {shape[-1]:,} classes"
    if n_members == 1:
        words = f"1 member × {words}; one member has no epistemic uncertainty"
    elif len(shape) == 3:
        words = f"{shape[0]:,} members × {words}"
    echo(f"{given.name}: {words}", err=True)
    for sentence in assumptions:
        echo(terminal_line(f"  {sentence}"), err=True)


def read_costs(path: Path) -> Costs:
    """Costs from a TOML file; a right prediction that costs something is noted."""
    from ..decisions import Costs

    check_there(path, "costs")
    with reading(path):
        costs = Costs.from_toml(path)
    if costs.matrix is not None and costs.matrix.diagonal().any():
        note = "right predictions cost something; the diagonal of the matrix is usually 0"
        echo(f"Note: {path.name}: {note}", err=True)
    return costs


def read_sets(path: Path) -> SetPredictor | LabelThresholds:
    """Fitted sets, or label thresholds."""
    from ..sets import load_sets

    check_there(path, "sets")
    return load_sets(path)


def read_events(path: Path) -> dict[str, list[str]]:
    """Groups of classes from a TOML file."""
    check_there(path, "events")
    return read_toml(path)
