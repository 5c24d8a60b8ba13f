"""The Accumulator against the decomposition of the whole ensemble."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labelwise as lw
from labelwise._errors import InputError
from optional_libraries import optional
from wrong_input import refused

LOSSES = [
    "log",
    "squared",
    "spherical",
    "zero_one",
    lw.CostLoss(1, 9),
    lw.BetaLoss(-0.5, 0.3),
    lw.CustomLoss(lambda f, y: (f - y) ** 2),
]
PARTS = ("total", "aleatoric", "epistemic")


def accumulate(
    probs: np.ndarray, loss: object, weights: np.ndarray | None = None
) -> lw.Accumulator:
    acc = lw.Accumulator(loss)
    for i, member in enumerate(probs):
        acc.update(member, weight=1.0 if weights is None else weights[i])
    return acc


def ensembles(kind: str, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    if kind == "random":
        return rng.dirichlet(np.full(5, 0.3), (9, 40)).astype(dtype)
    base = rng.dirichlet(np.ones(5), 40).astype(dtype)
    if kind == "equal":
        return np.repeat(base[None], 9, axis=0)
    step = 1e-12 if dtype == "float64" else 1e-5
    return np.stack([base * (1 + step * i * np.array([1, -1, 0, 2, -2])) for i in range(9)]).astype(
        dtype
    )


def test_what_comes_later_does_not_change_what_was_added() -> None:
    probs = ensembles("random", "float64")
    one = lw.Accumulator("log")
    for member in probs[:4]:
        copy = member.copy()
        one.update(copy)
        copy[...] = 0  # the memory of a member is the caller's
    other = lw.Accumulator("log").merge(one)
    before = other.result().epistemic.copy()
    np.testing.assert_allclose(before, lw.decompose(lw.Ensemble(probs[:4])).epistemic, rtol=1e-12)
    one.update(probs[4])
    np.testing.assert_array_equal(other.result().epistemic, before)


@pytest.mark.parametrize(
    ("kind", "dtype", "weighted"),
    [
        ("random", "float64", False),
        ("random", "float32", True),
        ("near", "float64", True),
        ("near", "float32", False),
        ("equal", "float64", False),
        ("equal", "float32", True),
    ],
)
@pytest.mark.parametrize(
    "loss", LOSSES, ids=lambda x: x if isinstance(x, str) else type(x).__name__
)
def test_equals_the_whole_ensemble(loss: object, kind: str, dtype: str, weighted: bool) -> None:
    probs = ensembles(kind, dtype)
    weights = np.array([0.5, 0.0, 3.0, 1e-9, 1.0, 2.0, 0.7, 0.7, 0.1]) if weighted else None
    whole = lw.decompose(lw.Ensemble(probs, weights=weights), loss)
    parts = accumulate(probs[:3], loss, weights if weights is None else weights[:3])
    merged = parts.merge(accumulate(probs[3:], loss, weights if weights is None else weights[3:]))
    eps = np.finfo(dtype).eps
    custom = isinstance(loss, lw.CustomLoss)
    for acc in (accumulate(probs, loss, weights), merged):
        u = acc.result()
        assert u.total.dtype == dtype
        for part in PARTS:
            ours, theirs = getattr(u, part), getattr(whole, part)
            assert np.all(ours >= 0)
            slack = 64 * eps * np.abs(theirs) + (
                4 * eps * whole.total
                if part == "epistemic" and (custom or isinstance(loss, lw.BetaLoss))
                else 0
            )
            if isinstance(
                loss, lw.BetaLoss
            ):  # from the kernel's polynomials on one side, by quadrature on the other
                slack = slack + 1e-13 * whole.total
            assert np.all(np.abs(ours - theirs) <= slack + np.finfo(dtype).tiny)
        if kind == "equal":
            assert np.all(u.epistemic == 0)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 5))
def test_any_order_and_any_shards(seed: int, shards: int, extra: int) -> None:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(3, 0.5), (6 + extra, 4))
    order = rng.permutation(len(probs))
    total = lw.Accumulator("log")
    for shard in np.array_split(order, shards):
        total.merge(accumulate(probs[shard], "log"))
    u, whole = total.result(), lw.decompose(lw.Ensemble(probs))
    assert total.n_members == len(probs)
    for part in PARTS:
        np.testing.assert_allclose(getattr(u, part), getattr(whole, part), rtol=1e-13, atol=1e-300)


@pytest.mark.skipif(lw.kernel_info()["kernel"] == "numpy", reason="the kernel is not in use")
@pytest.mark.parametrize("loss", ["log", "squared", "spherical", lw.CostLoss(1, 9)])
def test_few_members_have_the_bits_of_the_whole_ensemble(loss: object) -> None:
    probs = ensembles("random", "float32")
    for n in (1, 2, 7):
        found, whole = accumulate(probs[:n], loss).result(), lw.decompose(probs[:n], loss)
        for part in PARTS:
            np.testing.assert_array_equal(getattr(found, part), getattr(whole, part))
            np.testing.assert_array_equal(
                getattr(found.sum(), part), getattr(whole.sum(), part), strict=True
            )


@pytest.mark.parametrize("change", ["members", "weight", "dtype", "merge", "merged"])
def test_what_ends_the_keeping_of_members(change: str) -> None:
    probs = ensembles("random", "float64")
    weights = np.ones(9)
    acc = accumulate(probs[:4], "log")
    later = acc
    if change == "merge":
        later = lw.Accumulator("log")
    elif change == "merged":
        acc.merge(lw.Accumulator("log"))  # nothing
        later = lw.Accumulator("log").merge(acc)
        acc = later
    if change == "weight":
        weights[4] = 2.5
    for member, weight in zip(probs[4:], weights[4:], strict=True):
        before = acc.result()  # between updates
        assert before.n_members == acc.n_members
        later.update(member.astype("float32" if change == "dtype" else "float64"), weight=weight)
    if change == "merge":
        acc.merge(later)
        assert later.update(probs[0]).n_members == 6  # the other one can go on
    assert acc.n_members == 9
    whole = lw.decompose(lw.Ensemble(probs, weights=weights))
    tolerance = 1e-6 if change == "dtype" else 1e-13
    for part in PARTS:
        np.testing.assert_allclose(
            getattr(acc.result(), part), getattr(whole, part), rtol=100 * tolerance, atol=tolerance
        )


def test_class_names_that_do_not_fit_are_refused_at_once() -> None:
    acc = lw.Accumulator("log", class_names=["a", "b", "c"])
    with pytest.raises(InputError, match="class"):
        acc.update([[0.5, 0.5]])
    with pytest.raises(InputError, match="no result yet"):
        acc.result()
    assert acc.update([[0.5, 0.3, 0.2]]).result().class_names == ("a", "b", "c")


def test_weights_and_names() -> None:
    rng = np.random.default_rng(5)
    probs, weights = rng.dirichlet(np.ones(3), (4, 6)), rng.random(4)
    names = ["a", "b", "c"]
    acc = lw.Accumulator(lw.CostLoss({"a": 1, "b": 2, "c": 3}, 5), class_names=names)
    for p, w in zip(probs, weights, strict=True):
        acc.update(p, weight=w)
    whole = lw.decompose(
        lw.Ensemble(probs, weights=weights, class_names=names),
        lw.CostLoss({"a": 1, "b": 2, "c": 3}, 5),
    )
    np.testing.assert_allclose(acc.result()["b"].epistemic, whole["b"].epistemic, rtol=1e-12)


def test_multilabel(lib) -> None:
    probs = np.random.default_rng(6).random((4, 5, 3))
    acc = lw.Accumulator("log", multilabel=True)
    for p in probs:
        acc.update(lib.array(p))
    whole = lw.decompose(lw.MultiLabelEnsemble(probs))
    np.testing.assert_allclose(lib.numpy(acc.result().epistemic), whole.epistemic, rtol=1e-12)


def test_weights_may_be_numbers_of_numpy() -> None:
    member = np.array([[0.5, 0.5]], np.float32)
    with np.errstate(all="raise"):
        acc = (
            lw.Accumulator().update(member, weight=np.float32(2)).update(member, weight=np.int8(1))
        )
    assert acc.result().total.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        (lambda a: a.result(), "no result yet"),
        (lambda a: a.update([[0.5, 0.6]]), "must sum to 1"),
        (lambda a: a.update(0.5), "single number"),
        (
            lambda a: a.update([[0.5, 0.5]]).update([[0.2, 0.3, 0.5]]),
            "same shape as the previous members",
        ),
        (lambda a: a.update([[0.5, 0.5]], weight=-1), "from 0 to 1e\\+300"),
        (lambda a: a.update([[0.5, 0.5]], weight=1.5e308), "got 1.5e\\+308"),
        (lambda a: a.update([[0.5, 0.5]], weight=np.nan), "got nan"),
        (lambda a: a.update([[0.5, 0.5]], weight=np.ones(3)), "`weight` must be a number"),
        (lambda a: a.update([[0.5, 0.5]], weight=0).result(), "all zero"),
        (lambda a: a.merge(lw.Accumulator("squared")), "same kind"),
        (lambda a: a.update(lw.Ensemble(np.full((2, 1, 2), 0.5))), "is a distribution"),
    ],
)
def test_wrong_use_has_its_sentence(action, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        action(lw.Accumulator("log"))


def test_names_are_refused_or_must_agree() -> None:
    pandas = optional("pandas")
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 12)
    with refused(
        InputError,
        "`probs` must be an array without names. To match them by position, give all as arrays: "
        "df.to_numpy()",
    ):
        lw.Accumulator().update(pandas.DataFrame(probs, columns=["cat", "dog", "fox"]))
    one, other = (
        lw.Accumulator(class_names=names).update(probs)
        for names in (["cat", "dog", "fox"], ["fox", "dog", "cat"])
    )
    with refused(
        InputError, "only an Accumulator with the same classes in the same order can be merged"
    ):
        one.merge(other)


def test_functions_of_one_name_are_not_the_same_loss() -> None:
    a, b = (
        lw.Accumulator(lw.CustomLoss(lambda f, y, c=c: c * (1 - f) ** 2 if y else c * f**2))
        for c in (1, 2)
    )
    with pytest.raises(ValueError, match="only an Accumulator of the same kind can be merged"):
        a.update([0.5, 0.5]).merge(b.update([0.5, 0.5]))
