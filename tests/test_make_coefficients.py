"""The polynomials of the kernel are those that the script writes, and near their functions."""

from __future__ import annotations

import runpy
from pathlib import Path

from optional_libraries import optional

mp = optional("mpmath")

script = runpy.run_path(str(Path(__file__).parents[1] / ".ci" / "make_coefficients.py"))


def test_the_committed_header_is_what_the_script_writes() -> None:
    with mp.workdps(60):
        assert script["header"]() == script["HEADER"].read_text()


def test_a_fitted_polynomial_is_near_its_function() -> None:
    with mp.workdps(60):
        coefficients = script["fit"](script["artanh_rest"], mp.mpf(0), mp.mpf(1) / 9, 9)
        for z in (mp.mpf(1) / 1000, mp.mpf(1) / 20, mp.mpf(1) / 9):
            exact = (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
            value = mp.fsum(c * z**i for i, c in enumerate(coefficients))
            assert abs(value - exact) < 1e-14
