"""Each rule can fail: a wrong measure changes exactly the verdicts that it should."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from axiom_cases import changed, squared
from labelwise.axioms import check


def wrong(
    total=lambda u, q: u.total,
    aleatoric=lambda u, q: u.aleatoric,
    epistemic=lambda u, q: u.epistemic,
):
    parts = (total, aleatoric, epistemic)
    return lambda q: lw.typing.Components(*(part(squared(q), q) for part in parts))


@pytest.mark.parametrize(
    ("measure", "verdicts"),
    [
        (
            wrong(epistemic=lambda u, q: -u.epistemic),
            {"A0-EU": "fails", "A1-EU": "fails", "A3-EU": "fails", "A7-EU": "fails"},
        ),
        (wrong(epistemic=lambda u, q: u.epistemic + 0.1), {"A1-EU": "fails"}),
        (
            wrong(epistemic=lambda u, q: 0 * u.epistemic),
            {"A1-EU": "fails", "A2-EU": "holds", "A3-EU": "weak"},
        ),
        (wrong(epistemic=lambda u, q: u.epistemic * u.total), {"A5-EU": "fails", "A7-EU": "fails"}),
        (wrong(aleatoric=lambda u, q: u.aleatoric + 0.1), {"A6-AU": "fails"}),
        (
            wrong(aleatoric=lambda u, q: u.aleatoric - 0.1),
            {"A0-AU": "fails", "A6-AU": "fails", "A7-AU": "fails"},
        ),
        (wrong(aleatoric=lambda u, q: 0 * u.aleatoric), {"A4-AU": "weak"}),
        (
            wrong(total=lambda u, q: u.total - 0.1 * u.epistemic),
            {"A2-TU": "fails", "A3-TU": "fails"},
        ),
        (
            wrong(total=lambda u, q: u.total + 0.1 * u.epistemic),
            {"A2-TU": "fails", "A3-TU": "strict"},
        ),
        (wrong(total=lambda u, q: 2 - u.total), {"A2-TU": "fails", "A4-TU": "fails"}),
        (wrong(total=lambda u, q: u.total * q.n_classes**3), {"A7-TU": "fails"}),
        (wrong(total=lambda u, q: q.mean()[..., 0]), {"A2-TU": "fails", "A4-TU": "fails"}),
    ],
)
def test_wrong_measures_are_found_out(measure, verdicts):
    assert changed(measure) == verdicts


@pytest.mark.parametrize(
    "loss", ["log", "squared", "spherical", "zero_one", lw.CostLoss(1, 9)], ids=str
)
def test_the_whole_is_at_most_the_sum_of_two_parts(loss):
    """A7 by hand, for all ways to part the classes: an identity if the sum is restricted to the
    labels of each part, and at most the sum if the classes outside each part are merged.
    """
    rng = np.random.default_rng(0)
    for k in (2, 3, 4):
        probs = rng.dirichlet(np.full(k, 0.6), (4, 200))
        weights = rng.dirichlet(np.ones(4))
        whole = lw.decompose(lw.Ensemble(probs, weights=weights), loss)
        for chosen in range(1, 2**k - 1):
            part = np.array([bool(chosen >> i & 1) for i in range(k)])
            merged = []
            for inside in (part, ~part):
                coarse = np.concatenate(
                    [probs[..., inside], probs[..., ~inside].sum(axis=-1, keepdims=True)], axis=-1
                )
                merged.append(
                    lw.decompose(lw.Ensemble(coarse.clip(0, 1), weights=weights), loss).sum()
                )
            for name in ("total", "aleatoric", "epistemic"):
                labels, of_parts = getattr(whole, name), [getattr(x, name) for x in merged]
                restricted = labels[:, part].sum(axis=-1) + labels[:, ~part].sum(axis=-1)
                np.testing.assert_allclose(getattr(whole.sum(), name), restricted, atol=1e-12)
                assert np.all(getattr(whole.sum(), name) <= sum(of_parts) + 1e-12)
                assert np.any(
                    getattr(whole.sum(), name) < sum(of_parts) - 1e-6
                )  # merging is no identity


def test_joint_zero_one_breaks_subadditivity():
    result = check(lambda q: lw.joint.decompose(q, "zero_one"))["A7", "EU"]
    c = result.counterexample

    def regret(atoms, weights):
        return weights @ atoms.max(axis=-1) - (weights @ atoms).max()

    parts = [regret(np.asarray(q.probs), np.asarray(q.weights)) for q in c.others]
    whole = regret(c.q.probs, c.q.weights)
    assert whole > sum(parts) + 1e-6
    assert (whole, sum(parts)) == pytest.approx((c.value, c.other_value))
    sizes = [q.n_classes - 1 for q in c.others]
    assert sum(sizes) == c.q.n_classes
    for q in c.others:  # all classes of the part as they were, the rest merged
        for column in np.asarray(q.probs)[:, :-1].T:
            assert any(np.array_equal(column, own) for own in c.q.probs.T)
