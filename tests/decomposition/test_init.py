"""The label-wise decomposition against its definitions, identities, brute-force maxima and
samples.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from strategies import KINDS, LOSSES, SMOOTH, distributions, loss_id, probabilities

PARTS = ("total", "aleatoric", "epistemic")
NAMES = ["lung", "lymphoma", "melanoma"]


def random_probs(m: int = 5, n: int = 20, k: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(k, 0.7), (m, n))


def h(p: np.ndarray) -> np.ndarray:
    """Entropy in bits of the binary outcomes with probabilities p."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.nan_to_num(p * np.log2(p)) - np.nan_to_num((1 - p) * np.log2(1 - p))


def joint_entropy(p: np.ndarray) -> np.ndarray:
    return -(p * np.log2(p)).sum(-1)


# --- definitions
# -----------------------------------------------------------------------------------------------------------  # noqa: E501


def test_two_members_by_hand() -> None:
    """Two members that agree on one label and disagree on the others, Eqs. (17)–(22)."""
    q = lw.Ensemble(np.array([[[1.0, 0.0, 0.0]], [[0.5, 0.5, 0.0]]]))
    u = lw.decompose(q)
    np.testing.assert_allclose(u.total, [[0.8112781244591328, 0.8112781244591328, 0]])  # h(1/4)
    np.testing.assert_allclose(u.aleatoric, [[0.5, 0.5, 0]])
    np.testing.assert_allclose(u.epistemic, [[0.31127812445913283, 0.31127812445913283, 0]])
    v = lw.decompose(q, "squared")
    np.testing.assert_allclose(v.total, [[3 / 16, 3 / 16, 0]])
    np.testing.assert_allclose(v.aleatoric, [[1 / 8, 1 / 8, 0]])
    np.testing.assert_allclose(v.epistemic, [[1 / 16, 1 / 16, 0]])
    z = lw.decompose(q, "zero_one")
    np.testing.assert_allclose(
        (z.total, z.aleatoric, z.epistemic), [[[0.25, 0.25, 0]], [[0.25, 0.25, 0]], [[0, 0, 0]]]
    )


