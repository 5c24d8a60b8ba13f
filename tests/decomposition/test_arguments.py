"""Wrong arguments of a decomposition and of its sums get a sentence each; large arrays are checked
on first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise._errors import InputError
from strategies import KINDS, distributions
from wrong_input import NAMES, PROBS, refused


@pytest.mark.parametrize("correction", ["jacknife", True, 1])
def test_unknown_correction(correction: Any) -> None:
    with refused(ValueError, "`correction` must be 'jackknife' or None", f"got {correction!r}"):
        lw.decompose(lw.Ensemble(PROBS), correction=correction)


@pytest.mark.parametrize("q", distributions()[1:6], ids=KINDS[1:6])
def test_jackknife_of_what_is_no_plain_ensemble(q: Any) -> None:
    sentence = (
        "defined for equally weighted members; got `weights`"
        if isinstance(q, lw.Ensemble)
        else f"{type(q).__name__} has no members"
    )
    with refused(ValueError, "`correction`: the jackknife", sentence):
        lw.decompose(q, correction="jackknife")


@pytest.mark.parametrize("loss", ["zero_one", lw.CostLoss(1, 2)])
def test_jackknife_of_a_loss_with_a_corner(loss: Any) -> None:
    with refused(
        ValueError,
        "`correction`: the jackknife needs a smooth loss",
        "has a kink",
        "Leave `correction` out",
    ):
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
        (
            {"lung": 1, "lymphoma": 1},
            InputError,
            "`weights` must have a value for each name; missing: 'melanoma'",
        ),
        (
            {"lung": 1, "lymphoma": 1, "melanomma": 1},
            InputError,
            (
                "`weights` names 'melanomma', which is not among 'lung', 'lymphoma', 'melanoma'. "
                "Did you mean 'melanoma'?"
            ),
        ),
        (["a", "b", "c"], TypeError, "`weights` must be real and floating point"),
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
        ValueError,
        (
            "`normalized` divides by the largest value of each label, which is 0 for 'lung' "
            "because one of its costs is 0"
        ),
    ):
        some.normalized()


@pytest.mark.parametrize("kind", [lw.Ensemble, lw.MultiLabelEnsemble])
def test_large_arrays_are_checked(kind):
    p = np.full((3, 50_000, 2), 0.5)
    p[1, 700, 1] = 1.5
    with pytest.raises(
        ValueError, match=r"`probs` must lie between 0 and 1; values range from 0\.5 to 1\.5"
    ):
        kind(p)
    p[1, 700, 1] = 0.4
    if kind is lw.MultiLabelEnsemble:
        kind(p)
    else:
        with pytest.raises(
            ValueError, match=r"must sum to 1 over the class axis .* sums range from 0.9 to 1 "
        ):
            kind(p)


def test_arrays_are_ensembles(lib):
    p = np.random.default_rng(0).dirichlet(np.ones(3), (4, 6))
    u, expected = lw.decompose(lib.array(p)), lw.decompose(lw.Ensemble(lib.array(p)))
    np.testing.assert_array_equal(lib.numpy(u.epistemic), lib.numpy(expected.epistemic))
    lists = lw.decompose(p.tolist())
    np.testing.assert_array_equal(lists.epistemic, lw.decompose(p).epistemic)
    joint = lw.joint.mutual_information(p)
    np.testing.assert_array_equal(joint, lw.joint.mutual_information(lw.Ensemble(p)))


@pytest.mark.parametrize("decompose", [lw.decompose, lw.joint.decompose])
def test_arrays_that_are_no_ensemble_have_its_sentence(decompose):
    with refused(ValueError, "`probs` of shape (2, 2) is ambiguous: 2 members' predictions"):
        decompose(np.full((2, 2), 0.5))
    with refused(ValueError, "`probs` must lie between 0 and 1; values range from -3 to 3"):
        decompose(np.array([[[3.0, -3.0]]]))
    with refused(TypeError, "`q` must be a distribution such as lw.Ensemble(probs)"):
        decompose("probs")


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
