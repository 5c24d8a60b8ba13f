"""Published packages beside labelwise, each in a process of its own; prints JSON for run.py.

They are installed beside the environment, without what they depend on (`make bench` does it).
torch-uncertainty's metrics are loaded from their own files, because importing the whole package
needs torchvision; probly's likewise, because it needs a later Python.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from types import ModuleType, SimpleNamespace

import numpy as np
from run import seconds
from values import ensemble

import labelwise as lw

PEERS = Path(sys.prefix) / "peers"
SHAPE = (5, 100_000, 10)


def load(path: str) -> ModuleType:
    """A module from its file, without the package around it."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, PEERS / path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(PEERS / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def torch_uncertainty(probs: np.ndarray):
    import torch

    entropy = load("torch_uncertainty/metrics/classification/entropy.py").Entropy
    mutual = load(
        "torch_uncertainty/metrics/classification/mutual_information.py"
    ).MutualInformation
    tensor = torch.from_numpy(
        np.ascontiguousarray(probs.transpose(1, 0, 2))
    )  # (instances, members, classes)
    return lambda: (
        entropy(reduction="none")(tensor.mean(1)),
        entropy(reduction="none")(tensor),
        mutual(reduction="none")(tensor),
    )


def load_probly(path: str) -> ModuleType:
    """A module of probly without the package, which needs Python 3.12: the functions that it
    registers itself with, and the classes that it names, are placeholders.
    """

    class Placeholder:
        @staticmethod
        def register(target):
            return target if callable(target) and not isinstance(target, type) else lambda f: f

    class Names(ModuleType):
        def __getattr__(self, name: str):
            if name.startswith("__"):
                raise AttributeError(name)
            if name.startswith("Array"):
                return type(name, (), {})
            return type(name, (Placeholder,), {})

    folder, stem = path.rsplit("/", 1)
    package = folder.replace("/", ".")
    kinds = ("categorical", "dirichlet", "gaussian")
    representation = [f"probly.representation.distribution.array_{kind}" for kind in kinds]
    for name in (package, f"{package}._common", *representation):
        sys.modules[name] = Names(name)
        sys.modules[name].__path__ = []
    spec = importlib.util.spec_from_file_location(f"{package}.{stem}", PEERS / f"{path}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def probly_sample(probs: np.ndarray):
    """What its functions read of a sample of categorical distributions."""
    mean = probs.mean(0)
    return SimpleNamespace(
        array=SimpleNamespace(probabilities=probs), sample_axis=0, sample_mean=lambda: mean
    )


def probly(probs: np.ndarray):
    measures = load_probly("probly/quantification/measure/distribution/array")
    sample = probly_sample(probs)
    return lambda: (
        measures.array_categorical_sample_entropy_of_expected_predictive_distribution(sample, 2),
        measures.array_categorical_sample_conditional_entropy(sample, 2),
        measures.array_categorical_sample_mutual_information(sample, 2),
    )


def probly_label_wise(probs: np.ndarray) -> np.ndarray:
    """Epistemic uncertainty, summed over the labels."""
    measures = load_probly("probly/quantification/measure/ordinal/array")
    compute = measures.array_categorical_sample_labelwise_mutual_information_entropy
    return compute(probly_sample(probs), 2)


def uq360(probs: np.ndarray):
    """Its package needs NumPy before 1.21; this file of it does not."""
    decomposition = load(
        "uq360/metrics/classification_metrics.py"
    ).entropy_based_uncertainty_decomposition
    return lambda: decomposition(probs)


def labelwise(probs: np.ndarray):
    q = lw.Ensemble(probs)
    u = lw.decompose(q, "log")
    return u, u.sum(), lw.joint.decompose(q, "log")


KNOWN = {"torch-uncertainty 0.13.0": torch_uncertainty, "probly 0.9.1": probly}


def main() -> None:
    if len(sys.argv) > 1:
        package, dtype = sys.argv[1:]
        sys.path.append(str(PEERS))
        probs = ensemble("real", SHAPE, dtype)
        theirs = KNOWN[package](probs)
        times: tuple[list[float], list[float]] = ([], [])
        found, (_, _, joint) = theirs(), labelwise(probs)
        bits = 1 / np.log(2) if package.startswith("torch") else 1
        np.testing.assert_allclose(np.asarray(found[0]) * bits, joint.total, rtol=1e-3, atol=1e-4)
        for _ in range(7):
            times[0].append(seconds(theirs))
            times[1].append(seconds(lambda: labelwise(probs)))
        print(
            json.dumps(
                {
                    "package": package,
                    "dtype": dtype,
                    "ms": 1e3 * median(times[0]),
                    "labelwise": 1e3 * median(times[1]),
                }
            )
        )
        return
    results = []
    for package in KNOWN:
        for dtype in ("float32", "float64"):
            done = subprocess.run(
                [sys.executable, __file__, package, dtype],
                check=True,
                capture_output=True,
                text=True,
            )
            results.append(json.loads(done.stdout.splitlines()[-1]))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
