"""The polynomials of C, NumPy and JAX are those that one script writes, and near their
functions.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from optional_libraries import optional

mp = optional("mpmath")

script = runpy.run_path(str(Path(__file__).parents[2] / ".ci" / "make_coefficients.py"))


def test_the_committed_header_and_module_are_what_the_script_writes() -> None:
    with mp.workdps(60):
        assert script["header"]() == script["HEADER"].read_text(encoding="utf-8")
        assert script["module"]() == script["MODULE"].read_text(encoding="utf-8")


def test_a_fitted_polynomial_is_near_its_function() -> None:
    with mp.workdps(60):
        coefficients = script["fit"](script["artanh_rest"], mp.mpf(0), mp.mpf(1) / 9, 9)
        for z in (mp.mpf(1) / 1000, mp.mpf(1) / 20, mp.mpf(1) / 9):
            exact = (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
            value = mp.fsum(c * z**i for i, c in enumerate(coefficients))
            assert abs(value - exact) < 1e-14


def test_the_quadrature_rule_integrates_polynomials() -> None:
    with mp.workdps(60):
        nodes, weights = script["gauss_legendre"](5)
        for power in range(10):
            terms = [w * x**power for x, w in zip(nodes, weights, strict=True)]
            assert abs(mp.fsum(terms) - mp.mpf(1) / (power + 1)) < 1e-50
