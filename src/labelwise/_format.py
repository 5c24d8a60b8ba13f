"""How numbers are written: the only place in Python; ``page/src/format.ts`` is the page's.

Both follow the same rules and are tested against the same table, ``tests/number_cases.json``. The
digits that Python and JavaScript print for a float (the shortest that restore it) are rounded half
away from zero, so that 98.625 % is 98.63 % on both sides. A number that is rounded to zero has no
sign.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from math import isfinite, isnan

MISSING = "–"
"""Written for a number that is not known."""
# holds every float: the smallest has 324 decimals, the largest 309 digits
_EXACT = Context(prec=800)
_ROUNDING = Decimal("1e-12")  # sums of floats are off by so little


def _shortest_decimal(x: float) -> Decimal:
    """The shortest decimal number that is this float."""
    return Decimal(repr(float(x)))


def _round_half_up(x: Decimal, decimals: int) -> Decimal:
    rounded = x.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, _EXACT)
    return rounded or abs(rounded)  # no -0


def _number_not_finite(x: float | None) -> str:
    """What is written for a number that is missing or infinite."""
    if x is None or isnan(x):
        return MISSING
    return "inf" if x > 0 else "-inf"


def fixed(x: float | None, decimals: int, power: int = 0) -> str:
    """A number, times this ``power`` of ten, with so many decimals.

    >>> fixed(0.0625, 3), fixed(-0.0001, 3), fixed(1234.5, 1)
    ('0.063', '0.000', '1,234.5')
    """
    if x is None or not isfinite(x):
        return _number_not_finite(x)
    return f"{_round_half_up(_shortest_decimal(x).scaleb(power, _EXACT), decimals):,f}"


def count(x: float | None) -> str:
    """A whole number.

    >>> count(12345), count(-0.3)
    ('12,345', '0')
    """
    return fixed(x, 0)


def percent(x: float | None, decimals: int = 1) -> str:
    """A share in percent; what is rounded to 0 or 100 % says so, unless it is exactly that.

    >>> percent(0.86825), percent(3 / 1000, 0), percent(999 / 1000, 0), percent(1.0)
    ('86.8 %', '< 1 %', '> 99 %', '100 %')
    """
    if x is None or not isfinite(x):
        return _number_not_finite(x)
    exact = _shortest_decimal(x).scaleb(2, _EXACT)
    rounded = _round_half_up(exact, decimals)
    step = Decimal(1).scaleb(-decimals)
    if rounded == 0:
        if exact == 0:
            return "0 %"
        return f"< {step:f} %" if exact > 0 else f"> -{step:f} %"
    if rounded == 100:
        if exact >= 100 - _ROUNDING:
            return "100 %"
        return f"> {100 - step:f} %"
    return f"{rounded:,f} %"


def points(x: float | None, decimals: int = 1) -> str:
    """A difference of two shares in percentage points, without the word.

    >>> points(0.075), points(-0.0001)
    ('7.5', '0.0')
    """
    return fixed(x, decimals, power=2)


def number(x: float | None, digits: int = 3) -> str:
    """An amount with so many significant digits, but never coarser than whole; as a power of ten
    from a billion on and below 0.0001.

    >>> number(0.4251), number(12345.6), number(-0.0), number(2.5e9), number(0.00001234)
    ('0.425', '12,346', '0', '2.5e9', '1.23e-5')
    """
    if x is None or not isfinite(x):
        return _number_not_finite(x)
    exact = _shortest_decimal(x)
    if not exact:
        return "0"
    decimals = digits - 1 - exact.adjusted()
    rounded = _round_half_up(exact, decimals)
    power = rounded.adjusted()
    if exact.adjusted() >= 9 or power < -4:
        return f"{rounded.scaleb(-power, _EXACT).normalize(_EXACT):,f}e{power}"
    return f"{_round_half_up(exact, max(decimals, 0)).normalize(_EXACT):,f}"
