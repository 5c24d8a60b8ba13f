"""Every wrong input has its own sentence: the parameter, the rule, what came, the likely fix."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from strategies import KINDS, LOSSES, distributions, loss_id

NAMES = ["lung", "lymphoma", "melanoma"]
PROBS = np.array([[[0.7, 0.2, 0.1]], [[0.1, 0.8, 0.1]]])
NUMPY_AND_TORCH = pytest.mark.parametrize("lib", ["numpy", "torch"], indirect=True)  # JAX compiles each shape anew
LOGITS = np.array([[[2.0, -1.5, 0.0]], [[-3.0, 4.0, 1.0]]])


@contextmanager
def refused(error: type[Exception], *phrases: str) -> Iterator[None]:
    """The body raises ``error`` with a message that holds every phrase and does not trail off."""
    with pytest.raises(error) as caught:
        yield
    message = str(caught.value)
    for phrase in phrases:
        assert phrase in message
    assert type(caught.value) is error
    assert not message.endswith((".", " ", ";", ":"))


# --- probabilities: their values -------------------------------------------------------------------------------------------


def test_logits_instead_of_probabilities(lib: Any) -> None:
    with refused(ValueError, "`probs` must lie between 0 and 1", "range from -3 to 4", "(2, 1, 3)", "logits, use Ensemble.from_logits"):
        lw.Ensemble(lib.array(LOGITS))


def test_positive_logits(lib: Any) -> None:
    with refused(ValueError, "`probs` must lie between 0 and 1", "from 0.5 to 7.5", "Ensemble.from_logits"):
        lw.Ensemble(lib.array(LOGITS + 3.5))


def test_logits_for_multilabel(lib: Any) -> None:
    with refused(ValueError, "`probs` must lie between 0 and 1", "use MultiLabelEnsemble.from_logits"):
        lw.MultiLabelEnsemble(lib.array(LOGITS))


def test_class_labels_instead_of_probabilities(lib: Any) -> None:
    with refused(ValueError, "`probs` must lie between 0 and 1", "from 0 to 9", "Class labels must be one-hot encoded first"):
        lw.Ensemble(lib.array([[3, 0, 9], [3, 1, 9]]), member_axis=0)


@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_nan_and_infinity(lib: Any, bad: float, word: str) -> None:
    probs = PROBS.copy()
    probs[1, 0, 2] = bad
    sentence = f"`probs` must be finite; got {word} at index (1, 0, 2) (1 of 6 values are not finite)"
    with refused(ValueError, sentence, "Ensemble.from_logits", "drop these instances"):
        lw.Ensemble(lib.array(probs))


def test_negative(lib: Any) -> None:
    with refused(ValueError, "`probs` must lie between 0 and 1", "from -0.1 to 1.1"):
        lw.Ensemble(lib.array([[[-0.1, 1.1]]]))


def test_negative_by_rounding(lib: Any) -> None:
    with refused(ValueError, "`probs` must lie between 0 and 1", "from -1e-09 to 1", "If that is rounding, clip it: probs.clip(0, 1)"):
        lw.Ensemble(lib.array([[[-1e-9, 1 + 1e-9]]]))


def test_not_summing_to_one(lib: Any) -> None:
    sentence = "`probs` must sum to 1 over the class axis (K = 3 classes) within 1e-06; sums range from 0.5 to 1.9 for shape (2, 1, 3)"
    with refused(ValueError, sentence, "use Ensemble.from_logits", "may occur together, use MultiLabelEnsemble"):
        lw.Ensemble(lib.array([[[0.1, 0.2, 0.2]], [[0.9, 0.9, 0.1]]]))


def test_sums_a_little_off(lib: Any) -> None:
    with refused(ValueError, "sums range from 0.99 to 0.99", "divide by the sums", "if a class is left out, add it"):
        lw.Ensemble(lib.array(PROBS * 0.99))


def test_sums_are_right_on_another_axis(lib: Any) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3)).swapaxes(1, 2)  # (M, K, N)
    with refused(ValueError, "`probs` must sum to 1", "They do over axis 1: if the classes are there, pass class_axis=1"):
        lw.Ensemble(lib.array(probs))
    assert lw.Ensemble(lib.array(probs), class_axis=1).n_classes == 4


@pytest.mark.parametrize(("dtype", "fine", "wrong"), [("float64", 5e-7, 2e-6), ("float32", 5e-4, 2e-3), ("float16", 5e-3, 2e-2)])
@pytest.mark.parametrize("sign", [1, -1])
def test_tolerance_follows_the_dtype(lib: Any, dtype: str, fine: float, wrong: float, sign: int) -> None:
    def two(off: float) -> Any:
        return lib.array([[[0.25, 0.75 + sign * off]]], dtype)

    lw.Ensemble(two(fine))
    with refused(ValueError, "`probs` must sum to 1", f"within {2 * fine:g}"):
        lw.Ensemble(two(wrong))


def test_probabilities_are_not_renormalised(lib: Any) -> None:
    probs = np.array([[[0.25, 0.75 + 5e-7]]])
    np.testing.assert_array_equal(lib.numpy(lw.Ensemble(lib.array(probs)).probs), probs)


# --- probabilities: their shape --------------------------------------------------------------------------------------------


def test_two_axes_are_ambiguous(lib: Any) -> None:
    sentence = "`probs` of shape (2, 3) is ambiguous: 2 members' predictions for one instance, or one model's for 2 instances?"
    with refused(ValueError, sentence, "Pass member_axis=0 for the first", "probs[None]"):
        lw.Ensemble(lib.array(PROBS[:, 0]))
    assert lw.Ensemble(lib.array(PROBS[:, 0]), member_axis=0).n_members == 2
    assert lw.Ensemble(lib.array(PROBS[:, 0])[None]).n_members == 1


@pytest.mark.parametrize("make", [lw.Ensemble, lw.Ensemble.from_logits, lw.MultiLabelEnsemble])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_too_few_axes(lib: Any, make: Any, shape: tuple[int, ...]) -> None:
    with refused(ValueError, "must have at least 2 axes (members, ..., classes)", f"got shape {shape}"):
        make(lib.array(np.full(shape, 1 / 3)))


def test_members_probably_on_the_wrong_axis(lib: Any) -> None:
    probs = lib.array(np.full((100, 5, 4), 0.25))
    with pytest.warns(
        UserWarning, match=r"`probs` of shape \(100, 5, 4\) is interpreted as 100 members' predictions for 5 instances"
    ) as caught:
        assert lw.Ensemble(probs).n_members == 100
    assert "pass member_axis=1" in str(caught[0].message)
    assert "if this is correct, pass member_axis=0" in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("members", "instances", "warns"),
    [(33, 4, True), (32, 4, False), (40, 5, True), (39, 5, False), (100, 2, True), (100, 1, False), (100, 0, False)],
)
def test_only_many_more_members_than_instances_are_doubted(members: int, instances: int, warns: bool) -> None:
    """From 33 members and 8 times as many as instances; one instance is no sign of a mistake."""
    probs = np.full((members, instances, 4), 0.25)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lw.Ensemble(probs)
        assert len(caught) == warns
        lw.Ensemble(probs, member_axis=0)
        assert len(caught) == warns


@pytest.mark.parametrize("make", [lw.Ensemble.from_logits, lw.MultiLabelEnsemble])
def test_every_ensemble_warns_at_the_callers_line(make: Any) -> None:
    with pytest.warns(UserWarning, match="100 members' predictions") as caught:
        make(np.full((100, 5, 4), 0.25))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("shape", "options"),
    [((100, 5, 4), {"member_axis": 0}), ((100, 5, 4), {"member_axis": 1}), ((100, 1, 4), {}), ((32, 2, 4), {}), ((100, 50, 4), {})],
)
def test_plausible_members_raise_no_warning(shape: tuple[int, ...], options: dict[str, int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.Ensemble(np.full(shape, 0.25), **options)


def test_one_class(lib: Any) -> None:
    with refused(
        ValueError, "`probs` must have at least 2 classes (K) on its class axis; got K = 1", "(2, 4, 1)", "both columns, p and 1 − p"
    ):
        lw.Ensemble(lib.array(np.full((2, 4, 1), 0.3)))
    with refused(ValueError, "`alpha` must have at least 2 classes", "K = 1"):
        lw.Dirichlet(lib.array([[2.0]]))
    with refused(ValueError, "`mean` must have at least 2 classes", "K = 1"):
        lw.LogisticNormal(lib.array([[2.0]]), lib.array([[2.0]]))
    with refused(ValueError, "`logits` must have at least 2 classes", "K = 1"):
        lw.Ensemble.from_logits(lib.array(np.full((2, 4, 1), 0.3)))


def test_one_label_is_enough_for_multilabel(lib: Any) -> None:
    u = lw.decompose(lw.MultiLabelEnsemble(lib.array([[[0.2]], [[0.4]]])), "squared")
    np.testing.assert_allclose(lib.numpy(u.epistemic), [[0.01]])
    with refused(ValueError, "`probs` must have at least one label", "(2, 1, 0)"):
        lw.MultiLabelEnsemble(lib.array(np.ones((2, 1, 0))))


def test_no_members(lib: Any) -> None:
    with refused(ValueError, "`probs` must have at least one member; got shape (0, 4, 3) with members on axis 0"):
        lw.Ensemble(lib.array(np.ones((0, 4, 3))))
    with refused(ValueError, "`alpha` of a mixture must have at least one member; got shape (0, 4, 3)"):
        lw.DirichletMixture(lib.array(np.ones((0, 4, 3))))


@NUMPY_AND_TORCH
@pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
def test_no_instances(lib: Any, loss: lw.Loss) -> None:
    for kind, q in zip(KINDS, distributions(lib.array, n=0), strict=True):
        u = lw.decompose(q, loss)
        for part in (u.total, u.aleatoric, u.epistemic, u.normalized().total):
            assert tuple(part.shape) == (0, 3), kind
            assert type(part) is type(lib.array([0.0])), kind
            assert str(part.dtype).endswith("float64"), kind
        assert tuple(u.sum().normalized().total.shape) == (0,), kind
        assert tuple(q.mean().shape) == (0, 3), kind
        assert tuple(q.sample(5, rng=0).shape) == (5, 0, 3), kind


def test_no_instances_in_jax(optional: Any) -> None:
    jnp = optional("jax.numpy")
    for q in (lw.Ensemble(jnp.ones((2, 0, 3))), lw.Dirichlet(jnp.ones((0, 3)))):
        assert lw.decompose(q, "squared").sum().total.shape == (0,)


@NUMPY_AND_TORCH
def test_no_instances_with_events(lib: Any) -> None:
    for q in distributions(lib.array, n=0)[:-1]:
        for events in (lw.events.ordinal(3), lw.events.one_vs_one(3), lw.events.tree({"a": [0, 1], "b": [2]}, conditional=True)):
            assert tuple(lw.decompose(q, events=events).total.shape) == (0, len(events.names))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"member_axis": 3}, "`member_axis` must be one of the 3 axes of `probs`, from -3 to 2; got 3"),
        ({"class_axis": -4}, "`class_axis` must be one of the 3 axes of `probs`, from -3 to 2; got -4"),
        ({"class_axis": 0}, "`member_axis` and `class_axis` must be different axes of `probs`; both are 0"),
        ({"member_axis": -1}, "`member_axis` and `class_axis` must be different axes of `probs`; both are 2"),
    ],
)
def test_axes_that_are_not_there(options: dict[str, int], sentence: str) -> None:
    with refused(ValueError, sentence):
        lw.Ensemble(PROBS, **options)


@pytest.mark.parametrize("axis", ["0", 1.0, True])
def test_axes_that_are_not_integers(axis: Any) -> None:
    with refused(TypeError, "`member_axis` must be an integer", f"got {axis!r}"):
        lw.Ensemble(PROBS, member_axis=axis)


# --- types -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_votes_as_integers(lib: Any, dtype: str) -> None:
    convert = "probs.double()" if lib.name == "torch" else "probs.astype(float)"
    sentence = f"`probs` must be floating point; got {dtype} for shape (2, 1, 3)"
    with refused(TypeError, sentence, f"0/1 votes, convert them with {convert}", "one-hot"):
        lw.Ensemble(lib.array(PROBS > 0.5, dtype))


def test_integer_parameters(lib: Any) -> None:
    convert = "double()" if lib.name == "torch" else "astype(float)"
    with refused(TypeError, "`alpha` must be floating point; got int64", f"Convert with alpha.{convert}"):
        lw.Dirichlet(lib.array([1, 2], "int64"))
    with refused(TypeError, "`cov` must be floating point; got int64", f"Convert with cov.{convert}"):
        lw.LogisticNormal(lib.array([1.0, 2.0]), lib.array([1, 2], "int64"))
    with refused(TypeError, "`logits` must be floating point; got int64", f"Convert with logits.{convert}"):
        lw.Ensemble.from_logits(lib.array(LOGITS, "int64"))


def test_complex(lib: Any) -> None:
    with refused(TypeError, "`probs` must be real; got complex128 for shape (2, 1, 3)", "Take probs.real"):
        lw.Ensemble(lib.array(PROBS, "complex128"))
    with refused(TypeError, "`alpha` must be real"):
        lw.Dirichlet(lib.array([1, 2], "complex128"))


def test_half_precision_is_widened(lib: Any) -> None:
    u = lw.decompose(lw.Ensemble(lib.array(PROBS, "float16")), "squared")
    for part in (u.total, u.aleatoric, u.epistemic):
        assert type(part) is type(lib.array([0.0]))
        assert str(part.dtype).endswith("float32")
    np.testing.assert_allclose(lib.numpy(u.total), lw.decompose(lw.Ensemble(PROBS), "squared").total, rtol=2e-3)
    two = lib.array([1, 2], "float16")
    for x in (
        lw.Dirichlet(two).alpha,
        lw.DirichletMixture(two[None]).alpha,
        lw.LogisticNormal(two, two).loc,
        lw.LogisticNormal(two, two).cov,
        lw.MultiLabelEnsemble(lib.array(PROBS, "float16")).probs,
        lw.Ensemble.from_logits(lib.array(LOGITS, "float16")).probs,
    ):
        assert str(x.dtype).endswith("float32")


def test_bfloat16_is_widened(optional: Any) -> None:
    torch = optional("torch")
    q = lw.Ensemble(torch.tensor(PROBS).to(torch.bfloat16))
    assert q.probs.dtype == torch.float32
    with refused(ValueError, "within 0.01"):
        lw.Ensemble(torch.tensor(PROBS * 0.97).to(torch.bfloat16))


def test_single_precision_stays(lib: Any) -> None:
    for q in (lw.Ensemble(lib.array(PROBS, "float32")), lw.Ensemble(lib.array(PROBS, "float32"), weights=np.array([0.5, 0.25]))):
        assert str(lw.decompose(q, "squared").epistemic.dtype).endswith("float32")


def test_other_floats() -> None:
    with refused(TypeError, "`probs` must be float32 or float64", "Convert with probs.astype(float)"):
        lw.Ensemble(PROBS.astype(np.longdouble))
    swapped = lw.Ensemble(PROBS.astype(">f8"))
    assert swapped.probs.dtype.isnative
    np.testing.assert_array_equal(swapped.probs, PROBS)


def test_object_arrays() -> None:
    with refused(
        TypeError, "`probs` must be a rectangular array of numbers; got an object array of shape (2, 1, 3)", "np.stack", "astype(float)"
    ):
        lw.Ensemble(PROBS.astype(object))
    ragged = np.empty(2, object)
    ragged[:] = [np.ones(2) / 2, np.ones(3) / 3]
    with refused(TypeError, "got an object array of shape (2,)", "np.stack"):
        lw.Ensemble(ragged)


@pytest.mark.parametrize(
    ("value", "word"), [(None, "NoneType"), ({"a": 1}, "dict"), ((p for p in PROBS), "generator"), (lw.Ensemble, "the class Ensemble")]
)
def test_things_that_are_no_array(value: Any, word: str) -> None:
    with refused(TypeError, f"`probs` must be an array of numbers; got {word}"):
        lw.Ensemble(value)


def test_strings() -> None:
    with refused(TypeError, "`probs` must be numbers; got text", "(2, 1, 3)", "Convert with probs.astype(float)"):
        lw.Ensemble(PROBS.astype(str))
    with refused(TypeError, "`probs` must be numbers; got text"):
        lw.Ensemble(PROBS.astype("S8"))
    with refused(TypeError, "`alpha` must be numbers; got text"):
        lw.Dirichlet("alpha")


def test_dates() -> None:
    with refused(TypeError, "`probs` must be numbers; got datetime64[s]"):
        lw.Ensemble(np.zeros((2, 2, 2), "datetime64[s]"))


def test_ragged_lists() -> None:
    with refused(ValueError, "`probs` must be a rectangular array of numbers; got sequences of unequal lengths"):
        lw.Ensemble([[[0.5, 0.5]], [[0.2, 0.3, 0.5]]])


def test_lists_work() -> None:
    expected = lw.decompose(lw.Ensemble(PROBS)).total
    for probs in (PROBS.tolist(), tuple(PROBS), list(PROBS)):
        np.testing.assert_array_equal(lw.decompose(lw.Ensemble(probs)).total, expected)
    np.testing.assert_array_equal(lw.Ensemble([[[1, 0]], [[0, 1]]]).mean(), [[0.5, 0.5]])
    np.testing.assert_array_equal(lw.Dirichlet([2, 1, 1]).mean(), [0.5, 0.25, 0.25])
    assert lw.Ensemble([member.astype("float32") for member in PROBS]).probs.dtype == np.float32
    lw.Ensemble([np.array([[0.25, 0.7505]], "float32")])  # the tolerance is that of the members


def test_list_of_tensors_stays_in_its_library(lib: Any) -> None:
    members = [lib.array(member) for member in PROBS]
    q = lw.Ensemble(members)
    assert type(q.probs) is type(members[0])
    np.testing.assert_array_equal(lib.numpy(q.probs), PROBS)


def test_list_of_tensors_keeps_gradients(optional: Any) -> None:
    torch = optional("torch")
    members = [torch.tensor(member, requires_grad=True) for member in PROBS]
    lw.decompose(lw.Ensemble(members), "squared").sum().total.sum().backward()
    np.testing.assert_allclose(members[0].grad.numpy(), (0.5 * (1 - 2 * PROBS.mean(0))))


def test_list_of_mixed_libraries(optional: Any) -> None:
    torch = optional("torch")
    with refused(ValueError, "`probs` must be arrays of one library and of equal shape when given as a list"):
        lw.Ensemble([torch.tensor(PROBS[0]), PROBS[1]])
    with refused(ValueError, "`probs` must be arrays of one library and of equal shape when given as a list", "[1, 3]"):
        lw.Ensemble([torch.tensor(PROBS[0]), torch.tensor(PROBS[1, :, :2])])


def test_masked_arrays() -> None:
    with refused(ValueError, "`probs` must be complete; got a masked array with 2 of 6 values masked", "Drop the masked instances"):
        lw.Ensemble(np.ma.masked_array(PROBS, mask=PROBS > 0.5))
    u = lw.decompose(lw.Ensemble(np.ma.masked_array(PROBS)))
    assert type(u.total) is np.ndarray
    np.testing.assert_array_equal(u.total, lw.decompose(lw.Ensemble(PROBS)).total)


def test_subclasses_of_arrays(tmp_path: Any) -> None:
    np.save(tmp_path / "probs.npy", PROBS)
    mapped = np.load(tmp_path / "probs.npy", mmap_mode="r")
    assert np.shares_memory(lw.Ensemble(mapped).probs, mapped)
    assert type(lw.Ensemble(mapped).probs) is np.ndarray
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix(PROBS[:, 0])
    assert lw.Ensemble(matrix, member_axis=0).mean().shape == (3,)


def test_sparse_matrices(optional: Any) -> None:
    from scipy.sparse import csr_array

    with refused(TypeError, "`alpha` must be a dense array; got csr_array, which is sparse", "alpha.toarray()"):
        lw.Dirichlet(csr_array(np.eye(3)))
    torch = optional("torch")
    with refused(TypeError, "`alpha` must be a dense array; got Tensor, which is sparse", "alpha.to_dense()"):
        lw.Dirichlet(torch.eye(3).to_sparse())


def test_data_frames(optional: Any) -> None:
    pandas = optional("pandas")
    frame = pandas.DataFrame(PROBS[:, 0].astype("float32"), columns=NAMES)
    q = lw.Ensemble(frame, member_axis=0, class_names=frame.columns)
    assert q.probs.dtype == np.float32
    assert q.class_names == tuple(NAMES)
    assert lw.Ensemble([frame, frame]).probs.shape == (2, 2, 3)
    lw.Ensemble([pandas.DataFrame(np.array([[0.25, 0.7505]], "float32"))])  # the tolerance of its columns
    np.testing.assert_allclose(lw.Ensemble(PROBS, weights=pandas.Series([1, 3])).mean(), 0.25 * PROBS[0] + 0.75 * PROBS[1])
    with refused(TypeError, "`probs` must be a rectangular array of numbers; got an object array of shape (2, 4)"):
        lw.Ensemble(frame.assign(patient=["a", "b"]), member_axis=0)


def test_not_a_distribution() -> None:
    with refused(TypeError, "`q` must be a distribution such as lw.Ensemble(probs) or lw.Dirichlet(alpha); got ndarray"):
        lw.decompose(PROBS)
    with refused(TypeError, "`q` must be a distribution", "got the class Ensemble"):
        lw.decompose(lw.Ensemble)


def test_logits_may_rule_a_class_out_but_not_all(lib: Any) -> None:
    logits = LOGITS.copy()
    logits[0, 0, 1] = -np.inf
    assert float(lw.Ensemble.from_logits(lib.array(logits)).probs[0, 0, 1]) == 0
    logits[0, 0, :] = -np.inf
    with refused(ValueError, "`logits` must leave at least one class possible"):
        lw.Ensemble.from_logits(lib.array(logits))
    for bad, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        logits[0, 0, 2] = bad
        with refused(ValueError, f"`logits` must be finite; got {word} at index (0, 0, 2)"):
            lw.Ensemble.from_logits(lib.array(logits))


# --- weights ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (1, 2), (2, 2), (), (2, 1, 3)])
def test_weights_that_do_not_fit(lib: Any, shape: tuple[int, ...]) -> None:
    with refused(ValueError, f"`weights` must have one value per member, shape (2,) or (2, 1); got shape {shape}"):
        lw.Ensemble(lib.array(PROBS), weights=np.ones(shape))


def test_weights_with_wrong_values(lib: Any) -> None:
    def make(weights: Any) -> None:
        lw.Ensemble(lib.array(PROBS), weights=lib.array(weights))

    with refused(ValueError, "`weights` must not be negative; the lowest is -1"):
        make([-1, 2])
    with refused(ValueError, "`weights` must not be 0 for all members; got only zeros"):
        make([0, 0])
    with refused(ValueError, "`weights` must be finite; got NaN at index (1,)"):
        make([1, np.nan])
    with refused(ValueError, "`weights` must be finite; got infinity at index (0,)"):
        make([np.inf, 1])
    with refused(ValueError, "`weights` are too large to be summed; the largest is 1e+308"):
        make([1e308, 1e308])


def test_weights_of_one_instance_all_zero(lib: Any) -> None:
    probs = np.repeat(PROBS, 3, axis=1)
    with refused(ValueError, "`weights` must not be 0 for all members; got only zeros for the instance at (2,)"):
        lw.Ensemble(lib.array(probs), weights=lib.array([[1, 0, 0], [0, 1, 0]]))
    with refused(ValueError, "`weights` must not be 0 for all members; got only zeros for the instance at (0, 1)"):
        lw.DirichletMixture(lib.array(np.ones((2, 1, 2, 3))), np.array([[[1, 0]], [[1, 0]]]))


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (["a", "b"], "`weights` must be numbers; got text"),
        ([1j, 1], "`weights` must be real; got complex128"),
        ([True, False], "`weights` must be floating point; got bool"),
        ({"a": 1}, "`weights` must be an array of numbers; got dict"),
    ],
)
def test_weights_that_are_no_numbers(weights: Any, sentence: str) -> None:
    with refused(TypeError, sentence):
        lw.Ensemble(PROBS, weights=weights)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8"])
def test_weights_of_other_types(lib: Any, dtype: str) -> None:
    for weights in (lib.array([1, 3], dtype), np.array([1, 3], dtype), [1, 3]):
        for probs in ("float64", "float32"):
            mean = lw.Ensemble(lib.array(PROBS, probs), weights=weights).mean()
            assert str(mean.dtype).endswith(probs)
            np.testing.assert_allclose(lib.numpy(mean), 0.25 * PROBS[0] + 0.75 * PROBS[1], rtol=1e-6)


def test_weights_of_extreme_size() -> None:
    mean = lw.Ensemble(PROBS.astype("float32"), weights=[1e-300, 3e-300]).mean()
    np.testing.assert_allclose(mean, 0.25 * PROBS[0] + 0.75 * PROBS[1], rtol=1e-6)


def test_weights_of_another_library(lib: Any, optional: Any) -> None:
    foreign = optional("torch").tensor([1.0, 2.0]) if lib.name != "torch" else optional("jax.numpy").asarray([1.0, 2.0])
    got = "JAX and PyTorch" if lib.name == "torch" else f"PyTorch and {'NumPy' if lib.name == 'numpy' else 'JAX'}"
    with refused(TypeError, f"`weights` and `probs` must come from the same array library; got {got}", "Convert `weights` first"):
        lw.Ensemble(lib.array(PROBS), weights=foreign)


def test_mean_and_covariance_of_two_libraries(optional: Any) -> None:
    torch = optional("torch")
    with refused(TypeError, "`cov` and `mean` must come from the same array library; got PyTorch and NumPy"):
        lw.LogisticNormal(np.zeros(2), torch.ones(2))
    mixed = lw.LogisticNormal(torch.zeros(2, dtype=torch.float32), np.ones(2))
    assert mixed.cov.dtype == torch.float32


# --- names -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda n: lw.Ensemble(PROBS, class_names=n), lambda n: lw.Dirichlet(np.ones(3), class_names=n)])
def test_names(make: Any) -> None:
    with refused(ValueError, "`class_names` must name each of the K = 3 classes; got 2 names: 'a', 'b'"):
        make(["a", "b"])
    with refused(ValueError, "`class_names` must be distinct; got 'b' twice"):
        make(["a", "b", "b"])
    for value in ("abc", {"a", "b", "c"}, {0: "a", 1: "b", 2: "c"}, 3):
        with refused(TypeError, "`class_names` must be a sequence of 3 class names, in the order of the classes", repr(value)):
            make(value)
    assert make(np.array(["a", "b", "c"])).class_names == ("a", "b", "c")
    assert make([1, 2, 3]).class_names == ("1", "2", "3")


def test_picking_a_label() -> None:
    u = lw.decompose(lw.Ensemble(PROBS, class_names=NAMES))
    for typo, hint in (
        ("lugn", "Did you mean 'lung'?"),
        ("LUNG", "Did you mean 'lung'?"),
        ("xyz", "Known: 'lung', 'lymphoma', 'melanoma'"),
    ):
        with pytest.raises(KeyError, match=f"no label '{typo}'") as caught:
            u[typo]
        assert hint in str(caught.value)


# --- losses ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "hint"),
    [
        ("breir", "'brier'"),
        ("Log", "'log'"),
        ("zero-one", "'zero_one'"),
        ("sqared", "'squared'"),
        ("entropy", "'log'"),
        ("variance", "'squared'"),
        ("cost", "lw.CostLoss(false_positive=..., false_negative=...)"),
        ("cost_matrix", "lw.joint.CostMatrix(costs) with lw.joint.decompose"),
    ],
)
def test_unknown_loss(loss: str, hint: str) -> None:
    rule = "`loss` must be one of 'log', 'squared', 'spherical', 'zero_one' or a Loss"
    with pytest.raises(ValueError, match="`loss`") as caught:
        lw.decompose(lw.Ensemble(PROBS), loss)
    assert str(caught.value) == f"{rule}; got {loss!r}. Did you mean {hint}?"


def test_unknown_loss_without_a_suggestion() -> None:
    with refused(ValueError, "got 'xyzzy'. Known: 'log', 'squared', 'brier', 'spherical', 'zero_one'"):
        lw.decompose(lw.Ensemble(PROBS), "xyzzy")


def test_function_class_or_nothing_as_loss() -> None:
    def absolute(forecast: Any, y: int) -> Any:
        return abs(forecast - y)

    with refused(TypeError, "`loss` must be one of", "got the function 'absolute'", "Wrap your own φ(forecast, y): lw.CustomLoss(phi)"):
        lw.decompose(lw.Ensemble(PROBS), absolute)  # type: ignore[arg-type]
    with refused(TypeError, "`loss` must be one of", "got the class LogLoss", "lw.LogLoss(...)"):
        lw.decompose(lw.Ensemble(PROBS), lw.LogLoss)  # type: ignore[arg-type]
    with refused(TypeError, "`loss` must be one of", "got None"):
        lw.decompose(lw.Ensemble(PROBS), None)  # type: ignore[arg-type]


def test_cost_matrix_as_the_loss_of_a_label() -> None:
    matrix = np.ones((3, 3)) - np.eye(3)
    with refused(TypeError, "got CostMatrix, a joint loss for all classes. Use it with lw.joint.decompose(q, loss)"):
        lw.decompose(lw.Ensemble(PROBS), lw.joint.CostMatrix(matrix))  # type: ignore[arg-type]
    with refused(TypeError, "got CostMatrix", "Instantiate it: lw.joint.CostMatrix(...)"):
        lw.joint.decompose(lw.Ensemble(PROBS), lw.joint.CostMatrix)  # type: ignore[arg-type]
    for costs in (matrix, matrix.tolist()):
        for decompose in (lw.decompose, lw.joint.decompose):
            with refused(TypeError, "got a matrix", "lw.joint.decompose(q, lw.joint.CostMatrix(costs))", "lw.CostLoss("):
                decompose(lw.Ensemble(PROBS), costs)


@pytest.mark.parametrize("base", [1, 0, -2, 0.5, math.nan, math.inf])
def test_base_of_the_log_loss(base: float) -> None:
    with refused(ValueError, "`base` must be finite and greater than 1, or entropies are negative", f"got {base!r}"):
        lw.LogLoss(base=base)


@pytest.mark.parametrize("base", ["2", None])
def test_base_that_is_no_number(base: Any) -> None:
    with refused(TypeError, "`base` must be a number", f"got {base!r}", "base=math.e for nats"):
        lw.LogLoss(base=base)


@pytest.mark.parametrize("value", [-1, -1.5, math.nan, math.inf])
def test_beta_parameters(value: float) -> None:
    with refused(ValueError, "`a` must be finite and greater than -1, or the loss has no finite entropy", f"got {value!r}"):
        lw.BetaLoss(value, 0)
    with refused(ValueError, "`b` must be finite and greater than -1"):
        lw.BetaLoss(0, value)


def test_beta_parameters_of_other_kinds() -> None:
    with refused(ValueError, "`b` must be at most 100", "got 101"):
        lw.BetaLoss(1, 101)
    with refused(TypeError, "`a` must be a number greater than -1; got '1'"):
        lw.BetaLoss("1", 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("side", ["false_positive", "false_negative"])
def test_costs(side: str) -> None:
    def make(value: Any) -> lw.CostLoss:
        return lw.CostLoss(**{"false_positive": 1, "false_negative": 1, side: value})

    for bad in (-1, math.nan, math.inf):
        with refused(
            ValueError, f"`{side}` must be a finite cost, not negative; got {bad}", "Express a gain by lowering the alternative's cost"
        ):
            make(bad)
        with refused(ValueError, f"`{side}` of 'lung' must be a finite cost, not negative; got {bad}"):
            make({"lung": bad})
    for odd in ("1", None, True, 1j):
        with refused(TypeError, f"`{side}` must be a number; got {odd!r}", "Costs per class are given by name"):
            make(odd)
    q = lw.Ensemble(PROBS, class_names=NAMES)
    with refused(ValueError, f"`{side}` names 'lugn', which is not a class or event. Did you mean 'lung'?"):
        lw.decompose(q, make({"lugn": 1, "lymphoma": 1, "melanoma": 1}))
    for measure in ("total", "aleatoric", "epistemic"):  # classes that are not named cost 1
        named, short = (getattr(lw.decompose(q, make(costs)), measure) for costs in ({**dict.fromkeys(NAMES, 1), "lung": 7}, {"lung": 7}))
        assert np.array_equal(named, short)
    with refused(ValueError, f"`{side}` must give one cost per class, shape (3,); got shape (2,)", "by name: {'lung': ..., ...}"):
        lw.decompose(q, make([1, 2]))
    with refused(ValueError, "costs given by name need the names"):
        make({"lung": 1}).entropy(0.5)


def test_improper_custom_loss() -> None:
    place = "when the truth is 0.3, forecasting 1e-06 costs 0.3 and the truth itself 0.42"
    with refused(ValueError, "`phi` must be a proper loss; it is not proper", place):
        lw.CustomLoss(lambda f, y: abs(f - y))


@pytest.mark.parametrize("shift", [-1.0, -1e-4])
def test_negative_custom_loss(shift: float) -> None:
    with refused(
        ValueError, "`phi` must have an entropy φ(t, t) that is never negative", f"it is {shift:g} at t = ", "Add a constant to it"
    ):
        lw.CustomLoss(lambda f, y: (f - y) ** 2 + shift)


@pytest.mark.parametrize(
    ("phi", "error", "sentence"),
    [
        (lambda f, y: 1.0, ValueError, "`phi` must return one loss per forecast; got shapes () and ()"),
        (lambda f, y: f * np.nan, ValueError, "`phi` must be finite for forecasts strictly between 0 and 1; got NaN"),
        (lambda f: f, TypeError, "`phi` must be a function φ(forecast, y) of an array of forecasts and y = 0 or 1"),
        (lambda f, y: math.log(f), TypeError, "called with a NumPy array it failed"),
        ("log", TypeError, "`phi` must be a function φ(forecast, y), or a Loss; got 'log'"),
        (lw.LogLoss(), TypeError, "got a LogLoss, which is already a loss"),
    ],
)
def test_custom_losses_that_are_no_losses(phi: Any, error: type[Exception], sentence: str) -> None:
    with refused(error, sentence):
        lw.CustomLoss(phi)


# --- events ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "error", "sentence"),
    [
        ({"a": ["lugn"]}, ValueError, "`events`: 'a' names the unknown class 'lugn'. Did you mean 'lung'?"),
        ({"a": ["xyz"]}, ValueError, "`events`: 'a' names the unknown class 'xyz'. Known: 'lung', 'lymphoma', 'melanoma'"),
        ({"a": [0, 3]}, ValueError, "`events`: 'a' names class 3, but the positions run from 0 to 2 (K = 3)"),
        ({"a": [-1]}, ValueError, "`events`: 'a' names class -1, but the positions run from 0 to 2"),
        ({"a": []}, ValueError, "`events`: 'a' has no classes; an event that never occurs has no uncertainty"),
        ({}, ValueError, "`events` must name at least one event; got an empty mapping"),
        ({"a": [0, 0]}, ValueError, "`events`: 'a' names a class twice: [0, 0]"),
        ({"a": ["lung", 0]}, ValueError, "`events`: 'a' names a class twice: ['lung', 0]"),
        ({1: [0], "1": [1]}, ValueError, "`events` must have different names; got '1' twice"),
        ({"a": "lung"}, TypeError, "`events`: 'a' must be a list of classes, such as ['lung', 'lymphoma'] or [0, 1]; got 'lung'"),
        ({"a": 0}, TypeError, "`events`: 'a' must be a list of classes"),
        ({"a": [1.0]}, TypeError, "`events`: classes are given by name or position; got 1.0 in 'a'"),
        ({"a": [True]}, TypeError, "`events`: classes are given by name or position; got True in 'a'"),
        (["lung"], TypeError, "`events` must be a mapping such as {'malignant': ['lung', 'lymphoma']}"),
        ("ordinal", TypeError, "or made by lw.events.ordinal(K), .tree({...}) or .one_vs_one(K); got 'ordinal'"),
        (lw.events.ordinal(4), ValueError, "`events` (ordinal) were made for 4 classes; the prediction has K = 3"),
        (lw.events.one_vs_one(2), ValueError, "`events` (one_vs_one) were made for 2 classes; the prediction has K = 3"),
        (lw.events.ordinal(["lung", "lymphoma", "x"]), ValueError, "names the unknown class 'x'"),
    ],
)
def test_events(events: Any, error: type[Exception], sentence: str) -> None:
    with refused(error, sentence):
        lw.decompose(lw.Ensemble(PROBS, class_names=NAMES), events=events)
    with refused(error, sentence):
        lw.Dirichlet(np.ones(3), class_names=NAMES).mean(events)


def test_events_by_name_need_names() -> None:
    with refused(ValueError, "`events`: 'a' names the class 'lung', but the prediction has no class names. Pass `class_names` to it"):
        lw.decompose(lw.Ensemble(PROBS), events={"a": ["lung"]})


@pytest.mark.parametrize("family", [lw.events.ordinal, lw.events.one_vs_one])
def test_classes_of_a_family(family: Any) -> None:
    for value in (1, 0, -3, ["a"], []):
        with refused(ValueError, "`classes` must be at least 2", f"got {value!r}"):
            family(value)
    for value in ("abc", 2.5, None, True, {"a": 1, "b": 2}):
        with refused(TypeError, "`classes` must be the number of classes or the sequence of their names", f"got {value!r}"):
            family(value)
    with refused(ValueError, "`classes` must have different names; got 'a' twice"):
        family(["a", "b", "a"])
    assert family(np.int64(3)) == family(3)


@pytest.mark.parametrize(
    ("spec", "error", "sentence"),
    [
        ({}, TypeError, "`spec` must map node names to children, such as {'malignant': ['lung', 'lymphoma']}; got {}"),
        (["a", "b"], TypeError, "`spec` must map node names to children"),
        ({"a": []}, ValueError, "`spec`: 'a' has no classes below it"),
        ({"a": {"b": {}}}, ValueError, "`spec`: 'b' has no classes below it"),
        ({"a": 1.5}, TypeError, "`spec`: the children of 'a' must be a mapping or a list of classes; got 1.5"),
        ({"a": [["x", "y"], "z"]}, TypeError, "`spec`: every group needs a name; got ['x', 'y'] among the children of 'a'"),
        ({"a": ["x"], "b": ["x", "y"]}, ValueError, "the nodes of `spec` must have different names; got 'x' twice"),
    ],
)
def test_trees(spec: Any, error: type[Exception], sentence: str) -> None:
    with refused(error, sentence):
        lw.events.tree(spec)


# --- parameters of distributions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lw.Dirichlet, lambda alpha: lw.DirichletMixture(alpha[None])])
def test_alpha(lib: Any, make: Any) -> None:
    for bad in (0.0, -1.0):
        with refused(ValueError, f"`alpha` must be positive; the lowest is {bad:g}", "From evidence e ≥ 0, alpha is e + 1"):
            make(lib.array([[bad, 1.0]]))
    for bad, word in ((np.inf, "infinity"), (np.nan, "NaN")):
        with refused(ValueError, f"`alpha` must be finite; got {word} at index"):
            make(lib.array([[bad, 1.0]]))


def test_alpha_of_wrong_shape(lib: Any) -> None:
    with refused(ValueError, "`alpha` must have at least 1 axis (..., classes); got a single number"):
        lw.Dirichlet(lib.array(2.0))
    with refused(ValueError, "`alpha` of a mixture must have at least 2 axes (members, ..., classes); got shape (3,)"):
        lw.DirichletMixture(lib.array([1.0, 1.0, 1.0]))


def test_covariance(lib: Any) -> None:
    mean, eye = lib.array(np.zeros((2, 3))), np.broadcast_to(np.eye(3), (2, 3, 3))

    def make(cov: Any) -> None:
        lw.LogisticNormal(mean, lib.array(cov))

    with refused(ValueError, "`cov` must be symmetric; cov and its transpose differ by up to 0.5", "(cov + cov.T) / 2 if that is rounding"):
        make(eye + 0.5 * np.eye(3, k=1))
    with refused(ValueError, "`cov` must be positive semi-definite; its lowest eigenvalue is -5"):
        make(eye - 2)
    with refused(ValueError, "`cov` holds variances and must not be negative; the lowest is -0.5"):
        make(np.full((2, 3), -0.5))
    with refused(ValueError, "`cov` must be finite; got NaN at index (0, 0)"):
        make(np.full((2, 3), np.nan))
    with refused(ValueError, "`mean` must be finite; got infinity at index (0,)"):
        lw.LogisticNormal(lib.array([np.inf, 0]), lib.array([1, 1]))
    shapes = "`cov` must have the shape of `mean`, (2, 3) (variances), or (2, 3, 3) (covariances)"
    with refused(ValueError, shapes, "got (3, 3). To share it among the instances: np.broadcast_to(cov, (2, 3, 3))"):
        make(np.eye(3))
    with refused(ValueError, shapes, "got (3,). To share it among the instances: np.broadcast_to(cov, (2, 3))"):
        make(np.ones(3))
    with refused(ValueError, shapes, "got (2, 2)"):
        make(np.ones((2, 2)))
    with refused(ValueError, "`mean` must have at least 1 axis (..., classes); got a single number"):
        lw.LogisticNormal(lib.array(0.0), lib.array(1.0))


@pytest.mark.parametrize("points", [100, 8, 128.0, 0])
def test_points(points: Any) -> None:
    with refused(ValueError, "`points` must be a power of 2, at least 16", f"got {points!r}"):
        lw.LogisticNormal([0.0, 1.0], [1.0, 1.0], points=points)


@pytest.mark.parametrize("rng", ["a", -1, 1.5])
def test_seed(rng: Any) -> None:
    with refused(TypeError, "`rng` must be None, an integer seed from 0 or a numpy.random.Generator", f"got {rng!r}"):
        lw.LogisticNormal([0.0, 1.0], [1.0, 1.0], rng=rng)


@pytest.mark.parametrize("q", distributions(), ids=KINDS)
def test_sampling(q: Any) -> None:
    for rng in (1.5, True, -1, "seed"):
        with refused(TypeError, "`rng` must be None, an integer seed from 0 or a numpy.random.Generator", f"got {rng!r}"):
            q.sample(3, rng=rng)
    for n in (2.5, "3", True):
        with refused(TypeError, "`n` must be a number of draws, an integer", f"got {n!r}"):
            q.sample(n, rng=0)
    with refused(ValueError, "`n` must be a number of draws, not negative; got -1"):
        q.sample(-1, rng=0)


# --- the result ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("correction", ["jacknife", True, 1])
def test_unknown_correction(correction: Any) -> None:
    with refused(ValueError, "`correction` must be 'jackknife' or None", f"got {correction!r}"):
        lw.decompose(lw.Ensemble(PROBS), correction=correction)


@pytest.mark.parametrize("q", distributions()[1:6], ids=KINDS[1:6])
def test_jackknife_of_what_is_no_plain_ensemble(q: Any) -> None:
    sentence = "defined for equally weighted members; got `weights`" if isinstance(q, lw.Ensemble) else f"{type(q).__name__} has no members"
    with refused(ValueError, "`correction`: the jackknife", sentence):
        lw.decompose(q, correction="jackknife")


@pytest.mark.parametrize("loss", ["zero_one", lw.CostLoss(1, 2)])
def test_jackknife_of_a_loss_with_a_corner(loss: Any) -> None:
    with refused(ValueError, "`correction`: the jackknife needs a smooth loss", "has a kink", "Leave `correction` out"):
        lw.decompose(lw.Ensemble(PROBS), loss, correction="jackknife")


def test_jackknife_of_one_member() -> None:
    with refused(ValueError, "`correction`: the jackknife needs at least 2 members; got M = 1"):
        lw.decompose(lw.Ensemble(PROBS[:1]), correction="jackknife")


@pytest.mark.parametrize(
    ("weights", "error", "sentence"),
    [
        ([1, 2], ValueError, "`weights` must have one value per label, shape (3,); got shape (2,)"),
        (3, ValueError, "`weights` must have one value per label, shape (3,); got shape ()"),
        ([1, 2, -1], ValueError, "`weights` must be finite and not negative; got -1"),
        ([1, np.nan, 1], ValueError, "`weights` must be finite and not negative; got nan"),
        ([1, np.inf, 1], ValueError, "`weights` must be finite and not negative; got inf"),
        ({"lung": 1, "lymphoma": 1}, ValueError, "`weights` must give one value for each label; missing: 'melanoma'"),
        (
            {"lung": 1, "lymphoma": 1, "melanomma": 1},
            ValueError,
            "`weights` names 'melanomma', which is not a label. Did you mean 'melanoma'?",
        ),
        (["a", "b", "c"], TypeError, "`weights` must be numbers; got text"),
        ([1, 2, 3j], TypeError, "`weights` must be real"),
        ([[1, 2], [3]], ValueError, "`weights` must be a rectangular array of numbers"),
    ],
)
def test_weights_of_a_sum(weights: Any, error: type[Exception], sentence: str) -> None:
    with refused(error, sentence):
        lw.decompose(lw.Ensemble(PROBS, class_names=NAMES)).sum(weights)


def test_nothing_to_normalize_by() -> None:
    q = lw.Ensemble(PROBS, class_names=NAMES)
    some = lw.decompose(q, lw.CostLoss({"lung": 0, "lymphoma": 1, "melanoma": 1}, 1))
    with refused(
        ValueError, "`normalized` divides by the largest value of each label, which is 0 for 'lung' because one of its costs is 0"
    ):
        some.normalized()
    with refused(ValueError, "`normalized` divides by the maximum of the sum, which is 0"):
        lw.decompose(q, lw.CostLoss(0, 1)).sum().normalized()
    with refused(ValueError, "`normalized` divides by the maximum of the sum, which is 0"):
        lw.decompose(q).sum([0, 0, 0]).normalized()
    tree = lw.decompose(q, events=lw.events.tree({"a": ["lung"], "b": ["lymphoma", "melanoma"]}))
    with refused(ValueError, "`normalized` needs the maximum of the sum, which is not known for these events"):
        tree.sum([1, 1, 1, 1, 1]).normalized()


USES = {
    "log": lambda q: lw.decompose(q, "log"),
    "squared": lambda q: lw.decompose(q, "squared"),
    "spherical": lambda q: lw.decompose(q, "spherical"),
    "corrected": lambda q: lw.decompose(q, correction="jackknife"),
    "mean": lambda q: q.mean(),
    "sample": lambda q: q.sample(2, rng=0),
    "one": lambda q: q[0],
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", [lw.Ensemble, lw.MultiLabelEnsemble])
def test_large_arrays_are_checked_when_they_are_first_used(use, kind):
    p = np.full((3, 50_000, 2), 0.5)
    q = kind(p)
    assert q.pending
    USES[use](q)
    assert not q.pending
    p[1, 700, 1] = 1.5
    q = kind(p)
    for _ in range(2):  # and again when it is used again
        with pytest.raises(ValueError, match=r"`probs` must lie between 0 and 1; values range from 0\.5 to 1\.5"):
            USES[use](q)
    p[1, 700, 1] = 0.4
    if kind is lw.MultiLabelEnsemble:
        USES[use](kind(p))
    else:
        with pytest.raises(ValueError, match=r"must sum to 1 over the class axis .* sums range from 0.9 to 1 "):
            USES[use](kind(p))


def test_large_arrays_without_a_common_stride_are_checked():
    p = np.full((3, 300, 2, 400), 0.5)[:, ::2].transpose(0, 1, 3, 2)[:, :, ::3]
    p = np.concatenate([p] * 4, axis=1).transpose(0, 2, 1, 3)
    assert lw.decompose(lw.Ensemble(p), "log").total.shape == (134, 600, 2)
    p[2, 5, 5, 0] = np.nan
    with pytest.raises(ValueError, match="`probs`"):
        lw.decompose(lw.Ensemble(p), "log")


def test_large_joint_decompositions_are_checked():
    p = np.full((3, 50_000, 2), 0.5)
    p[0, 0, 0] = -0.5
    for loss in ("log", "squared", "spherical"):
        with pytest.raises(ValueError, match="must lie between"):
            lw.joint.decompose(lw.Ensemble(p), loss)
