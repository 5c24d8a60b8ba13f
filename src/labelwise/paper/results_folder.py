"""The results folder: trained runs, their predictions, and for each experiment its numbers with how they came about.

``RESULTS/SETTING/run-0/training`` holds checkpoints, ``run-0/SET.npz`` predictions; ``RESULTS/SETTING/EXPERIMENT.json`` and ``.png`` the
results. A run is trained only where its predictions are missing, and goes on from its last checkpoint; a folder that ``labelwise train``
made with the same recipe and seed can be copied to ``run-SEED/training``.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..distributions import Ensemble
from ..evaluation import Estimate
from ..io import Predictions, load_predictions, save_predictions
from ..io.atomic import replacing
from .settings import DATA, Setting, Source, image_shape, training_data


@dataclass(frozen=True)
class Options:
    """Where things are, and how to go about it."""

    results: Path
    data_dir: Path | None = None
    download: bool = False
    n_jobs: int | None = None
    say: Callable[[str], None] = lambda text: None
    command: str = ""
    """What was typed, for the record."""
    sha256: Mapping[str, str] | None = None
    """Checksums of downloads of which none is published, by file name."""

    def load(self, source: Source) -> Any:
        """The images of a source."""
        return source.load(data_dir=self.data_dir, download=self.download, sha256=self.sha256)


def predictions(setting: Setting, run: int, sources: Sequence[Source], options: Options) -> dict[Source, Predictions]:
    """Predictions of run ``run`` for each source; what is missing is trained and predicted, and stored."""
    folder = options.results / setting.name / f"run-{run}"
    paths = {source: folder / f"{source.name}.npz" for source in sources}
    missing = [source for source in sources if not paths[source].exists()]
    if missing:  # while the weights are there, predict all sets of the experiments: then they are no longer needed
        usual, _ = available(setting, [Source(setting.data), *map(Source, DATA[setting.data])], run + 1, options)
        paths |= {source: folder / f"{source.name}.npz" for source in usual}
        missing = [source for source in paths if not paths[source].exists()]
        images = {source: options.load(source) for source in missing}  # before the training: it may be that a file is not there
        fitted = train(setting, run, options)
        for source in missing:
            options.say(f"{setting.name}, run {run}: predicting {source.name}")
            q = predict(fitted, source, images[source])
            y_true = images[source].y if source.data == setting.data else None
            save_predictions(paths[source], probs=q.probs, y_true=y_true, class_names=fitted.class_names)
    return {source: load_predictions(paths[source]) for source in sources}


def available(setting: Setting, sources: Sequence[Source], runs: int, options: Options) -> tuple[list[Source], dict[str, str]]:
    """Those sources that are predicted already, or whose files are there; and for the others the reason why not."""
    there, absent = [], {}
    for source in sources:
        try:
            if not all((options.results / setting.name / f"run-{r}" / f"{source.name}.npz").exists() for r in range(runs)):
                options.load(source)
            there.append(source)
        except FileNotFoundError as error:
            absent[source.name] = str(error).partition(". ")[0] + "."
    return there, absent


def train(setting: Setting, run: int, options: Options) -> Any:
    """The ensemble of run ``run``: the seed is the number of the run. Done before, it is only loaded; begun, it is gone on with."""
    from ..predictors import fit_ensemble

    data = training_data(setting, data_dir=options.data_dir, download=options.download, sha256=options.sha256)
    recipe = setting.recipe(image_shape(data))
    options.say(f"{setting.name}, run {run}: {setting.members} × {recipe.network}, {recipe.epochs} epochs")
    folder = options.results / setting.name / f"run-{run}" / "training"
    return fit_ensemble(
        recipe.network, data, n_members=setting.members, recipe=recipe, rng=run, out_dir=folder, resume=True, n_jobs=options.n_jobs
    )


def predict(fitted: Any, source: Source, images: Any) -> Ensemble:
    """What an ensemble says about the images of a source."""
    from ..predictors import predict_ensemble

    q: Ensemble = predict_ensemble(fitted if source.scaled else replace(fitted, inputs=_unscaled(fitted.inputs)), images.x)
    return q


def _unscaled(inputs: Any) -> Any:
    """Inputs that forget to divide by 255: (255 x − mean) / sd = (x − mean / 255) / (sd / 255)."""
    channels = inputs.shape[0]
    mean, sd = inputs.statistics or ((0.0,) * channels, (1.0,) * channels)
    return replace(inputs, statistics=(tuple(m / 255 for m in mean), tuple(s / 255 for s in sd)))


def record(setting: Setting | str, experiment: str, numbers: dict[str, Any], options: Options, *, runs: int, **more: Any) -> Path:
    """Write ``EXPERIMENT.json``: the numbers and how they came about. Returns the path, whose ``.png`` is the place for a figure."""
    name = setting if isinstance(setting, str) else setting.name
    about = {
        "experiment": experiment,
        "command": options.command,
        "setting": setting if isinstance(setting, str) else asdict(setting),
        "runs": runs,
        "seeds": list(range(runs)),
        "versions": versions(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **more,
    }
    path = options.results / name / f"{experiment}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write((json.dumps({"about": plain(about), "numbers": plain(numbers)}, indent=1, ensure_ascii=False) + "\n").encode())
    return path


def versions() -> dict[str, str]:
    """Of the package and of what the numbers depend on."""
    import importlib.metadata

    found = {"labelwise": __version__, "python": platform.python_version()}
    for name in ("numpy", "torch"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def plain(value: Any) -> Any:
    """What JSON can hold: estimates as value, low, high; not-a-number as null; numbers with the digits that float32 input has."""
    if isinstance(value, Estimate):
        return plain({"value": value.value, "low": value.low, "high": value.high})
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {" | ".join(map(str, key)) if isinstance(key, tuple) else str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.9g}") if np.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def over_runs(values: Any) -> dict[str, Any]:
    """Mean, standard deviation (n − 1) and 95 % t-interval of one number per run, and the numbers."""
    from ..evaluation import mean_over_runs

    x = np.asarray(values, dtype=float)
    if len(x) < 2:
        return {"mean": float(x[0]), "sd": None, "low": None, "high": None, "runs": x.tolist()}
    estimate = mean_over_runs(x)
    return {
        "mean": float(estimate.value),
        "sd": float(x.std(ddof=1)),
        "low": float(estimate.low),
        "high": float(estimate.high),
        "runs": x.tolist(),
    }
