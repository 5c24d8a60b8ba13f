"""The polynomials of the kernel are those that the script writes, and near their functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from optional_libraries import optional

mp = optional("mpmath")

from labelwise._engine import make_coefficients  # noqa: E402


def test_the_committed_header_is_what_the_script_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = (
        Path(__file__).parents[2] / "src" / "labelwise" / "_engine" / "coefficients.h"
    ).read_text()
    monkeypatch.setattr(make_coefficients, "__file__", str(tmp_path / "make_coefficients.py"))
    with mp.workdps(60):
        make_coefficients.main()
    assert (tmp_path / "coefficients.h").read_text() == committed


def test_a_fitted_polynomial_is_near_its_function() -> None:
    with mp.workdps(60):
        coefficients = make_coefficients.fit(
            make_coefficients.artanh_rest, mp.mpf(0), mp.mpf(1) / 9, 9
        )
        for z in (mp.mpf(1) / 1000, mp.mpf(1) / 20, mp.mpf(1) / 9):
            exact = (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
            value = mp.fsum(c * z**i for i, c in enumerate(coefficients))
            assert abs(value - exact) < 1e-14