def test_log_and_squared_formulas() -> None:
    probs, weights = random_probs(), np.array([1.0, 2.0, 0.0, 4.0, 0.5])
    w = weights / weights.sum()
    mean = np.tensordot(w, probs, 1)
    u = lw.decompose(lw.Ensemble(probs, weights=weights))
    np.testing.assert_allclose(u.total, h(mean), rtol=1e-13)
    np.testing.assert_allclose(u.aleatoric, np.tensordot(w, h(probs), 1), rtol=1e-13)
    np.testing.assert_allclose(
        u.epistemic, h(mean) - np.tensordot(w, h(probs), 1), rtol=1e-10, atol=1e-14
    )
    v = lw.decompose(lw.Ensemble(probs, weights=weights), "squared")
    np.testing.assert_allclose(v.total, mean * (1 - mean), rtol=1e-13)
    np.testing.assert_allclose(v.epistemic, np.tensordot(w, (probs - mean) ** 2, 1), rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
def test_smallest_expected_losses(loss: lw.Loss) -> None:
    """Eqs. (9)–(11): TU is the smallest expected loss of one forecast, AU that of a forecast for
    each member.
    """
    probs = random_probs(m=3, n=2, k=3)
    forecasts = np.concatenate(
        [np.linspace(1e-4, 1 - 1e-4, 9999), [0.1 - 1e-9, 0.1 + 1e-9]]
    )  # both sides of the corner of costs 1 : 9
    one, zero = loss.phi(forecasts, 1), loss.phi(forecasts, 0)
    expected = probs[..., None] * one + (1 - probs[..., None]) * zero  # (M, N, K, forecasts)
    total, aleatoric = expected.mean(0).min(-1), expected.min(-1).mean(0)
    u = lw.decompose(lw.Ensemble(probs), loss)
    np.testing.assert_allclose(u.total, total, rtol=1e-5)
    np.testing.assert_allclose(u.aleatoric, aleatoric, rtol=1e-5)
    np.testing.assert_allclose(
        u.epistemic, total - aleatoric, atol=1e-5 * float(np.max(loss.maximum))
    )


@pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
@pytest.mark.parametrize("q", distributions(n=3), ids=KINDS)
def test_parts_add_up(q: Any, loss: lw.Loss) -> None:
    u = lw.decompose(q, loss)
    tolerance = 1e-12 if isinstance(q, lw.Ensemble | lw.MultiLabelEnsemble) else 1e-8
    if u.error is not None:
        tolerance += float(np.max(u.error.total + u.error.aleatoric + u.error.epistemic))
    np.testing.assert_allclose(
        u.total, u.aleatoric + u.epistemic, atol=tolerance * float(np.max(loss.maximum))
    )
    assert np.all(u.epistemic >= 0)
    assert np.all(u.aleatoric >= 0)
    assert np.all(u.total <= np.max(loss.maximum) * (1 + 1e-12))


def test_names_and_aliases() -> None:
    q = lw.Ensemble(random_probs(k=3))
    assert lw.decompose(q).class_names == ("0", "1", "2")
    assert lw.decompose(q).loss == lw.LogLoss()
    np.testing.assert_array_equal(lw.decompose(q, "brier").total, lw.decompose(q, "squared").total)
    u = lw.decompose(lw.Ensemble(random_probs(k=3), class_names=NAMES))
    for i, name in enumerate(NAMES):
        for part in PARTS:
            np.testing.assert_array_equal(getattr(u[name], part), getattr(u, part)[..., i])


def test_results_are_frozen() -> None:
    u = lw.decompose(lw.Ensemble(random_probs()))
    with pytest.raises(FrozenInstanceError):
        u.total = 0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        u.sum().total = 0  # type: ignore[misc]


# --- identities
# ------------------------------------------------------------------------------------------------------------  # noqa: E501


def test_sum_of_squared_is_the_joint_brier_score() -> None:
    probs = random_probs()
    mean = probs.mean(0)
    s = lw.decompose(lw.Ensemble(probs), "squared").sum()
    np.testing.assert_allclose(s.total, 1 - (mean**2).sum(-1), rtol=1e-13)
    np.testing.assert_allclose(s.aleatoric, (1 - (probs**2).sum(-1)).mean(0), rtol=1e-13)
    np.testing.assert_allclose(s.epistemic, ((probs - mean) ** 2).sum(-1).mean(0), rtol=1e-12)


def test_two_classes_give_twice_the_joint_entropy() -> None:
    probs = np.clip(random_probs(k=2), 1e-9, None)
    probs /= probs.sum(-1, keepdims=True)
    s = lw.decompose(lw.Ensemble(probs)).sum()
    np.testing.assert_allclose(s.total, 2 * joint_entropy(probs.mean(0)), rtol=1e-12)
    np.testing.assert_allclose(s.aleatoric, 2 * joint_entropy(probs).mean(0), rtol=1e-12)
    np.testing.assert_allclose(
        s.epistemic,
        2 * (joint_entropy(probs.mean(0)) - joint_entropy(probs).mean(0)),
        rtol=1e-9,
        atol=1e-13,
    )
    joint = lw.joint.decompose(lw.Ensemble(probs))
    np.testing.assert_allclose(s.epistemic, 2 * joint.epistemic, rtol=1e-10, atol=1e-15)


def test_mixture_of_dirichlets_has_both_kinds_of_epistemic_uncertainty() -> None:
    """Members that are very sure of themselves are an ensemble of their means; one member is a
    Dirichlet.
    """
    means = random_probs(m=3, n=4, k=3)
    for loss in ("log", "squared", "zero_one"):
        sure = lw.decompose(lw.DirichletMixture(1e9 * means), loss)
        np.testing.assert_allclose(
            sure.epistemic, lw.decompose(lw.Ensemble(means), loss).epistemic, atol=1e-5
        )
        one = lw.decompose(lw.DirichletMixture(5 * means[:1]), loss)
        np.testing.assert_allclose(
            one.epistemic, lw.decompose(lw.Dirichlet(5 * means[0]), loss).epistemic, rtol=1e-12
        )


# --- sums
# ------------------------------------------------------------------------------------------------------------------  # noqa: E501


def test_weighted_sums() -> None:
    u = lw.decompose(lw.Ensemble(random_probs(k=3), class_names=NAMES))
    weights = [1.0, 0.0, 9.0]
    for given_weights in (
        weights,
        tuple(weights),
        np.array(weights),
        dict(zip(NAMES, weights, strict=True)),
    ):
        s = u.sum(given_weights)
        for part in PARTS:
            np.testing.assert_allclose(
                getattr(s, part), getattr(u, part) @ np.array(weights), rtol=1e-14
            )
    backwards = dict(zip(NAMES[::-1], weights[::-1], strict=True))
    np.testing.assert_array_equal(u.sum(backwards).total, u.sum(weights).total)
    np.testing.assert_allclose(u.sum([1, 1, 1]).total, u.sum().total)


def test_sums_stay_in_their_library(lib: Any) -> None:
    u = lw.decompose(lw.Ensemble(lib.array(random_probs(n=2), "float32")), "squared")
    for s in (
        u.sum(),
        u.sum([1, 2, 3, 4]),
        u.sum(lib.array([1, 2, 3, 4])),
        u.normalized().sum(),
    ):
        assert type(s.total) is type(u.total)
        assert str(s.total.dtype).endswith("float32")
    assert str(u.normalized().epistemic.dtype).endswith("float32")


def test_sum_of_sampled_values_keeps_its_error() -> None:
    u = lw.decompose(lw.LogisticNormal(np.zeros((2, 3)), np.ones((2, 3)), class_names=NAMES))
    assert u.error is not None
    for s, scale in (
        (u.sum(), 1.0),
        (u.sum([1, 2, 3]), np.array([1, 2, 3])),
        (u.normalized().sum(), 1.0),
    ):
        assert s.error is not None
        np.testing.assert_allclose(s.error.epistemic, (u.error.epistemic * scale).sum(-1))
    picked = u["lung"].error
    assert picked is not None
    np.testing.assert_array_equal(picked.total, u.error.total[..., 0])


# --- shares of the maximum
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
def test_label_wise_shares(loss: lw.Loss) -> None:
    grid = np.linspace(0, 1, 2001)
    u = lw.decompose(lw.Ensemble(np.stack([grid, 1 - grid], -1)[None]), loss)
    shares = u.normalized()
    assert shares.total.max() == pytest.approx(1, abs=2e-6)
    assert shares.maximum.tolist() == [1, 1]
    np.testing.assert_allclose(shares.aleatoric, u.aleatoric / loss.maximum)
    np.testing.assert_array_equal(shares.normalized().total, shares.total)


# --- finite ensembles
# ------------------------------------------------------------------------------------------------------  # noqa: E501


@pytest.mark.parametrize("loss", SMOOTH, ids=loss_id)
@pytest.mark.parametrize("make", [lw.Ensemble, lw.MultiLabelEnsemble])
def test_jackknife_leaves_members_out(loss: lw.Loss, make: Any) -> None:
    probs = random_probs(m=4, n=3, k=3)
    m = len(probs)
    plain, corrected = (
        lw.decompose(make(probs), loss),
        lw.decompose(make(probs), loss, correction="jackknife"),
    )
    left_out = [lw.decompose(make(np.delete(probs, i, axis=0)), loss) for i in range(m)]
    for part in ("total", "epistemic"):
        expected = m * getattr(plain, part) - (m - 1) * np.mean(
            [getattr(u, part) for u in left_out], axis=0
        )
        np.testing.assert_allclose(getattr(corrected, part), expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(corrected.aleatoric, plain.aleatoric)


@given(probabilities(members=(2, 6)))
def test_jackknife_of_squared_loss_is_m_over_m_minus_1(probs: np.ndarray) -> None:
    m = len(probs)
    plain, corrected = (
        lw.decompose(lw.Ensemble(probs), "squared", correction=c) for c in (None, "jackknife")
    )
    np.testing.assert_allclose(
        corrected.epistemic, plain.epistemic * m / (m - 1), rtol=1e-12, atol=1e-300
    )
    np.testing.assert_allclose(
        corrected.epistemic[0], probs[:, 0].var(axis=0, ddof=1), rtol=1e-6, atol=1e-15
    )


@given(probabilities(members=(2, 6)), st.sampled_from([lw.LogLoss(), lw.SphericalLoss()]))
def test_jackknife_never_lowers_epistemic_uncertainty(probs: np.ndarray, loss: lw.Loss) -> None:
    plain, corrected = (
        lw.decompose(lw.Ensemble(probs), loss, correction=c) for c in (None, "jackknife")
    )
    assert np.all(corrected.epistemic >= plain.epistemic)
    assert np.all(corrected.total >= plain.total)


def test_jackknife_may_pass_the_maximum() -> None:
    u = lw.decompose(
        lw.Ensemble(np.array([[[0.0, 1.0]], [[1.0, 0.0]]])), "squared", correction="jackknife"
    )
    np.testing.assert_allclose(u.normalized().total, 2)


def test_jackknife_removes_the_bias_on_average() -> None:
    """Mean EU of many small ensembles drawn from a known distribution, against its exact EU."""
    q = lw.Dirichlet(np.array([1.0, 2.0, 3.0]))
    draws = q.sample(4 * 200_000, rng=0).reshape(4, 200_000, 3)  # known to 0.3 %
    for loss, left in (("squared", 1e-2), ("log", 6e-2)):
        truth = lw.decompose(q, loss).epistemic
        plain, corrected = (
            lw.decompose(lw.Ensemble(draws), loss, correction=c).epistemic.mean(0) / truth
            for c in (None, "jackknife")
        )
        assert np.all(np.abs(corrected - 1) < left)
        assert np.all(plain < 0.8)


# --- axes
# ------------------------------------------------------------------------------------------------------------------  # noqa: E501


@pytest.mark.parametrize(
    ("order", "options"),
    [
        ((1, 0, 2), {"member_axis": 1}),
        ((1, 2, 0), {"member_axis": 2, "class_axis": 1}),
        ((1, 2, 0), {"member_axis": -1, "class_axis": -2}),
        ((2, 1, 0), {"member_axis": 2, "class_axis": 0}),
        ((0, 2, 1), {"class_axis": 1}),
    ],
)
def test_axes_are_viewed_not_copied(order: tuple[int, ...], options: dict[str, int]) -> None:
    probs = random_probs()
    moved = np.ascontiguousarray(probs.transpose(order))
    for make in (lw.Ensemble, lw.MultiLabelEnsemble):
        q = make(moved, **options)
        assert np.shares_memory(q.probs, moved)
        for part in PARTS:
            np.testing.assert_array_equal(
                getattr(lw.decompose(q), part), getattr(lw.decompose(make(probs)), part)
            )
    logits = lw.Ensemble.from_logits(np.log(moved), **options)
    np.testing.assert_allclose(logits.probs, probs, rtol=1e-12)


def test_plain_input_is_not_copied(lib: Any) -> None:
    probs = lib.array(random_probs())
    assert lw.Ensemble(probs).probs is probs or np.shares_memory(lw.Ensemble(probs).probs, probs)


def test_images_and_tokens() -> None:
    probs = random_probs(m=3, n=4 * 5).reshape(3, 4, 5, 4)
    u = lw.decompose(lw.Ensemble(probs))
    flat = lw.decompose(lw.Ensemble(probs.reshape(3, 20, 4)))
    for part in PARTS:
        assert getattr(u, part).shape == (4, 5, 4)
        np.testing.assert_array_equal(getattr(u, part).reshape(20, 4), getattr(flat, part))
    assert u.sum().total.shape == (4, 5)
    weights = np.random.default_rng(0).random((3, 4, 5))
    each = lw.decompose(lw.Ensemble(probs, weights=weights))
    one = lw.decompose(lw.Ensemble(probs[:, 2, 3], weights=weights[:, 2, 3], member_axis=0))
    np.testing.assert_allclose(each.epistemic[2, 3], one.epistemic, rtol=1e-12)


@pytest.mark.parametrize("kind", ["Dirichlet", "DirichletMixture", "LogisticNormal"])
def test_other_distributions_take_any_number_of_axes(kind: str) -> None:
    x = np.random.default_rng(0).gamma(2.0, size=(3, 2, 4)) + 0.1

    def make(x: np.ndarray) -> Any:
        return (
            lw.LogisticNormal(x, x)
            if kind == "LogisticNormal"
            else getattr(lw, kind)(x if kind == "Dirichlet" else np.stack([x, x[..., ::-1]]))
        )

    for loss in ("squared", "zero_one"):
        whole, flat = lw.decompose(make(x), loss), lw.decompose(make(x.reshape(6, 4)), loss)
        one = lw.decompose(make(x[2, 1]), loss)
        assert whole.epistemic.shape == (3, 2, 4)
        np.testing.assert_allclose(whole.epistemic.reshape(6, 4), flat.epistemic, rtol=1e-12)
        np.testing.assert_allclose(whole.epistemic[2, 1], one.epistemic, rtol=1e-12)


# --- invariances
# -----------------------------------------------------------------------------------------------------------  # noqa: E501


@given(st.data(), st.sampled_from(["log", "squared", "spherical", "zero_one"]))
def test_order_of_members_and_classes(data: st.DataObject, loss: str) -> None:
    probs = data.draw(probabilities())
    m, _, k = probs.shape
    weights = np.array(data.draw(st.lists(st.integers(1, 9), min_size=m, max_size=m)))
    members, classes = (list(data.draw(st.permutations(range(n)))) for n in (m, k))
    u = lw.decompose(lw.Ensemble(probs, weights=weights), loss)
    v = lw.decompose(lw.Ensemble(probs[members][..., classes], weights=weights[members]), loss)
    for part in PARTS:
        np.testing.assert_allclose(
            getattr(v, part), getattr(u, part)[..., classes], rtol=1e-9, atol=1e-14
        )
    np.testing.assert_allclose(v.sum().total, u.sum().total, rtol=1e-9)


@given(probabilities(), st.integers(1, 4), st.sampled_from(["log", "squared"]))
def test_a_weight_is_a_number_of_copies(probs: np.ndarray, copies: int, loss: str) -> None:
    weights = np.ones(len(probs))
    weights[0] = copies
    u = lw.decompose(lw.Ensemble(probs, weights=weights), loss)
    v = lw.decompose(lw.Ensemble(np.concatenate([probs[:1]] * (copies - 1) + [probs])), loss)
    zero = lw.decompose(
        lw.Ensemble(
            np.concatenate([probs, np.eye(probs.shape[-1])[None, :1]]), weights=[*weights, 0]
        ),
        loss,
    )
    for part in PARTS:
        np.testing.assert_allclose(getattr(u, part), getattr(v, part), rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(getattr(u, part), getattr(zero, part), rtol=1e-9, atol=1e-14)


@given(probabilities(members=(1, 1)), st.integers(1, 7), st.sampled_from(LOSSES[:4]))
def test_members_that_agree_leave_nothing_to_learn(
    probs: np.ndarray, copies: int, loss: lw.Loss
) -> None:
    u = lw.decompose(lw.Ensemble(np.repeat(probs, copies, axis=0)), loss)
    assert np.all(u.epistemic == 0)
    np.testing.assert_allclose(u.total, u.aleatoric, rtol=1e-12, atol=1e-15)


# --- samples
# ---------------------------------------------------------------------------------------------------------------  # noqa: E501


@pytest.mark.parametrize("q", distributions(n=2), ids=KINDS)
def test_samples_have_the_right_moments(q: Any) -> None:
    n = 20000
    draws = q.sample(n, rng=1)
    assert draws.shape == (n, 2, 3)
    if not isinstance(q, lw.MultiLabelEnsemble):
        np.testing.assert_allclose(draws.sum(-1), 1, atol=1e-12)
    mean = q.mean()
    u = lw.decompose(q, "squared")
    for values, expected in (
        (draws, mean),
        ((draws - mean) ** 2, u.epistemic),
        (draws * (1 - draws), u.aleatoric),
    ):
        error = values.std(0) / np.sqrt(n)
        quadrature = 3e-3 if isinstance(q, lw.LogisticNormal) else 1e-9  # 64 points only
        assert np.all(np.abs(values.mean(0) - expected) < 5 * error + quadrature)
    correlation = np.corrcoef(draws[:, 0, 0], draws[:, 1, 0])[0, 1]
    assert abs(correlation) < 0.05  # instances are drawn independently


@pytest.mark.parametrize("q", distributions(n=2), ids=KINDS)
def test_samples_can_be_had_again(q: Any) -> None:
    np.testing.assert_array_equal(q.sample(5, rng=3), q.sample(5, rng=np.random.default_rng(3)))
    assert not np.array_equal(q.sample(5, rng=3), q.sample(5, rng=4))
    assert q.sample(0, rng=0).shape == (0, 2, 3)


def test_samples_of_dirichlets_with_small_parameters() -> None:
    """Gamma variables of shape 1e-3 underflow; the draws must still be probabilities with the right
    mean.
    """
    draws = lw.Dirichlet(np.array([1e-3, 2e-3, 1e-3])).sample(20000, rng=0)
    assert np.all(np.isfinite(draws))
    np.testing.assert_allclose(draws.mean(0), [0.25, 0.5, 0.25], atol=0.02)


def test_full_and_diagonal_covariances_agree() -> None:
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(4, 3)), rng.gamma(2.0, size=(4, 3))
    diagonal, full = (
        lw.LogisticNormal(mean, variance),
        lw.LogisticNormal(mean, variance[..., None] * np.eye(3)),
    )
    np.testing.assert_allclose(
        lw.decompose(diagonal).epistemic, lw.decompose(full).epistemic, rtol=1e-9
    )


def test_a_constant_added_to_all_logits_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    mean, root = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3))
    cov = root @ root.swapaxes(-1, -2)
    base = lw.decompose(lw.LogisticNormal(mean, cov, points=1024))
    moved = lw.decompose(
        lw.LogisticNormal(mean + 7, cov + 2.0, points=1024)
    )  # the same logits plus one common N(7, 2)
    assert base.error is not None
    assert moved.error is not None
    assert np.all(
        np.abs(base.epistemic - moved.epistemic)
        < 3 * (base.error.epistemic + moved.error.epistemic)
    )
