"""Galleries (the paper's Figs. 1 and 5): the instances with the highest total, aleatoric and
epistemic uncertainty, label by label.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from labelwise import Ensemble, decompose

from ..text import PARTS
from .results_folder import Options, predictions, record, save_figure
from .settings import Setting, TestImages

__all__ = ["run"]

EACH = 4


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """From the first run, whatever ``runs``: write ``gallery.json`` and one figure for each part;
    returns the numbers.
    """
    from labelwise.plots import plot_gallery

    test = TestImages(setting.data)
    stored, images = predictions(setting, 0, [test], options)[test], test.load(**options.where)
    q, y = Ensemble(stored.probs, class_names=stored.class_names), np.asarray(stored.y_true)
    u, predicted = decompose(q), q.mean().argmax(-1)
    summed = {part: np.asarray(getattr(u.sum(), part)) for part in PARTS}
    chosen = {part: np.argsort(-values, kind="stable")[:EACH] for part, values in summed.items()}
    numbers = {
        part: [
            {
                "position": int(i),
                "true": u.class_names[y[i]],
                "predicted": u.class_names[predicted[i]],
                **{p: float(values[i]) for p, values in summed.items()},
                "label-wise": {
                    name: [float(u.aleatoric[i, k]), float(u.epistemic[i, k])]
                    for k, name in enumerate(u.class_names)
                },
            }
            for i in rows
        ]
        for part, rows in chosen.items()
    }
    path = record(setting, "gallery", numbers, options, runs=1)
    for part, rows in chosen.items():
        titles = [
            u.class_names[y[i]]
            + (f", taken for {u.class_names[predicted[i]]}" if predicted[i] != y[i] else "")
            for i in rows
        ]
        figure = plot_gallery(images.x, u, rows.tolist(), y_true=y, y_pred=predicted, titles=titles)
        save_figure(figure, path.with_name(f"gallery-{part}.png"))
    return numbers
