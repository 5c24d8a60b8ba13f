"""The same prediction sets from MAPIE, crepes, puncc and TorchCP: equal to the last case where the
definition is the same, and time.

    python lab/studies/sets_peers.py [--splits 20]

Needs mapie, crepes, puncc, torchcp and torch; a library that cannot be imported is left out and
named. TorchCP 1.2.1 imports its graph and language-model parts with everything else; where their
dependencies are missing they are replaced by empty modules, since nothing here uses them. Writes
sets_peers.json and sets_peers.md beside this file. Mean probabilities of the ensemble of run 0 on
Fashion-MNIST, random halves, coverage 0.9 and 0.95.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np

import labelwise as lw
from labelwise.sets import fit_sets
from labelwise_lab.pages import table
from labelwise_lab.paper.prediction_files import read_predictions

HERE = Path(__file__).resolve().parent
Fit = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]
"""From calibration probabilities, true classes, new probabilities and coverage to sets."""


def ours(per: str) -> Fit:
    return lambda p, y, new, level: (
        fit_sets(p, y, guarantee=per, coverage=level).predict(new).member
    )


def mapie() -> Fit:
    from mapie.classification import SplitConformalClassifier
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):
        """Its features are the probabilities."""

        def fit(self, x: Any, y: Any) -> Any:
            return self

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict_proba(self, x: Any) -> Any:
            return x

        def predict(self, x: Any) -> Any:
            return np.argmax(x, axis=1)

    def run(p: np.ndarray, y: np.ndarray, new: np.ndarray, level: float) -> np.ndarray:
        model = Given()
        model.classes_ = np.arange(p.shape[1])
        fitted = SplitConformalClassifier(
            model, confidence_level=level, conformity_score="lac", prefit=True
        ).conformalize(p, y)
        return np.asarray(fitted.predict_set(new)[1][:, :, 0])

    return run


def crepes(per: str) -> Fit:
    from crepes import ConformalClassifier

    def run(p: np.ndarray, y: np.ndarray, new: np.ndarray, level: float) -> np.ndarray:
        own = (1 - p)[np.arange(len(y)), y]
        if per == "marginal":
            return np.asarray(
                ConformalClassifier()
                .fit(own)
                .predict_set(1 - new, confidence=level, smoothing=False),
                bool,
            )
        member = np.empty(new.shape, bool)
        fitted = ConformalClassifier().fit(own, bins=y)
        for k in range(p.shape[1]):
            member[:, [k]] = fitted.predict_set(
                1 - new[:, [k]], bins=np.full(len(new), k), confidence=level, smoothing=False
            )
        return member

    return run


def puncc(name: str) -> Fit:
    from deel.puncc import classification
    from deel.puncc.api.prediction import BasePredictor

    class Given(BasePredictor):
        def predict(self, X: Any, **more: Any) -> Any:
            return X

    def run(p: np.ndarray, y: np.ndarray, new: np.ndarray, level: float) -> np.ndarray:
        made = getattr(classification, name)
        fitted = made(Given(None, is_trained=True), train=False)
        fitted.fit(X_calib=p, y_calib=y)
        sets = fitted.predict(new, alpha=round(1 - level, 9))[1]
        sets = sets[0] if len(sets) != len(new) else sets
        member = np.zeros(new.shape, bool)
        for i, found in enumerate(sets):
            member[i, np.asarray(found, int)] = True
        return member

    return run


def torchcp(per: str) -> Fit:
    for name in ("torchsort", "torchcp.graph", "torchcp.llm"):
        sys.modules.setdefault(name, MagicMock())
    import torch
    from torchcp.classification.predictor import ClassConditionalPredictor, SplitPredictor
    from torchcp.classification.score import LAC

    torch.set_default_dtype(torch.float64)
    function = LAC(score_type="identity")

    def run(p: np.ndarray, y: np.ndarray, new: np.ndarray, level: float) -> np.ndarray:
        made = (ClassConditionalPredictor if per == "class" else SplitPredictor)(
            function, alpha=round(1 - level, 9)
        )
        made.calculate_threshold(torch.from_numpy(p), torch.from_numpy(y))
        return made.predict_with_logits(torch.from_numpy(new)).numpy().astype(bool)

    return run


PEERS: dict[str, dict[str, Callable[[], Fit]]] = {
    "marginal": {
        "MAPIE": mapie,
        "crepes": lambda: crepes("marginal"),
        "puncc": lambda: puncc("LAC"),
        "TorchCP": lambda: torchcp("marginal"),
    },
    "class": {
        "crepes": lambda: crepes("class"),
        "puncc": lambda: puncc("ClasswiseLAC"),
        "TorchCP": lambda: torchcp("class"),
    },
}
PACKAGES = {"MAPIE": "mapie", "crepes": "crepes", "puncc": "puncc", "TorchCP": "torchcp"}


def compare(splits: int) -> dict[str, Any]:
    run = HERE.parent / "results" / "fashion-mnist-paper" / "run-0"
    fashion = read_predictions(run / "fashion-mnist.npz", labeled=True)
    p, y = np.asarray(lw.Ensemble(fashion.probs).mean(), float), fashion.y_true
    p = p / p.sum(axis=1, keepdims=True)
    rows, missing = [], {}
    for per, peers in PEERS.items():
        for peer, make in peers.items():
            try:
                run = make()
            except ImportError as error:
                missing[peer] = str(error)
                continue
            for level in (0.9, 0.95):
                rows.append(
                    {
                        "per": per,
                        "peer": peer,
                        "level": level,
                        **paired(ours(per), run, p, y, level, splits),
                    }
                )
    return {
        "rows": rows,
        "missing": missing,
        "splits": splits,
        "versions": {peer: version(name) for peer, name in PACKAGES.items() if peer not in missing},
    }


def paired(
    mine: Fit, theirs: Fit, p: np.ndarray, y: np.ndarray, level: float, splits: int
) -> dict[str, Any]:
    """How many of the cases have other sets, who has more classes there, and the ratio of the
    times.
    """
    other = more = less = n = 0
    seconds = np.zeros(2)
    for s in range(splits):
        order = np.random.default_rng(s).permutation(len(y))
        cal, new = order[: len(y) // 2], order[len(y) // 2 :]
        found = []
        for i, run in enumerate((mine, theirs)):
            start = time.process_time()
            found.append(run(p[cal], y[cal], p[new], level))
            seconds[i] += time.process_time() - start
        a, b = found
        other += int((a != b).any(axis=1).sum())
        more, less, n = more + int((b & ~a).sum()), less + int((a & ~b).sum()), n + len(new)
    return {
        "cases": n,
        "other": other,
        "more": more,
        "less": less,
        "time_ratio": float(seconds[1] / seconds[0]),
        "seconds": float(seconds[0] / splits),
    }


NOTES = (
    (
        "crepes includes a class if its p-value is at least 1 − coverage; here it must be above. "
        "They differ by one rank where (n + 1)(1 − coverage) is an integer; both are valid, its "
        "sets are larger."
    ),
    "MAPIE has no sets per class.",
    "TorchCP keeps thresholds per class in torch's default type; here that is set to float64.",
)


def page(result: dict[str, Any]) -> str:
    lines = [
        "# Prediction sets beside other libraries",
        "",
        "Generated by `lab/studies/sets_peers.py`; do not edit.",
        "",
    ]
    lines += [
        (
            f"Fashion-MNIST, bundled ensemble, {result['splits']} random halves. Time: theirs / "
            "ours, processor time of fit and predict."
        ),
        "",
    ]
    lines += [
        "Versions: "
        + ", ".join(f"{peer} {number}" for peer, number in result["versions"].items())
        + ".",
        "",
    ]
    lines += [
        table(
            [
                "per",
                "library",
                "coverage",
                "cases",
                "with other sets",
                "classes only there",
                "classes only here",
                "time",
            ],
            [
                [
                    r["per"],
                    r["peer"],
                    f"{r['level']:g}",
                    f"{r['cases']:,}",
                    f"{r['other']:,}",
                    f"{r['more']:,}",
                    f"{r['less']:,}",
                    f"{r['time_ratio']:.2g} ×",
                ]
                for r in result["rows"]
            ],
        )
    ]
    lines += [f"- {note}" for note in NOTES]
    lines += [f"- {peer} could not be imported: {why}" for peer, why in result["missing"].items()]
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splits", type=int, default=20)
    warnings.simplefilter("ignore")
    result = compare(parser.parse_args().splits)
    (HERE / "sets_peers.json").write_text(json.dumps(result, indent=1) + "\n")
    (HERE / "sets_peers.md").write_text(page(result))
    print(page(result))


if __name__ == "__main__":
    main()
