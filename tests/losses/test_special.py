"""The special functions against mpmath, where the textbook forms lose all digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from labelwise.losses._special import (
    binary_entropy,
    digamma_difference,
    digamma_minus_log,
    digamma_minus_log_drop,
    kl_loss_term,
    log_complement,
    x_log_x,
)

SMALL = [0.0, 1e-290, 1e-17, 1e-9, 1e-3, 0.1, 0.3, 0.5]


def close(found, exact, rel):
    for x, y in zip(np.ravel(found), exact, strict=True):
        assert float(x) == pytest.approx(float(y), rel=rel, abs=0)


def test_logarithms_near_0_and_1(lib) -> None:
    u = np.array(SMALL)
    with mp.workdps(400):
        t = [mp.mpf(x) for x in SMALL]
        entropy = [-(x * mp.log(x) if x else 0) - (1 - x) * mp.log(1 - x) for x in t]
        close(lib.numpy(log_complement(lib.array(u))), [mp.log(1 - x) for x in t], 1e-14)
        close(lib.numpy(binary_entropy(lib.array(u), lib.array(1 - u))), entropy, 1e-14)
        close(lib.numpy(binary_entropy(lib.array(1 - u), lib.array(u))), entropy, 1e-14)
        close(lib.numpy(x_log_x(lib.array(u))), [x * mp.log(x) if x else 0 for x in t], 1e-14)


def test_kl_term_of_neighbors(lib) -> None:
    m = np.array([0.3, 0.3, 0.3, 1e-9, 0.9, 1.0])
    p = np.array([0.3 + 2**-40, 0.299, 0.9, 3e-9, 1e-12, 0.0])
    with mp.workdps(50):
        exact = [
            (mp.mpf(a) * mp.log(mp.mpf(a) / mp.mpf(b)) if a else 0) - (mp.mpf(a) - mp.mpf(b))
            for a, b in zip(p, m, strict=True)
        ]
    found = lib.numpy(kl_loss_term(lib.array(p), lib.array(m), lib.array(p - m)))
    close(found, exact, 1e-13)
    assert np.all(lib.numpy(kl_loss_term(lib.array(m), lib.array(m), lib.array(0 * m))) == 0)


def test_digamma_functions() -> None:
    x = np.array([1.0, 1.0, 3.0, 20.0, 1e6, 1e12])
    y = np.array([1e-12, 0.5, 1e-9, 7.0, 3.0, 1e-3])
    small = np.array([1e-8, 0.01, 1.0, 14.9, 15.1, 1e9])
    with mp.workdps(60):
        difference = [
            mp.digamma(mp.mpf(a) + mp.mpf(b)) - mp.digamma(mp.mpf(a))
            for a, b in zip(x, y, strict=True)
        ]
        minus_log = [mp.digamma(mp.mpf(a) + 1) - mp.log(mp.mpf(a)) for a in small]
    close(digamma_difference(x, y), difference, 1e-14)
    close(digamma_minus_log(small), minus_log, 1e-13)


def test_digamma_minus_log_drop() -> None:
    """λ(x) − λ(x + y) beside λ(y) y / x, around the change of formula at x = 15 and y = 1."""
    x = np.concatenate([np.linspace(14, 16, 401)[:-1], np.geomspace(0.1, 1e6, 100)])
    with mp.workdps(60):
        for share in (1e-12, 1e-6, 0.01, 0.07, 0.1, 0.3, 1):
            y = share * x
            found = digamma_minus_log_drop(x, y)
            for a, b, value in zip(x, y, found, strict=True):
                near, far, beside = (
                    mp.psi(0, z + 1) - mp.log(z)
                    for z in (mp.mpf(a), mp.mpf(a) + mp.mpf(b), mp.mpf(b))
                )
                assert abs(mp.mpf(value) - (near - far)) <= 1e-14 * beside * mp.mpf(b) / mp.mpf(
                    a
                ), (a, b)
