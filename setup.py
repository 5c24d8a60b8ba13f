"""The native kernel; everything else about the package is in pyproject.toml.

Without a compiler the package installs all the same and computes with NumPy alone.
LABELWISE_BUILD=strict makes a failed build an error.
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

folder = "src/labelwise/_engine"
flags = []
link_flags = []
if sys.platform != "win32":
    flags = ["-O3", "-g0", "-std=c11", "-Wall", "-Wextra", "-pthread"]
    flags += ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
    # These make minima and maxima single instructions; the kernel checks its input for NaN by bits.
    flags += ["-ffinite-math-only", "-fno-signed-zeros"]
    link_flags = ["-pthread"]

kernel = Extension(
    "labelwise._engine._kernel",
    [f"{folder}/module.c", f"{folder}/kernel.c"],
    depends=sorted(map(str, Path(folder).glob("*.h"))),
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    py_limited_api=True,
    extra_compile_args=flags,
    extra_link_args=link_flags,
    optional=os.environ.get("LABELWISE_BUILD") != "strict",
)


class Wheel(bdist_wheel):
    """A wheel that is tagged by what was built: without the kernel it is pure Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """The tag, asked for after the build."""
        outputs = self.get_finalized_command("build_ext").get_outputs()
        self.root_is_pure = not any(Path(path).exists() for path in outputs)
        return super().get_tag()


setup(
    ext_modules=[kernel],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    cmdclass={"bdist_wheel": Wheel},
)
