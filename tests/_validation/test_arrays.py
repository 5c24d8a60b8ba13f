"""Types of arrays: what is converted, and what is refused with a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from wrong_input import LOGITS, NAMES, PROBS, refused

RULE = (
    "`{}` must be real and floating point (float64 or float32; float16 and bfloat16 are widened); "
    "got {} for shape {}. Convert with {}"
)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "complex128"])
def test_other_numbers(lib: Any, dtype: str) -> None:
    convert = "double()" if lib.name == "torch" else "astype(float)"
    with refused(TypeError, RULE.format("probs", dtype, "(2, 1, 3)", f"probs.{convert}")):
        lw.Ensemble(lib.array(PROBS > 0.5, dtype))


def test_integer_parameters(lib: Any) -> None:
    two = lib.array([1, 2], "int64")
    for name, make in (
        ("alpha", lambda: lw.Dirichlet(two)),
        ("cov", lambda: lw.LogisticNormal(lib.array([1.0, 2.0]), two)),
        ("logits", lambda: lw.Ensemble.from_logits(lib.array(LOGITS, "int64"))),
    ):
        with refused(TypeError, f"`{name}` must be real and floating point", "got int64"):
            make()


def test_half_precision_is_widened(lib: Any) -> None:
    u = lw.decompose(lw.Ensemble(lib.array(PROBS, "float16")), "squared")
    for part in (u.total, u.aleatoric, u.epistemic):
        assert type(part) is type(lib.array([0.0]))
        assert str(part.dtype).endswith("float32")
    np.testing.assert_allclose(
        lib.numpy(u.total), lw.decompose(lw.Ensemble(PROBS), "squared").total, rtol=2e-3
    )
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
    for q in (
        lw.Ensemble(lib.array(PROBS, "float32")),
        lw.Ensemble(lib.array(PROBS, "float32"), weights=np.array([0.5, 0.25])),
    ):
        assert str(lw.decompose(q, "squared").epistemic.dtype).endswith("float32")


def test_other_floats() -> None:
    with refused(TypeError, "`probs` must be real and floating point", "got float128"):
        lw.Ensemble(PROBS.astype(np.longdouble))
    swapped = lw.Ensemble(PROBS.astype(">f8"))
    assert swapped.probs.dtype.isnative
    np.testing.assert_array_equal(swapped.probs, PROBS)


def test_object_arrays() -> None:
    with refused(TypeError, RULE.format("probs", "object", "(2, 1, 3)", "probs.astype(float)")):
        lw.Ensemble(PROBS.astype(object))


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (None, "NoneType"),
        ({"a": 1}, "dict"),
        ((p for p in PROBS), "generator"),
        (lw.Ensemble, "the class Ensemble"),
    ],
)
def test_things_that_are_no_array(value: Any, word: str) -> None:
    with refused(TypeError, f"`probs` must be an array of numbers; got {word}"):
        lw.Ensemble(value)


@pytest.mark.parametrize("dtype", ["U24", "S8", "datetime64[s]"])
def test_what_is_no_number(dtype: str) -> None:
    with refused(TypeError, "`probs` must be real and floating point"):
        lw.Ensemble(np.zeros((2, 2, 2), dtype))


def test_ragged_lists() -> None:
    with refused(
        ValueError,
        "`probs` must be a rectangular array of numbers; got sequences of unequal lengths",
    ):
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
    with refused(
        ValueError, "`probs` must be arrays of one library and of equal shape when given as a list"
    ):
        lw.Ensemble([torch.tensor(PROBS[0]), PROBS[1]])
    with refused(
        ValueError,
        "`probs` must be arrays of one library and of equal shape when given as a list",
        "[1, 3]",
    ):
        lw.Ensemble([torch.tensor(PROBS[0]), torch.tensor(PROBS[1, :, :2])])


def test_masked_arrays() -> None:
    with refused(
        ValueError,
        "`probs` must be complete; got a masked array with 2 of 6 values masked",
        "Drop the masked instances",
    ):
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


def test_sparse_matrices() -> None:
    from scipy.sparse import csr_array

    with refused(TypeError, "`alpha` must be an array of numbers; got csr_array"):
        lw.Dirichlet(csr_array(np.eye(3)))


def test_data_frames(optional: Any) -> None:
    pandas = optional("pandas")
    frame = pandas.DataFrame(PROBS[:, 0].astype("float32"), columns=NAMES)
    q = lw.Ensemble(frame, member_axis=0, class_names=frame.columns)
    assert q.probs.dtype == np.float32
    assert q.class_names == tuple(NAMES)
    assert lw.Ensemble([frame, frame]).probs.shape == (2, 2, 3)
    lw.Ensemble(
        [pandas.DataFrame(np.array([[0.25, 0.7505]], "float32"))]
    )  # the tolerance of its columns
    np.testing.assert_allclose(
        lw.Ensemble(PROBS, weights=pandas.Series([1, 3])).mean(), 0.25 * PROBS[0] + 0.75 * PROBS[1]
    )
    with refused(TypeError, "`probs` must be real and floating point", "got object"):
        lw.Ensemble(frame.assign(patient=["a", "a"]), member_axis=0)


def test_not_a_distribution() -> None:
    with refused(
        TypeError,
        "`q` must be a distribution such as lw.Ensemble(probs) or lw.Dirichlet(alpha); got str",
    ):
        lw.decompose("probs")
    with refused(TypeError, "`q` must be a distribution", "got the class Ensemble"):
        lw.decompose(lw.Ensemble)
