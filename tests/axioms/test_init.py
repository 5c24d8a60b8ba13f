"""The axioms: the tables that must come out, and counterexamples recomputed independently."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import labelwise as lw
from axiom_cases import CASES, ENTRIES, STRICT, squared, table
from labelwise.axioms import center_shift, check, location_shift, mean_preserving_spread


@pytest.mark.parametrize("name", CASES)
def test_every_entry_comes_out(name):
    exceptions = CASES[name][2]
    expected = {
        e: exceptions.get("-".join(e), "strict" if e in STRICT else "holds") for e in ENTRIES
    }
    assert {(r.axiom, r.measure): r.verdict for r in table(name)} == expected


@pytest.mark.parametrize("name", CASES)
def test_results_are_consistent(name):
    for r in table(name):
        assert r.holds == (r.counterexample is None)
        assert (r.strict is None) == ((r.axiom, r.measure) not in STRICT)
        assert (r.tie is not None) == (r.verdict == "weak")
        assert r.trials >= (1000 if r.holds else 1)


def by_hand(g, q):
    """TU, AU, EU of an ensemble (M, K), or of the uniform distribution on the simplex, from the
    entropy alone.
    """
    if isinstance(q, lw.Dirichlet):
        k = q.n_classes
        assert np.all(np.asarray(q.alpha) == 1)
        corners = [
            0,
            mp.mpf(1) / 10,
            mp.mpf(1) / 2,
            mp.mpf(9) / 10,
            1,
            *(mp.mpf(i) / (i + 1) for i in (2, 3)),
        ]  # of the costs used here
        density = lambda t: (k - 1) * (1 - t) ** (k - 2)  # noqa: E731
        total = mp.fsum(g(mp.mpf(1) / k, i) for i in range(k))
        aleatoric = mp.fsum(
            mp.quad(lambda t, i=i: g(t, i) * density(t), sorted(corners)) for i in range(k)
        )
        return total, aleatoric, total - aleatoric
    atoms, weights = (
        [[mp.mpf(x) for x in row] for row in np.asarray(q.probs)],
        [mp.mpf(w) for w in np.asarray(q.weights)],
    )
    whole = mp.fsum(weights)
    mean = [
        mp.fsum(w * a[k] for w, a in zip(weights, atoms, strict=True)) / whole
        for k in range(len(atoms[0]))
    ]
    total = mp.fsum(g(t, k) for k, t in enumerate(mean))
    aleatoric = (
        mp.fsum(
            w * mp.fsum(g(t, k) for k, t in enumerate(a))
            for w, a in zip(weights, atoms, strict=True)
        )
        / whole
    )
    return total, aleatoric, total - aleatoric


def pick(measure, values):
    return values[("TU", "AU", "EU").index(measure)]


@pytest.mark.parametrize("name", CASES)
def test_counterexamples_and_ties_are_true(name):
    g = CASES[name][1]
    shown = [(r, c) for r in table(name) for c in (r.counterexample, r.tie) if c is not None]
    assert shown
    with mp.workdps(30):
        scale = float(
            by_hand(g, lw.Ensemble(np.full((1, 3), 1 / 3), weights=[1.0], member_axis=0))[0]
        )
        for r, c in shown:
            value = float(pick(r.measure, by_hand(g, c.q)))
            other = float(mp.fsum(pick(r.measure, by_hand(g, q)) for q in c.others))
            assert value == pytest.approx(c.value, abs=1e-8 * scale)
            assert other == pytest.approx(c.other_value, abs=1e-8 * scale)
            if r.counterexample is None:
                assert value == pytest.approx(other, abs=1e-10 * scale)
            elif r.axiom in ("A2", "A3", "A4"):
                assert value > other + 1e-9 * scale
            elif r.axiom in ("A5", "A6"):
                assert abs(value - other) > 1e-9 * scale
            else:
                assert (r.axiom, r.measure) == ("A1", "EU")
                assert value == pytest.approx(0, abs=1e-10 * scale)
                assert np.ptp(c.q.probs, axis=0).max() > 0.01
            confirm_relation(r, c)


def confirm_relation(r, c):
    """The second distribution is to the first what the axiom speaks about."""
    assert c.q.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(c.q.probs.sum(axis=-1), 1)
    m, k = c.q.probs.shape
    if r.axiom in ("A3", "A4", "A5"):
        atoms, weights = np.asarray(c.others[0].probs), np.asarray(c.others[0].weights)
        assert atoms.min() >= 0
        np.testing.assert_allclose(atoms.sum(axis=-1), 1)
    if r.axiom == "A3":
        np.testing.assert_allclose(weights[:m] + weights[m:], c.q.weights, atol=1e-15)
        joined = (weights[:m, None] * atoms[:m] + weights[m:, None] * atoms[m:]) / c.q.weights[
            :, None
        ]
        np.testing.assert_allclose(joined, c.q.probs, atol=1e-14)
        assert np.abs(atoms[:m] - atoms[m:]).max() > 1e-4
    if r.axiom in ("A4", "A5"):
        z = atoms - c.q.probs
        np.testing.assert_allclose(z, z[:1] + 0 * z, atol=1e-14)
        np.testing.assert_allclose(weights, c.q.weights)
        assert np.abs(z).max() > 1e-5
    if r.axiom == "A4":
        mean = c.q.weights @ c.q.probs
        lam = 1 - z[0] @ (1 / k - mean) / np.sum((1 / k - mean) ** 2)
        assert 0 < lam < 1
        np.testing.assert_allclose(mean + z[0], lam * mean + (1 - lam) / k, atol=1e-14)
    if r.axiom == "A6":
        assert set(np.unique(c.q.probs)) <= {0.0, 1.0}


Q = lw.Ensemble(np.array([[0.5, 0.5], [0.2, 0.8]]), member_axis=0)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: location_shift(Q, [0.1, 0.1]), "`z` must sum to 0 over the classes"),
        (lambda: location_shift(Q, [np.nan, 0.1]), "`z` must sum to 0 over the classes"),
        (lambda: location_shift(Q, [0.0, 0.0]), "`z` must not be 0"),
        (
            lambda: location_shift(Q, [0.1, -0.05, -0.05]),
            r"`z` must fit the shape \(2,\); got shape \(3,\)",
        ),
        (
            lambda: location_shift(Q, [-0.3, 0.3]),
            "a probability would become -0.1. lw.axioms.largest_step",
        ),
        (lambda: mean_preserving_spread(Q, [0.5, -0.5]), "a probability would become -0.05"),
        (lambda: mean_preserving_spread(Q, [0.0, 0.0]), "`z` must not be 0 for all members"),
        (
            lambda: mean_preserving_spread(Q, [0.1, -0.1], p=1.0),
            "`p` must lie strictly between 0 and 1",
        ),
        (lambda: center_shift(Q, 1.0), "`lam` must lie strictly between 0 and 1"),
        (
            lambda: center_shift(lw.Ensemble(np.array([[0.5, 0.5]]), member_axis=0), 0.5),
            "has no center shift",
        ),
        (
            lambda: center_shift(
                lw.Ensemble(
                    np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]), member_axis=0
                ),
                0.5,
            ),
            "leaves the probability simplex",
        ),
        (lambda: check(lw.CostLoss({"a": 1.0}, 1)), "at least 2 classes"),
        (lambda: check("sqared"), "Did you mean 'squared'"),
        (
            lambda: check(lambda q: lw.decompose(q, "log")),
            r"Sum over the labels: lw.decompose\(q, loss\).sum\(\)",
        ),
        (
            lambda: check(_infinite),
            "finite measures; _infinite returned NaN or infinity",
        ),
    ],
)
def test_errors(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def _infinite(q):
    u = squared(q)
    return lw.typing.Components(u.total, u.aleatoric, np.full_like(u.epistemic, np.inf))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: location_shift(lw.Dirichlet(np.ones(3)), [0.1, -0.1, 0]),
            "`q` must be an lw.Ensemble",
        ),
        (lambda: check(lambda f, y: (f - y) ** 2), r"wrap it: lw.CustomLoss\(phi\)"),
        (lambda: check(lambda q: (1, 2, 3)), "as lw.typing.Components"),
        (lambda: check("log", rng=-1), "`rng` must be None, an integer"),
        (lambda: check("log", rng=1.5), "`rng` must be None, an integer"),
    ],
)
def test_type_errors(call, sentence):
    with pytest.raises(TypeError, match=sentence):
        call()
