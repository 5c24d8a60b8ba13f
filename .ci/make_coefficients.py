"""Write the numbers of all polynomials and quadrature rules, for C, NumPy and JAX alike:
``_engine/coefficients.h`` and ``losses/_coefficients.py``.

Needs mpmath; run by hand, the results are committed. A fitted polynomial is interpolated at
Chebyshev nodes with 60 digits, which is within a small factor of the best of its degree.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import factorial
from pathlib import Path
from typing import Any

import mpmath as mp

mp.mp.dps = 60
PACKAGE = Path(__file__).parents[1] / "src" / "labelwise"
HEADER = PACKAGE / "_engine" / "coefficients.h"
MODULE = PACKAGE / "losses" / "_coefficients.py"
GAUSS_POINTS = 48
CHEBYSHEV_TERMS = 22

HEADER_START = """\
/* Written by .ci/make_coefficients.py, as is losses/_coefficients.py: edit neither by hand.
 *
 * Polynomials as Horner schemes, in which no power of a small argument becomes subnormal, or as
 * four interleaved ones in x^4, whose chains of dependent operations are short: x2 and x4 are
 * powers of x. */
"""
MODULE_START = '''\
"""Written by .ci/make_coefficients.py, as is _engine/coefficients.h: edit neither by hand.

Coefficients of polynomials, lowest degree first, for float32 and float64.
"""

from __future__ import annotations

'''


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


def bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n."""
    return Fraction(*mp.bernfrac(n))


def legendre(n: int, x: Any) -> tuple[Any, Any]:
    """The Legendre polynomial of degree n at x, and its slope."""
    before, value = mp.mpf(1), x
    for j in range(2, n + 1):
        before, value = value, ((2 * j - 1) * x * value - (j - 1) * before) / j
    return value, n * (before - x * value) / (1 - x**2)


def gauss_legendre(n: int) -> tuple[list[Any], list[Any]]:
    """Nodes and weights on [0, 1]."""
    nodes, weights = [], []
    for i in range(n):
        x = -mp.cos(mp.pi * (4 * i + 3) / (4 * n + 2))
        for _ in range(8):  # of Newton's steps, each of which doubles the digits
            value, slope = legendre(n, x)
            x -= value / slope
        nodes.append((x + 1) / 2)
        weights.append(1 / ((1 - x**2) * legendre(n, x)[1] ** 2))
    return nodes, weights


def spherical_chebyshev(n: int) -> list[Any]:
    """The even Chebyshev coefficients of 2 / (1 + ‖t‖) in 2t − 1."""
    angles = [mp.pi * (i + mp.mpf(1) / 2) / 96 for i in range(96)]
    values = [2 / (1 + mp.sqrt((1 + mp.cos(angle) ** 2) / 2)) for angle in angles]
    terms = []
    for j in range(n):
        products = [mp.cos(2 * j * angle) * x for angle, x in zip(angles, values, strict=True)]
        terms.append(mp.fsum(products) / 48)
    terms[0] /= 2
    return terms


def fitted() -> dict[str, tuple[list[str], list[str]]]:
    """The fitted polynomials for float32 and float64, as decimal numbers of 10 and 20 digits."""
    half, ninth = mp.mpf(1) / 2, mp.mpf(1) / 9
    root_half, root_two = mp.sqrt(half), mp.sqrt(2)
    s_max = (root_two - 1) / (root_two + 1)
    polynomials = {
        "LOG2": (
            fit(log2_ratio, root_half - 1, root_two - 1, 9),
            fit(log2_artanh, mp.mpf(0), s_max**2, 9),
        ),
        "COMPLEMENT": (
            fit(complement_term, mp.mpf(0), half, 8),
            fit(complement_term, mp.mpf(0), half, 18),
        ),
        "ARTANH": (fit(artanh_rest, mp.mpf(0), ninth, 4), fit(artanh_rest, mp.mpf(0), ninth, 9)),
    }
    return {
        name: (
            [mp.nstr(c, 10, min_fixed=1, max_fixed=0) for c in single],
            [mp.nstr(c, 20, min_fixed=1, max_fixed=0) for c in double],
        )
        for name, (single, double) in polynomials.items()
    }


def series() -> dict[str, list[Fraction]]:
    """The power series that are cut off, for float64."""

    def artanh(n: int) -> list[Fraction]:
        """2 (artanh(s)/s − 1) / s² in s²."""
        return [Fraction(2, 2 * j + 3) for j in range(n)]

    return {
        # (e^x − 1 − x) / x², and (x − 1 + e^−x) / x²
        "EXP_REST": [Fraction(1, factorial(j + 2)) for j in range(12)],
        "EXP_GAP": [Fraction((-1) ** j, factorial(j + 2)) for j in range(16)],
        "ARTANH_SERIES_11": artanh(11),
        "ARTANH_SERIES_12": artanh(12),
        "ARTANH_SERIES_17": artanh(17),
        # Stirling's error and the digamma function, in 1/x²
        "STIRLING_ERROR": [bernoulli(2 * j) / (2 * j * (2 * j - 1)) for j in range(1, 9)],
        "DIGAMMA": [bernoulli(2 * j) / (2 * j) for j in range(1, 10)],
    }


