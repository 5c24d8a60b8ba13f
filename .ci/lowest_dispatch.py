"""Run a command with the plainest instructions that every library can be told to use:
``lowest_dispatch.py COMMAND...``.

NumPy, the C library, BLAS, torch and JAX choose their code by the processor, and the last bits of a
result depend on that choice. What passes both here and as usual does not depend on the machine.
"""

from __future__ import annotations

import os
import platform
import sys

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

plainest = {
    # only what this processor has: naming anything else may be a warning, and warnings are errors
    # in the tests
    "NPY_DISABLE_CPU_FEATURES": " ".join(
        name for name in __cpu_dispatch__ if __cpu_features__.get(name)
    ),
    "ATEN_CPU_CAPABILITY": "default",
    "LABELWISE_KERNEL": os.environ.get("LABELWISE_KERNEL", "baseline"),
}
if platform.machine() in ("x86_64", "AMD64"):
    plainest |= {
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD",  # noqa: E501
        "OPENBLAS_CORETYPE": "Nehalem",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        # below it, JAX cannot read float16
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa=AVX".strip(),
    }
for name, value in plainest.items():
    print(f"{name}={value}", file=sys.stderr)
os.execvpe(sys.argv[1], sys.argv[1:], os.environ | plainest)
