"""The joint measures of ensembles against their definitions, and what every distribution and array
library must give.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr, xlogy

import labelwise as lw
from joint_cases import COSTS, JOINT, entropy_of, random_ensemble


@pytest.mark.parametrize("loss", JOINT, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_ensembles_follow_the_definition(loss: object, weighted: bool) -> None:
    probs, w = random_ensemble(0)
    weights = w if weighted else None
    u = lw.joint.decompose(lw.Ensemble(probs, weights=weights), loss)
    w = (w if weighted else np.ones(len(probs))) / (w.sum() if weighted else len(probs))
    mean = np.einsum("m,mnk->nk", w, probs)
    aleatoric = np.einsum("m,mn->n", w, entropy_of(loss, probs))
    np.testing.assert_allclose(u.total, entropy_of(loss, mean), atol=1e-14)
    np.testing.assert_allclose(u.aleatoric, aleatoric, atol=1e-14)
    np.testing.assert_allclose(u.epistemic, entropy_of(loss, mean) - aleatoric, atol=1e-14)
    assert np.all(u.epistemic >= 0)


@pytest.mark.parametrize("loss", JOINT, ids=str)
def test_agreeing_members_have_no_epistemic_uncertainty(loss: object) -> None:
    probs, _ = random_ensemble(1, m=1)
    u = lw.joint.decompose(lw.Ensemble(np.repeat(probs, 7, axis=0)), loss)
    assert np.all(u.epistemic == 0)


def test_mutual_information_survives_near_agreement() -> None:
    mp.mp.dps = 60
    base = np.array([0.2, 0.3, 0.5])
    step = np.array([1.0, -2.0, 1.0]) * 1e-11
    probs = np.stack([base, base + step, base + 3 * step])[:, None]
    exact = [[mp.mpf(float(x)) for x in row[0]] for row in probs]
    mean = [sum(column) / 3 for column in zip(*exact, strict=True)]
    information = (
        sum(p * mp.log(p / m, 2) for row in exact for p, m in zip(row, mean, strict=True)) / 3
    )
    # the rows do not sum to exactly 1, so the divergence that is computed has the difference of the
    # sums in it
    information -= (
        sum(p - m for row in exact for p, m in zip(row, mean, strict=True)) / 3 / mp.log(2)
    )
    assert (
        abs(float(lw.joint.decompose(lw.Ensemble(probs)).epistemic[0]) / float(information) - 1)
        < 1e-12
    )


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 5))
def test_entropy_is_conditional_entropy_plus_mutual_information(seed: int, k: int, m: int) -> None:
    """H(Y) = H(Y | Θ) + I(Y, Θ), all three from the joint table P(Θ = θ_m, Y = k) = w_m θ_mk."""
    probs, w = random_ensemble(seed, m, 5, k)
    table = (w / w.sum())[:, None, None] * probs  # (member, instance, class)
    of_member, of_class = table.sum(axis=-1, keepdims=True), table.sum(axis=0)
    entropy = -xlogy(of_class, of_class).sum(-1) / np.log(2)
    conditional = -xlogy(table, table / of_member).sum((0, -1)) / np.log(2)
    information = rel_entr(table, of_member * of_class).sum((0, -1)) / np.log(2)
    np.testing.assert_allclose(entropy, conditional + information, atol=1e-13)
    u = lw.joint.decompose(lw.Ensemble(probs, weights=w))
    np.testing.assert_allclose(u.total, entropy, atol=1e-13)
    np.testing.assert_allclose(u.aleatoric, conditional, atol=1e-13)
    np.testing.assert_allclose(u.epistemic, information, atol=1e-13)
    np.testing.assert_allclose(u.total, u.aleatoric + u.epistemic, rtol=1e-13)


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 5))
def test_shares_add_up_and_identities_hold(seed: int, k: int, m: int) -> None:
    probs, w = random_ensemble(seed, m, 5, k)
    q = lw.Ensemble(probs, weights=w)
    joint = lw.joint.decompose(q)
    parts = lw.joint.mutual_information_by_class(q)
    assert np.all(parts >= 0)
    np.testing.assert_allclose(parts.sum(-1), joint.epistemic, rtol=1e-13, atol=1e-300)
    np.testing.assert_array_equal(lw.joint.mutual_information(q), joint.epistemic)
    brier, squares = lw.joint.decompose(q, "squared"), lw.decompose(q, "squared").sum()
    np.testing.assert_allclose(brier.total, squares.total, rtol=1e-13)
    np.testing.assert_allclose(brier.epistemic, squares.epistemic, rtol=1e-12)
    if k == 2:
        labelwise = lw.decompose(q).sum()
        for part in ("total", "aleatoric", "epistemic"):
            np.testing.assert_allclose(
                getattr(labelwise, part), 2 * getattr(joint, part), rtol=1e-9, atol=1e-15
            )


def test_reverse_and_pairwise_by_hand() -> None:
    probs, _ = random_ensemble(8, alpha=2.0)
    q = lw.Ensemble(probs)
    mean = probs.mean(0)
    reverse = (rel_entr(mean[None], probs).sum(-1) / np.log(2)).mean(0)
    pairs = np.mean([rel_entr(a, b).sum(-1) / np.log(2) for a in probs for b in probs], axis=0)
    np.testing.assert_allclose(lw.joint.reverse_mutual_information(q), reverse, rtol=1e-12)
    np.testing.assert_allclose(lw.joint.expected_pairwise_kl(q), pairs, rtol=1e-12)


def test_reverse_is_infinite_where_a_possible_class_is_ruled_out() -> None:
    probs = np.array([[[1.0, 0.0]], [[0.5, 0.5]]])
    assert np.isposinf(lw.joint.reverse_mutual_information(lw.Ensemble(probs)))
    assert np.isposinf(lw.joint.expected_pairwise_kl(lw.Ensemble(probs)))
    assert np.isfinite(
        lw.joint.reverse_mutual_information(lw.Ensemble(probs, weights=[0, 1]))
    )  # what does not count cannot rule out
    assert (
        lw.joint.reverse_mutual_information(lw.Ensemble(np.array([[[1.0, 0.0]], [[1.0, 0.0]]])))
        == 0
    )


def test_array_libraries_agree(lib) -> None:
    probs, w = random_ensemble(9)
    for loss in JOINT:
        ours = lw.joint.decompose(lw.Ensemble(lib.array(probs), weights=lib.array(w)), loss)
        theirs = lw.joint.decompose(lw.Ensemble(probs, weights=w), loss)
        for part in ("total", "aleatoric", "epistemic"):
            np.testing.assert_allclose(
                lib.numpy(getattr(ours, part)), getattr(theirs, part), rtol=4e-15, atol=4e-16
            )
    alpha = lib.array([[0.5, 1.0, 2.0]])
    assert type(lw.joint.decompose(lw.Dirichlet(alpha), "zero_one").epistemic) is type(alpha)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda q: lw.joint.decompose(q, lw.CostLoss(1, 2)), "CostMatrix"),
        (lambda q: lw.joint.decompose(q, lw.BetaLoss(0, 0)), "defined for single labels"),
        (lambda q: lw.joint.decompose(q, "breir"), "Did you mean 'brier'"),
        (lambda q: lw.joint.decompose(None), "must be a distribution"),
        (lambda q: lw.joint.decompose(lw.MultiLabelEnsemble(q.probs)), "may occur together"),
        (lambda q: lw.joint.decompose(q, lw.joint.CostMatrix(np.ones((4, 4)))), "4 rows"),
        (lambda q: lw.joint.CostMatrix(-COSTS), "not negative"),
        (lambda q: lw.joint.CostMatrix(COSTS[0]), "row for each true class"),
        (
            lambda q: lw.joint.mutual_information_by_class(
                lw.LogisticNormal(np.zeros(3), np.ones(3))
            ),
            "sample",
        ),
        (
            lambda q: lw.joint.reverse_mutual_information(
                lw.LogisticNormal(np.zeros(3), np.ones(3))
            ),
            "sample",
        ),
    ],
)
def test_wrong_input_has_its_sentence(call, sentence: str) -> None:
    probs, _ = random_ensemble(10)
    with pytest.raises((ValueError, TypeError), match=sentence):
        call(lw.Ensemble(probs))


@pytest.mark.parametrize("loss", ["log", "squared"])
@pytest.mark.parametrize(
    "layout", ["plain", "no common stride", "class axis first", "one instance", "no instances"]
)
def test_every_layout(loss: str, layout: str) -> None:
    probs = np.random.default_rng(0).dirichlet([1, 2, 3], size=(4, 6, 5))
    q = {
        "plain": lambda: lw.Ensemble(probs[:, 0]),
        "no common stride": lambda: lw.Ensemble(probs[:, ::2, ::2]),
        "class axis first": lambda: lw.Ensemble(
            np.ascontiguousarray(np.moveaxis(probs, -1, 1)), class_axis=1
        ),
        "one instance": lambda: lw.Ensemble(probs[:, 0, 0], member_axis=0),
        "no instances": lambda: lw.Ensemble(probs[:, :0]),
    }[layout]()
    u = lw.joint.decompose(q, loss)
    rows = np.ascontiguousarray(q.probs).reshape(4, np.size(u.total), 3)
    expected = lw.joint.decompose(lw.Ensemble(rows), loss)
    for part in ("total", "aleatoric", "epistemic"):
        assert np.shape(getattr(u, part)) == q.batch_shape
        found = np.reshape(getattr(u, part), -1)
        np.testing.assert_allclose(found, getattr(expected, part), rtol=1e-12)


@pytest.mark.parametrize("loss", ["log", "squared", "spherical", "zero_one"])
@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_predictions_changed_in_place_give_new_numbers(loss: str, dtype: type) -> None:
    first, second = np.random.default_rng(0).dirichlet([2, 1, 1], size=(2, 4, 5)).astype(dtype)
    probs = first.copy()
    q = lw.Ensemble(probs)
    before = (
        lw.joint.decompose(q, loss).epistemic,
        lw.decompose(q, loss).epistemic,
        lw.joint.mutual_information_by_class(q),
        q.mean(),
    )
    probs[:] = second
    new = lw.Ensemble(second)
    after = (
        lw.joint.decompose(q, loss).epistemic,
        lw.decompose(q, loss).epistemic,
        lw.joint.mutual_information_by_class(q),
        q.mean(),
    )
    fresh = (
        lw.joint.decompose(new, loss).epistemic,
        lw.decompose(new, loss).epistemic,
        lw.joint.mutual_information_by_class(new),
        new.mean(),
    )
    for old, x, y in zip(before, after, fresh, strict=True):
        assert not np.array_equal(old, x)
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    "loss",
    [
        "log",
        "squared",
        "spherical",
        "zero_one",
        lw.joint.CostMatrix([[0, 1, 2], [3, 0, 1], [1, 5, 0]]),
    ],
)
def test_one_instance_without_a_batch_axis(loss: object) -> None:
    rng = np.random.default_rng(0)
    probs, weights, alpha = rng.dirichlet([1, 2, 3], size=4), rng.random(4), rng.random(3)
    one, many = (lw.Ensemble(p, weights=weights, member_axis=0) for p in (probs, probs[:, None]))
    for a, b in [
        (one, many),
        (lw.Dirichlet(alpha), lw.Dirichlet(alpha[None])),
        (lw.LogisticNormal(alpha, alpha), lw.LogisticNormal(alpha[None], alpha[None])),
    ]:
        u, v = lw.joint.decompose(a, loss), lw.joint.decompose(b, loss)
        for part in ("total", "aleatoric", "epistemic"):
            assert np.shape(getattr(u, part)) == ()
            np.testing.assert_allclose(
                getattr(u, part), getattr(v, part)[0], rtol=1e-12, atol=1e-15
            )
    for f in (lw.joint.reverse_mutual_information, lw.joint.expected_pairwise_kl):
        np.testing.assert_allclose(f(one), f(many)[0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        lw.joint.mutual_information_by_class(one), lw.joint.mutual_information_by_class(many)[0]
    )


def test_covariance_of_members() -> None:
    rng = np.random.default_rng(0)
    probs, weights = rng.dirichlet(np.ones(4), (6, 5)), rng.random((6, 5))
    weights /= weights.sum(0)
    found = lw.joint.covariance(lw.Ensemble(probs, weights=weights))
    for i in range(5):
        expected = np.cov(probs[:, i].T, aweights=weights[:, i], ddof=0)
        np.testing.assert_allclose(found[i], expected, atol=1e-15)
    labels = lw.MultiLabelEnsemble(rng.random((6, 5, 3)))
    diagonal = np.diagonal(lw.joint.covariance(labels), axis1=-2, axis2=-1)
    np.testing.assert_allclose(diagonal, lw.decompose(labels, "squared").epistemic, rtol=1e-13)


def test_covariance_without_members() -> None:
    alpha = np.random.default_rng(1).gamma(2.0, size=(5, 4))
    s = alpha.sum(-1)[:, None, None]
    expected = (np.eye(4) * alpha[:, None] * s - alpha[:, :, None] * alpha[:, None]) / s**2
    q = lw.Dirichlet(alpha, class_names=list("3210"))  # whose names are integers
    np.testing.assert_allclose(lw.joint.covariance(q), expected / (s + 1), atol=1e-16)
    two = lw.DirichletMixture(np.stack([alpha, alpha[::-1]]))
    draws = two.sample(200_000, rng=0)
    np.testing.assert_allclose(lw.joint.covariance(two)[0], np.cov(draws[:, 0].T), atol=1e-3)


def test_second_order_shares() -> None:
    """Var Θ_k / 2θ̄_k in nats, close to each class's share where the members nearly agree."""
    probs = np.random.default_rng(2).dirichlet(np.ones(3), (5, 7))
    q = lw.Ensemble(probs)
    found = lw.joint.mutual_information_by_class(q, base=np.e, second_order=True)
    np.testing.assert_allclose(found, probs.var(0) / (2 * probs.mean(0)), rtol=1e-12)
    never = lw.Ensemble(np.array([[[1.0, 0.0]], [[1.0, 0.0]]]))
    assert np.all(lw.joint.mutual_information_by_class(never, second_order=True) == 0)
    near = lw.Ensemble(0.999 * probs[:1] + 0.001 * probs)
    np.testing.assert_allclose(
        lw.joint.mutual_information_by_class(near, second_order=True),
        lw.joint.mutual_information_by_class(near),
        rtol=0.02,
    )
