"""Written by .ci/make_coefficients.py, as is _engine/coefficients.h: edit neither by hand.

Coefficients of polynomials, lowest degree first, for float32 and float64.
"""

from __future__ import annotations

LOG2_E = 1.4426950408889634
# (artanh(√z)/√z − 1) / z on [0, 1/9]
ARTANH_SINGLE = (
    0.3333332017,
    0.2000378032,
    0.141183099,
    0.1342574901,
)
# (artanh(√z)/√z − 1) / z on [0, 1/9]
ARTANH_DOUBLE = (
    0.33333333333333487,
    0.19999999999780063,
    0.14285714338330496,
    0.11111106278964857,
    0.09091130554209872,
    0.07686637438179002,
    0.0675117123587855,
    0.05161334635249541,
    0.08435350330548605,
)
# B_2n / (2n): ln x − 1/(2x) − ψ(x) in powers of 1/x²
DIGAMMA = (
    0.08333333333333333,
    -0.008333333333333333,
    0.003968253968253968,
    -0.004166666666666667,
    0.007575757575757576,
    -0.021092796092796094,
    0.08333333333333333,
    -0.4432598039215686,
    3.0539543302701198,
)