def decimals(values: Sequence[Any]) -> list[str]:
    """The nearest double of each number, as its shortest decimal number."""
    return [repr(float(value)) for value in values]


def horner(values: Sequence[str]) -> str:
    """The polynomial in (x) as nested products."""
    return f"({' + (x) * ('.join(values)}{')' * len(values)}"


def interleaved(values: Sequence[str]) -> str:
    """The polynomial as four in x^4, combined by x and x^2."""
    chains = []
    for lane in range(4):
        own = values[lane::4]
        body = own[-1]
        for value in reversed(own[:-1]):
            body = f"{value} + (x4) * ({body})"
        chains.append(f"({body})")
    return f"(({chains[0]} + (x) * {chains[1]}) + (x2) * ({chains[2]} + (x) * {chains[3]}))"


def definition(name: str, body: str) -> str:
    """A macro, in lines of at most 110 characters."""
    lines = textwrap.wrap(body, 100, break_long_words=False, break_on_hyphens=False)
    return " \\\n    ".join([f"#define LW_{name}", *lines])


def array(name: str, size: str, values: Sequence[Any]) -> str:
    """A constant array."""
    body = textwrap.fill(", ".join(decimals(values)), 100, break_on_hyphens=False)
    return f"static const double {name}[{size}] = {{\n{textwrap.indent(body, '    ')}\n}};"


def header() -> str:
    """The text of the header."""
    parts = [HEADER_START, f"#define LW_LOG2_E {mp.nstr(1 / mp.log(2), 20)}"]
    for name, (single, double) in fitted().items():
        single = [f"{value}f" for value in single]
        for suffix, values in (("F32", single), ("F64", double)):
            if name == "ARTANH":
                parts.append(definition(f"{name}_{suffix}(x)", horner(values)))
            else:
                parts.append(definition(f"{name}_{suffix}(x, x2, x4)", interleaved(values)))
    for name, coefficients in series().items():
        values = decimals(coefficients)
        if name == "DIGAMMA":
            # highest first, for a Horner scheme that finds divided differences as well
            steps = " ".join(f"next({value})" for value in reversed(values[:-1]))
            parts.append(definition(f"{name}_SERIES(first, next)", f"first({values[-1]}) {steps}"))
        else:
            parts.append(definition(f"{name}(x)", horner(values)))
    nodes, weights = gauss_legendre(GAUSS_POINTS)
    parts += [
        "",
        "/* The Gauss-Legendre rule on [0, 1]; even Chebyshev coefficients of 2 / (1 + |t|). */",
        f"enum {{ LW_GAUSS_POINTS = {GAUSS_POINTS}, LW_CHEBYSHEV_TERMS = {CHEBYSHEV_TERMS} }};",
        array("lw_gauss_nodes", "LW_GAUSS_POINTS", nodes),
        array("lw_gauss_weights", "LW_GAUSS_POINTS", weights),
        array("lw_chebyshev", "LW_CHEBYSHEV_TERMS", spherical_chebyshev(CHEBYSHEV_TERMS)),
    ]
    return "\n".join(parts) + "\n"


def constant(name: str, what: str, values: Sequence[str]) -> str:
    """A tuple of the module, with a comment."""
    lines = "".join(f"    {value},\n" for value in decimals(values))
    return f"# {what}\n{name} = (\n{lines})\n"


def module() -> str:
    """The text of the Python module."""
    polynomials = fitted()
    artanh, complement = polynomials["ARTANH"], polynomials["COMPLEMENT"]
    of_artanh = "(artanh(√z)/√z − 1) / z on [0, 1/9]"
    of_complement = "−(1−u) log2(1−u) / u on [0, ½]"
    return MODULE_START + "".join(
        [
            f"LOG2_E = {float(1 / mp.log(2))!r}\n",
            constant("ARTANH_SINGLE", of_artanh, artanh[0]),
            constant("ARTANH_DOUBLE", of_artanh, artanh[1]),
            constant("COMPLEMENT_SINGLE", of_complement, complement[0]),
            constant("COMPLEMENT_DOUBLE", of_complement, complement[1]),
            constant(
                "DIGAMMA",
                "B_2n / (2n): ln x − 1/(2x) − ψ(x) in powers of 1/x²",
                series()["DIGAMMA"],
            ),
        ]
    )


if __name__ == "__main__":
    HEADER.write_text(header(), encoding="utf-8")
    MODULE.write_text(module(), encoding="utf-8")
