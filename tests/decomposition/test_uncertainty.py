"""The label-wise result: frames, datasets, mappings, indexing by label and instance."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import labelwise as lw
from optional_libraries import optional

PARTS = ("total", "aleatoric", "epistemic")

NAMES = ["nevus", "keratosis", "melanoma"]


def uncertainty(shape=(12,), m=4, names=NAMES, seed=0, **options):
    q = lw.Ensemble(
        np.random.default_rng(seed).dirichlet(np.ones(3), (m, *shape)),
        class_names=names,
        member_axis=0,
    )
    return lw.decompose(q, **options)


def named(library="pandas"):
    """Uncertainty about cases that have names."""
    pandas = optional("pandas")
    ids = [f"case {i}" for i in range(12)]
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (4, 12))
    return lw.decompose(
        lw.Ensemble([pandas.DataFrame(member, index=ids, columns=NAMES) for member in probs])
    ), ids


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_wide_frame_has_a_row_for_each_instance(library):
    optional(library)
    u = uncertainty()
    y = np.arange(12) % 3
    frame = u.to_frame(
        library=library,
        ids=[f"case {i}" for i in range(12)],
        y_true=y,
        y_pred=[NAMES[k] for k in y],
    )
    assert type(frame).__module__.startswith(library)
    labels = [f"{part}.{name}" for part in PARTS for name in NAMES]
    assert list(frame.columns) == ["id", "y_pred", "y_true", *PARTS, *labels]
    assert list(frame["id"])[3] == "case 3"
    assert list(frame["y_true"]) == list(frame["y_pred"]) == [NAMES[k] for k in y]
    for part in PARTS:
        np.testing.assert_array_equal(np.asarray(frame[part]), getattr(u.sum(), part))
        np.testing.assert_array_equal(np.asarray(frame[f"{part}.melanoma"]), getattr(u, part)[:, 2])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4)])
def test_a_long_frame_has_a_row_for_each_instance_and_label(library, shape):
    optional(library)
    u = uncertainty(shape)
    frame = u.to_frame(layout="long", library=library)
    index = {0: [], 1: ["instance"], 3: ["axis_0", "axis_1", "axis_2"]}[len(shape)]
    assert list(frame.columns) == [*index, "label", *PARTS]
    assert len(frame) == u.total.size
    for part in PARTS:
        np.testing.assert_array_equal(np.asarray(frame[part]), getattr(u, part).ravel())
    if len(shape) == 3:
        at = tuple(np.asarray(frame[name]) for name in index)
        label = [NAMES.index(name) for name in frame["label"]]
        np.testing.assert_array_equal(u.total[(*at, label)], np.asarray(frame["total"]))


def test_several_axes_are_flattened_with_index_columns():
    optional("pandas")
    u = uncertainty((2, 3))
    frame = u.to_frame(y_true=np.zeros((2, 3), int))
    assert frame[["axis_0", "axis_1"]].to_numpy().tolist() == [
        [i, j] for i in range(2) for j in range(3)
    ]
    assert frame["epistemic.nevus"].tolist() == u.epistemic[..., 0].ravel().tolist()
    assert u.sum().to_frame().columns.tolist() == ["axis_0", "axis_1", *PARTS]
    assert u.sum().to_frame(ids=np.arange(6).reshape(2, 3))["id"].tolist() == list(range(6))


def test_labels_that_may_occur_together_have_a_column_each():
    optional("pandas")
    u = lw.decompose(
        lw.MultiLabelEnsemble(np.random.default_rng(0).random((3, 5, 3)), class_names=NAMES)
    )
    y = np.random.default_rng(1).integers(0, 2, (5, 3))
    wide, long = u.to_frame(y_true=y), u.to_frame(y_true=y, layout="long")
    np.testing.assert_array_equal(
        wide[[f"y_true.{name}" for name in NAMES]].to_numpy(), y.astype(bool)
    )
    assert long["y_true"].tolist() == y.astype(bool).ravel().tolist()


def test_events_keep_the_classes_as_they_are_and_overlapping_ones_have_no_sum():
    optional("pandas")
    groups = {"bad": ["melanoma", "keratosis"], "worst": ["melanoma"]}
    frame = uncertainty(events=groups).to_frame(y_true=np.full(12, 2))
    assert list(frame.columns) == [
        "instance",
        "y_true",
        *(f"{part}.{name}" for part in PARTS for name in groups),
    ]
    assert frame["y_true"].tolist() == [2] * 12


def test_xarray_keeps_the_order_of_channel_first_images():
    xarray = optional("xarray")
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (4, 2, 5, 6))
    u = lw.decompose(lw.Ensemble(np.moveaxis(probs, -1, 2), class_axis=2, class_names=NAMES))
    last, first = u.to_xarray(), u.to_xarray(dims=("case", "y", "x"), label_axis=1)
    assert isinstance(first, xarray.Dataset)
    assert last["total"].dims == ("axis_0", "axis_1", "axis_2", "label")
    assert first["total"].dims == ("case", "label", "y", "x")
    np.testing.assert_array_equal(first["epistemic"].sel(label="melanoma"), u["melanoma"].epistemic)
    np.testing.assert_array_equal(first["total"].transpose("case", "y", "x", "label"), u.total)
    assert u.sum().to_xarray(dims=("case", "y", "x"))["total"].sizes == {"case": 2, "y": 5, "x": 6}


def test_mappings_hold_the_means():
    u = uncertainty((3, 4))
    found = u.to_dict()
    assert found["epistemic.melanoma"] == pytest.approx(u["melanoma"].epistemic.mean())
    assert found["aleatoric"] == pytest.approx(u.sum().aleatoric.mean())
    assert u["nevus"].to_dict() == pytest.approx(
        {part: getattr(u["nevus"], part).mean() for part in PARTS}
    )


@pytest.mark.parametrize(
    "index", [slice(3, 9), 4, -1, [1, 5, 5], np.arange(12) % 2 == 0, (slice(None, None, 3),)]
)
@pytest.mark.parametrize("kind", ["Ensemble", "LogisticNormal"])
def test_some_instances_are_those_of_the_distribution(index, kind):
    rng = np.random.default_rng(0)
    q = (
        lw.Ensemble(rng.dirichlet(np.ones(3), (4, 12)))
        if kind == "Ensemble"
        else lw.LogisticNormal(rng.normal(size=(12, 3)), np.ones((12, 3)))
    )
    u, part = lw.decompose(q)[index], lw.decompose(q[index])
    for name in PARTS:
        np.testing.assert_allclose(getattr(u, name), getattr(part, name), rtol=1e-12)
        np.testing.assert_allclose(getattr(u.sum(), name), getattr(part.sum(), name), rtol=1e-12)
    np.testing.assert_allclose(lw.decompose(q).sum()[index].total, part.sum().total, rtol=1e-12)


def test_labels_go_by_name_and_instances_by_number():
    u = lw.decompose(
        lw.Ensemble(
            np.random.default_rng(0).dirichlet(np.ones(3), (4, 12)), class_names=["2", "0", "1"]
        )
    )
    np.testing.assert_array_equal(u["0"].total, u.total[:, 1])
    np.testing.assert_array_equal(u[0].total, u.total[0])
    with pytest.raises(ValueError, match=r"picked one by one, such as u\['0'\]"):
        u[["0", "1"]]
    with pytest.raises(KeyError, match="no label '3'"):
        u["3"]
    with pytest.raises(TypeError, match="no length"):
        len(u[0])
    assert u[:0]
    assert len(u[:0]) == 0


def test_what_is_printed_of_uncertainty():
    u = lw.decompose(
        lw.Ensemble(np.array([[[0.9, 0.1]], [[0.7, 0.3]]]), class_names=["nevus", "melanoma"]),
        "squared",
    )
    assert repr(u).splitlines() == [
        "Uncertainty: 1 instance × 2 labels, SquaredLoss(), float64",
        "  mean of   total  aleatoric  epistemic",
        "  nevus      0.16       0.15       0.01",
        "  melanoma   0.16       0.15       0.01",
    ]
    assert (
        repr(lw.Ensemble(np.full((2, 3, 2), 0.5)))
        == "Ensemble: 2 members × 3 instances × 2 classes"
    )
    many = lw.decompose(lw.Ensemble(np.full((2, 3, 40), 1 / 40)))
    assert repr(many).endswith("… and 30 labels with lower means")


def test_the_index_of_the_predictions_comes_back():
    u, ids = named()
    assert (
        list(u.to_frame().index)
        == list(u.sum().to_frame().index)
        == list(u["nevus"].to_frame().index)
        == ids
    )
    assert list(u[3:5].to_frame().index) == ids[3:5]
    assert list(u.to_frame(layout="long").index) == list(np.repeat(ids, 3))
    assert "instance" not in u.to_frame().columns
    assert list(u.to_frame(ids=range(12))["id"]) == list(range(12))
    optional("polars")
    assert list(u.to_frame(library="polars")["id"]) == ids
    top = u.top(3)
    assert list(top.to_frame().index) == [ids[i] for i in top.indices]
    assert f"case {top.indices[0]}" in repr(top)


def test_classes_are_matched_to_the_index_of_the_predictions():
    pandas = optional("pandas")
    u, ids = named()
    y = pandas.Series([NAMES[i % 3] for i in range(12)], index=ids)
    mixed = y.iloc[::-1]
    assert u.to_frame(y_true=mixed)["y_true"].tolist() == y.tolist()
    with pytest.warns(
        UserWarning,
        match="are matched to those of the predictions by position: `y_true` has an index",
    ):
        assert (
            uncertainty().to_frame(y_true=mixed)["y_true"].tolist() == mixed.tolist()
        )  # arrays have positions only
    one_hot = pandas.get_dummies(mixed)[["melanoma", "nevus", "keratosis"]]
    assert u.to_frame(y_true=one_hot)["y_true"].tolist() == y.tolist()


def test_a_label_by_number():
    u = uncertainty()
    assert u.top(3, label=1).indices.tolist() == u.top(3, label="keratosis").indices.tolist()
    assert u.top(3, label=1).label == "keratosis"
    assert len(u.top(3, label=1)) == 3
    numbers = uncertainty(names=[1, 2, 3])
    assert numbers.top(3, label=1).label == "1"
    with pytest.raises(
        ValueError,
        match="`label` must be among the class names, which are integers: 1, 2, 3; got 0",
    ):
        numbers.top(3, label=0)
    with pytest.raises(
        ValueError, match=r"`label` names the unknown class 'melanom'\. Did you mean 'melanoma'\?"
    ):
        u.top(3, label="melanom")
    with pytest.raises(
        TypeError, match=r"`label` must be a class: its name, or a whole number; got 1\.5"
    ):
        u.top(3, label=1.5)


@pytest.mark.parametrize("loss", ["log", "spherical", lw.CostLoss(1, 5)])
def test_sums_and_joint_results_can_be_pickled(loss):
    u = uncertainty(loss=loss)
    results = [u, u.sum(), u.sum([1, 2, 3]), u["nevus"], u.normalized().sum()]
    if loss != "spherical" and isinstance(loss, str):
        results.append(lw.joint.decompose(lw.Ensemble(np.full((2, 5, 3), 1 / 3)), loss))
    for result in results:
        copy = pickle.loads(pickle.dumps(result))
        np.testing.assert_array_equal(copy.epistemic, result.epistemic)
        np.testing.assert_array_equal(copy.total, result.total)
