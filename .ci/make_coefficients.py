"""Write ``_engine/coefficients.h``: near-minimax polynomials for the fused kernel (needs mpmath;
run by hand, the result is committed).

Each is interpolated at Chebyshev nodes with 60 digits, which is within a small factor of the best
polynomial of its degree.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp

mp.mp.dps = 60
HEADER = Path(__file__).parents[1] / "src" / "labelwise" / "_engine" / "coefficients.h"
HORNER = ("ARTANH_F32", "ARTANH_F64")


def fit(f: Callable[[Any], Any], low: Any, high: Any, n: int) -> list[Any]:
    """Coefficients, lowest first, of the polynomial of degree n − 1 through n Chebyshev nodes."""
    nodes = [
        (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n))
        for i in range(n)
    ]
    matrix = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            matrix[i, j] = x**j
    return list(mp.lu_solve(matrix, mp.matrix([f(x) for x in nodes])))


def log2_ratio(r: Any) -> Any:
    """log2(1 + r) / r."""
    return mp.log(1 + r, 2) / r


def log2_artanh(z: Any) -> Any:
    """2 artanh(√z) / (√z ln 2): log2((1+s)/(1−s)) / s with z = s²."""
    s = mp.sqrt(z)
    return 2 * mp.atanh(s) / s / mp.log(2)


def complement_term(u: Any) -> Any:
    """−(1−u) log2(1−u) / u."""
    return -(1 - u) * mp.log(1 - u, 2) / u


def artanh_rest(z: Any) -> Any:
    """(artanh(√z)/√z − 1) / z."""
    s = mp.sqrt(z)
    return (mp.atanh(s) / s - 1) / z


def header() -> str:
    """The text of the header."""
    root_half, root_two = mp.sqrt(mp.mpf(1) / 2), mp.sqrt(2)
    s_max = (root_two - 1) / (root_two + 1)
    tables = {
        "LOG2_F32": (fit(log2_ratio, root_half - 1, root_two - 1, 9), "f"),
        "LOG2_F64": (fit(log2_artanh, mp.mpf(0), s_max**2, 9), ""),
        "COMPLEMENT_F32": (fit(complement_term, mp.mpf(0), mp.mpf(1) / 2, 8), "f"),
        "COMPLEMENT_F64": (fit(complement_term, mp.mpf(0), mp.mpf(1) / 2, 18), ""),
        "ARTANH_F32": (fit(artanh_rest, mp.mpf(0), mp.mpf(1) / 9, 4), "f"),
        "ARTANH_F64": (fit(artanh_rest, mp.mpf(0), mp.mpf(1) / 9, 9), ""),
    }
    lines = [
        (
            "/* Written by make_coefficients.py. Polynomials as Horner schemes, in which no power "
            "of a small argument becomes subnormal, or as"
        ),
        (
            " * four interleaved ones in x^4, whose chains of dependent operations are short: x2 "
            "and x4 are powers of x. */"
        ),
    ]
    for name, (coefficients, suffix) in tables.items():
        values = [
            mp.nstr(c, 10 if suffix else 20, min_fixed=1, max_fixed=0) + suffix
            for c in coefficients
        ]
        if name in HORNER:
            lines.append(f"#define {name}(x) ({' + (x) * ('.join(values)}{')' * len(values)}")
            continue
        chains = []
        for lane in range(4):
            own = values[lane::4]
            body = own[-1]
            for value in reversed(own[:-1]):
                body = f"{value} + (x4) * ({body})"
            chains.append(f"({body})")
        lines.append(
            f"#define {name}(x, x2, x4) (({chains[0]} + (x) * {chains[1]}) + (x2) * ({chains[2]} + "
            f"(x) * {chains[3]}))"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    HEADER.write_text(header())
