"""The results folder: trained runs, their predictions, and the numbers of each experiment with
their provenance.

``RESULTS/SETTING/run-0/training`` holds checkpoints, ``run-0/SET.npz`` predictions,
``RESULTS/SETTING/EXPERIMENT.json`` and ``.png`` the results. A run is trained only where its
predictions are missing; an interrupted training is resumed. A folder that ``labelwise-lab train``
wrote with the same recipe and seed can be copied to ``run-SEED/training``. Numbers are always
computed from the stored predictions.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from labelwise import Ensemble, __version__
from labelwise.io import Predictions

from ..files import replacing, write_file
from ..text import plain
from .prediction_files import read_predictions, write_predictions
from .settings import Setting, TestImages, image_shape, sets_used, training_data

__all__ = [
    "NOTES",
    "Options",
    "available",
    "predict",
    "predictions",
    "record",
    "save_figure",
    "train",
]

NOTES = {
    "svhn": (
        "the first 10,000 of the 26,032 test digits, cropped again from the street numbers: not "
        "bit-identical to the published file"
    ),
}
"""What was used of a data set, where it is not all of it."""


@dataclass(frozen=True)
class Options:
    """Folders, downloads and output of an experiment."""

    results: Path
    data_dir: Path | None = None
    download: bool = False
    n_jobs: int | None = None
    say: Callable[[str], None] = lambda text: None
    command: str = ""
    """As typed, for the record."""
    sha256: Mapping[str, str] | None = None
    """Checksums of downloads for which none is published, by file name."""

    @property
    def where(self) -> dict[str, Any]:
        """How data sets are loaded."""
        return {"data_dir": self.data_dir, "download": self.download, "sha256": self.sha256}

    def path(self, setting: Setting, run: int, images: TestImages) -> Path:
        """The prediction file of a run; for fewer than five members that of five, if only it is
        there: the first ones are the same.
        """
        of = [
            replace(setting, members=members)
            for members in dict.fromkeys((setting.members, max(setting.members, 5)))
        ]
        paths = [self.results / each.name / f"run-{run}" / f"{images.name}.npz" for each in of]
        return next((path for path in paths if path.exists()), paths[0])


def predictions(
    setting: Setting, run: int, wanted: Sequence[TestImages], options: Options
) -> dict[TestImages, Predictions]:
    """Predictions of run ``run``; what is missing is trained, predicted and stored."""
    if not all(options.path(setting, run, images).exists() for images in wanted):
        # While the weights are there, predict all sets of the experiments; afterwards the weights
        # are no longer needed.
        usual, _ = available(setting, setting.images, run + 1, options)
        missing = [
            images
            for images in dict.fromkeys([*wanted, *usual])
            if not options.path(setting, run, images).exists()
        ]
        # Loaded before the training: a file may be missing.
        splits = {images: images.load(**options.where) for images in missing}
        fitted = train(setting, run, options)
        for images, split in splits.items():
            options.say(f"{setting.name}, run {run}: predicting {images.name}")
            probs = predict(fitted, images, split).probs
            y_true = split.y if images.data == setting.data else None
            path = options.path(setting, run, images)
            write_predictions(path, probs, y_true, fitted.class_names)
    return {
        images: read_predictions(
            options.path(setting, run, images),
            setting.members,
            labeled=images.data == setting.data,  # the labels of other sets are not stored
        )
        for images in wanted
    }


def available(
    setting: Setting, wanted: Sequence[TestImages], runs: int, options: Options
) -> tuple[list[TestImages], dict[str, str]]:
    """Those images that are predicted already, or whose files are there; and for the others the
    reason why not.
    """
    there, absent = [], {}
    for images in wanted:
        try:
            if not all(options.path(setting, run, images).exists() for run in range(runs)):
                images.load(**options.where)
            there.append(images)
        except FileNotFoundError as error:
            absent[images.name] = str(error).partition(". ")[0] + "."
    return there, absent


def train(setting: Setting, run: int, options: Options) -> Any:
    """The ensemble of run ``run``, whose number is the seed. A finished run is loaded; an
    interrupted one is resumed.

    With a constant learning rate, the longest finished training of the same setting with fewer
    epochs is continued: the weights are the same, and predictions after 5, 10 and 15 epochs cost
    one training of 15.
    """
    from ..training import fit_ensemble, load_ensemble

    data, _ = training_data(setting, **options.where)
    recipe = setting.recipe(image_shape(data))
    start, since = None, ""
    for epochs in range(recipe.epochs - 1, 0, -1) if len(recipe.rates) == 1 else ():
        shorter = options.results / replace(setting, epochs=epochs).name / f"run-{run}" / "training"
        with suppress(ValueError, FileNotFoundError):  # not trained, or not all of it here
            found = load_ensemble(shorter)
            if found.n_members >= setting.members:
                start, since = found, f", from epoch {epochs}"
                break
    options.say(
        f"{setting.name}, run {run}: {setting.members} × {recipe.network}, {recipe.epochs} "
        f"epochs{since}"
    )
    return fit_ensemble(
        recipe.network,
        data,
        n_members=setting.members,
        recipe=recipe,
        rng=run,
        out_dir=options.results / setting.name / f"run-{run}" / "training",
        resume=True,
        start=start,
        n_jobs=options.n_jobs,
    )


def predict(fitted: Any, images: TestImages, split: Any) -> Ensemble:
    """The predictions of an ensemble for some images."""
    from ..training import predict_ensemble

    if not images.scaled:
        fitted = replace(fitted, inputs=_unscaled(fitted.inputs))
    q: Ensemble = predict_ensemble(fitted, split.x)
    return q


def _unscaled(inputs: Any) -> Any:
    """Inputs without the division by 255: (255 x − mean) / sd = (x − mean / 255) / (sd / 255)."""
    channels = inputs.shape[0]
    mean, sd = inputs.statistics or ((0.0,) * channels, (1.0,) * channels)
    return replace(inputs, statistics=(tuple(m / 255 for m in mean), tuple(s / 255 for s in sd)))


def record(
    setting: Setting | str,
    experiment: str,
    numbers: dict[str, Any],
    options: Options,
    *,
    runs: int,
    **more: Any,
) -> Path:
    """Write ``EXPERIMENT.json``: the numbers and their provenance. Returns the path, whose ``.png``
    is the place for a figure.

    Numbers have the digits that float32 input has; not-a-number is null.
    """
    folder = str(setting)
    about: Any = setting
    notes = {}
    if isinstance(setting, Setting):
        folder, about = setting.name, asdict(setting)
        notes = {s: NOTES[s] for s in sets_used(experiment, setting.data) if s in NOTES}
    provenance = {
        "experiment": experiment,
        "command": options.command,
        "setting": about,
        "runs": runs,
        "seeds": list(range(runs)),
        "versions": versions(),
        "data": notes,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **more,
    }
    path = options.results / folder / f"{experiment}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = plain({"about": provenance, "numbers": numbers}, digits=9)
    write_file(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure without date and version, which would make each file differ."""
    from ..plotting import pyplot

    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=110, metadata={"Software": None})
    pyplot().close(figure)


def versions() -> dict[str, str]:
    """Versions of the package and of what the numbers depend on."""
    found = {"labelwise": __version__, "python": platform.python_version()}
    for name in ("numpy", "torch"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
