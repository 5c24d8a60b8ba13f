"""The joint measures of other packages on the same input: PYTHONPATH=benchmarks python
benchmarks/peer_values.py, after `make bench` installed them.
"""

from __future__ import annotations

import sys

import numpy as np
import peers

import labelwise as lw


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Five members that differ, and five that differ by one part in 10,000."""
    near = rng.dirichlet(np.full(10, 3.0), (1, 20_000)) * (
        1 + 1e-4 * rng.normal(size=(5, 20_000, 10))
    )
    return {
        "members differ": rng.dirichlet(np.full(10, 0.3), (5, 20_000)),
        "members nearly agree": near / near.sum(-1, keepdims=True),
    }


def main() -> None:
    sys.path.append(str(peers.PEERS))  # what the packages import
    print(
        "| input | dtype | package | median relative error of EU | negative "
        "|\n|---|---|---|---|---|"
    )
    for name, values in inputs(np.random.default_rng(0)).items():
        for dtype in ("float64", "float32"):
            probs = values.astype(dtype)
            wide = probs.astype(np.longdouble)
            wide = wide / wide.sum(-1, keepdims=True)
            mean = wide.mean(0)
            exact = np.sum(wide * np.log2(wide / mean), axis=-1).mean(0)  # in 80 bits
            found = {"labelwise": lw.joint.decompose(lw.Ensemble(probs)).epistemic}
            found |= {
                "torch-uncertainty 0.13.0": np.asarray(peers.torch_uncertainty(probs)()[2])
                / np.log(2)
            }
            found |= {"probly 0.3.0": np.asarray(peers.probly(probs)()[2])}
            found |= {"UQ360 0.2": np.asarray(peers.uq360(probs)()[2]) / np.log(2)}
            for package, epistemic in found.items():
                error = np.median(np.abs(np.asarray(epistemic, float) / exact - 1))
                print(
                    f"| {name} | {dtype} | {package} | {error:.0e} | "
                    f"{np.mean(np.asarray(epistemic) < 0):.0%} |"
                )


if __name__ == "__main__":
    main()
