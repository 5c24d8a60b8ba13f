"""Predictions of ensembles that are refused, each with its own sentence: values, shapes, weights,
names.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise._errors import InputError
from strategies import KINDS, LOSSES, distributions, loss_id
from wrong_input import LOGITS, NAMES, NUMPY_AND_TORCH, PROBS, refused


def test_logits_instead_of_probabilities(lib: Any) -> None:
    with refused(
        ValueError,
        "`probs` must lie between 0 and 1",
        "range from -3 to 4",
        "(2, 1, 3)",
        "logits, use Ensemble.from_logits",
    ):
        lw.Ensemble(lib.array(LOGITS))


def test_positive_logits(lib: Any) -> None:
    with refused(
        ValueError, "`probs` must lie between 0 and 1", "from 0.5 to 7.5", "Ensemble.from_logits"
    ):
        lw.Ensemble(lib.array(LOGITS + 3.5))


def test_logits_for_multilabel(lib: Any) -> None:
    with refused(
        ValueError, "`probs` must lie between 0 and 1", "use MultiLabelEnsemble.from_logits"
    ):
        lw.MultiLabelEnsemble(lib.array(LOGITS))


def test_percentages(lib: Any) -> None:
    with refused(
        ValueError,
        "`probs` must lie between 0 and 1",
        "They sum to 100. Percentages? Divide by 100",
    ):
        lw.Ensemble(lib.array([[[70, 20, 10]], [[60.5, 30, 9.5]]]))


def test_class_labels_instead_of_probabilities(lib: Any) -> None:
    with refused(
        ValueError,
        "`probs` must lie between 0 and 1",
        "from 0 to 9",
        "Class labels must be one-hot encoded first",
    ):
        lw.Ensemble(lib.array([[3, 0, 9], [3, 1, 9]]), member_axis=0)


@pytest.mark.parametrize(
    ("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_nan_and_infinity(lib: Any, bad: float, word: str) -> None:
    probs = PROBS.copy()
    probs[1, 0, 2] = bad
    sentence = (
        f"`probs` must be finite; got {word} at index (1, 0, 2) (1 of 6 values are not finite)"
    )
    with refused(ValueError, sentence, "Ensemble.from_logits", "drop these instances"):
        lw.Ensemble(lib.array(probs))


def test_negative(lib: Any) -> None:
    with refused(ValueError, "`probs` must lie between 0 and 1", "from -0.1 to 1.1"):
        lw.Ensemble(lib.array([[[-0.1, 1.1]]]))


def test_negative_by_rounding(lib: Any) -> None:
    with refused(
        ValueError,
        "`probs` must lie between 0 and 1",
        "from -1e-09 to 1",
        "If that is rounding, clip it: probs.clip(0, 1)",
    ):
        lw.Ensemble(lib.array([[[-1e-9, 1 + 1e-9]]]))


def test_not_summing_to_one(lib: Any) -> None:
    sentence = (
        "`probs` must sum to 1 over the class axis (K = 3 classes) within 1e-06; sums range from "
        "0.5 to 1.9 for shape (2, 1, 3)"
    )
    with refused(
        ValueError,
        sentence,
        "use Ensemble.from_logits",
        "may occur together, use MultiLabelEnsemble",
    ):
        lw.Ensemble(lib.array([[[0.1, 0.2, 0.2]], [[0.9, 0.9, 0.1]]]))


def test_single_rows_that_do_not_sum_to_one(lib: Any) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (2, 1200))
    probs[1, 500] *= 0.9
    sentence = (
        "`probs` must sum to 1 over the class axis (K = 3 classes) within 1e-06; 1 of 2,400 rows "
        "does not, the first at index (1, 500); "
        "sums range from 0.9 to 1 for shape (2, 1200, 3). If that is rounding, divide by the sums: "
        "probs / probs.sum(-1)[..., None]; "
        "if a class is left out, add it"
    )
    with refused(ValueError, sentence):
        lw.Ensemble(lib.array(probs))
    probs[0, 20:23] = 0.5, 0.5, 0.5
    sentence = (
        "4 of 2,400 rows do not, the first at index (0, 20); sums range from 0.9 to 1.5 for shape "
        "(2, 1200, 3)"
    )
    with refused(
        ValueError,
        sentence,
        "If labels may occur together, use MultiLabelEnsemble; else correct these rows",
    ):
        lw.Ensemble(lib.array(probs))


def test_sums_a_little_off(lib: Any) -> None:
    with refused(
        ValueError,
        "sums range from 0.99 to 0.99",
        "divide by the sums",
        "if a class is left out, add it",
    ):
        lw.Ensemble(lib.array(PROBS * 0.99))


def test_sums_are_right_on_another_axis(lib: Any) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3)).swapaxes(1, 2)  # (M, K, N)
    with refused(
        ValueError,
        "`probs` must sum to 1",
        "They do over axis 1: if the classes are there, pass class_axis=1",
    ):
        lw.Ensemble(lib.array(probs))
    assert lw.Ensemble(lib.array(probs), class_axis=1).n_classes == 4


@pytest.mark.parametrize(
    ("dtype", "fine", "wrong"),
    [("float64", 5e-7, 2e-6), ("float32", 5e-4, 2e-3), ("float16", 5e-3, 2e-2)],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_tolerance_follows_the_dtype(
    lib: Any, dtype: str, fine: float, wrong: float, sign: int
) -> None:
    def two(off: float) -> Any:
        return lib.array([[[0.25, 0.75 + sign * off]]], dtype)

    lw.Ensemble(two(fine))
    with refused(ValueError, "`probs` must sum to 1", f"within {2 * fine:g}"):
        lw.Ensemble(two(wrong))


def test_probabilities_are_not_renormalized(lib: Any) -> None:
    probs = np.array([[[0.25, 0.75 + 5e-7]]])
    np.testing.assert_array_equal(lib.numpy(lw.Ensemble(lib.array(probs)).probs), probs)


def test_two_axes_are_ambiguous(lib: Any) -> None:
    sentence = (
        "`probs` of shape (2, 3) is ambiguous: 2 members' predictions for one instance, or one "
        "model's for 2 instances?"
    )
    with refused(ValueError, sentence, "Pass member_axis=0 for the first", "probs[None]"):
        lw.Ensemble(lib.array(PROBS[:, 0]))
    assert lw.Ensemble(lib.array(PROBS[:, 0]), member_axis=0).n_members == 2
    assert lw.Ensemble(lib.array(PROBS[:, 0])[None]).n_members == 1


@pytest.mark.parametrize("make", [lw.Ensemble, lw.Ensemble.from_logits, lw.MultiLabelEnsemble])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_too_few_axes(lib: Any, make: Any, shape: tuple[int, ...]) -> None:
    with refused(
        ValueError, "must have at least 2 axes (members, ..., classes)", f"got shape {shape}"
    ):
        make(lib.array(np.full(shape, 1 / 3)))


def test_members_probably_on_the_wrong_axis(lib: Any) -> None:
    probs = lib.array(np.full((100, 5, 4), 0.25))
    with pytest.warns(
        UserWarning,
        match=(
            r"`probs` of shape \(100, 5, 4\) is interpreted as 100 members' predictions for 5 "
            r"instances"
        ),
    ) as caught:
        assert lw.Ensemble(probs).n_members == 100
    assert "pass member_axis=1" in str(caught[0].message)
    assert "if this is correct, pass member_axis=0" in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("members", "instances", "warns"),
    [
        (33, 4, True),
        (32, 4, False),
        (40, 5, True),
        (39, 5, False),
        (100, 2, True),
        (100, 1, False),
        (100, 0, False),
    ],
)
def test_only_many_more_members_than_instances_are_doubted(
    members: int, instances: int, warns: bool
) -> None:
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
    [
        ((100, 5, 4), {"member_axis": 0}),
        ((100, 5, 4), {"member_axis": 1}),
        ((100, 1, 4), {}),
        ((32, 2, 4), {}),
        ((100, 50, 4), {}),
    ],
)
def test_plausible_members_raise_no_warning(
    shape: tuple[int, ...], options: dict[str, int]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.Ensemble(np.full(shape, 0.25), **options)


def test_one_class(lib: Any) -> None:
    with refused(
        ValueError,
        "`probs` must have at least 2 classes (K) on its class axis; got K = 1",
        "(2, 4, 1)",
        "both columns, p and 1 − p",
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
    with refused(ValueError, "`probs` must have at least 1 label (K)", "(2, 1, 0)"):
        lw.MultiLabelEnsemble(lib.array(np.ones((2, 1, 0))))


def test_no_members(lib: Any) -> None:
    with refused(
        ValueError,
        "`probs` must have at least one member; got shape (0, 4, 3) with members on axis 0",
    ):
        lw.Ensemble(lib.array(np.ones((0, 4, 3))))
    with refused(
        ValueError, "`alpha` of a mixture must have at least one member; got shape (0, 4, 3)"
    ):
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
        assert tuple(u.normalized().sum().total.shape) == (0,), kind
        assert tuple(q.mean().shape) == (0, 3), kind
        assert tuple(q.sample(5, rng=0).shape) == (5, 0, 3), kind


def test_no_instances_in_jax(optional: Any) -> None:
    jnp = optional("jax.numpy")
    for q in (lw.Ensemble(jnp.ones((2, 0, 3))), lw.Dirichlet(jnp.ones((0, 3)))):
        assert lw.decompose(q, "squared").sum().total.shape == (0,)


@NUMPY_AND_TORCH
def test_no_instances_with_events(lib: Any) -> None:
    for q in distributions(lib.array, n=0)[:-1]:
        for events in (
            lw.events.ordinal(3),
            lw.events.one_vs_one(3),
            lw.events.tree({"a": [0, 1], "b": [2]}, conditional=True),
        ):
            assert tuple(lw.decompose(q, events=events).total.shape) == (0, len(events.names))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"member_axis": 3},
            "the member axis must be one of the 3 axes of `probs`, from -3 to 2; got 3",
        ),
        (
            {"class_axis": -4},
            "the class axis must be one of the 3 axes of `probs`, from -3 to 2; got -4",
        ),
        (
            {"class_axis": 0},
            "the member axis and the class axis must be different axes of `probs`; both are 0",
        ),
        (
            {"member_axis": -1},
            "the member axis and the class axis must be different axes of `probs`; both are 2",
        ),
    ],
)
def test_axes_that_are_not_there(options: dict[str, int], sentence: str) -> None:
    with refused(ValueError, sentence):
        lw.Ensemble(PROBS, **options)


@pytest.mark.parametrize("axis", ["0", 1.0, True])
def test_axes_that_are_not_integers(axis: Any) -> None:
    with refused(TypeError, "`member_axis` must be an integer", f"got {axis!r}"):
        lw.Ensemble(PROBS, member_axis=axis)


@pytest.mark.parametrize("shape", [(3,), (1, 2), (2, 2), (), (2, 1, 3)])
def test_weights_that_do_not_fit(lib: Any, shape: tuple[int, ...]) -> None:
    with refused(
        ValueError,
        f"`weights` must have one value per member, shape (2,) or (2, 1); got shape {shape}",
    ):
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
    with refused(
        ValueError,
        "`weights` must not be 0 for all members; got only zeros for the instance at (2,)",
    ):
        lw.Ensemble(lib.array(probs), weights=lib.array([[1, 0, 0], [0, 1, 0]]))
    with refused(
        ValueError,
        "`weights` must not be 0 for all members; got only zeros for the instance at (0, 1)",
    ):
        lw.DirichletMixture(lib.array(np.ones((2, 1, 2, 3))), np.array([[[1, 0]], [[1, 0]]]))


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (["a", "b"], "`weights` must be real and floating point"),
        ([1j, 1], "got complex128"),
        ([True, False], "got bool"),
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
            np.testing.assert_allclose(
                lib.numpy(mean), 0.25 * PROBS[0] + 0.75 * PROBS[1], rtol=1e-6
            )


def test_weights_of_extreme_size() -> None:
    mean = lw.Ensemble(PROBS.astype("float32"), weights=[1e-300, 3e-300]).mean()
    np.testing.assert_allclose(mean, 0.25 * PROBS[0] + 0.75 * PROBS[1], rtol=1e-6)


def test_weights_of_another_library(lib: Any, optional: Any) -> None:
    foreign = (
        optional("torch").tensor([1.0, 2.0])
        if lib.name != "torch"
        else optional("jax.numpy").asarray([1.0, 2.0])
    )
    got = (
        "JAX and PyTorch"
        if lib.name == "torch"
        else f"PyTorch and {'NumPy' if lib.name == 'numpy' else 'JAX'}"
    )
    with refused(
        TypeError,
        f"`weights` and `probs` must come from the same array library; got {got}",
        "Convert `weights` first",
    ):
        lw.Ensemble(lib.array(PROBS), weights=foreign)


def test_mean_and_covariance_of_two_libraries(optional: Any) -> None:
    torch = optional("torch")
    with refused(
        TypeError, "`cov` and `mean` must come from the same array library; got PyTorch and NumPy"
    ):
        lw.LogisticNormal(np.zeros(2), torch.ones(2))
    mixed = lw.LogisticNormal(torch.zeros(2, dtype=torch.float32), np.ones(2))
    assert mixed.cov.dtype == torch.float32


@pytest.mark.parametrize(
    "make",
    [
        lambda n: lw.Ensemble(PROBS, class_names=n),
        lambda n: lw.Dirichlet(np.ones(3), class_names=n),
    ],
)
def test_names(make: Any) -> None:
    with refused(
        ValueError, "`class_names` must name each of the K = 3 classes; got 2 names: 'a', 'b'"
    ):
        make(["a", "b"])
    with refused(ValueError, "`class_names` must have different names; got 'b' twice"):
        make(["a", "b", "b"])
    for value in ("abc", {"a", "b", "c"}, 3):
        with refused(
            TypeError,
            "`class_names` must be a sequence of 3 names, in order",
            repr(value),
        ):
            make(value)
    assert make(np.array(["a", "b", "c"])).class_names == ("a", "b", "c")


@pytest.mark.parametrize(
    "make",
    [
        lambda n: lw.Ensemble(PROBS, class_names=n),
        lambda n: lw.Dirichlet(np.ones(3), class_names=n),
    ],
)
def test_names_by_position(make: Any) -> None:
    """`id2label` of a Hugging Face model, also from JSON, where keys are text; in any order."""
    assert make({2: "c", 0: "a", 1: "b"}).class_names == ("a", "b", "c")
    assert make({"0": "a", "1": "b", "2": "c"}).class_names == ("a", "b", "c")
    with refused(
        InputError,
        (
            "`class_names` as a mapping must name each position from 0 to 2 (K = 3 classes), such "
            "as {0: 'cat', 1: 'dog'}; got the keys 1, 2, 3"
        ),
    ):
        make({1: "a", 2: "b", 3: "c"})
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


def test_probabilities_are_no_logits() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (2, 20))
    for values in (probs, probs.astype("float32"), probs.round(3)):
        with pytest.raises(InputError) as error:
            lw.Ensemble.from_logits(values)
        assert str(error.value) == (
            "`logits` of shape (2, 20, 3) lie between 0 and 1 and sum to 1 over the classes: they "
            "are probabilities. Leave out from_logits. "
            "If they are logits all the same, add a constant, which changes nothing else: logits + "
            "2"
        )
    wrong = probs.copy()
    wrong[0, 3] *= 0.9
    with pytest.raises(
        InputError, match="sum to 1 over the classes in 39 of 40 rows: they are probabilities"
    ):
        lw.Ensemble.from_logits(wrong)
    lw.Ensemble.from_logits(probs + 2)
    lw.Ensemble.from_logits(np.log(probs))
    lw.Ensemble.from_logits(np.full((2, 20, 4), 0.25))  # the softmax of these is these
    lw.Ensemble.from_logits(np.array([[[0.3, 0.7], [0.4, 0.6]]]))  # so few may do so by chance
    with pytest.warns(
        UserWarning, match="All 120 values of `logits` lie between 0 and 1, which logits rarely do"
    ):
        lw.Ensemble.from_logits(np.random.default_rng(0).random((2, 20, 3)))
