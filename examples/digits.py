"""A first result: which digits are five small networks unsure about, and which do they disagree
about?

Trains five multi-layer perceptrons on scikit-learn's handwritten digits (seconds on a laptop),
splits their uncertainty per class into aleatoric and epistemic, and shows the most uncertain
images.
"""

from __future__ import annotations

import warnings

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import labelwise as lw


def train(seed: int, x: np.ndarray, y: np.ndarray) -> MLPClassifier:
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        bootstrap = rng.integers(0, len(x), len(x))
        return MLPClassifier((64,), alpha=1e-3, max_iter=300, random_state=seed).fit(
            x[bootstrap], y[bootstrap]
        )


def shade(value: float) -> str:
    return " .:-=+*#%@"[min(int(value * 10), 9)] * 2


def main() -> None:
    x, y = load_digits(return_X_y=True)
    x = x / 16
    x_train, x_test, y_train, y_test = train_test_split(
        x, y, train_size=300, random_state=0, stratify=y
    )
    members = [train(seed, x_train, y_train) for seed in range(5)]
    q = lw.Ensemble(
        np.stack([m.predict_proba(x_test) for m in members]),
        class_names=[str(d) for d in range(10)],
    )
    u = lw.decompose(q, "log")
    correct = q.mean().argmax(-1) == y_test

    console = Console(width=100)
    console.print(
        f"\nFive networks trained on 300 digits: {correct.mean():.1%} of {len(y_test)} test images "
        "right.\n"
    )
    table = Table(title="Uncertainty per class, mean over the test images (bits)")
    for column in ("class", "total", "aleatoric", "epistemic", "epistemic share"):
        table.add_column(column, justify="right")
    for k in np.argsort(-u.epistemic.sum(0) / u.total.sum(0)):
        total, aleatoric, epistemic = (
            part[:, k].mean() for part in (u.total, u.aleatoric, u.epistemic)
        )
        table.add_row(
            q.class_names[k],
            f"{total:.4f}",
            f"{aleatoric:.4f}",
            f"{epistemic:.4f}",
            f"{epistemic / total:.0%}",
        )
    console.print(table)
    console.print(
        "Epistemic: between the networks, what they disagree about. Aleatoric: within them, how "
        "unsure each is by itself.\n"
    )

    worst = int(np.argmax(u.sum().epistemic))
    console.print(f"The image the members disagree about most (it is a {y_test[worst]}):\n")
    for row in x_test[worst].reshape(8, 8):
        console.print("    " + "".join(shade(value) for value in row), markup=False)
    table = Table()
    for column in ("class", "probability", "aleatoric", "epistemic"):
        table.add_column(column, justify="right")
    for k in np.argsort(-u.total[worst])[:4]:
        table.add_row(
            q.class_names[k],
            f"{q.mean()[worst, k]:.2f}",
            f"{u.aleatoric[worst, k]:.2f}",
            f"{u.epistemic[worst, k]:.2f}",
        )
    console.print(table)

    keep = np.argsort(u.sum().total)[: int(0.8 * len(y_test))]
    console.print(
        f"\nHanding the most uncertain fifth to a person leaves {correct[keep].mean():.1%} right "
        "among the rest."
    )


if __name__ == "__main__":
    main()
