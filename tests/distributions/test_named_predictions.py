"""Predictions in data frames and labeled arrays: members and classes are matched by name, and what
does not fit is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise._errors import InputError
from optional_libraries import optional
from wrong_input import refused

NAMES = ["cat", "dog", "fox"]
IDS = [f"img{i}" for i in range(40)]
PROBS = np.random.default_rng(0).dirichlet(np.ones(3), (2, 40))
ORDER = np.random.default_rng(1).permutation(40)
LOGITS = np.random.default_rng(2).normal(size=(2, 40, 3))
EPISTEMIC = lw.decompose(lw.Ensemble(PROBS)).epistemic


def frames(values: np.ndarray = PROBS) -> list[Any]:
    pandas = optional("pandas")
    return [pandas.DataFrame(member, columns=NAMES, index=IDS) for member in values]


def moved(values: np.ndarray = PROBS) -> list[Any]:
    """The second member with its rows and columns in another order."""
    first, second = frames(values)
    return [first, second.iloc[ORDER][["fox", "cat", "dog"]]]


def assert_aligned(q: Any) -> None:
    np.testing.assert_array_equal(lw.decompose(q).epistemic, EPISTEMIC)
    assert q.class_names == tuple(NAMES)


def test_pandas_members_are_matched_by_column_and_index() -> None:
    q = lw.Ensemble(moved())
    assert_aligned(q)
    assert list(q.ids) == IDS
    assert list(q[3:5].ids) == IDS[3:5]
    assert q[3].ids is None


def test_polars_members_are_matched_by_column_and_by_a_column_of_text() -> None:
    polars = optional("polars")
    first, second = (polars.DataFrame(frame.reset_index(names="image")) for frame in moved())
    q = lw.Ensemble([first, second])
    assert_aligned(q)
    assert list(q.ids) == IDS
    only_columns = lw.Ensemble([first.drop("image"), second.drop("image")[np.argsort(ORDER)]])
    assert_aligned(only_columns)
    assert only_columns.ids is None


def test_xarray_members_are_matched_by_dimension_and_coordinate() -> None:
    xarray = optional("xarray")
    first, second = (xarray.DataArray(frame, dims=("case", "class")) for frame in moved())
    assert_aligned(lw.Ensemble([first, second.T]))
    q = lw.Ensemble(xarray.Dataset({"a": first, "b": second}))  # xarray itself has sorted the cases
    np.testing.assert_array_equal(
        lw.decompose(q).epistemic, EPISTEMIC[[IDS.index(name) for name in q.ids]]
    )
    coords = {"case": IDS, "class": NAMES}
    one = xarray.DataArray(PROBS, dims=("member", "case", "class"), coords=coords)
    assert_aligned(lw.Ensemble(one))
    assert_aligned(
        lw.Ensemble(one.transpose("class", "case", "member"))
    )  # the dimensions say which is which
    assert_aligned(lw.Ensemble(one.to_dataset(name="probs")))


def test_members_by_name() -> None:
    first, second = moved()
    q = lw.Ensemble({"a": first, "b": second}, weights={"b": 1, "a": 3})
    np.testing.assert_allclose(q.mean(), 0.75 * PROBS[0] + 0.25 * PROBS[1])
    np.testing.assert_array_equal(lw.Ensemble({"a": PROBS[0], "b": PROBS[1]}).probs, PROBS)
    with refused(InputError, "`weights` names 'c', which is not among 'a', 'b'"):
        lw.Ensemble({"a": first, "b": second}, weights={"c": 1, "a": 3})


def test_one_frame() -> None:
    first, _ = frames()
    q = lw.Ensemble(first, member_axis=0)
    assert q.class_names == tuple(NAMES)
    assert q.batch_shape == ()
    assert (
        lw.Ensemble(
            [first.iloc[0], first.iloc[1][["fox", "cat", "dog"]]], member_axis=0
        ).probs.tolist()
        == PROBS[0, :2].tolist()
    )


@pytest.mark.parametrize("make", [lw.Ensemble.from_logits, lw.MultiLabelEnsemble.from_logits])
def test_logits(make: Any) -> None:
    q = make(moved(LOGITS))
    np.testing.assert_array_equal(q.probs, make(LOGITS).probs)
    assert (q.class_names, list(q.ids)) == (tuple(NAMES), IDS)


def test_labels_that_may_occur_together() -> None:
    q = lw.MultiLabelEnsemble(moved())
    np.testing.assert_array_equal(q.probs, PROBS)
    assert (q.class_names, list(q.ids)) == (tuple(NAMES), IDS)


def test_concentrations() -> None:
    first, second = moved(PROBS + 1)
    q = lw.DirichletMixture({"a": first, "b": second}, {"b": 1, "a": 3})
    np.testing.assert_array_equal(q.alpha, PROBS + 1)
    np.testing.assert_array_equal(q.weights, [0.75, 0.25])
    assert (q.class_names, list(q[1:3].ids)) == (tuple(NAMES), IDS[1:3])
    q = lw.Dirichlet(first, class_names=["fox", "cat", "dog"])
    np.testing.assert_array_equal(q.alpha, (PROBS[0] + 1)[:, [2, 0, 1]])
    assert (q.class_names, list(q[1:3].ids)) == (("fox", "cat", "dog"), IDS[1:3])


def test_gaussian_logits_come_without_names() -> None:
    mean, variance = moved(np.abs(LOGITS))
    for given in ((mean, variance.to_numpy()), (mean.to_numpy(), variance)):
        with refused(
            InputError,
            "`mean` and `cov` must be arrays without names. To match them by position, give all "
            "as arrays: df.to_numpy()",
        ):
            lw.LogisticNormal(*given)


def test_class_names_reorder_the_columns() -> None:
    q = lw.Ensemble(moved(), class_names=["dog", "fox", "cat"])
    np.testing.assert_array_equal(q.probs, PROBS[..., [1, 2, 0]])
    assert q.class_names == ("dog", "fox", "cat")
    with pytest.raises(InputError) as error:
        lw.Ensemble(moved(), class_names=["Katze", "Hund", "Fuchs"])
    assert str(error.value) == (
        "`probs` names 'cat', which is not among 'Katze', 'Hund', 'Fuchs'. "
        "To rename the classes, rename the columns first: df.columns = [...]"
    )


def test_class_names_may_map_positions_to_names_or_names_to_positions() -> None:
    for names in ({2: "cat", 0: "dog", 1: "fox"}, {"cat": 2, "dog": 0, "fox": 1}):
        assert lw.Ensemble(PROBS, class_names=names).class_names == ("dog", "fox", "cat")
        q = lw.Ensemble(moved(), class_names=names)
        assert q.class_names == ("dog", "fox", "cat")
        np.testing.assert_array_equal(q.probs, PROBS[..., [1, 2, 0]])


def test_columns_by_number_are_positions() -> None:
    first, second = (frame.set_axis(range(3), axis=1) for frame in frames())
    assert lw.Ensemble([first, second]).class_names is None
    assert lw.Ensemble([first, second], class_names=NAMES).class_names == tuple(NAMES)
    np.testing.assert_array_equal(
        lw.Ensemble([first, second[[2, 0, 1]]]).probs, PROBS
    )  # unless they are in another order
    assert lw.Ensemble(
        [frame.set_axis([1, 2, 3], axis=1) for frame in (first, second)]
    ).class_names == ("1", "2", "3")


def test_other_classes_are_refused() -> None:
    first, second = frames()
    with pytest.raises(InputError) as error:
        lw.Ensemble([first, second.rename(columns={"cat": "CAT"})])
    assert str(error.value) == (
        "member 1 of `probs` names 'CAT', which is not among 'cat', 'dog', 'fox'. Did you mean "
        "'cat'?"
    )
    with pytest.raises(InputError) as error:
        lw.Ensemble({"a": first, "b": second.set_axis(range(3), axis=1)})
    assert str(error.value) == (
        "member 'b' of `probs` names '0', which is not among 'cat', 'dog', 'fox'. "
        "Rename them alike, or match them by position without names: df.to_numpy()"
    )
    with refused(InputError, "the columns of `probs` must have different names; got 'cat' twice"):
        lw.Ensemble([first.set_axis(["cat", "cat", "fox"], axis=1), second])
    with pytest.raises(InputError) as error:
        lw.Ensemble([first, PROBS[1]])
    assert str(error.value) == (
        "the members of `probs` must all be frames with names, or all arrays without; member 1 is "
        "a ndarray. "
        "To match them by position, give all as arrays: df.to_numpy()"
    )


def test_other_rows_are_refused() -> None:
    first, second = frames()
    with pytest.raises(InputError) as error:
        lw.Ensemble([first, second.rename(index={"img3": "img99"})])
    assert str(error.value) == (
        "member 0 of `probs` and member 1 of `probs` must have the same rows; 'img99' is in the "
        "index of only one. "
        "Give both the same index, or match them by position without it: .to_numpy()"
    )
    with pytest.raises(InputError) as error:
        lw.Ensemble([first, second.rename(index={"img3": "img4"})])
    assert str(error.value) == (
        "the rows of member 1 of `probs` and member 0 of `probs` are in another order and cannot "
        "be matched: member 1 of `probs` has "
        "'img4' twice in its index. Give each row its own index, or match them by position without "
        "it: .to_numpy()"
    )
    with refused(InputError, "must have the same rows; 'img39' is in the index of only one"):
        lw.Ensemble([first, second.iloc[:39]])


def test_repeated_rows_in_the_same_order_are_fine() -> None:
    patients = [f"p{i // 4}" for i in range(40)]
    q = lw.Ensemble([frame.set_axis(patients) for frame in frames()])
    np.testing.assert_array_equal(q.probs, PROBS)


def test_an_index_on_one_side_is_said() -> None:
    first, second = frames()
    with pytest.warns(UserWarning, match="by position") as caught:
        q = lw.Ensemble([first, second.reset_index(drop=True)])
    assert str(caught[0].message) == (
        "The rows of member 1 of `probs` are matched to those of member 0 of `probs` by position: "
        "member 1 of `probs` has only row numbers"
    )
    np.testing.assert_array_equal(q.probs, PROBS)
    shuffled = second.reset_index(drop=True).iloc[
        ORDER
    ]  # numbers in another order are no positions
    np.testing.assert_array_equal(
        lw.Ensemble([first.reset_index(drop=True), shuffled]).probs, PROBS
    )


@pytest.mark.parametrize(
    ("make", "column"),
    [
        (lw.Ensemble, "id"),
        (lw.Ensemble, "label"),
        (lw.Ensemble, "confidence"),
        (lw.MultiLabelEnsemble, "index"),
        (lw.Ensemble.from_logits, "image_id"),
        (lw.Ensemble.from_logits, "lesionId"),
        (lw.DirichletMixture, "fold"),
    ],
)
def test_a_column_that_is_no_class_is_refused(make: Any, column: str) -> None:
    numbers = PROBS[0].max(axis=1) if column == "confidence" else np.arange(40)
    values = {lw.Ensemble.from_logits: LOGITS, lw.DirichletMixture: PROBS + 1}.get(make, PROBS)
    given = [frame.assign(**{column: numbers}) for frame in frames(values)]
    with pytest.raises(InputError) as error:
        make(given)
    assert str(error.value).endswith(
        f"has a column '{column}', which by its name is no class. If it says which row is which, "
        f"make it the index: df.set_index('{column}'); "
        f"else drop it: df.drop(columns='{column}'). If it is a class, give all names as "
        "`class_names`"
    )


def test_a_column_of_zeros_is_no_class() -> None:
    with refused(InputError, "`probs` has a column 'fold', which by its name is no class"):
        lw.Ensemble([frame.assign(fold=0) for frame in frames()])


def test_a_class_may_have_any_name() -> None:
    names = ["date", "score", "id"]
    renamed = [frame.set_axis(names, axis=1) for frame in frames()]
    assert lw.Ensemble(renamed).class_names == tuple(names)  # rows sum to 1 with them alone
    logits = [frame.set_axis(names, axis=1) for frame in frames(LOGITS)]
    assert lw.Ensemble.from_logits(logits, class_names=names).class_names == tuple(names)


def test_names_of_members() -> None:
    named = dict(zip("abcde", PROBS, strict=False))
    names = tuple(named)
    probs = PROBS[: len(names)]
    assert lw.Ensemble(named).member_names == names
    assert lw.Ensemble(named)[3:9].member_names == names
    others = tuple([f"m{i}" for i in range(len(names))])
    assert lw.Ensemble(named, member_names=others).member_names == others
    assert lw.Ensemble.from_logits(dict(zip(names, LOGITS, strict=False))).member_names == names
    assert lw.Ensemble(probs, member_names=names).member_names == names
    assert lw.Ensemble(probs).member_names is None
    levels = [name.upper() for name in names]
    q = lw.Ensemble(probs, factors={"prompt": levels, "model": names})
    assert q.member_names[0] == "A / a"
    assert lw.Ensemble(probs, factors={"prompt": ["x"] * len(names)}).member_names is None


def test_names_of_members_that_do_not_fit() -> None:
    n = len(PROBS)
    with refused(InputError, f"`member_names` must name each of the {n} members; got 1 names: 'a'"):
        lw.Ensemble(PROBS, member_names=["a"])
    with refused(InputError, "`member_names` must have different names; got 'a' twice"):
        lw.Ensemble(PROBS, member_names=["a"] * n)
    sentence = (
        "`member_names` must be in the order of the members, 'net', 'forest', or be left out; "
        "got 'forest', 'net'"
    )
    for make, values in ((lw.Ensemble, PROBS), (lw.Ensemble.from_logits, LOGITS)):
        with refused(InputError, sentence):
            make({"net": values[0], "forest": values[1]}, member_names=["forest", "net"])
    with refused(TypeError, "`member_names` must be a sequence of", "got 'abc'"):
        lw.Ensemble(PROBS, member_names="abc")
