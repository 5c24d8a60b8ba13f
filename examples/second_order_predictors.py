"""Compare six second-order predictors for rejecting uncertain cases.

On handwritten digits (scikit-learn's) and on dermatology (UCI; six skin diseases), each with little
training data: a deep ensemble, MC dropout, an evidential network, a last-layer Laplace
approximation, bootstrapped logistic regression and a random forest. Cases are rejected by
label-wise total (TU) or epistemic uncertainty (EU), summed over the labels; AUGRC is the average
share of undetected errors over all rejected shares (0: all errors detected).

    python examples/second_order_predictors.py [folder with medical/dermatology.arff]

Without the folder, dermatology is looked for where `labelwise_lab.datasets.load` looks. About half
a minute on two cores.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import RandomForestClassifier
from torch import nn

import labelwise as lw
from labelwise import evaluation
from labelwise.models import LabelwiseClassifier
from labelwise_lab import datasets
from labelwise_lab.posteriors import Evidence, fit_evidential, fit_laplace, predict_evidential
from labelwise_lab.training import MLP, fit_ensemble, predict_ensemble

SEED = 0


def data_sets(folder: str | None) -> Iterator[datasets.Dataset]:
    """Tables with a fifth of the instances for training, so that there are errors to detect, and a
    tenth for validation.
    """
    digits = datasets.load("digits")
    parts = [
        datasets.Examples(part.x.reshape(len(part), -1).astype(float), part.y)
        for part in (digits.train, digits.test)
    ]
    yield small(datasets.Dataset("digits", *parts, digits.class_names))
    try:
        yield small(datasets.load("dermatology", data_dir=folder))
    except FileNotFoundError as error:
        print(error)


def small(data: datasets.Dataset) -> datasets.Dataset:
    test = data.resplit(test_size=0.7, rng=SEED)
    inner = datasets.Dataset(data.name, None, test.train, data.class_names).resplit(
        test_size=1 / 3, rng=SEED
    )
    return datasets.standardize(
        datasets.Dataset(data.name, inner.train, test.test, data.class_names, val=inner.test)
    )


def predictors(data: datasets.Dataset) -> Iterator[tuple[str, lw.Distribution]]:
    """The predictions of each method for the test set."""
    x, y, names = data.train.x, data.train.y, data.class_names
    n_classes, n_features = len(names), x.shape[1]

    def network() -> nn.Module:
        layers = [
            nn.Linear(n_features, 128),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(128, 128),
            nn.ReLU(),
            nn.Dropout(0.5),
        ]
        return nn.Sequential(*layers, nn.Linear(128, n_classes))

    with tempfile.TemporaryDirectory() as folder:
        deep = fit_ensemble(
            network, data, n_members=5, rng=SEED, out_dir=folder, n_jobs=1, progress=False
        )
        yield "deep ensemble, 5 networks", predict_ensemble(deep, data.test)
        one = deep.model(0)
    yield (
        "one of them, MC dropout",
        lw.from_models(one, data.test.x, n_samples=50, rng=SEED, class_names=names),
    )
    laplace = fit_laplace(one, x, validation=(data.val.x, data.val.y))
    yield "one of them, Laplace", laplace.predict(data.test.x, class_names=names, points=64)
    torch.manual_seed(SEED)
    evidential = fit_evidential(
        nn.Sequential(MLP(n_classes, n_features), Evidence()), x, y, epochs=100, rng=SEED
    )
    yield "evidential network", predict_evidential(evidential, data.test.x, class_names=names)
    yield (
        "bootstrapped regression",
        LabelwiseClassifier(n_members=10, random_state=SEED)
        .fit(x, y)
        .predict_distribution(data.test.x),
    )
    forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=SEED).fit(x, y)
    yield "random forest, 100 trees", lw.from_models(forest, data.test.x)


def augrc(score: np.ndarray, correct: np.ndarray) -> lw.typing.Estimate:
    """Area under the generalized risk-coverage curve, with a bootstrap interval; the same instances
    are drawn for every score.
    """
    return evaluation.rejection_curve(score, correct=correct, n_bootstrap=1000, rng=SEED).band.augrc


def main() -> None:
    torch.set_num_threads(1)  # faster for networks this small
    console = Console(width=130)
    for data in data_sets(sys.argv[1] if len(sys.argv) > 1 else None):
        table = Table(
            title=(
                f"{data.name}: {len(data.train)} training, {len(data.test)} test instances, "
                f"{len(data.class_names)} classes"
            )
        )
        table.add_column("", style="bold")
        for column in ("accuracy", "TU", "EU", "maximum probability", "at random"):
            table.add_column(column, justify="right")
        for name, q in predictors(data):
            u = lw.decompose(q, "log").sum()
            mean = q.mean()
            correct = mean.argmax(-1) == data.test.y
            scores = (u.total, u.epistemic, 1 - mean.max(-1), np.zeros(len(correct)))
            areas = [augrc(score, correct) for score in scores]
            cells = [
                f"{1000 * a.value:.1f} [{1000 * a.low:.1f}, {1000 * a.high:.1f}]" for a in areas
            ]
            table.add_row(name, f"{correct.mean():.1%}", *cells)
        console.print(table)
    console.print("AUGRC × 1000 with 95 % bootstrap intervals; lower is better.")


if __name__ == "__main__":
    main()
