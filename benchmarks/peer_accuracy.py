"""How exact epistemic uncertainty is, here and in other packages, on the same input:

    make peers && PYTHONPATH=benchmarks python benchmarks/peer_accuracy.py

Writes peer_accuracy.json, of which the tables of the README and of docs/explanation/comparison.md
are made; a test compares them. The reference has 60 digits.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import peers

import labelwise as lw

RESULTS = Path(__file__).with_name("peer_accuracy.json")
LABELWISE = "labelwise"
DIGITS = 60


def inputs() -> dict[str, np.ndarray]:
    """The bundled predictions, and five members that differ by one part in 10,000."""
    rng = np.random.default_rng(0)
    near = rng.dirichlet(np.full(10, 3.0), (1, 2_000))
    near = near * (1 + 1e-4 * rng.normal(size=(5, 2_000, 10)))
    bundled = np.asarray(lw.demo.load_fashion_ensemble().ensemble.probs, dtype=float)
    return {
        "five networks on FashionMNIST": bundled / bundled.sum(-1, keepdims=True),
        "members that nearly agree": near / near.sum(-1, keepdims=True),
    }


def divergence(members: list[Any], mean: Any) -> Any:
    """Mean of p log2(p / mean) over the members."""
    terms = [p * mpmath.log(p / mean, 2) for p in members if p > 0]
    return mpmath.fsum(terms) / len(members)


def exact(probs: np.ndarray) -> dict[str, np.ndarray]:
    """Epistemic uncertainty of all classes at once, and summed over the labels (log loss, bits).

    Every number counts as it is given, and 1 − p as its complement: rounding to float32 changes the
    input, and nobody is blamed for that.
    """
    joint, labels = [], []
    with mpmath.workdps(DIGITS):
        for case in np.asarray(probs, dtype=float).transpose(1, 0, 2):
            rows = [[mpmath.mpf(float(p)) for p in member] for member in case]
            both, yes_or_no = [], []
            for column in zip(*rows, strict=True):
                rest = [1 - p for p in column]
                term = divergence(list(column), mpmath.fsum(column) / len(column))
                both.append(term)
                yes_or_no += [term, divergence(rest, mpmath.fsum(rest) / len(rest))]
            joint.append(float(mpmath.fsum(both)))
            labels.append(float(mpmath.fsum(yes_or_no)))
    return {"joint": np.array(joint), "label-wise": np.array(labels)}


def plain(probs: np.ndarray) -> np.ndarray:
    """Total minus aleatoric, as anyone writes it."""
    from scipy.special import entr

    mean = probs.mean(0)
    return (entr(mean).sum(-1) - entr(probs).sum(-1).mean(0)) / np.log(2)


PACKAGES: dict[str, dict[str, Callable[[np.ndarray], Any]]] = {
    "joint": {
        LABELWISE: lambda probs: lw.joint.decompose(lw.Ensemble(probs)).epistemic,
        "TU − AU in NumPy": plain,
        "torch-uncertainty 0.13.0": lambda probs: peers.torch_uncertainty(probs)()[2] / np.log(2),
        "probly 0.9.1": lambda probs: peers.probly(probs)()[2],
        "UQ360 0.2": lambda probs: peers.uq360(probs)()[2] / np.log(2),
    },
    "label-wise": {
        LABELWISE: lambda probs: lw.decompose(lw.Ensemble(probs)).sum().epistemic,
        "probly 0.9.1": peers.probly_label_wise,
    },
}


def main() -> None:
    sys.path.append(str(peers.PEERS))  # what the packages import
    rows = []
    for name, values in inputs().items():
        for dtype in ("float32", "float64"):
            probs = values.astype(dtype)
            references = exact(probs)
            for measure, packages in PACKAGES.items():
                reference = references[measure]
                for package, compute in packages.items():
                    found = np.asarray(compute(probs), dtype=float)
                    error = np.abs(found - reference) / reference
                    rows.append(
                        {
                            "input": name,
                            "dtype": dtype,
                            "measure": measure,
                            "package": package,
                            "negative": float(np.mean(found < 0)),
                            "zero": float(np.mean(found == 0)),
                            "median error": float(np.median(error)),
                            "error of 95 %": float(np.quantile(error, 0.95)),
                        }
                    )
                    print(rows[-1], flush=True)
    versions = {
        "labelwise": lw.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "digits": DIGITS,
    }
    text = json.dumps({"versions": versions, "rows": rows}, indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
