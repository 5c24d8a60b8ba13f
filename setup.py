"""The native kernels, and the README for package indexes; everything else about the package is in
pyproject.toml.

Without a compiler the package installs all the same and computes with NumPy alone.
LABELWISE_BUILD=strict makes a failed build an error.
"""

import os
import re
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

# The last two make minima and maxima single instructions; the kernel checks its input for NaN by
# its bits.
flags = (
    []
    if sys.platform == "win32"
    else [
        "-O3",
        "-g0",
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-ffp-contract=fast",
        "-ffinite-math-only",
        "-fno-signed-zeros",
    ]
)
folder = "src/labelwise/_engine"
repository = "labelwise/labelwise"


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


class Wheel(bdist_wheel):
    """A wheel that is tagged by what was built: without the kernels it is pure Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """The tag, asked for after the build."""
        self.root_is_pure = not any(
            Path(path).exists() for path in self.get_finalized_command("build_ext").get_outputs()
        )
        return super().get_tag()


def readme() -> str:
    """The README with links that also work outside the repository."""
    text = Path("README.md").read_text(encoding="utf-8")
    text = re.sub(
        r"(!\[[^\]]*\]\()(?!https?:)",
        rf"\1https://raw.githubusercontent.com/{repository}/main/",
        text,
    )
    return re.sub(
        r"(?<!\!)(\[[^\]]*\]\()(?!https?:|#)",
        rf"\1https://github.com/{repository}/blob/main/",
        text,
    )


setup(
    ext_modules=[kernel("_fused", "fused.c"), kernel("_dirichlet", "dirichlet.c")],
    options={"bdist_wheel": {"py_limited_api": "cp311"}, "build_ext": {"parallel": 2}},
    cmdclass={"bdist_wheel": Wheel},
    long_description=readme(),
    long_description_content_type="text/markdown",
)
