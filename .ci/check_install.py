"""Check an installed labelwise: the compiled kernel is there, computes what NumPy computes, and the
command works.

``check_install.py [--without-kernel]``: with the option, that NumPy computes the same and that the
missing kernel is said.
"""

from __future__ import annotations

import subprocess
import sys
import time

start = time.perf_counter()
import labelwise as lw  # noqa: E402

seconds = time.perf_counter() - start

import numpy as np  # noqa: E402

without = sys.argv[1:] == ["--without-kernel"]
info = lw.kernel_info()
version = subprocess.run(
    [sys.executable, "-m", "labelwise", "--version"], capture_output=True, text=True, check=True
).stdout
if (info["kernel"] == "numpy", "missing" in info, "no compiled kernel" in version) != (
    without,
) * 3:
    sys.exit(f"expected {'no' if without else 'a'} compiled kernel; got {info} and\n{version}")
probs = np.random.default_rng(0).dirichlet(np.ones(4), (5, 1000))
u = lw.decompose(lw.Ensemble(probs))
mean = probs.mean(axis=0)
total = -mean * np.log2(mean) - (1 - mean) * np.log2(1 - mean)
np.testing.assert_allclose(u.total, total, rtol=1e-12)
np.testing.assert_allclose(u.aleatoric + u.epistemic, total, rtol=1e-12)
lw.decompose(lw.Dirichlet(mean + 1), "zero_one")
lw.decompose(lw.LogisticNormal(mean[:3], mean[:3]), "spherical")
demo = subprocess.run(
    [sys.executable, "-m", "labelwise", "demo"], capture_output=True, text=True, check=True
).stdout
if "T-shirt" not in demo:
    sys.exit(f"labelwise demo printed\n{demo}")
print(version.strip())
print(f"import in {seconds:.2f} s from {lw.__file__}")
