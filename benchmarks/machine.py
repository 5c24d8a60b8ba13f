"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import labelwise as lw


def description() -> str:
    """Processor, kernel, versions, and how busy the machine was."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    processor = next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")),
        platform.processor(),
    )
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), [])
    widest = next(
        (name for name in ("avx512f", "avx2", "avx", "sse4_2") if name in flags), platform.machine()
    )
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "scipy", "torch", "jax", "zarr", "pyarrow")
    )
    kernel = lw.kernel_info()
    return (
        f"{processor} ({widest}), {os.cpu_count()} cores, {platform.system()}, load "
        f"{os.getloadavg()[0]:.1f} at the end. "
        f"Kernel {kernel['kernel']}, {kernel['threads']} threads. Python "
        f"{platform.python_version()}, {packages}"
    )


def has_kernel(level: str) -> bool:
    """Whether this processor can run the kernel of that level."""
    done = subprocess.run(
        [sys.executable, "-c", "import labelwise"],
        env=os.environ | {"LABELWISE_KERNEL": level},
        capture_output=True,
    )
    return done.returncode == 0
