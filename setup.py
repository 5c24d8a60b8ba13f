"""The native kernels; everything else about the package is in pyproject.toml.

Without a compiler the package installs all the same and computes with NumPy alone. LABELWISE_BUILD=strict makes a failed build an error.
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

# The last two make minima and maxima single instructions; the kernel checks its input for NaN by its bits.
flags = (
    []
    if sys.platform == "win32"
    else [
        "-O3", "-std=c11", "-Wall", "-Wextra",
        "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-ffinite-math-only", "-fno-signed-zeros",
    ]
)  # fmt: skip
folder = "src/labelwise/_engine"


def kernel(name: str, source: str) -> Extension:
    """A kernel for the limited API; without LABELWISE_BUILD=strict it may fail to build."""
    return Extension(
        f"labelwise._engine.{name}",
        [f"{folder}/{source}"],
        depends=sorted(map(str, Path(folder).glob("*.h"))),
        define_macros=[("Py_LIMITED_API", "0x030B0000")],
        py_limited_api=True,
        extra_compile_args=flags,
        optional=os.environ.get("LABELWISE_BUILD") != "strict",
    )


setup(
    ext_modules=[kernel("_fused", "fused.c"), kernel("_dirichlet", "dirichlet.c")],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
